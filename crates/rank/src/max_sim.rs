//! Max-sim, `reduce(reduce(a * b, sum, x), max, rows)`, without the product it would go through: for each row of one
//! tensor the largest sum of its products with the rows of another, which are taken as they are stored.
//!
//! The answer has the bits of the functions one after the other: a product is rounded to its cell type, a sum is made in
//! the lanes of [`sum_of`](crate::tensor::sum_of) and rounded, and of the sums the first of equal ones counts. Where
//! labels of the other tensor stay, this is done for the rows of each label: a *group*.
pub(crate) mod best;

use std::rc::Rc;
use std::sync::Arc;

use brooklet_document::{CellType, Tensor, TensorType};
use brooklet_kernel::sort_by;
use brooklet_task::Rejection;

use crate::evaluate::Run;
use crate::node::{LabelsPlan, MaxSimNode, Node, TensorKind, TensorNode};
use crate::tensor::sum::sum_of;

use best::{Groups, Reading, keep_best};

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
            && let Some((feature, reading)) = self.stored_place(&node.reduced)
            && let Some(groups) = self.stored_groups(node, kept.cells.len() / node.size, feature)?
            && self.max_sim_of_stored(node, &kept, (feature, reading), &groups)?
        {
            return Ok((kept, std::mem::take(&mut self.scratch.max_sim.best), groups));
        }
        let rows = self.tensor(&node.reduced)?;
        let kept_rows = kept.cells.len() / node.size;
        let mut groups = Groups::one();
        if let Some(plan) = &node.labels {
            groups = Groups::new(plan.rows);
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
        let mut groups = Groups::new(plan.rows);
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
                max_sim.take_stored(&stored, reading, node.extreme, groups);
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
        sort_by(&mut found, |(a, _), (b, _)| a.cmp(b));
        let mut tensor = Tensor { tensor_type: result.clone(), addresses: Vec::new(), cells: Vec::new() };
        for (address, cells) in found {
            tensor.addresses.push(address);
            tensor.cells.extend_from_slice(cells);
        }
        Ok(tensor)
    }

    /// The feature whose stored rows these are, and how they are read; nothing if they are computed.
    fn stored_place(&self, node: &TensorNode) -> Option<(usize, Reading)> {
        match node.kind.as_ref() {
            TensorKind::Feature(feature) => Some((*feature, Reading::Cells)),
            TensorKind::Unpack(child, plan) => match child.kind.as_ref() {
                TensorKind::Feature(feature) => Some((*feature, Reading::Bits(plan.is_big()))),
                _ => None,
            },
            TensorKind::Memo(slot) => match &self.program.memos[*slot] {
                Node::Tensor(memo) => self.stored_place(memo),
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
