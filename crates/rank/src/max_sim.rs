//! Max-sim, `reduce(reduce(a * b, sum, x), max, rows)`, without the product it would go through: for each row of one
//! tensor the largest sum of its products with the rows of another, which are taken as they are stored.
//!
//! The answer has the bits of the functions one after the other: a product is rounded to its cell type, a sum is made in
//! the lanes of [`sum_of`](crate::tensor::sum_of) and rounded, and of the sums the first of equal ones counts.
use std::rc::Rc;

use std::sync::Arc;

use brooklet_document::{CellType, Tensor, TensorType};
use brooklet_kernel::{Cells, PRODUCT_LANES, sums_of_products};
use brooklet_task::Rejection;

use crate::evaluate::Run;
use crate::node::{MaxSimNode, Node, TensorKind, TensorNode};
use crate::operation::Binary;
use crate::program::StoredRows;
use crate::tensor::sum_of;

/// How the cells of stored rows are to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reading {
    /// As they are.
    Cells,
    /// Each as eight bits, as `unpack_bits` gives them: the most significant first, if so told.
    Bits(bool),
}

/// What is remembered while rows come in; kept from one document to the next.
#[derive(Debug, Default)]
pub(crate) struct MaxSim {
    /// The rows that stay, each padded to whole lanes, and the tensor they are of.
    kept: Vec<f32>,
    kept_of: Option<Rc<Tensor>>,
    size: usize,
    row: Vec<f32>,
    sums: Vec<f64>,
    best: Vec<f64>,
    rows: usize,
}

impl MaxSim {
    /// Begins with the rows of a tensor, of so many cells each.
    pub(crate) fn begin(&mut self, kept: &Rc<Tensor>, size: usize) {
        let is_known = self.size == size && self.kept_of.as_ref().is_some_and(|known| Rc::ptr_eq(known, kept));
        if !is_known {
            let padding = size.next_multiple_of(PRODUCT_LANES) - size;
            self.kept.clear();
            for row in kept.cells.chunks_exact(size) {
                self.kept.extend(row.iter().map(|cell| *cell as f32));
                self.kept.extend(std::iter::repeat_n(0.0, padding));
            }
            self.kept_of = Some(kept.clone());
            self.size = size;
        }
        self.rows = 0;
        self.best.clear();
        self.best.resize(kept.cells.len() / size, 0.0);
        self.sums.resize(self.best.len(), 0.0);
    }

    /// Takes stored rows in.
    pub(crate) fn stored(&mut self, stored: &StoredRows<'_>, reading: Reading, extreme: Binary) {
        let bytes = stored.size * stored.cell.bytes();
        for row in stored.bytes.chunks(stored.stride).filter_map(|row| row.get(..bytes)) {
            let mut cells = std::mem::take(&mut self.row);
            match reading {
                Reading::Cells => cells_of(stored.cell).read_floats(row, &mut cells),
                Reading::Bits(is_big) => {
                    cells.clear();
                    cells.extend(row.iter().flat_map(|byte| bits(*byte, is_big)));
                }
            }
            self.row = cells;
            self.take(extreme);
        }
    }

    /// Takes the rows of a tensor in.
    pub(crate) fn tensor(&mut self, tensor: &Tensor, extreme: Binary) {
        for row in tensor.cells.chunks_exact(self.size) {
            self.row.clear();
            self.row.extend(row.iter().map(|cell| *cell as f32));
            self.take(extreme);
        }
    }

    fn take(&mut self, extreme: Binary) {
        self.row.resize(self.size.next_multiple_of(PRODUCT_LANES), 0.0);
        sums_of_products(&self.kept, &self.row, &mut self.sums);
        let sums = self.best.iter_mut().zip(&self.sums).map(|(best, sum)| (best, f64::from(*sum as f32)));
        // The first of equal sums counts, and the first of all if it is no number.
        match extreme {
            _ if self.rows == 0 => sums.for_each(|(best, sum)| *best = sum),
            Binary::Min => sums.for_each(|(best, sum)| *best = if sum < *best { sum } else { *best }),
            _ => sums.for_each(|(best, sum)| *best = if *best < sum { sum } else { *best }),
        }
        self.rows += 1;
    }

    /// The largest sum for each row that stays; nothing if no row came in.
    pub(crate) fn result(&self) -> Vec<f64> {
        if self.rows == 0 { Vec::new() } else { self.best.clone() }
    }
}

