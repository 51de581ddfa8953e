//! Programs of ranking, and what runs them, against recorded answers and twins, in one program.

mod blocks;
mod forests;
mod intervals;
mod max_sim;
mod models;
mod programs;
mod tokens;
mod vectors;
