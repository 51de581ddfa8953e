//! Functions of dense subspaces: `map_subspaces` and the parts `filter_subspaces` keeps.
use std::sync::Arc;

use brooklet_document::{CellType, Tensor, TensorType};
use brooklet_task::{Code, Rejection};

use crate::tensor::result_type::{decay, mismatch, result_type};

/// How to make tensors of a type from functions of their subspaces.
#[derive(Clone, Debug)]
pub(crate) struct SubspacesPlan {
    pub(crate) result: Arc<TensorType>,
}

impl SubspacesPlan {
    /// `inner` is the type of the function's result: its dimensions replace the indexed ones, and it has none mapped.
    pub(crate) fn new(outer: &TensorType, inner: &TensorType) -> Result<SubspacesPlan, Rejection> {
        if inner.mapped().next().is_some() {
            return Err(mismatch(format!("the function of a subspace must yield dense cells, not {inner}")));
        }
        let has = |name: &str| inner.dimensions.iter().any(|dimension| dimension.name == name);
        if let Some(dimension) = outer.mapped().find(|dimension| has(&dimension.name)) {
            return Err(mismatch(format!(
                "the function of a subspace yields the dimension '{}' again",
                dimension.name
            )));
        }
        let cell = if inner.dimensions.is_empty() { decay(outer.cell) } else { inner.cell };
        let dimensions = outer.mapped().chain(&inner.dimensions).cloned().collect();
        Ok(SubspacesPlan { result: Arc::new(result_type(cell, dimensions)?) })
    }

    /// The type of a subspace of `outer`.
    pub(crate) fn subspace_type(outer: &TensorType) -> TensorType {
        let dimensions: Vec<_> = outer.indexed().cloned().collect();
        TensorType { cell: if dimensions.is_empty() { CellType::Double } else { outer.cell }, dimensions }
    }

    /// The tensor with these cells, `dense_size` of the result for each of `addresses`.
    pub(crate) fn assemble(&self, addresses: Vec<Vec<String>>, mut cells: Vec<f64>) -> Result<Tensor, Rejection> {
        if cells.len() != addresses.len() * self.result.dense_size() {
            return Err(Rejection::new(Code::Internal, "a function of a subspace yielded another size than it should"));
        }
        cells.iter_mut().for_each(|cell| *cell = self.result.cell.round(*cell));
        Ok(Tensor { tensor_type: self.result.clone(), addresses, cells })
    }
}

/// The subspace of this number, as a tensor of its own.
pub(crate) fn subspace(tensor: &Tensor, subspace_type: &Arc<TensorType>, number: usize) -> Tensor {
    let size = subspace_type.dense_size();
    let cells = tensor.cells[number * size..][..size].to_vec();
    Tensor { tensor_type: subspace_type.clone(), addresses: vec![Vec::new()], cells }
}
