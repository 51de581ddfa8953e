//! Where the cells of a tensor stand in its indexed dimensions.
use super::{Tensor, TensorType};

/// The indexed dimensions of a type, by which places in its subspaces are told.
pub(crate) struct Places {
    sizes: Vec<usize>,
    /// How far apart two neighbours of each dimension are.
    strides: Vec<usize>,
    dense_size: usize,
}

impl Places {
    /// Those of a type.
    pub(crate) fn of(tensor_type: &TensorType) -> Places {
        let sizes: Vec<usize> = tensor_type.indexed().filter_map(|dimension| dimension.size).collect();
        let strides = (1..=sizes.len()).map(|from| sizes[from..].iter().product::<usize>().max(1)).collect();
        Places { sizes, strides, dense_size: tensor_type.dense_size().max(1) }
    }

    /// The sizes of the dimensions.
    pub(crate) fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The labels of a cell, by its number in the tensor, and its offset in the subspace.
    pub(crate) fn of_cell<'a>(&self, tensor: &'a Tensor, cell: usize) -> (&'a [String], usize) {
        (tensor.addresses.get(cell / self.dense_size).map_or(&[], Vec::as_slice), cell % self.dense_size)
    }

    /// The index in each dimension of the cell at `offset` in row-major order.
    pub(crate) fn indexes(&self, offset: usize) -> impl Iterator<Item = usize> {
        self.sizes.iter().zip(&self.strides).map(move |(size, stride)| offset / stride % (*size).max(1))
    }
}
