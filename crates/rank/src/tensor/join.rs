//! `join`: the natural join of two tensors. Cells pair where they agree on the dimensions both have.
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use brooklet_document::{Dimension, Tensor, TensorType};
use brooklet_kernel::sort_by;
use brooklet_task::Rejection;

use super::layout::{Walk, mapped_positions, pick};
use crate::tensor::budget::Budget;
use crate::tensor::result_type::{decayed_together, mismatch, result_type};

/// The plan of a join of tensors of two types.
#[derive(Clone, Debug)]
pub(crate) struct JoinPlan {
    pub(crate) result: Arc<TensorType>,
    walk: Walk,
    /// Both operands have the result's dense layout.
    is_aligned: bool,
    mapped: Mapped,
}

/// The pairing of the subspaces of two operands.
#[derive(Clone, Debug)]
struct Mapped {
    /// For each mapped dimension of the result: whether the left operand has it, and its position there or right.
    labels: Vec<(bool, usize)>,
    /// Positions of the common mapped dimensions, left and right.
    common: [Vec<usize>; 2],
    /// Both operands have the same mapped dimensions.
    is_same: bool,
}

/// Two subspaces that pair, and the address of the result.
struct Pair {
    address: Vec<String>,
    left: usize,
    right: usize,
}

impl JoinPlan {
    pub(crate) fn new(left: &TensorType, right: &TensorType) -> Result<JoinPlan, Rejection> {
        let mut dimensions = left.dimensions.clone();
        for dimension in &right.dimensions {
            match left.dimensions.iter().find(|known| known.name == dimension.name) {
                Some(known) if known != dimension => {
                    return Err(mismatch(format!("{left} and {right} differ in dimension '{}'", dimension.name)));
                }
                Some(_) => {}
                None => dimensions.push(dimension.clone()),
            }
        }
        let result = result_type(decayed_together(left, right), dimensions)?;
        Ok(JoinPlan::into(result, left, right))
    }

    /// A join whose result has this type, which has all dimensions of both.
    pub(super) fn into(result: TensorType, left: &TensorType, right: &TensorType) -> JoinPlan {
        let walk = Walk::new(&result, left, right);
        let is_aligned = left.indexed().eq(result.indexed()) && right.indexed().eq(result.indexed());
        JoinPlan { mapped: Mapped::new(&result, left, right), result: Arc::new(result), walk, is_aligned }
    }

    pub(crate) fn run(
        &self,
        left: &Tensor,
        right: &Tensor,
        budget: &Budget,
        mut function: impl FnMut(f64, f64) -> f64,
    ) -> Result<Tensor, Rejection> {
        let size = self.result.dense_size();
        let pairs = self.mapped.pairs(left, right, size, budget)?;
        let mut cells = Vec::with_capacity(pairs.len() * size);
        let cell = self.result.cell;
        let sizes = [left.tensor_type.dense_size(), right.tensor_type.dense_size()];
        for pair in &pairs {
            let left = &left.cells[pair.left * sizes[0]..][..sizes[0]];
            let right = &right.cells[pair.right * sizes[1]..][..sizes[1]];
            if self.is_aligned {
                cells.extend(left.iter().zip(right).map(|(a, b)| cell.round(function(*a, *b))));
            } else {
                self.walk.each(|a, b| cells.push(cell.round(function(left[a], right[b]))));
            }
        }
        let addresses = pairs.into_iter().map(|pair| pair.address).collect();
        Ok(Tensor { tensor_type: self.result.clone(), addresses, cells })
    }

    /// The subspaces that pair: numbers left and right, and their common address, in the order of addresses.
    pub(super) fn pairs(
        &self,
        left: &Tensor,
        right: &Tensor,
        budget: &Budget,
    ) -> Result<Vec<(Vec<String>, usize, usize)>, Rejection> {
        let pairs = self.mapped.pairs(left, right, self.result.dense_size(), budget)?;
        Ok(pairs.into_iter().map(|pair| (pair.address, pair.left, pair.right)).collect())
    }
}

impl Mapped {
    fn new(result: &TensorType, left: &TensorType, right: &TensorType) -> Mapped {
        let position =
            |of: &TensorType, dimension: &Dimension| of.mapped().position(|known| known.name == dimension.name);
        let label = |dimension| match position(left, dimension) {
            Some(at) => (true, at),
            None => (false, position(right, dimension).unwrap_or(0)),
        };
        let has = |of: &TensorType, name: &str| of.mapped().any(|dimension| dimension.name == name);
        let common = [mapped_positions(left, |name| has(right, name)), mapped_positions(right, |name| has(left, name))];
        let is_same = left.mapped().eq(right.mapped());
        Mapped { labels: result.mapped().map(label).collect(), common, is_same }
    }

    /// All pairs, in the order of their addresses; `size` cells are accounted for each.
    fn pairs(&self, left: &Tensor, right: &Tensor, size: usize, budget: &Budget) -> Result<Vec<Pair>, Rejection> {
        if self.is_same {
            return same(left, right, size, budget);
        }
        let pair = |l: usize, r: usize| {
            let labels = self.labels.iter().map(|(is_left, at)| {
                if *is_left { left.addresses[l][*at].clone() } else { right.addresses[r][*at].clone() }
            });
            Pair { address: labels.collect(), left: l, right: r }
        };
        let mut partners: BTreeMap<Vec<String>, Vec<usize>> = BTreeMap::new();
        for (r, address) in right.addresses.iter().enumerate() {
            partners.entry(pick(address, &self.common[1])).or_default().push(r);
        }
        let found = left.addresses.iter().enumerate();
        let found =
            found.filter_map(|(l, address)| partners.get(&pick(address, &self.common[0])).map(|found| (l, found)));
        let matches: Vec<(usize, &Vec<usize>)> = found.collect();
        budget.take(matches.iter().map(|(_, found)| found.len()).sum(), size)?;
        let mut pairs: Vec<Pair> = matches
            .into_iter()
            .flat_map(|(l, found)| found.iter().map(move |r| (l, *r)))
            .map(|(l, r)| pair(l, r))
            .collect();
        sort_by(&mut pairs, |a, b| a.address.cmp(&b.address));
        Ok(pairs)
    }
}

/// Pairs of operands with the same mapped dimensions: both lists of addresses are sorted.
fn same(left: &Tensor, right: &Tensor, size: usize, budget: &Budget) -> Result<Vec<Pair>, Rejection> {
    let mut pairs = Vec::new();
    let (mut l, mut r) = (0, 0);
    while let (Some(a), Some(b)) = (left.addresses.get(l), right.addresses.get(r)) {
        match a.cmp(b) {
            Ordering::Less => l += 1,
            Ordering::Greater => r += 1,
            Ordering::Equal => {
                pairs.push(Pair { address: a.clone(), left: l, right: r });
                l += 1;
                r += 1;
            }
        }
    }
    budget.take(pairs.len(), size)?;
    Ok(pairs)
}
