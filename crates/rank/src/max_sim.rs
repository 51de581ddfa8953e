//! Max-sim, `reduce(reduce(a * b, sum, x), max, rows)`, without the product it would go through: for each row of one
//! tensor the largest sum of its products with the rows of another, which are taken as they are stored.
//!
//! The answer has the bits of the functions one after the other: a product is rounded to its cell type, a sum is made in
//! the lanes of [`sum_of`](crate::tensor::sum_of) and rounded, and of the sums the first of equal ones counts. Where
//! labels of the other tensor stay, this is done for the rows of each label: a *group*.
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use brooklet_document::{CellType, Tensor, TensorType};
use brooklet_kernel::{Cells, PRODUCT_LANES, sums_of_products};
use brooklet_task::{Rejection, limits};

use crate::evaluate::Run;
use crate::node::{LabelsPlan, MaxSimNode, Node, TensorKind, TensorNode};
use crate::operation::Binary;
use crate::program::StoredRows;
use crate::tensor::budget::Budget;
use crate::tensor::sum::sum_of;

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
    /// For each group a cell for each row that stays.
    best: Vec<f64>,
    /// For each group whether a row came in.
    begun: Vec<bool>,
    /// Rows that came in.
    rows: usize,
}

/// Which rows belong together.
#[derive(Debug, Default)]
struct Groups {
    /// By address of the tensor; all of the first group, if there is nothing.
    of_addresses: Vec<u32>,
    /// Rows of one address.
    rows: usize,
    /// The labels of each group.
    keys: Vec<Vec<String>>,
    known: BTreeMap<Vec<String>, u32>,
}

impl Groups {
    /// All rows together.
    fn one() -> Groups {
        Groups { keys: vec![Vec::new()], rows: 1, ..Groups::default() }
    }

