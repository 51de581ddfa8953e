//! One segment read in the order of its ids while it is merged with others.
use std::collections::HashMap;
use std::rc::Rc;

use brooklet_document::{Document, Shard};
use brooklet_kernel::sort;
use brooklet_segment::{
    BlockSource, Gaps, Halt, StoredOperation, StoredSegment, find_id, find_ids, open_block, read_document, read_id,
    read_time,
};
use brooklet_task::{Block, BlockRef, Rejection};

/// Blocks fetched for a merge: payloads by place. What was read stays until the cursor has passed it.
#[derive(Default)]
pub(crate) struct Fetched {
    blocks: HashMap<BlockRef, Block>,
    bytes: usize,
    missing: Vec<BlockRef>,
}

impl Fetched {
    /// The blocks noted as missing since the last call, each once.
    pub(crate) fn take_missing(&mut self) -> Vec<BlockRef> {
        let mut missing = std::mem::take(&mut self.missing);
        sort(&mut missing);
        missing.dedup();
        missing
    }

    /// Takes a stored block for a place.
    pub(crate) fn give(&mut self, key: &str, place: BlockRef, stored: Block) -> Result<(), Rejection> {
        let block = open_block(key, place.segment, place.block, stored)?;
        self.bytes += block.len();
        self.blocks.insert(place, block);
        Ok(())
    }

    /// Forgets the blocks of one segment but for the `kept` ones that were used last.
    pub(crate) fn forget(&mut self, segment: u32, kept: &[u32]) {
        self.blocks.retain(|place, block| {
            let stays = place.segment != segment || kept.contains(&place.block);
            self.bytes -= if stays { 0 } else { block.bytes().len() };
            stays
        });
    }
}

/// The blocks of one segment among those fetched.
pub(crate) struct Of<'a> {
    pub(crate) fetched: &'a mut Fetched,
    pub(crate) segment: u32,
    pub(crate) used: &'a mut Vec<u32>,
}

impl BlockSource for Of<'_> {
    fn block(&mut self, number: u32) -> Result<Block, Halt> {
        self.used.push(number);
        let place = BlockRef { segment: self.segment, block: number };
        match self.fetched.blocks.get(&place) {
            Some(block) => Ok(block.clone()),
            None => {
                self.fetched.missing.push(place);
                Err(Halt::Missing)
            }
        }
    }
}

/// A document and when it was last written (µs since the epoch; 0: that is not known).
pub(crate) struct Dated {
    pub(crate) document: Document,
    pub(crate) time: u64,
}

/// Walks the living documents of a segment.
pub(crate) struct Cursor {
    segment: Rc<StoredSegment>,
    next: u32,
    used: Vec<u32>,
    blocks_forgotten_at: u32,
}

/// Documents after which a cursor lets go of blocks it has passed …
const FORGET_EVERY: u32 = 64;
/// … or earlier, where so many bytes are held of all segments: documents may be long.
const FETCHED_BYTES: usize = 4 << 20;

impl Cursor {
    pub(crate) fn new(segment: Rc<StoredSegment>) -> Cursor {
        Cursor { segment, next: 0, used: Vec::new(), blocks_forgotten_at: 0 }
    }

    /// The next living document and when it was written, without stepping over it; nothing at the end.
    pub(crate) fn peek(&mut self, fetched: &mut Fetched) -> Result<Option<Dated>, Halt> {
        let documents = self.segment.header.documents;
        while self.next < documents && !self.segment.liveness.get(self.next as usize) {
            self.next += 1;
        }
        if self.next >= documents {
            fetched.forget(self.segment.number, &[]);
            return Ok(None);
        }
        self.used.clear();
        let mut blocks = Of { fetched, segment: self.segment.number, used: &mut self.used };
        // Both were asked for before either may halt, so that all blocks come at once.
        let time = read_time(&self.segment.header, self.next, &mut blocks);
        let document = read_document(&self.segment.header, self.next, &|_| true, &mut blocks)?;
        let time = time?;
        if self.next >= self.blocks_forgotten_at + FORGET_EVERY || fetched.bytes > FETCHED_BYTES {
            self.blocks_forgotten_at = self.next;
            fetched.forget(self.segment.number, &self.used);
        }
        Ok(Some(Dated { document, time }))
    }

    /// Steps over the document last peeked at.
    pub(crate) fn advance(&mut self) {
        self.next += 1;
    }
}

/// The ordinal of `id` in a segment, if it is there (alive or not).
pub(crate) fn find(segment: &StoredSegment, id: &str, fetched: &mut Fetched) -> Result<Option<u32>, Halt> {
    let mut used = Vec::new();
    let mut blocks = Of { fetched, segment: segment.number, used: &mut used };
    find_id(&segment.header, id, &mut blocks)
}

/// The ordinals of the documents of a segment that operations are on; the operations come in the order of their ids.
pub(crate) fn find_all(
    segment: &StoredSegment,
    operations: &[StoredOperation],
    fetched: &mut Fetched,
) -> Result<Vec<u32>, Halt> {
    let mut used = Vec::new();
    let mut blocks = Of { fetched, segment: segment.number, used: &mut used };
    find_ids(&segment.header, operations.iter().map(StoredOperation::id), &mut blocks)
}

/// The ordinals of the living documents of a segment that a shard does not hold. All missing blocks are noted before it halts.
pub(crate) fn find_others(segment: &StoredSegment, kept: Shard, fetched: &mut Fetched) -> Result<Vec<u32>, Halt> {
    let mut used = Vec::new();
    let mut blocks = Of { fetched, segment: segment.number, used: &mut used };
    let mut gaps = Gaps::default();
    let mut others = Vec::new();
    for ordinal in segment.liveness.ones() {
        match gaps.note(read_id(&segment.header, ordinal as u32, &mut blocks))? {
            Some(id) if !kept.holds(&id) => others.push(ordinal as u32),
            _ => {}
        }
    }
    gaps.check()?;
    Ok(others)
}
