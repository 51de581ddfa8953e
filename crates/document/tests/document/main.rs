//! Documents and selections against recorded answers and twins, in one program.

mod mail;
mod properties;
mod rendering;
mod selection;
mod selection_values;
mod updates;
mod vectors;
