//! `concat`: two tensors one after the other along an indexed dimension; other dimensions are joined.
use std::sync::Arc;

use brooklet_document::{CellType, Dimension, Tensor, TensorType};
use brooklet_task::Rejection;

use super::join::JoinPlan;
use super::layout::stride;
use crate::tensor::budget::Budget;
use crate::tensor::result_type::{decayed_together, mismatch, result_type};

/// The plan of a concatenation of tensors of two types.
#[derive(Clone, Debug)]
pub(crate) struct ConcatPlan {
    pub(crate) result: Arc<TensorType>,
    join: JoinPlan,
    /// Of each dense dimension of the result: its size, and the step along it left and right.
    steps: Vec<(usize, [usize; 2])>,
    /// Position of the dimension among them, and how far the left operand reaches along it.
    along: (usize, usize),
}

impl ConcatPlan {
    /// An operand without the dimension has size 1 along it. Where the operands' sizes differ in another indexed
    /// dimension the smaller counts.
    pub(crate) fn new(left: &TensorType, right: &TensorType, name: &str) -> Result<ConcatPlan, Rejection> {
        let (left_size, right_size) = (size_along(left, name)?, size_along(right, name)?);
        let mut dimensions = vec![Dimension { name: name.to_owned(), size: left_size.checked_add(right_size) }];
        for dimension in left.dimensions.iter().chain(&right.dimensions).filter(|dimension| dimension.name != name) {
            match dimensions.iter_mut().find(|known| known.name == dimension.name) {
                Some(known) if known.is_mapped() != dimension.is_mapped() => {
                    return Err(mismatch(format!("{left} and {right} differ in dimension '{}'", dimension.name)));
                }
                Some(known) => known.size = known.size.min(dimension.size),
                None => dimensions.push(dimension.clone()),
            }
        }
        let result = result_type(cell_type(left, right), dimensions)?;
        let steps = result.indexed().map(|dimension| {
            let step = |operand| stride(operand, &dimension.name).unwrap_or(0);
            (dimension.size.unwrap_or(1), [step(left), step(right)])
        });
        let along = result.indexed().position(|dimension| dimension.name == name).unwrap_or(0);
        Ok(ConcatPlan {
            steps: steps.collect(),
            along: (along, left_size),
            join: JoinPlan::into(result.clone(), left, right),
            result: Arc::new(result),
        })
    }

    pub(crate) fn run(&self, left: &Tensor, right: &Tensor, budget: &Budget) -> Result<Tensor, Rejection> {
        let pairs = self.join.pairs(left, right, budget)?;
        let size = self.result.dense_size();
        let sizes = [left.tensor_type.dense_size(), right.tensor_type.dense_size()];
        let mut cells = Vec::with_capacity(pairs.len() * size);
        for (_, l, r) in &pairs {
            let subspaces = [&left.cells[l * sizes[0]..][..sizes[0]], &right.cells[r * sizes[1]..][..sizes[1]]];
            cells.extend((0..size).map(|cell| self.result.cell.round(self.cell(cell, subspaces))));
        }
        let addresses = pairs.into_iter().map(|(address, ..)| address).collect();
        Ok(Tensor { tensor_type: self.result.clone(), addresses, cells })
    }

    /// The cell at an offset of the result's dense subspace.
    fn cell(&self, mut offset: usize, subspaces: [&[f64]; 2]) -> f64 {
        let mut offsets = [0, 0];
        let mut side = 0;
        for (dimension, (size, steps)) in self.steps.iter().enumerate().rev() {
            let mut coordinate = offset % size;
            offset /= size;
            if dimension == self.along.0 && coordinate >= self.along.1 {
                side = 1;
                coordinate -= self.along.1;
            }
            offsets[0] += coordinate * steps[0];
            offsets[1] += coordinate * steps[1];
        }
        subspaces[side][offsets[side]]
    }
}

fn size_along(tensor_type: &TensorType, name: &str) -> Result<usize, Rejection> {
    match tensor_type.dimensions.iter().find(|dimension| dimension.name == name) {
        Some(dimension) => dimension.size.ok_or_else(|| {
            mismatch(format!("{tensor_type} cannot be concatenated along its mapped dimension '{name}'"))
        }),
        None => Ok(1),
    }
}

/// The operands' cell type if they agree; a number does not influence it.
fn cell_type(left: &TensorType, right: &TensorType) -> CellType {
    match (left.dimensions.is_empty(), right.dimensions.is_empty()) {
        (false, true) => left.cell,
        (true, false) => right.cell,
        (false, false) if left.cell == right.cell => left.cell,
        _ => decayed_together(left, right),
    }
}
