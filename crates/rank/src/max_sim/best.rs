//! The largest sum of products of each row, as rows come in.
use std::collections::BTreeMap;
use std::rc::Rc;

use brooklet_document::{CellType, Tensor};
use brooklet_kernel::{Cells, PRODUCT_LANES, sums_of_products};
use brooklet_task::{Rejection, limits};

use crate::node::LabelsPlan;
use crate::operation::Binary;
use crate::program::StoredRows;
use crate::tensor::budget::Budget;

/// The form of the cells of stored rows.
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
    /// A cell for each row that stays, group after group.
    pub(crate) best: Vec<f64>,
    /// Whether a row came in, of each group.
    begun: Vec<bool>,
    /// Rows that came in.
    rows: usize,
}

/// The groups of rows that belong together.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// By address of the tensor; all of the first group, if there is nothing.
    of_addresses: Vec<u32>,
    /// Rows of one address.
    rows: usize,
    /// The labels of each group.
    pub(crate) keys: Vec<Vec<String>>,
    known: BTreeMap<Vec<String>, u32>,
}

impl Groups {
    /// No group yet; of each address there are so many rows.
    pub(crate) fn new(rows: usize) -> Groups {
        Groups { rows, ..Groups::default() }
    }

    /// All rows together.
    pub(crate) fn one() -> Groups {
        Groups { keys: vec![Vec::new()], rows: 1, ..Groups::default() }
    }

    /// The next address. So many cells stay for each group.
    pub(crate) fn take(
        &mut self,
        address: &[&str],
        plan: &LabelsPlan,
        cells: usize,
        budget: &Budget,
    ) -> Result<(), Rejection> {
        let last = self.of_addresses.last().copied();
        let is_last = |group: &u32| {
            let key = &self.keys[*group as usize];
            key.iter().zip(&plan.stay).all(|(label, at)| label == address[*at])
        };
        if let Some(group) = last.filter(is_last) {
            self.of_addresses.push(group);
            return Ok(());
        }
        let key: Vec<String> = plan.stay.iter().map(|at| address[*at].to_owned()).collect();
        let next = self.keys.len();
        let group = *self.known.entry(key.clone()).or_insert(next as u32);
        if group as usize == next {
            self.keys.push(key);
            // Refused before memory is taken for it.
            if self.keys.len().saturating_mul(cells) > limits::INTERMEDIATE_CELLS {
                return budget.take(self.keys.len(), cells);
            }
        }
        self.of_addresses.push(group);
        Ok(())
    }

    /// The group of a row.
    pub(crate) fn of_row(&self, row: usize) -> usize {
        self.of_addresses.get(row / self.rows).map_or(0, |group| *group as usize)
    }
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
        self.begun.clear();
        self.sums.resize(kept.cells.len() / size, 0.0);
    }

    /// Takes stored rows in.
    pub(crate) fn take_stored(&mut self, stored: &StoredRows<'_>, reading: Reading, extreme: Binary, groups: &Groups) {
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
            self.take(extreme, groups);
        }
    }

    /// Takes the rows of a tensor in.
    pub(crate) fn tensor(&mut self, tensor: &Tensor, extreme: Binary, groups: &Groups) {
        for row in tensor.cells.chunks_exact(self.size) {
            self.row.clear();
            self.row.extend(row.iter().map(|cell| *cell as f32));
            self.take(extreme, groups);
        }
    }

    fn take(&mut self, extreme: Binary, groups: &Groups) {
        self.row.resize(self.size.next_multiple_of(PRODUCT_LANES), 0.0);
        sums_of_products(&self.kept, &self.row, &mut self.sums);
        let group = groups.of_row(self.rows);
        self.rows += 1;
        let cells = self.sums.len();
        if self.begun.len() <= group {
            self.begun.resize(group + 1, false);
            self.best.resize(self.begun.len() * cells, 0.0);
        }
        let sums = self.sums.iter().map(|sum| f64::from(*sum as f32));
        keep_best(&mut self.best[group * cells..][..cells], &mut self.begun[group], sums, extreme);
    }
}

/// Takes sums of a row in. The first of equal sums counts, and the first of all if it is no number.
pub(crate) fn keep_best(best: &mut [f64], begun: &mut bool, sums: impl Iterator<Item = f64>, extreme: Binary) {
    let sums = best.iter_mut().zip(sums);
    match extreme {
        _ if !std::mem::replace(begun, true) => sums.for_each(|(best, sum)| *best = sum),
        Binary::Min => sums.for_each(|(best, sum)| *best = if sum < *best { sum } else { *best }),
        _ => sums.for_each(|(best, sum)| *best = if *best < sum { sum } else { *best }),
    }
}

pub(crate) fn bits(byte: u8, is_big: bool) -> impl Iterator<Item = f32> {
    (0..8u32).map(move |bit| f32::from((byte >> if is_big { 7 - bit } else { bit }) & 1))
}

pub(crate) fn cells_of(cell: CellType) -> Cells {
    match cell {
        CellType::Double => Cells::Float64,
        CellType::Float => Cells::Float32,
        CellType::Bfloat16 => Cells::Bfloat16,
        CellType::Int8 => Cells::Int8,
    }
}