    /// The next address. So many cells stay for each group.
    fn take(&mut self, address: &[&str], plan: &LabelsPlan, cells: usize, budget: &Budget) -> Result<(), Rejection> {
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
    fn of_row(&self, row: usize) -> usize {
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
    fn stored(&mut self, stored: &StoredRows<'_>, reading: Reading, extreme: Binary, groups: &Groups) {
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
    fn tensor(&mut self, tensor: &Tensor, extreme: Binary, groups: &Groups) {
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
fn keep_best(best: &mut [f64], begun: &mut bool, sums: impl Iterator<Item = f64>, extreme: Binary) {
    let sums = best.iter_mut().zip(sums);
    match extreme {
        _ if !std::mem::replace(begun, true) => sums.for_each(|(best, sum)| *best = sum),
        Binary::Min => sums.for_each(|(best, sum)| *best = if sum < *best { sum } else { *best }),
        _ => sums.for_each(|(best, sum)| *best = if *best < sum { sum } else { *best }),
    }
}

impl Run<'_> {
    /// The tensor whose rows stay, and a cell for each of them, in their order; no cells if there is no other row.
    pub(crate) fn max_sim(&mut self, node: &MaxSimNode) -> Result<(Rc<Tensor>, Vec<f64>), Rejection> {
        let (kept, best, _) = self.max_sim_of_groups(node)?;
        Ok((kept, best))
    }

    /// The same for each group, one after the other, and the labels of the groups.
    fn max_sim_of_groups(&mut self, node: &MaxSimNode) -> Result<(Rc<Tensor>, Vec<f64>, Groups), Rejection> {
        let kept = self.tensor(&node.kept)?;
        if !node.is_double
            && let Some((feature, reading)) = self.stored(&node.reduced)
            && let Some(groups) = self.stored_groups(node, kept.cells.len() / node.size, feature)?
            && self.max_sim_of_stored(node, &kept, (feature, reading), &groups)?
        {
            return Ok((kept, std::mem::take(&mut self.scratch.max_sim.best), groups));
        }
        let rows = self.tensor(&node.reduced)?;
        let kept_rows = kept.cells.len() / node.size;
        let mut groups = Groups::one();
        if let Some(plan) = &node.labels {
            groups = Groups { rows: plan.rows, ..Groups::default() };
            for address in &rows.addresses {
                let address: Vec<&str> = address.iter().map(String::as_str).collect();
                groups.take(&address, plan, kept_rows, &self.scratch.budget)?;
            }
        }
        let products = kept_rows.saturating_mul(rows.cells.len());
        if node.is_double {
            self.scratch.budget.compute(products)?;
            let best = max_sim_of_doubles(&kept, &rows, node, &groups);
            return Ok((kept, best, groups));
        }
        self.scratch.budget.multiply(products)?;
        // Taken only now: what is compared may be made of another max-sim.
        let max_sim = &mut self.scratch.max_sim;
        max_sim.begin(&kept, node.size);
        max_sim.tensor(&rows, node.extreme, &groups);
        Ok((kept, std::mem::take(&mut max_sim.best), groups))
    }

    /// The groups of rows as they are stored; nothing if they are not.
    fn stored_groups(&mut self, node: &MaxSimNode, cells: usize, feature: usize) -> Result<Option<Groups>, Rejection> {
        let Some(plan) = &node.labels else { return Ok(Some(Groups::one())) };
        let mut groups = Groups { rows: plan.rows, ..Groups::default() };
        let budget = self.scratch.budget.clone();
        let mut taken = Ok(());
        let is_shown = self.source.labels(feature, &mut |address| {
            if taken.is_ok() {
                taken = groups.take(address, plan, cells, &budget);
            }
        });
        taken?;
        Ok(is_shown.then_some(groups))
    }

    /// Takes in rows as they are stored; whether they are.
    fn max_sim_of_stored(
        &mut self,
        node: &MaxSimNode,
        kept: &Rc<Tensor>,
        (feature, reading): (usize, Reading),
        groups: &Groups,
    ) -> Result<bool, Rejection> {
        let (max_sim, budget) = (&mut self.scratch.max_sim, &self.scratch.budget);
        max_sim.begin(kept, node.size);
        let cells_of_one = kept.cells.len();
        let mut computed = Ok(());
        let is_shown = self.source.rows(feature, &mut |stored| {
            let rows = stored.bytes.len().div_ceil(stored.stride);
            if computed.is_ok() {
                computed = budget.multiply(rows.saturating_mul(cells_of_one));
            }
            if computed.is_ok() {
                max_sim.stored(&stored, reading, node.extreme, groups);
            }
        });
        computed?;
        Ok(is_shown)
    }

    /// The same as a tensor: at the addresses of the rows that stay.
    pub(crate) fn max_sim_tensor(&mut self, result: &Arc<TensorType>, node: &MaxSimNode) -> Result<Tensor, Rejection> {
        if let Some(labels) = &node.labels {
            return self.max_sim_by_label(result, node, labels);
        }
        let (kept, cells) = self.max_sim(node)?;
        if cells.is_empty() {
            return Ok(Tensor::empty(result.clone()));
        }
        Ok(Tensor { tensor_type: result.clone(), addresses: kept.addresses.clone(), cells })
    }

    /// The same for each label that stays, at the addresses of both.
    fn max_sim_by_label(
        &mut self,
        result: &Arc<TensorType>,
        node: &MaxSimNode,
        plan: &LabelsPlan,
    ) -> Result<Tensor, Rejection> {
        let (kept, best, groups) = self.max_sim_of_groups(node)?;
        let (subspaces, size) = (kept.addresses.len(), result.dense_size());
        self.scratch.budget.take(groups.keys.len().saturating_mul(subspaces), size)?;
        if best.is_empty() {
            return Ok(Tensor::empty(result.clone()));
        }
        let mut found = Vec::with_capacity(groups.keys.len() * subspaces);
        for (key, cells) in groups.keys.iter().zip(best.chunks(subspaces * size)) {
            for (address, cells) in kept.addresses.iter().zip(cells.chunks(size)) {
                let label = |(stays, at): &(bool, usize)| if *stays { key[*at].clone() } else { address[*at].clone() };
                found.push((plan.address.iter().map(label).collect::<Vec<String>>(), cells));
            }
        }
        found.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let mut tensor = Tensor { tensor_type: result.clone(), addresses: Vec::new(), cells: Vec::new() };
        for (address, cells) in found {
            tensor.addresses.push(address);
            tensor.cells.extend_from_slice(cells);
        }
        Ok(tensor)
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
fn max_sim_of_doubles(kept: &Tensor, rows: &Tensor, node: &MaxSimNode, groups: &Groups) -> Vec<f64> {
    let cells = kept.cells.len() / node.size;
    let (mut best, mut begun) = (Vec::new(), Vec::new());
    for (number, other) in rows.cells.chunks_exact(node.size).enumerate() {
        let group = groups.of_row(number);
        if begun.len() <= group {
            begun.resize(group + 1, false);
            best.resize(begun.len() * cells, 0.0);
        }
        let sum = |row: &[f64]| sum_of(CellType::Double, node.size, |at| row[at] * other[at]);
        let sums = kept.cells.chunks_exact(node.size).map(sum);
        keep_best(&mut best[group * cells..][..cells], &mut begun[group], sums, node.extreme);
    }
    best
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
