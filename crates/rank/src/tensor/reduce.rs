//! `reduce`: the cells along some dimensions, aggregated.
use std::collections::BTreeMap;
use std::sync::Arc;

use brooklet_document::{Tensor, TensorType};
use brooklet_kernel::sort_by;
use brooklet_task::Rejection;

use super::layout::{Walk, mapped_positions, pick};
use crate::operation::Binary;
use crate::tensor::budget::Budget;
use crate::tensor::result_type::{decay, mismatch, result_type};
use crate::tensor::sum::sum_of;

/// What is made of several cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregator {
    /// Arithmetic mean.
    Avg,
    /// Number of cells.
    Count,
    /// Largest; the first if it is NaN.
    Max,
    /// The middle one, or the mean of the two in the middle; NaN if any is.
    Median,
    /// Smallest; the first if it is NaN.
    Min,
    /// Product.
    Prod,
    /// Sum.
    Sum,
}

impl Aggregator {
    pub(crate) const ALL: [Aggregator; 7] = [
        Aggregator::Avg,
        Aggregator::Count,
        Aggregator::Max,
        Aggregator::Median,
        Aggregator::Min,
        Aggregator::Prod,
        Aggregator::Sum,
    ];

    /// Its name in an expression.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Aggregator::Avg => "avg",
            Aggregator::Count => "count",
            Aggregator::Max => "max",
            Aggregator::Median => "median",
            Aggregator::Min => "min",
            Aggregator::Prod => "prod",
            Aggregator::Sum => "sum",
        }
    }

    /// The aggregator of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Aggregator> {
        Aggregator::ALL.into_iter().find(|aggregator| aggregator.name() == name)
    }
}

/// Cells aggregated so far. Without any, the result is 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct Accumulator {
    count: usize,
    value: f64,
    /// All cells, for the median.
    all: Vec<f64>,
}

impl Accumulator {
    /// Takes one more cell in.
    #[inline]
    pub(crate) fn add(&mut self, aggregator: Aggregator, cell: f64) {
        self.count += 1;
        if self.count == 1 && aggregator != Aggregator::Median {
            self.value = cell;
            return;
        }
        match aggregator {
            Aggregator::Avg | Aggregator::Sum => self.value += cell,
            Aggregator::Prod => self.value *= cell,
            Aggregator::Max => self.value = Binary::Max.apply(self.value, cell),
            Aggregator::Min => self.value = Binary::Min.apply(self.value, cell),
            Aggregator::Median => self.all.push(cell),
            Aggregator::Count => {}
        }
    }

    /// The result.
    pub(crate) fn result(mut self, aggregator: Aggregator) -> f64 {
        match aggregator {
            Aggregator::Count => self.count as f64,
            _ if self.count == 0 => 0.0,
            Aggregator::Avg => self.value / self.count as f64,
            Aggregator::Median if self.all.iter().any(|cell| cell.is_nan()) => f64::NAN,
            Aggregator::Median => {
                sort_by(&mut self.all, f64::total_cmp);
                let middle = self.all.len() / 2;
                if self.all.len() % 2 == 1 { self.all[middle] } else { (self.all[middle - 1] + self.all[middle]) / 2.0 }
            }
            _ => self.value,
        }
    }
}

/// How to reduce tensors of a type to one with dimensions left.
#[derive(Clone, Debug)]
pub(crate) struct ReducePlan {
    pub(crate) result: Arc<TensorType>,
    aggregator: Aggregator,
    /// Positions of the mapped dimensions that stay.
    kept: Vec<usize>,
    walk: Walk,
    /// For a sum: how many neighbouring cells become one, if those that do lie together.
    run: Option<usize>,
}

impl ReducePlan {
    /// Without dimensions named, all are reduced. The result is a number if none is left.
    pub(crate) fn new(
        tensor_type: &TensorType,
        aggregator: Aggregator,
        names: &[String],
    ) -> Result<ReducePlan, Rejection> {
        let has = |name: &String| tensor_type.dimensions.iter().any(|dimension| dimension.name == *name);
        if let Some(name) = names.iter().find(|name| !has(name)) {
            return Err(mismatch(format!("{tensor_type} has no dimension '{}' to reduce", Rejection::quote(name))));
        }
        let is_kept = |name: &str| !names.is_empty() && !names.iter().any(|reduced| reduced == name);
        let dimensions = tensor_type.dimensions.iter().filter(|dimension| is_kept(&dimension.name)).cloned().collect();
        let result = result_type(decay(tensor_type.cell), dimensions)?;
        let walk = Walk::new(tensor_type, tensor_type, &result);
        let stay = tensor_type.indexed().zip(result.indexed()).take_while(|(before, after)| before == after).count();
        let is_together = aggregator == Aggregator::Sum && stay == result.indexed().count();
        let run = is_together.then(|| tensor_type.dense_size() / result.dense_size());
        Ok(ReducePlan { kept: mapped_positions(tensor_type, is_kept), walk, run, aggregator, result: Arc::new(result) })
    }

    /// What is made of cells.
    pub(crate) fn aggregator(&self) -> Aggregator {
        self.aggregator
    }

    #[inline(never)]
    pub(crate) fn run(&self, tensor: &Tensor, budget: &Budget) -> Result<Tensor, Rejection> {
        let mut groups: BTreeMap<Vec<String>, usize> = BTreeMap::new();
        if self.result.mapped().next().is_none() {
            groups.insert(Vec::new(), 0);
        }
        let of_subspace: Vec<usize> = tensor
            .addresses
            .iter()
            .map(|address| {
                let next = groups.len();
                *groups.entry(pick(address, &self.kept)).or_insert(next)
            })
            .collect();
        let (size, size_reduced) = (tensor.tensor_type.dense_size(), self.result.dense_size());
        budget.take(groups.len(), size_reduced)?;
        let mut accumulators = vec![Accumulator::default(); groups.len() * size_reduced];
        for (cells, group) in tensor.cells.chunks(size).zip(of_subspace) {
            let accumulators = &mut accumulators[group * size_reduced..][..size_reduced];
            match self.run {
                Some(run) if run > 1 => {
                    for (accumulator, cells) in accumulators.iter_mut().zip(cells.chunks(run)) {
                        let sum = sum_of(tensor.tensor_type.cell, run, |at| cells[at]);
                        accumulator.add(self.aggregator, sum);
                    }
                }
                _ => self.walk.each(|from, to| accumulators[to].add(self.aggregator, cells[from])),
            }
        }
        let mut cells = Vec::with_capacity(accumulators.len());
        for group in groups.values() {
            let accumulators = &mut accumulators[group * size_reduced..][..size_reduced];
            let results =
                accumulators.iter_mut().map(|accumulator| std::mem::take(accumulator).result(self.aggregator));
            cells.extend(results.map(|result| self.result.cell.round(result)));
        }
        Ok(Tensor { tensor_type: self.result.clone(), addresses: groups.into_keys().collect(), cells })
    }
}
