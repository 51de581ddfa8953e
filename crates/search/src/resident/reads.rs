//! The blocks of one request: what was given, what is resident, and what is missing.
use std::cell::{RefCell, RefMut};
use std::collections::VecDeque;
use std::rc::Rc;

use brooklet_kernel::sort;
use brooklet_segment::{BlockSource, Halt, open_block};
use brooklet_task::{Block, BlockRef, Rejection};
use rustc_hash::FxHashMap;

use super::partition::ResidentSegment;
use super::residency::Residency;
use crate::matching::last_postings::LastPostings;
use crate::matching::last_words::LastWords;

/// Bytes a request may hold on to between its stages.
const HELD_BYTES: usize = 32 << 20;

/// Bytes that slow matching looks at before the deadline is looked at: some milliseconds.
const STEP_WORK: usize = 1 << 20;

/// The reading side of a task.
pub(crate) struct Reads {
    residency: Rc<RefCell<Residency>>,
    key: String,
    partition: u32,
    held: FxHashMap<BlockRef, Block>,
    held_bytes: usize,
    missing: Vec<BlockRef>,
    asked: VecDeque<BlockRef>,
    /// What may still be done in this step, in bytes looked at.
    work_left: usize,
    pub(crate) last_postings: Option<LastPostings>,
    pub(crate) last_words: LastWords,
    /// Bytes given by the store.
    pub(crate) bytes_read: u64,
    /// Bytes looked at, resident ones included, each block once per use.
    pub(crate) bytes_scanned: u64,
}

impl Reads {
    pub(crate) fn new(residency: Rc<RefCell<Residency>>) -> Reads {
        Reads {
            residency,
            key: String::new(),
            partition: 0,
            held: FxHashMap::default(),
            held_bytes: 0,
            missing: Vec::new(),
            asked: VecDeque::new(),
            work_left: STEP_WORK,
            last_postings: None,
            last_words: LastWords::default(),
            bytes_read: 0,
            bytes_scanned: 0,
        }
    }

    pub(crate) fn residency(&self) -> RefMut<'_, Residency> {
        self.residency.borrow_mut()
    }

    pub(crate) fn set_partition(&mut self, key: &str, number: u32) {
        self.key = key.to_owned();
        self.partition = number;
    }

    /// The blocks of a segment.
    pub(crate) fn segment<'a>(&'a mut self, segment: &'a ResidentSegment) -> SegmentReads<'a> {
        SegmentReads { reads: self, segment }
    }

    /// How many blocks were noted as missing since they were last asked for.
    pub(crate) fn missing(&self) -> usize {
        self.missing.len()
    }

    /// Begins a step, which may do some work.
    pub(crate) fn begin_step(&mut self) {
        self.work_left = STEP_WORK;
    }

    /// The work the step may still do, in bytes looked at.
    pub(crate) fn work_left(&mut self) -> &mut usize {
        &mut self.work_left
    }

    /// Some work of the step was done.
    pub(crate) fn work(&mut self, bytes: usize) {
        self.work_left = self.work_left.saturating_sub(bytes);
    }

    /// Whether most of the step's work is left.
    pub(crate) fn is_fresh(&self) -> bool {
        self.work_left > STEP_WORK / 2
    }

    /// Whether the step has worked enough.
    pub(crate) fn is_tired(&self) -> bool {
        self.work_left == 0
    }

    /// Whether it has, and nothing is missing: what is, is noted all at once.
    pub(crate) fn rests(&self) -> bool {
        self.is_tired() && self.missing.is_empty()
    }

    /// What was missing since the last call, to be wanted; answers come through [`Reads::give`] in this order.
    pub(crate) fn take_missing(&mut self) -> Vec<BlockRef> {
        let mut missing = std::mem::take(&mut self.missing);
        sort(&mut missing);
        missing.dedup();
        self.asked.extend(&missing);
        missing
    }

    /// Takes a wanted block.
    pub(crate) fn give(&mut self, stored: Block) -> Result<(), Rejection> {
        let place = self.asked.pop_front().ok_or_else(|| Rejection::corrupt("a block that was not wanted"))?;
        self.bytes_read += stored.len() as u64;
        let block = open_block(&self.key, place.segment, place.block, stored)?;
        self.residency.borrow_mut().offer((self.partition, place.segment, place.block), &block);
        self.held_bytes += block.len();
        self.held.insert(place, block);
        Ok(())
    }

    /// Lets go of a block this request will not look at again.
    pub(crate) fn release(&mut self, segment: &ResidentSegment, block: u32) {
        let place = segment.number.map(|segment| BlockRef { segment, block });
        if let Some(block) = place.and_then(|place| self.held.remove(&place)) {
            self.held_bytes -= block.len();
        }
    }

    /// Lets go of everything held if it is much. Called where a stage ends: what is needed again is asked for again.
    pub(crate) fn relax(&mut self) {
        if self.held_bytes > HELD_BYTES {
            self.held.clear();
            self.held_bytes = 0;
        }
    }

    fn block(&mut self, segment: &ResidentSegment, number: u32) -> Result<Block, Halt> {
        let Some(stored) = segment.number else {
            let block = segment.memory.get(number as usize).cloned();
            return block.ok_or_else(|| Rejection::corrupt("a block beyond its segment").into());
        };
        let place = BlockRef { segment: stored, block: number };
        if let Some(block) = self.held.get(&place) {
            return Ok(block.clone());
        }
        let resident = self.residency.borrow_mut().block((self.partition, stored, number));
        match resident {
            Some(block) => {
                self.bytes_scanned += block.len() as u64;
                self.held_bytes += block.len();
                self.held.insert(place, block.clone());
                Ok(block)
            }
            None => {
                self.missing.push(place);
                Err(Halt::Missing)
            }
        }
    }
}

/// The blocks of one segment, as whoever decodes its columns asks for them: by number.
///
/// ```text
/// a column's decoder ── block(7) ─▶ SegmentReads ── (segment 3, block 7) ─▶ Reads
///                                                                           │
///        Ok(bytes) ◀───── it is in memory ──────────────────────────────────┤
///        Err(Halt::Missing) ◀──── it is noted, and read with all others ────┤
///                                 that the step lacks, before it is tried again
///        Err(Halt::Rejected) ◀──── it is damaged ───────────────────────────┘
/// ```
pub(crate) struct SegmentReads<'a> {
    reads: &'a mut Reads,
    segment: &'a ResidentSegment,
}

impl BlockSource for SegmentReads<'_> {
    fn block(&mut self, number: u32) -> Result<Block, Halt> {
        self.reads.block(self.segment, number)
    }
}
