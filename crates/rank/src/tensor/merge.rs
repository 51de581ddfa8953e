//! `merge`: all cells of two tensors of the same dimensions, a function of both where both have one.
use std::cmp::Ordering;
use std::sync::Arc;

use brooklet_document::{Tensor, TensorType};
use brooklet_task::Rejection;

use crate::tensor::budget::Budget;
use crate::tensor::result_type::{decayed_together, mismatch, result_type};

/// The plan of a merge of tensors of two types.
#[derive(Clone, Debug)]
pub(crate) struct MergePlan {
    pub(crate) result: Arc<TensorType>,
}

impl MergePlan {
    pub(crate) fn new(left: &TensorType, right: &TensorType) -> Result<MergePlan, Rejection> {
        if left.dimensions != right.dimensions {
            return Err(mismatch(format!("merge takes tensors of the same dimensions, not {left} and {right}")));
        }
        Ok(MergePlan { result: Arc::new(result_type(decayed_together(left, right), left.dimensions.clone())?) })
    }

    pub(crate) fn run(
        &self,
        left: &Tensor,
        right: &Tensor,
        budget: &Budget,
        mut function: impl FnMut(f64, f64) -> f64,
    ) -> Result<Tensor, Rejection> {
        budget.take(left.cells.len() + right.cells.len(), 1)?;
        let (cell, size) = (self.result.cell, self.result.dense_size());
        let mut merged = Tensor { tensor_type: self.result.clone(), addresses: Vec::new(), cells: Vec::new() };
        let (mut l, mut r) = (0, 0);
        loop {
            let order = match (left.addresses.get(l), right.addresses.get(r)) {
                (Some(a), Some(b)) => a.cmp(b),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return Ok(merged),
            };
            let (a, b) = (left.cells.iter().skip(l * size).take(size), right.cells.iter().skip(r * size).take(size));
            match order {
                Ordering::Less => merged.cells.extend(a.map(|a| cell.round(*a))),
                Ordering::Greater => merged.cells.extend(b.map(|b| cell.round(*b))),
                Ordering::Equal => merged.cells.extend(a.zip(b).map(|(a, b)| cell.round(function(*a, *b)))),
            }
            let from = if order == Ordering::Greater { &right.addresses[r] } else { &left.addresses[l] };
            merged.addresses.push(from.clone());
            l += usize::from(order != Ordering::Greater);
            r += usize::from(order != Ordering::Less);
        }
    }
}
