//! Values of tensors.
use std::sync::Arc;

use super::tensor_type::TensorType;

/// A tensor value.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Its type.
    pub tensor_type: Arc<TensorType>,
    /// For each subspace the labels of the mapped dimensions, in dimension order. Sorted, each address once.
    pub addresses: Vec<Vec<String>>,
    /// The cells: `dense_size` per subspace, in the order of `addresses`.
    pub cells: Vec<f64>,
}

impl Tensor {
    /// The value without any cell set: zeros for a dense type, no subspace for one with mapped dimensions.
    #[must_use]
    pub fn empty(tensor_type: Arc<TensorType>) -> Tensor {
        if tensor_type.mapped().next().is_some() {
            return Tensor { tensor_type, addresses: Vec::new(), cells: Vec::new() };
        }
        let cells = vec![0.0; tensor_type.dense_size()];
        Tensor { tensor_type, addresses: vec![Vec::new()], cells }
    }

    /// A number as a tensor without dimensions.
    #[must_use]
    pub fn scalar(value: f64) -> Tensor {
        Tensor { tensor_type: Arc::new(TensorType::scalar()), addresses: vec![Vec::new()], cells: vec![value] }
    }

    /// Subspaces in the order of `addresses`: labels and dense cells.
    pub fn subspaces(&self) -> impl Iterator<Item = (&[String], &[f64])> {
        let size = self.tensor_type.dense_size().max(1);
        self.addresses.iter().map(Vec::as_slice).zip(self.cells.chunks(size))
    }
}
