//! `rename`: other names for dimensions. Dimensions are sorted by name, so cells may have to move.
use std::sync::Arc;

use brooklet_document::{Dimension, Tensor, TensorType};
use brooklet_kernel::sort;
use brooklet_task::Rejection;

use super::layout::{Walk, pick};
use crate::tensor::budget::Budget;
use crate::tensor::result_type::mismatch;

/// The plan of renaming dimensions of tensors of a type.
#[derive(Clone, Debug)]
pub(crate) struct RenamePlan {
    pub(crate) result: Arc<TensorType>,
    /// For each mapped dimension of the result its old position.
    labels: Vec<usize>,
    walk: Walk,
}

impl RenamePlan {
    pub(crate) fn new(tensor_type: &TensorType, from: &[String], to: &[String]) -> Result<RenamePlan, Rejection> {
        if let Some(name) = from.iter().find(|name| !tensor_type.dimensions.iter().any(|known| known.name == **name)) {
            return Err(mismatch(format!("{tensor_type} has no dimension '{}' to rename", Rejection::quote(name))));
        }
        let renamed = |name: &String| from.iter().position(|old| old == name).map_or(name, |at| &to[at]).clone();
        let rename = |dimension: &Dimension| Dimension { name: renamed(&dimension.name), size: dimension.size };
        let result = TensorType::new(tensor_type.cell, tensor_type.dimensions.iter().map(rename).collect());
        if result.dimensions.windows(2).any(|pair| pair[0].name == pair[1].name) {
            return Err(mismatch(format!("renaming would give {tensor_type} a dimension twice")));
        }
        let is_called = |old: &Dimension, new: &Dimension| renamed(&old.name) == new.name;
        let labels = result.mapped().map(|new| tensor_type.mapped().position(|old| is_called(old, new)).unwrap_or(0));
        let labels = labels.collect();
        // The same cells under their new names, in the old order: what the walk needs to know of the old layout.
        let old =
            TensorType { cell: tensor_type.cell, dimensions: tensor_type.dimensions.iter().map(rename).collect() };
        let walk = Walk::new(&result, &old, &old);
        Ok(RenamePlan { result: Arc::new(result), labels, walk })
    }

    pub(crate) fn run(&self, tensor: &Tensor, budget: &Budget) -> Result<Tensor, Rejection> {
        budget.take(tensor.cells.len(), 1)?;
        let addresses = tensor.addresses.iter().enumerate().map(|(at, address)| (pick(address, &self.labels), at));
        let mut addresses: Vec<(Vec<String>, usize)> = addresses.collect();
        sort(&mut addresses);
        let size = self.result.dense_size();
        let mut cells = Vec::with_capacity(tensor.cells.len());
        for (_, at) in &addresses {
            let subspace = &tensor.cells[at * size..][..size];
            self.walk.each(|old, _| cells.push(subspace[old]));
        }
        let addresses = addresses.into_iter().map(|(address, _)| address).collect();
        Ok(Tensor { tensor_type: self.result.clone(), addresses, cells })
    }
}
