//! What a partition's tail says at last, and which segments are to be merged with it.
use std::borrow::Cow;
use std::rc::Rc;

use brooklet_segment::{Manifest, Operation, StoredOperation, StoredSchema, StoredSegment, removed_of};
use brooklet_task::{Rejection, limits};

use crate::Reason;

/// When the segments of one tier are merged.
#[derive(Clone, Copy)]
struct Fan {
    /// The number of segments, the new one included.
    segments: usize,
    /// The bytes of source they have together.
    source_bytes: usize,
}

/// Each document is rewritten about once per tier.
const FAN: Fan = Fan { segments: 8, source_bytes: usize::MAX };
/// What a feed loads in bulk are larger segments, and one merge makes full ones of them: enough for two, so that little is
/// rewritten again, and no more, because what a merge changes is one transaction. In the end they are settled like all
/// others.
const FAN_OF_LOADS: Fan = Fan { segments: 32, source_bytes: 2 * limits::SEGMENT_SOURCE_BYTES };
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
    operations.sort_by(|one, other| one.id().cmp(other.id()));
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

/// Chooses the merges of a partition: at most one for each schema.
pub(crate) fn choose(
    reason: Reason,
    segments: &[Rc<StoredSegment>],
    last: &[StoredOperation],
    schemas: &[StoredSchema],
    forget_before: u64,
) -> Vec<Merge> {
    let mut merges = Vec::new();
    for StoredSchema { name: schema, fingerprint, .. } in schemas {
        let puts = last.iter().filter(|operation| segment_schema(operation) == *schema).count();
        let of_schema: Vec<_> = segments.iter().filter(|segment| segment.header.schema == *schema).cloned().collect();
        let inputs = match reason {
            Reason::Rewrite => of_schema.into_iter().filter(|s| s.header.fingerprint != *fingerprint).collect(),
            Reason::Settle => compactable(of_schema, puts, forget_before),
            Reason::Fold => by_tiers(of_schema, puts, *fingerprint, FAN),
            Reason::Load => by_tiers(of_schema, puts, *fingerprint, FAN_OF_LOADS),
            // Writes wait for it: what it leaves half dead is merged later.
            Reason::Split => Vec::new(),
        };
        if puts > 0 || !inputs.is_empty() {
            merges.push(Merge { schema: schema.clone(), inputs });
        }
    }
    merges
}

fn tier(documents: usize) -> u32 {
    (documents / LOWEST).max(1).ilog(FAN.segments)
}

/// The segments to merge with `puts` documents: a whole tier when it is full, and whatever is mostly dead. Segments as
/// large as segments get are left alone: merging them would only copy.
fn by_tiers(segments: Vec<Rc<StoredSegment>>, puts: usize, fingerprint: u64, fan: Fan) -> Vec<Rc<StoredSegment>> {
    let (mut chosen, rest): (Vec<_>, Vec<_>) = segments.into_iter().partition(|segment| {
        segment.header.fingerprint != fingerprint || alive(segment) * 2 < segment.header.documents as usize
    });
    let mut documents = puts + chosen.iter().map(|segment| alive(segment)).sum::<usize>();
    for level in 0..=tier(limits::SEGMENT_DOCUMENTS) {
        let of_tier = rest.iter().filter(|segment| tier(alive(segment)) == level && !is_full(segment));
        let of_tier: Vec<_> = of_tier.cloned().collect();
        let source_bytes = of_tier.iter().map(|segment| segment.header.source_bytes()).sum::<usize>();
        let is_due = of_tier.len() + 1 >= fan.segments || source_bytes >= fan.source_bytes;
        if tier(documents) >= level && is_due {
            documents += of_tier.iter().map(|segment| alive(segment)).sum::<usize>();
            chosen.extend(of_tier);
        }
    }
    chosen
}

fn alive(segment: &StoredSegment) -> usize {
    segment.liveness.count()
}

/// Whether a segment has three quarters of what one may have, documents or bytes, and most of it is alive.
fn is_full(segment: &StoredSegment) -> bool {
    let documents = segment.header.documents as usize;
    let large = documents * 4 >= limits::SEGMENT_DOCUMENTS * 3
        || segment.header.source_bytes() * 4 >= limits::SEGMENT_SOURCE_BYTES * 3;
    large && alive(segment) * 4 >= documents * 3
}

/// All segments that are not full or have dead documents (or removed ones to forget), if there is more than one or the one has dead documents.
fn compactable(segments: Vec<Rc<StoredSegment>>, puts: usize, forget_before: u64) -> Vec<Rc<StoredSegment>> {
    let has_dead = |segment: &Rc<StoredSegment>| {
        let is_forgotten = segment.header.is_of_removed() && segment.header.earliest() < forget_before;
        is_forgotten || alive(segment) < segment.header.documents as usize
    };
    let chosen: Vec<_> = segments.into_iter().filter(|segment| !is_full(segment) || has_dead(segment)).collect();
    let any_dead = chosen.iter().any(has_dead);
    if chosen.len() + usize::from(puts > 0) > 1 || any_dead { chosen } else { Vec::new() }
}
