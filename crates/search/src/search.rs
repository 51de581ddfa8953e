//! Answering a query.
use std::cell::RefCell;
use std::rc::Rc;

use brooklet_task::{Block, Code, Rejection, Task, Want};

use crate::deployed::Deployed;
use crate::residency::Residency;

/// The task.
pub struct Search {}

impl Search {
    /// Reads the request.
    ///
    /// # Errors
    /// If it is malformed.
    pub fn open(_: Rc<Deployed>, _: Rc<RefCell<Residency>>, _: &[u8]) -> Result<Search, Rejection> {
        Err(Rejection::new(Code::Unsupported, "queries are being built"))
    }

    /// Milliseconds.
    #[must_use]
    pub fn timeout_ms(&self) -> u32 {
        0
    }
}

impl Task for Search {
    fn wants(&mut self) -> Result<Want, Rejection> {
        Ok(Want::Nothing)
    }
    fn give(&mut self, _: Block) -> Result<(), Rejection> {
        Ok(())
    }
    fn finish(self: Box<Self>) -> Result<Vec<u8>, Rejection> {
        Ok(Vec::new())
    }
}
