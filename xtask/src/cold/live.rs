//! Which locals of a function are still read, before each of its instructions.

use wasmparser::Operator;

use super::code::Code;

const BITS: usize = 64;

/// For each instruction the locals whose values are read by it or later, before they are set.
pub struct Live {
    words: usize,
    /// Bits of each instruction's locals, one after the other.
    bits: Vec<u64>,
}

impl Live {
    pub fn of(code: &Code<'_>) -> Self {
        let words = code.locals.len().div_ceil(BITS);
        let mut live = Self { words, bits: vec![0; words * code.operators.len()] };
        let next: Vec<Vec<usize>> = (0..code.operators.len()).map(|at| code.next(at)).collect();
        let mut bits = vec![0; words];
        let mut is_changed = true;
        while is_changed {
            is_changed = false;
            for at in (0..code.operators.len()).rev() {
                bits.fill(0);
                for next in &next[at] {
                    for (word, known) in bits.iter_mut().zip(live.before(*next)) {
                        *word |= known;
                    }
                }
                match code.operators[at] {
                    Operator::LocalGet { local_index } => bits[local_index as usize / BITS] |= bit(local_index),
                    Operator::LocalSet { local_index } | Operator::LocalTee { local_index } => {
                        bits[local_index as usize / BITS] &= !bit(local_index);
                    }
                    _ => {}
                }
                let known = &mut live.bits[at * words..(at + 1) * words];
                if known != bits {
                    known.copy_from_slice(&bits);
                    is_changed = true;
                }
            }
        }
        live
    }

    /// Whether the value that a local has before an instruction is read.
    pub fn has(&self, at: usize, local: u32) -> bool {
        self.before(at).get(local as usize / BITS).is_some_and(|word| word & bit(local) != 0)
    }

    fn before(&self, at: usize) -> &[u64] {
        self.bits.get(at * self.words..(at + 1) * self.words).unwrap_or_default()
    }
}

fn bit(local: u32) -> u64 {
    1 << (local as usize % BITS)
}
