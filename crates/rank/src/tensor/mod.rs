//! Tensor algebra: the functions of ranking.md §2, one file each. A function has a *plan*, made once from the types of
//! its operands (which is where types are checked), and runs it on values of those types.
use std::cell::Cell;

use brooklet_document::{CellType, Dimension, TensorType};
use brooklet_kernel::{NARROW_SUMS, PRODUCT_LANES};
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

/// The sum of `size` doubles: eight lanes, each over every eighth cell, added pairwise. The order is fixed, so the sum is
/// the same bits everywhere, and a product is summed as the tensor it stands for would be.
#[inline]
fn sum_of_doubles(size: usize, cell: impl Fn(usize) -> f64) -> f64 {
    let mut lanes = [0.0f64; PRODUCT_LANES];
    for start in (0..size).step_by(PRODUCT_LANES) {
        for (lane, sum) in lanes.iter_mut().enumerate().take(size - start) {
            *sum += cell(start + lane);
        }
    }
    sum_of_lanes(lanes)
}

/// The sum of `size` cells of narrower types, in the order of [`brooklet_kernel::sums_of_products`]: of 32 cells that
/// follow each other, each lane adds its four as floats before they become doubles.
#[inline]
fn sum_of_floats(size: usize, cell: impl Fn(usize) -> f64) -> f64 {
    const GROUP: usize = NARROW_SUMS * PRODUCT_LANES;
    let mut lanes = [0.0f64; PRODUCT_LANES];
    for group in (0..size).step_by(GROUP) {
        let mut narrow = [0.0f32; PRODUCT_LANES];
        for start in (group..size.min(group + GROUP)).step_by(PRODUCT_LANES) {
            for (lane, sum) in narrow.iter_mut().enumerate().take(size - start) {
                *sum += cell(start + lane) as f32;
            }
        }
        lanes.iter_mut().zip(narrow).for_each(|(lane, narrow)| *lane += f64::from(narrow));
    }
    sum_of_lanes(lanes)
}

/// The sum of `size` cells of a tensor with this type of cells.
#[inline]
pub(crate) fn sum_of(of: CellType, size: usize, cell: impl Fn(usize) -> f64) -> f64 {
    if of == CellType::Double { sum_of_doubles(size, cell) } else { sum_of_floats(size, cell) }
}

#[inline]
fn sum_of_lanes([a, b, c, d, e, f, g, h]: [f64; PRODUCT_LANES]) -> f64 {
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

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
            return Err(too_much());
        }
        self.left.set(self.left.get() - cells);
        Ok(())
    }

    /// Accounts for cells that are computed and not kept, which takes less than an eighth of the time.
    pub(crate) fn compute(&self, cells: usize) -> Result<(), Rejection> {
        self.spend(cells / 8)
    }

    /// Accounts for products of floats that are summed as they are made, which takes less than a thirtieth of the time.
    pub(crate) fn multiply(&self, products: usize) -> Result<(), Rejection> {
        self.spend(products / 32)
    }

    /// Cells that were accounted for.
    pub(crate) fn spent(&self) -> usize {
        limits::EVALUATION_CELLS - self.left.get()
    }

    /// Accounts for work that takes as long as so many cells.
    pub(crate) fn spend(&self, cells: usize) -> Result<(), Rejection> {
        if cells > self.left.get() {
            return Err(too_much());
        }
        self.left.set(self.left.get() - cells);
        Ok(())
    }
}

fn too_much() -> Rejection {
    let cells = limits::EVALUATION_CELLS;
    let message = format!("the tensors of one evaluation may have {cells} cells together, or take as long as these");
    Rejection::new(Code::TooLarge, message)
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
