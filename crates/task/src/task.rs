//! The only verb of the core.
use std::cell::RefCell;
use std::rc::Rc;

use crate::Rejection;

/// Bytes that came over the border, shared by the cache and the tasks that read them.
///
/// Aligned to 16 bytes, so that a column can be read in place as wider numbers.
#[derive(Clone, Debug)]
pub struct Block {
    words: Rc<Words>,
    length: usize,
}

/// The memory of a block.
#[derive(Debug)]
struct Words(Vec<u128>);

/// Memory of large blocks that nobody reads any more, for those that come: a scan from the store reads as many bytes as it
/// looks at, and to zero what is overwritten at once, and have the allocator join and cut it, cost as much as the scan.
const SPARE_BYTES: usize = 6 << 20;
/// Smaller ones the allocator has at hand.
const SPARE_BLOCK_BYTES: usize = 32 << 10;
/// One is taken for a block that is not smaller by more than this part of it.
const SPARE_WASTE: usize = 16;

#[derive(Default)]
struct Spare {
    memory: Vec<Vec<u128>>,
    bytes: usize,
}

thread_local! {
    static SPARE: RefCell<Spare> = RefCell::default();
}

impl Words {
    fn zeroed(length: usize) -> Words {
        Words(vec![0u128; length.div_ceil(16)])
    }

    /// With any content.
    fn of_any(length: usize) -> Words {
        let words = length.div_ceil(16);
        let fits = |memory: &Vec<u128>| (words..=words + words / SPARE_WASTE).contains(&memory.len());
        let found = SPARE.with_borrow_mut(|spare| {
            let at = spare.memory.iter().rposition(fits)?;
            let memory = spare.memory.remove(at);
            spare.bytes -= size_of_val(&memory[..]);
            Some(memory)
        });
        found.map_or_else(|| Words::zeroed(length), Words)
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        let bytes = size_of_val(&self.0[..]);
        if bytes < SPARE_BLOCK_BYTES {
            return;
        }
        let memory = std::mem::take(&mut self.0);
        // When the thread ends there is nothing left to keep it in.
        let _ = SPARE.try_with(|spare| {
            let spare = &mut *spare.borrow_mut();
            if spare.bytes + bytes <= SPARE_BYTES {
                spare.bytes += bytes;
                spare.memory.push(memory);
            }
        });
    }
}

impl Block {
    /// A zeroed block of `length` bytes, to be filled through [`Block::bytes_mut`] before it is shared.
    #[must_use]
    pub fn zeroed(length: usize) -> Block {
        Block { words: Rc::new(Words::zeroed(length)), length }
    }

    /// A block of `length` bytes, all of which are written through [`Block::bytes_mut`] before anything is read. What they are
    /// before is anything, bytes of other blocks included.
    ///
    /// ```
    /// let mut block = brooklet_task::Block::to_overwrite(3);
    /// block.bytes_mut().copy_from_slice(&[1, 2, 3]);
    /// assert_eq!(block.bytes(), [1, 2, 3]);
    /// ```
    #[must_use]
    pub fn to_overwrite(length: usize) -> Block {
        Block { words: Rc::new(Words::of_any(length)), length }
    }

    /// A copy of `bytes`.
    #[must_use]
    pub fn copy_of(bytes: &[u8]) -> Block {
        let mut block = Block::to_overwrite(bytes.len());
        block.bytes_mut().copy_from_slice(bytes);
        block
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words.0)[..self.length]
    }

    /// The bytes for writing.
    ///
    /// # Panics
    /// If the block is shared already: a shared block never changes.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let words = Rc::get_mut(&mut self.words).expect("a shared block never changes");
        &mut bytemuck::cast_slice_mut(words.0.as_mut_slice())[..self.length]
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

    /// The result as pieces that follow each other, which can be let go of one by one: what is large is not copied into one.
    ///
    /// # Errors
    /// As [`Task::finish`].
    fn finish_in_pieces(self: Box<Self>) -> Result<Vec<Vec<u8>>, Rejection> {
        Ok(vec![self.finish()?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_only_for_blocks_of_about_its_size() {
        let mut first = Block::to_overwrite(100_000);
        first.bytes_mut().fill(7);
        let kept = first.clone();
        drop(first);
        assert!(
            Block::to_overwrite(100_000).bytes().iter().all(|byte| *byte == 0),
            "somebody reads the first one still"
        );
        let place = kept.bytes().as_ptr();
        drop(kept);
        assert_ne!(Block::to_overwrite(50_000).bytes().as_ptr(), place, "far smaller");
        let again = Block::to_overwrite(99_000);
        assert_eq!((again.bytes().as_ptr(), again.len()), (place, 99_000));
        assert!(Block::zeroed(100_000).bytes().iter().all(|byte| *byte == 0));
    }

    #[test]
    fn what_is_kept_has_a_bound() {
        drop((0..100).map(|_| Block::zeroed(1 << 20)).collect::<Vec<_>>());
        SPARE.with_borrow(|spare| {
            assert!(spare.bytes <= SPARE_BYTES && !spare.memory.is_empty());
            assert_eq!(spare.bytes, spare.memory.iter().map(|memory| 16 * memory.len()).sum::<usize>());
        });
    }
}
