//! Values of tensors.
use std::sync::Arc;

use brooklet_task::limits::QUERY_TENSOR_CELLS;

use super::CellType;
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

    /// A dense tensor of these cells, as their digits say it; nothing where the type has mapped dimensions, another number of cells,
    /// or cells that digits of 32 bits do not stand for, and of a number, which is not given as digits.
    #[must_use]
    pub fn of_floats(tensor_type: &Arc<TensorType>, floats: &[f32]) -> Option<Tensor> {
        let fits = tensor_type.mapped().next().is_none()
            && !tensor_type.dimensions.is_empty()
            && tensor_type.cell != CellType::Int8
            && tensor_type.checked_dense_size() == Some(floats.len())
            && floats.len() <= QUERY_TENSOR_CELLS;
        if !fits {
            return None;
        }
        let mut cells: Vec<f64> = floats.iter().map(|float| f64::from(*float)).collect();
        tensor_type.cell.round_all(&mut cells);
        Some(Tensor { tensor_type: tensor_type.clone(), addresses: vec![Vec::new()], cells })
    }

    /// The subspace at a place in `addresses`: labels and dense cells.
    pub(crate) fn subspace(&self, at: usize) -> (&[String], &[f64]) {
        let size = self.tensor_type.dense_size().max(1);
        let end = self.cells.len().min((at + 1) * size);
        (&self.addresses[at], &self.cells[end.min(at * size)..end])
    }

    /// Subspaces in the order of `addresses`: labels and dense cells.
    pub fn subspaces(&self) -> impl Iterator<Item = (&[String], &[f64])> {
        let size = self.tensor_type.dense_size().max(1);
        self.addresses.iter().map(Vec::as_slice).zip(self.cells.chunks(size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::read_query_tensor;

    #[test]
    fn floats_are_what_their_digits_are() {
        let floats = [0.0, -1.5, 3.000_000_2e7, f32::MIN_POSITIVE, -0.0, f32::INFINITY];
        let digits = |floats: &[f32]| floats.iter().map(|float| format!("{:08x}", float.to_bits())).collect::<String>();
        for text in
            ["tensor(x[6])", "tensor<float>(x[6])", "tensor<bfloat16>(x[2],y[3])", "tensor<int8>(x[6])", "tensor(k{})"]
        {
            let tensor_type: Arc<TensorType> = Arc::new(text.parse().unwrap());
            let read = read_query_tensor(&tensor_type, &digits(&floats));
            match Tensor::of_floats(&tensor_type, &floats) {
                Some(tensor) => assert_eq!(read.as_ref(), Ok(&tensor), "{text}"),
                None => assert!(["tensor<int8>(x[6])", "tensor(k{})"].contains(&text), "{text}"),
            }
            assert_eq!(Tensor::of_floats(&tensor_type, &floats[1..]), None);
        }
        assert_eq!(Tensor::of_floats(&Arc::new(TensorType::scalar()), &[1.0]), None);
    }
}
