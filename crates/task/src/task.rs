//! The only verb of the core.
use std::rc::Rc;

use crate::Rejection;

/// Bytes that came over the border, shared by the cache and the tasks that read them.
///
/// Aligned to 16 bytes, so that a column can be read in place as wider numbers.
#[derive(Clone, Debug)]
pub struct Block {
    words: Rc<Vec<u128>>,
    length: usize,
}

impl Block {
    /// A zeroed block of `length` bytes, to be filled through [`Block::bytes_mut`] before it is shared.
    #[must_use]
    pub fn zeroed(length: usize) -> Block {
        Block { words: Rc::new(vec![0u128; length.div_ceil(16)]), length }
    }

    /// A copy of `bytes`.
    #[must_use]
    pub fn copy_of(bytes: &[u8]) -> Block {
        let mut block = Block::zeroed(bytes.len());
        block.bytes_mut().copy_from_slice(bytes);
        block
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.length]
    }

    /// The bytes for writing.
    ///
    /// # Panics
    /// If the block is shared already: a shared block never changes.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let words = Rc::get_mut(&mut self.words).expect("a shared block never changes");
        &mut bytemuck::cast_slice_mut(words.as_mut_slice())[..self.length]
    }

    /// The same bytes without those after `length`; nothing is copied.
    #[must_use]
    pub fn shortened(mut self, length: usize) -> Block {
        self.length = self.length.min(length);
        self
    }

    /// Length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

/// One block of a stored segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockRef {
    /// Number of the segment in its bucket.
    pub segment: u32,
    /// Number of the block in its segment.
    pub block: u32,
}

/// What a task lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Want {
    /// Nothing: finish me.
    Nothing,
    /// Nothing either, but much was done: look at the deadline, serve others, and ask again.
    Pause,
    /// The partition's segments and tail. Answered by one manifest (docs/abi.md).
    Manifest {
        /// Layout number the core holds already (0: none); segments are sent only if it is another now.
        layout: u32,
        /// Last operation the core holds; only later ones are sent.
        operation: u64,
    },
    /// One operation of the tail by its number, answered by its bytes.
    Operation(u64),
    /// Blocks, answered one by one in this order.
    Blocks(Vec<BlockRef>),
    /// How far a time zone is ahead of UTC at a time: the core has no tables of zones. Answered by an `i32`, seconds
    /// eastward, or by nothing if there is no such zone.
    Zone {
        /// Its name in the tz database.
        name: String,
        /// The time, in seconds since 1970 UTC.
        at: i64,
    },
    /// Models to be run, which takes its time: the task waits, also through turns of others. Answered by their outputs
    /// (docs/abi.md, runs of models).
    ModelRuns {
        /// Whether they are not for this task: the query they are of has to be searched anew once it was given their outputs.
        anew: bool,
        /// The runs, as the host reads them.
        runs: Vec<u8>,
    },
}

/// A unit of work that lacks something. It is asked what it wants, is given it, and finishes.
pub trait Task {
    /// Works until something is lacking, and says what.
    ///
    /// # Errors
    /// A rejection ends the task.
    fn wants(&mut self) -> Result<Want, Rejection>;

    /// Answers the oldest open want.
    ///
    /// # Errors
    /// If the bytes are not what was wanted (a damaged block, a manifest of another partition).
    fn give(&mut self, answer: Block) -> Result<(), Rejection>;

    /// Tells how long the request took so far: the core has no clock, but some answers say it.
    fn elapsed(&mut self, milliseconds: f64) {
        let _ = milliseconds;
    }

    /// The result. Called early, the task is abandoned: there are no partial answers unless they were asked for.
    ///
    /// # Errors
    /// A rejection, or [`crate::Code::TimedOut`] when called early.
    fn finish(self: Box<Self>) -> Result<Vec<u8>, Rejection>;
}
