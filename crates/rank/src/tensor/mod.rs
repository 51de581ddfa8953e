//! Tensor algebra: the functions of ranking.md §2, one file each. A function has a *plan*, made once from the types of
//! its operands (which is where types are checked), and runs it on values of those types.
use std::cell::Cell;

use brooklet_document::{CellType, Dimension, TensorType};
use brooklet_task::{Code, Rejection, limits};

mod cell_function;
mod concat;
mod join;
mod layout;
mod merge;
mod reduce;
mod rename;
mod slice;
mod subspaces;

pub(crate) use cell_function::{UnpackPlan, cell_order, map, mapped_type};
pub(crate) use concat::ConcatPlan;
pub(crate) use join::JoinPlan;
pub(crate) use merge::MergePlan;
pub(crate) use reduce::{Accumulator, ReducePlan};
pub(crate) use rename::RenamePlan;
pub(crate) use slice::{Place, SlicePlan};
pub(crate) use subspaces::{SubspacesPlan, subspace};

pub use reduce::Aggregator;

/// The cells an evaluation may still make. Shared by the functions that run within one another.
#[derive(Debug)]
pub(crate) struct Budget {
    left: Cell<usize>,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { left: Cell::new(limits::EVALUATION_CELLS) }
    }
}

impl Budget {
    /// Allows all cells again.
    pub(crate) fn refill(&self) {
        self.left.set(limits::EVALUATION_CELLS);
    }

    /// Accounts for one tensor of `subspaces` times `size` cells.
    pub(crate) fn take(&self, subspaces: usize, size: usize) -> Result<(), Rejection> {
        let cells = subspaces.saturating_mul(size);
        if cells > limits::INTERMEDIATE_CELLS {
            let message =
                format!("an intermediate tensor would have {cells} cells, {} are allowed", limits::INTERMEDIATE_CELLS);
            return Err(Rejection::new(Code::TooLarge, message));
        }
        if cells > self.left.get() {
            let message = format!("the tensors of one evaluation may have {} cells together", limits::EVALUATION_CELLS);
            return Err(Rejection::new(Code::TooLarge, message));
        }
        self.left.set(self.left.get() - cells);
        Ok(())
    }
}

/// Refuses a type with too many dimensions or too large a dense subspace.
pub(crate) fn check_size(tensor_type: &TensorType) -> Result<(), Rejection> {
    if tensor_type.dimensions.len() > limits::TENSOR_DIMENSIONS {
        let message = format!("a tensor may have {} dimensions: {tensor_type}", limits::TENSOR_DIMENSIONS);
        return Err(Rejection::new(Code::TooLarge, message));
    }
    let cells =
        tensor_type.indexed().try_fold(1usize, |cells, dimension| cells.checked_mul(dimension.size.unwrap_or(1)));
    if cells.is_none_or(|cells| cells > limits::INTERMEDIATE_CELLS) {
        let message = format!("a tensor may have {} cells: {tensor_type}", limits::INTERMEDIATE_CELLS);
        return Err(Rejection::new(Code::TooLarge, message));
    }
    Ok(())
}

/// The cell type of a function's result: bfloat16 and int8 are for storage only.
pub(crate) fn decayed(cell: CellType) -> CellType {
    if cell == CellType::Double { CellType::Double } else { CellType::Float }
}

/// The cell type of a function of two tensors. A number does not influence it.
pub(crate) fn decayed_together(left: &TensorType, right: &TensorType) -> CellType {
    let tensors = [left, right].into_iter().filter(|operand| !operand.dimensions.is_empty());
    let cells: Vec<CellType> = tensors.map(|operand| operand.cell).collect();
    if cells.is_empty() || cells.contains(&CellType::Double) { CellType::Double } else { CellType::Float }
}

/// The type with these dimensions; one without dimensions always has double cells.
pub(crate) fn result_type(cell: CellType, dimensions: Vec<Dimension>) -> Result<TensorType, Rejection> {
    if dimensions.is_empty() {
        return Ok(TensorType::scalar());
    }
    let tensor_type = TensorType::new(cell, dimensions);
    check_size(&tensor_type)?;
    Ok(tensor_type)
}

/// A rejection of types that do not fit.
pub(crate) fn mismatch(message: String) -> Rejection {
    Rejection::new(Code::InvalidApplication, message)
}
