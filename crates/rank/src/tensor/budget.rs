//! The cells an evaluation may make.

use brooklet_task::{Code, Rejection, limits};
use std::cell::Cell;

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

pub(crate) fn too_much() -> Rejection {
    let cells = limits::EVALUATION_CELLS;
    let message = format!("the tensors of one evaluation may have {cells} cells together, or take as long as these");
    Rejection::new(Code::TooLarge, message)
}
