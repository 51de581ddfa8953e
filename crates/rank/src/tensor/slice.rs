//! Slices: the part of a tensor at a label or index of some dimensions. What is not there is 0.
use std::sync::Arc;

use brooklet_document::{Tensor, TensorType};
use brooklet_task::Rejection;

use super::layout::{Walk, mapped_positions, pick, stride};
use crate::tensor::budget::Budget;
use crate::tensor::result_type::mismatch;

/// A coordinate along a dimension, known only when a slice is taken.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Coordinate {
    /// A label; an index if the dimension is indexed.
    Label(String),
    /// A number: an index, or the label that is written so.
    Number(f64),
}

/// The plan of slices of tensors of a type.
#[derive(Clone, Debug)]
pub(crate) struct SlicePlan {
    pub(crate) result: Arc<TensorType>,
    /// For each sliced dimension, in the order given: where its label or coordinate is.
    at: Vec<At>,
    /// Positions of the mapped dimensions that stay.
    kept: Vec<usize>,
    walk: Walk,
}

#[derive(Clone, Debug)]
enum At {
    /// Position among the mapped dimensions.
    Mapped(usize),
    /// Size and step of an indexed dimension.
    Indexed(usize, usize),
}

impl SlicePlan {
    /// Slices at these dimensions. The result is a number if none is left.
    pub(crate) fn new(tensor_type: &TensorType, names: &[&str]) -> Result<SlicePlan, Rejection> {
        let mut at = Vec::new();
        for (i, name) in names.iter().enumerate() {
            let dimension = tensor_type.dimensions.iter().find(|dimension| dimension.name == **name);
            let Some(dimension) = dimension.filter(|_| !names[..i].contains(name)) else {
                return Err(mismatch(format!("{tensor_type} has no dimension '{}' to slice", Rejection::quote(name))));
            };
            at.push(match dimension.size {
                Some(size) => At::Indexed(size, stride(tensor_type, name).unwrap_or(0)),
                None => At::Mapped(tensor_type.mapped().position(|known| known.name == **name).unwrap_or(0)),
            });
        }
        let is_kept = |name: &str| !names.contains(&name);
        let kept =
            tensor_type.dimensions.iter().filter(|dimension| is_kept(&dimension.name)).cloned().collect::<Vec<_>>();
        let result = if kept.is_empty() {
            TensorType::scalar()
        } else {
            TensorType { cell: tensor_type.cell, dimensions: kept }
        };
        let walk = Walk::new(&result, tensor_type, tensor_type);
        Ok(SlicePlan { result: Arc::new(result), at, kept: mapped_positions(tensor_type, is_kept), walk })
    }

    /// Whether a label fits the dimension given at `position`: an index must be a number.
    pub(crate) fn accepts(&self, position: usize, label: &str) -> bool {
        match self.at[position] {
            At::Mapped(_) => true,
            At::Indexed(..) => label.parse::<i64>().is_ok(),
        }
    }

    /// The slice at these places, one for each dimension given.
    pub(crate) fn run(&self, tensor: &Tensor, places: &[Coordinate], budget: &Budget) -> Result<Tensor, Rejection> {
        let mut sliced = Tensor::empty(self.result.clone());
        let Some(offset) = self.offset(places) else { return Ok(sliced) };
        let labels = self.at.iter().zip(places).filter_map(|(at, place)| match at {
            At::Mapped(position) => Some((*position, label(place))),
            At::Indexed(..) => None,
        });
        let labels: Vec<(usize, String)> = labels.collect();
        let found = |address: &[String]| labels.iter().all(|(position, label)| address[*position] == *label);
        let size = tensor.tensor_type.dense_size();
        let subspaces: Vec<usize> = (0..tensor.addresses.len()).filter(|at| found(&tensor.addresses[*at])).collect();
        budget.take(subspaces.len(), self.result.dense_size())?;
        if subspaces.is_empty() {
            return Ok(sliced);
        }
        // Addresses stay in order: the labels taken out of them are all equal.
        sliced.addresses = subspaces.iter().map(|at| pick(&tensor.addresses[*at], &self.kept)).collect();
        sliced.cells.clear();
        for at in subspaces {
            let cells = &tensor.cells[at * size..][..size];
            self.walk.each(|cell, _| sliced.cells.push(cells[cell + offset]));
        }
        Ok(sliced)
    }

    /// Where the slice starts in a dense subspace; nothing if an index is out of range.
    fn offset(&self, places: &[Coordinate]) -> Option<usize> {
        let mut offset = 0;
        for (at, place) in self.at.iter().zip(places) {
            let At::Indexed(size, step) = at else { continue };
            let index = match place {
                Coordinate::Label(label) => label.parse::<i64>().ok()?,
                Coordinate::Number(number) => *number as i64,
            };
            offset += usize::try_from(index).ok().filter(|index| index < size)? * step;
        }
        Some(offset)
    }
}

/// The label of a place; of a number its whole part.
fn label(place: &Coordinate) -> String {
    match place {
        Coordinate::Label(label) => label.clone(),
        Coordinate::Number(number) => (*number as i64).to_string(),
    }
}
