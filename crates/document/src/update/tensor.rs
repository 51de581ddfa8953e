//! Changing tensors: merging, removing and computing with cells.
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use brooklet_kernel::sort;
use brooklet_task::limits::TENSOR_CELLS;
use brooklet_task::{Code, Rejection};

use crate::Tensor;
use crate::tensor::GivenCell;

/// What a modify update does with each cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorOperation {
    /// The cell becomes the operand.
    Replace,
    /// The operand is added.
    Add,
    /// The cell is multiplied with it.
    Multiply,
}

impl TensorOperation {
    /// The operation of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<TensorOperation> {
        Some(match name {
            "replace" => TensorOperation::Replace,
            "add" => TensorOperation::Add,
            "multiply" => TensorOperation::Multiply,
            _ => return None,
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TensorOperation::Replace => "replace",
            TensorOperation::Add => "add",
            TensorOperation::Multiply => "multiply",
        }
    }

    fn apply(self, cell: f64, operand: f64) -> f64 {
        match self {
            TensorOperation::Replace => operand,
            TensorOperation::Add => cell + operand,
            TensorOperation::Multiply => cell * operand,
        }
    }
}

/// A modify update.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorModify {
    /// What is done.
    pub operation: TensorOperation,
    /// Whether missing subspaces are made first, filled with 1 to multiply and with 0 otherwise.
    pub create: bool,
    /// The cells.
    pub cells: Vec<GivenCell>,
}

impl TensorModify {
    pub(super) fn apply(&self, mut tensor: Tensor) -> Result<Tensor, Rejection> {
        if self.create {
            let fill = if self.operation == TensorOperation::Multiply { 1.0 } else { 0.0 };
            tensor = self.with_missing(&tensor, fill)?;
        }
        let size = tensor.tensor_type.dense_size().max(1);
        for given in &self.cells {
            let Ok(place) = tensor.addresses.binary_search(&given.address) else { continue };
            if let Some(cell) = tensor.cells.get_mut(place * size + given.offset) {
                *cell = tensor.tensor_type.cell.round(self.operation.apply(*cell, given.value));
            }
        }
        Ok(tensor)
    }

    fn with_missing(&self, tensor: &Tensor, fill: f64) -> Result<Tensor, Rejection> {
        let size = tensor.tensor_type.dense_size().max(1);
        let mut missing: Vec<&Vec<String>> = self.cells.iter().map(|given| &given.address).collect();
        sort(&mut missing);
        missing.dedup();
        missing.retain(|address| tensor.addresses.binary_search(address).is_err());
        let cells = vec![fill; missing.len().saturating_mul(size).min(TENSOR_CELLS + 1)];
        check_size(tensor.cells.len() + cells.len())?;
        let made = Tensor {
            tensor_type: tensor.tensor_type.clone(),
            addresses: missing.into_iter().cloned().collect(),
            cells,
        };
        merge(tensor, &made)
    }
}

fn check_size(cells: usize) -> Result<(), Rejection> {
    if cells <= TENSOR_CELLS {
        return Ok(());
    }
    let message = format!("The tensor would have more cells than the limit of {TENSOR_CELLS}");
    Err(Rejection::new(Code::InvalidDocument, message))
}

/// The subspaces of both; where both have one, that of `more`.
pub(super) fn merge(tensor: &Tensor, more: &Tensor) -> Result<Tensor, Rejection> {
    let mut merged = Tensor { tensor_type: tensor.tensor_type.clone(), addresses: Vec::new(), cells: Vec::new() };
    let (mut own, mut new) = (tensor.subspaces().peekable(), more.subspaces().peekable());
    loop {
        let order = match (own.peek(), new.peek()) {
            (None, None) => break,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some((one, _)), Some((other, _))) => one.cmp(other),
        };
        let kept = if order == Ordering::Less { own.next() } else { new.next() };
        if order == Ordering::Equal {
            own.next();
        }
        if let Some((address, cells)) = kept {
            merged.addresses.push(address.to_vec());
            merged.cells.extend_from_slice(cells);
        }
    }
    check_size(merged.cells.len())?;
    Ok(merged)
}

/// The subspaces that match none of the addresses.
#[inline(never)]
pub(super) fn without(tensor: &Tensor, addresses: &[Vec<Option<String>>]) -> Tensor {
    // The addresses by the dimensions that they name, so that a subspace is looked up once for each choice of those.
    let mut by_named: BTreeMap<Vec<bool>, BTreeSet<Vec<&str>>> = BTreeMap::new();
    for address in addresses {
        let named = address.iter().map(Option::is_some).collect();
        by_named.entry(named).or_default().insert(address.iter().flatten().map(String::as_str).collect());
    }
    let is_removed = |labels: &[String]| {
        by_named.iter().any(|(named, known)| {
            let labels = labels.iter().zip(named).filter(|(_, named)| **named).map(|(label, _)| label.as_str());
            known.contains(&labels.collect::<Vec<&str>>())
        })
    };
    let kept: Vec<_> = tensor.subspaces().filter(|(labels, _)| !is_removed(labels)).collect();
    Tensor {
        tensor_type: tensor.tensor_type.clone(),
        addresses: kept.iter().map(|(labels, _)| labels.to_vec()).collect(),
        cells: kept.iter().flat_map(|(_, cells)| cells.iter().copied()).collect(),
    }
}
