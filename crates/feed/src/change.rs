//! What a partition's tail says at last, and which segments are to be merged with it.
use std::borrow::Cow;
use std::rc::Rc;

use brooklet_kernel::sort_by;
use brooklet_segment::{Manifest, Operation, StoredOperation, StoredSchema, StoredSegment, removed_of};
use brooklet_task::{Rejection, limits};

use crate::{Bounds, Reason};

/// When the segments of one tier are merged.
#[derive(Clone, Copy)]
struct Fan {
    /// The number of segments, the new one included.
    segments: usize,
    /// Whether as many documents as a full one has, or bytes as two have, are enough, however few they are.
    by_size: bool,
}

/// Each document is rewritten about once per tier.
const FAN: Fan = Fan { segments: 8, by_size: false };
/// What a feed loads in bulk are larger segments, and one merge makes full ones of them. Of documents that are small for their number
/// as soon as there is enough for one: what is left over, and so rewritten again, is less than a load. Of large ones, of which a load has
/// half as many as a segment, when there is enough for two. And no more, because what a merge changes is one transaction, and in memory
/// until then. In the end they are settled like all others.
const FAN_OF_LOADS: Fan = Fan { segments: 32, by_size: true };
/// Documents of a segment of the lowest tier: about what a tail has when it is folded.
const LOWEST: usize = 256;

/// The outcome of the tail and of what is `given` after it: of each document its last operation, by their ids.
pub(crate) fn last_operations(
    key: &str,
    manifest: &Manifest,
    given: Vec<StoredOperation>,
) -> Result<Vec<StoredOperation>, Rejection> {
    let tail = manifest.operations.iter().map(|(_, stored)| StoredOperation::decode(key, stored));
    Ok(last_of_each(tail.chain(given.into_iter().map(Ok)).collect::<Result<_, Rejection>>()?))
}

/// Of operations in the order they came the last on each document, in the order of the ids.
pub(crate) fn last_of_each(mut operations: Vec<StoredOperation>) -> Vec<StoredOperation> {
    // A stable sort: those on one document stay as they came. What is in order already costs next to nothing.
    sort_by(&mut operations, |one, other| one.id().cmp(other.id()));
    operations.dedup_by(|later, kept| {
        let is_same = later.id() == kept.id();
        if is_same {
            std::mem::swap(later, kept);
        }
        is_same
    });
    operations
}

/// The schema of the segments an operation's document goes to.
pub(crate) fn segment_schema(operation: &StoredOperation) -> Cow<'_, str> {
    match operation.operation {
        Operation::Put(_) => Cow::Borrowed(&*operation.schema),
        Operation::Remove(_) => Cow::Owned(removed_of(&operation.schema)),
    }
}

/// One merge: the segments of a schema that become new ones, together with what the tail puts.
pub(crate) struct Merge {
    pub(crate) schema: String,
    pub(crate) inputs: Vec<Rc<StoredSegment>>,
}

/// What merges are chosen by.
pub(crate) struct Choice<'a> {
    pub(crate) reason: Reason,
    /// What is deployed.
    pub(crate) schemas: &'a [StoredSchema],
    /// Removes before this are forgotten.
    pub(crate) forget_before: u64,
    pub(crate) bounds: Bounds,
}

/// The merges that were chosen, and whether others of the same reason are left for another compaction.
pub(crate) struct Chosen {
    pub(crate) merges: Vec<Merge>,
    pub(crate) more: bool,
}

