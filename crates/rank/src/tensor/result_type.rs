//! Types of results, and of those that cannot be.

use brooklet_document::{CellType, Dimension, TensorType};
use brooklet_task::{Code, Rejection, limits};

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
pub(crate) fn decay(cell: CellType) -> CellType {
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
