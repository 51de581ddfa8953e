//! `cargo run --release -p brooklet-rank --example forest_rate`: what a model of 200 trees of 31 leaves costs over 10,000
//! documents, a document at a time and in blocks. The bench of the product is `bench/ranking.mjs`.
#[path = "../tests/rank/forests/mod.rs"]
mod forests;

use std::time::Instant;

use brooklet_rank::block::BLOCK;
use forests::{Documents, Random, compiled, lightgbm};

const TREES: usize = 200;
const LEAVES: usize = 31;
const INPUTS: usize = 20;
const DOCUMENTS: usize = 10_000;
const ROUNDS: usize = 15;

fn main() {
    let mut random = Random::new(5);
    let model = lightgbm(&mut random, TREES, LEAVES, INPUTS, false);
    let program = compiled("lightgbm(\"model.json\")", &model);
    let rows: Vec<Vec<f64>> = (0..DOCUMENTS).map(|_| (0..INPUTS).map(|_| random.unit()).collect()).collect();
    let (mut scratch, mut of_blocks) = (program.scratch(), Default::default());
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let one_by_one: Vec<f64> = rows
            .iter()
            .map(|row| {
                let mut source = Documents::new(&program, std::slice::from_ref(row));
                program.score(&mut source.one(0), &mut scratch).expect("a score")
            })
            .collect();
        times[0].push(start.elapsed());
        let start = Instant::now();
        let mut in_blocks = vec![0.0; DOCUMENTS];
        for (rows, scores) in rows.chunks(BLOCK).zip(in_blocks.chunks_mut(BLOCK)) {
            program.scores(&mut Documents::new(&program, rows), &mut of_blocks, scores).expect("scores");
        }
        times[1].push(start.elapsed());
        assert_eq!(one_by_one, in_blocks);
    }
    for (what, times) in ["a document at a time", "in blocks"].iter().zip(&mut times) {
        times.sort();
        println!("{what}: best {:?}, median {:?}", times[0], times[ROUNDS / 2]);
    }
}
