//! Functions of each cell: map, casts, the order of cells, unpacking of bits.
use std::sync::Arc;

use brooklet_document::{CellType, Dimension, Tensor, TensorType};
use brooklet_kernel::sort_by;
use brooklet_task::Rejection;

use crate::tensor::budget::Budget;
use crate::tensor::result_type::{check_size, decay, mismatch};

/// The type of a function of each cell.
pub(crate) fn mapped_type(tensor_type: &TensorType) -> TensorType {
    TensorType { cell: decay(tensor_type.cell), dimensions: tensor_type.dimensions.clone() }
}

/// `function` of each cell, rounded to the cell type of `result`, which has the dimensions of `tensor`.
pub(crate) fn map(
    tensor: &Tensor,
    result: &Arc<TensorType>,
    budget: &Budget,
    mut function: impl FnMut(f64) -> f64,
) -> Result<Tensor, Rejection> {
    budget.take(tensor.cells.len(), 1)?;
    let cells = tensor.cells.iter().map(|cell| result.cell.round(function(*cell))).collect();
    Ok(Tensor { tensor_type: result.clone(), addresses: tensor.addresses.clone(), cells })
}

/// The place of each cell when all are ordered: 0 for the first, equal ones in the order of cells, NaN last.
pub(crate) fn cell_order(
    tensor: &Tensor,
    result: &Arc<TensorType>,
    is_descending: bool,
    budget: &Budget,
) -> Result<Tensor, Rejection> {
    budget.take(tensor.cells.len(), 1)?;
    let mut order: Vec<usize> = (0..tensor.cells.len()).collect();
    sort_by(&mut order, |a, b| {
        let (a, b) = (tensor.cells[*a], tensor.cells[*b]);
        let values = if is_descending { b.partial_cmp(&a) } else { a.partial_cmp(&b) };
        values.unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
    });
    let mut cells = vec![0.0; tensor.cells.len()];
    for (place, cell) in order.into_iter().enumerate() {
        cells[cell] = result.cell.round(place as f64);
    }
    Ok(Tensor { tensor_type: result.clone(), addresses: tensor.addresses.clone(), cells })
}

/// Makes eight cells of each int8 cell, along the innermost indexed dimension.
#[derive(Clone, Debug)]
pub(crate) struct UnpackPlan {
    pub(crate) result: Arc<TensorType>,
    is_big: bool,
}

impl UnpackPlan {
    pub(crate) fn new(tensor_type: &TensorType, cell: CellType, is_big: bool) -> Result<UnpackPlan, Rejection> {
        let mut dimensions = tensor_type.dimensions.clone();
        let innermost = dimensions.iter_mut().rev().find(|dimension| !dimension.is_mapped());
        let Some(Dimension { size: Some(size), .. }) = innermost.filter(|_| tensor_type.cell == CellType::Int8) else {
            let message =
                format!("unpack_bits takes a tensor of int8 cells with an indexed dimension, not {tensor_type}");
            return Err(mismatch(message));
        };
        *size = size.saturating_mul(8);
        let result = TensorType::new(cell, dimensions);
        check_size(&result)?;
        Ok(UnpackPlan { result: Arc::new(result), is_big })
    }

    /// Whether the most significant bit comes first.
    pub(crate) fn is_big(&self) -> bool {
        self.is_big
    }

    pub(crate) fn run(&self, tensor: &Tensor, budget: &Budget) -> Result<Tensor, Rejection> {
        budget.take(tensor.cells.len(), 8)?;
        let shift = |bit: u32| if self.is_big { 7 - bit } else { bit };
        let bits = |cell: &f64| {
            let byte = *cell as i64 as u8;
            (0..8).map(move |bit| f64::from((byte >> shift(bit)) & 1))
        };
        let cells = tensor.cells.iter().flat_map(bits).collect();
        Ok(Tensor { tensor_type: self.result.clone(), addresses: tensor.addresses.clone(), cells })
    }
}