impl Run<'_> {
    /// The tensor whose rows stay, and a cell for each of them, in their order; no cells if there is no other row.
    pub(crate) fn max_sim(&mut self, node: &MaxSimNode) -> Result<(Rc<Tensor>, Vec<f64>), Rejection> {
        let kept = self.tensor(&node.kept)?;
        let kept_rows = kept.cells.len() / node.size;
        if node.is_double {
            let rows = self.tensor(&node.reduced)?;
            self.scratch.budget.compute(kept_rows.saturating_mul(rows.cells.len()))?;
            let best = max_sim_of_doubles(&kept, &rows, node.size, node.extreme);
            return Ok((kept, best));
        }
        let stored = match self.stored(&node.reduced) {
            Some((feature, reading)) => self.max_sim_of_stored(node, &kept, feature, reading)?,
            None => None,
        };
        if let Some(best) = stored {
            return Ok((kept, best));
        }
        let rows = self.tensor(&node.reduced)?;
        self.scratch.budget.compute(kept_rows.saturating_mul(rows.cells.len()))?;
        // Taken only now: what is compared may be made of another max-sim.
        let max_sim = &mut self.scratch.max_sim;
        max_sim.begin(&kept, node.size);
        max_sim.tensor(&rows, node.extreme);
        Ok((kept, max_sim.result()))
    }

    /// The same of rows as they are stored; nothing if they are not.
    fn max_sim_of_stored(
        &mut self,
        node: &MaxSimNode,
        kept: &Rc<Tensor>,
        feature: usize,
        reading: Reading,
    ) -> Result<Option<Vec<f64>>, Rejection> {
        let (max_sim, budget) = (&mut self.scratch.max_sim, &self.scratch.budget);
        max_sim.begin(kept, node.size);
        let cells_of_one = kept.cells.len();
        let mut computed = Ok(());
        let is_shown = self.source.rows(feature, &mut |stored| {
            let rows = stored.bytes.len().div_ceil(stored.stride);
            if computed.is_ok() {
                computed = budget.compute(rows.saturating_mul(cells_of_one));
            }
            if computed.is_ok() {
                max_sim.stored(&stored, reading, node.extreme);
            }
        });
        computed?;
        Ok(is_shown.then(|| max_sim.result()))
    }

    /// The same as a tensor: at the addresses of the rows that stay.
    pub(crate) fn max_sim_tensor(&mut self, result: &Arc<TensorType>, node: &MaxSimNode) -> Result<Tensor, Rejection> {
        let (kept, cells) = self.max_sim(node)?;
        if cells.is_empty() {
            return Ok(Tensor::empty(result.clone()));
        }
        Ok(Tensor { tensor_type: result.clone(), addresses: kept.addresses.clone(), cells })
    }

    /// The feature whose stored rows these are, and how they are read; nothing if they are computed.
    fn stored(&self, node: &TensorNode) -> Option<(usize, Reading)> {
        match node.kind.as_ref() {
            TensorKind::Feature(feature) => Some((*feature, Reading::Cells)),
            TensorKind::Unpack(child, plan) => match child.kind.as_ref() {
                TensorKind::Feature(feature) => Some((*feature, Reading::Bits(plan.is_big()))),
                _ => None,
            },
            TensorKind::Memo(slot) => match &self.program.memos[*slot] {
                Node::Tensor(memo) => self.stored(memo),
                Node::Number(_) => None,
            },
            _ => None,
        }
    }
}

/// The same for products of doubles, of which neither they nor their sums are rounded.
fn max_sim_of_doubles(kept: &Tensor, rows: &Tensor, size: usize, extreme: Binary) -> Vec<f64> {
    let sum = |row: &[f64], other: &[f64]| sum_of(CellType::Double, size, |at| row[at] * other[at]);
    let best = |row: &[f64]| {
        let sums = rows.cells.chunks_exact(size).map(|other| sum(row, other));
        sums.reduce(|best, sum| extreme.apply(best, sum))
    };
    kept.cells.chunks_exact(size).filter_map(best).collect()
}

fn bits(byte: u8, is_big: bool) -> impl Iterator<Item = f32> {
    (0..8u32).map(move |bit| f32::from((byte >> if is_big { 7 - bit } else { bit }) & 1))
}

fn cells_of(cell: CellType) -> Cells {
    match cell {
        CellType::Double => Cells::Float64,
        CellType::Float => Cells::Float32,
        CellType::Bfloat16 => Cells::Bfloat16,
        CellType::Int8 => Cells::Int8,
    }
}
