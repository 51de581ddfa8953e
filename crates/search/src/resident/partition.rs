//! A partition as queries see it: stored segments and the tail, the tail as small segments of its own in memory.
//!
//! So there is one way to match, rank and summarise a document, wherever it stands. Operations are grouped in batches
//! of doubling size, which makes the work per new operation logarithmic; a batch hides the documents of everything
//! older that have an id it knows.
use std::rc::Rc;

use brooklet_kernel::Bitmap;
use brooklet_segment::{Header, PartitionName, StoredOperation};
use brooklet_task::Block;

/// A segment that can be read: stored, or of the tail and all in memory.
pub(crate) struct ResidentSegment {
    /// Its number in the bucket; nothing if it is of the tail.
    pub(crate) number: Option<u32>,
    pub(crate) header: Header,
    pub(crate) memory: Vec<Block>,
}

/// A segment with the documents of it that a query may see.
#[derive(Clone)]
pub(crate) struct View {
    pub(crate) segment: Rc<ResidentSegment>,
    pub(crate) alive: Rc<Bitmap>,
}

/// Operations that came after all older ones, as segments: for each schema one, or some full ones before it; and one of
/// what was removed.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) operations: Vec<StoredOperation>,
    pub(crate) segments: Vec<(Rc<ResidentSegment>, Vec<String>, Bitmap)>,
}

/// A partition in memory.
#[derive(Clone)]
pub struct ResidentPartition {
    pub(crate) name: PartitionName,
    /// Under which its blocks are kept.
    pub(crate) number: u32,
    pub(crate) layout: u32,
    pub(crate) operation: u64,
    pub(crate) stored: Vec<(Rc<ResidentSegment>, Bitmap)>,
    pub(crate) batches: Vec<Rc<Batch>>,
    /// Visible bits of the batches' segments, in order.
    pub(crate) views: Vec<View>,
    /// The documents that were removed, as segments of their ids and times.
    pub(crate) removed: Vec<View>,
    /// Documents of the batches that may still stand in stored segments, too: nobody reads it before those are hidden.
    pub(crate) unhidden: Vec<String>,
    pub(crate) bytes: usize,
}

impl Batch {
    pub(crate) fn bytes(&self) -> usize {
        let blocks = self.segments.iter().flat_map(|(segment, _, _)| &segment.memory).map(Block::len).sum::<usize>();
        2 * blocks + 100 * self.operations.len()
    }
}

impl ResidentPartition {
    /// A partition without documents that says it takes so much.
    #[cfg(test)]
    pub(crate) fn of_size(key: &str, bytes: usize) -> ResidentPartition {
        ResidentPartition { bytes, ..ResidentPartition::empty(PartitionName::new(1, key), 0, 1) }
    }

    /// A partition without documents, in the memory under this number.
    pub(crate) fn empty(name: PartitionName, number: u32, layout: u32) -> ResidentPartition {
        ResidentPartition {
            name,
            number,
            layout,
            operation: 0,
            stored: Vec::new(),
            batches: Vec::new(),
            views: Vec::new(),
            removed: Vec::new(),
            unhidden: Vec::new(),
            bytes: 0,
        }
    }

    /// Makes the list of what queries see, and joins batches of like size.
    pub(crate) fn rebuild_views(&mut self) {
        let views = self.stored.iter().map(|(segment, alive)| (segment.clone(), alive.clone()));
        let tail = self.batches.iter().flat_map(|batch| &batch.segments);
        let tail = tail.map(|(segment, _, alive)| (segment.clone(), alive.clone()));
        let all = views.chain(tail).filter(|(_, alive)| alive.count() > 0);
        let views = all.map(|(segment, alive)| View { segment, alive: Rc::new(alive) });
        (self.removed, self.views) = views.partition(|view| view.segment.header.is_of_removed());
        let stored = self.stored.iter().map(|(segment, alive)| segment.header.memory_bytes() + alive.len() / 8);
        let headers: usize = stored.sum();
        self.bytes = headers + self.batches.iter().map(|batch| batch.bytes()).sum::<usize>() + 512;
    }
}