impl Choice<'_> {
    /// Chooses the merges of a partition: at most one for each schema, and of all no more than one compaction merges.
    pub(crate) fn merges(&self, segments: &[Rc<StoredSegment>], last: &[StoredOperation]) -> Chosen {
        let mut chosen = Chosen { merges: Vec::new(), more: false };
        let mut room = self.bounds.merged_bytes();
        for StoredSchema { name: schema, fingerprint, .. } in self.schemas {
            let puts = last.iter().filter(|operation| segment_schema(operation) == *schema).count();
            let of_schema: Vec<_> =
                segments.iter().filter(|segment| segment.header.schema == *schema).cloned().collect();
            let wanted = match self.reason {
                Reason::Rewrite => of_schema.into_iter().filter(|s| s.header.fingerprint != *fingerprint).collect(),
                Reason::Settle => self.compactable(of_schema, puts),
                Reason::Fold => self.by_tiers(of_schema, puts, *fingerprint, FAN),
                Reason::Load => self.by_tiers(of_schema, puts, *fingerprint, FAN_OF_LOADS),
                // Writes wait for it: what it leaves half dead is merged later.
                Reason::Split => Vec::new(),
            };
            let count = wanted.len();
            let inputs = within(&mut room, wanted);
            chosen.more |= inputs.len() < count && matches!(self.reason, Reason::Rewrite | Reason::Settle);
            if puts > 0 || !inputs.is_empty() {
                chosen.merges.push(Merge { schema: schema.clone(), inputs });
            }
        }
        chosen
    }
}

/// The first of the segments that together have no more bytes than there is room for. Where there is room at all they are two at
/// least: of one alone there would be as many afterwards.
fn within(room: &mut usize, segments: Vec<Rc<StoredSegment>>) -> Vec<Rc<StoredSegment>> {
    let mut taken = Vec::new();
    for segment in segments {
        let bytes = segment.header.bytes();
        if *room == 0 || (bytes > *room && taken.len() >= 2) {
            break;
        }
        *room = room.saturating_sub(bytes);
        taken.push(segment);
    }
    taken
}

fn tier(documents: usize) -> u32 {
    (documents / LOWEST).max(1).ilog(FAN.segments)
}

impl Choice<'_> {
    /// The segments to merge with `puts` documents: a whole tier when it is full, and whatever is mostly dead. Segments as
    /// large as segments get are left alone: merging them would only copy.
    fn by_tiers(
        &self,
        segments: Vec<Rc<StoredSegment>>,
        puts: usize,
        fingerprint: u64,
        fan: Fan,
    ) -> Vec<Rc<StoredSegment>> {
        let (mut chosen, rest): (Vec<_>, Vec<_>) = segments.into_iter().partition(|segment| {
            segment.header.fingerprint != fingerprint || alive(segment) * 2 < segment.header.documents as usize
        });
        let mut documents = puts + chosen.iter().map(|segment| alive(segment)).sum::<usize>();
        for level in 0..=tier(limits::SEGMENT_DOCUMENTS) {
            let of_tier = rest.iter().filter(|segment| tier(alive(segment)) == level && !self.is_full(segment));
            let of_tier: Vec<_> = of_tier.cloned().collect();
            let bytes = of_tier.iter().map(|segment| self.bounds.worth_merging(&segment.header)).sum::<usize>();
            let merged = documents + of_tier.iter().map(|segment| alive(segment)).sum::<usize>();
            let is_enough = merged >= limits::SEGMENT_DOCUMENTS || bytes >= self.bounds.worth_merging_bytes();
            let is_due = of_tier.len() + 1 >= fan.segments || (fan.by_size && is_enough);
            if tier(documents) >= level && is_due {
                documents = merged;
                chosen.extend(of_tier);
            }
        }
        chosen
    }

    /// Whether a segment is as large as segments get, about, and most of it is alive.
    fn is_full(&self, segment: &StoredSegment) -> bool {
        self.bounds.is_large(&segment.header) && alive(segment) * 4 >= segment.header.documents as usize * 3
    }

    /// All segments that are not full or have dead documents (or removed ones to forget), if there is more than one or the
    /// one has dead documents.
    fn compactable(&self, segments: Vec<Rc<StoredSegment>>, puts: usize) -> Vec<Rc<StoredSegment>> {
        let has_dead = |segment: &Rc<StoredSegment>| {
            let is_forgotten = segment.header.is_of_removed() && segment.header.earliest() < self.forget_before;
            is_forgotten || alive(segment) < segment.header.documents as usize
        };
        let chosen: Vec<_> =
            segments.into_iter().filter(|segment| !self.is_full(segment) || has_dead(segment)).collect();
        let any_dead = chosen.iter().any(has_dead);
        if chosen.len() + usize::from(puts > 0) > 1 || any_dead { chosen } else { Vec::new() }
    }
}

fn alive(segment: &StoredSegment) -> usize {
    segment.liveness.count()
}
