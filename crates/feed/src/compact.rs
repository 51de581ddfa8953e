//! Folds a partition's tail into segments and merges small ones, in steps.
//!
//! Operations that arrive while it runs are not seen: they stay in the tail, whose operations hide documents by id,
//! whatever segment these are in then. So a fold needs no lock; there is only ever one of a partition at a time.
//!
//! What is removed leaves its id and the time in segments of their own, for visits that ask for removes, until it is old
//! enough to be forgotten.
use std::collections::VecDeque;
use std::rc::Rc;

use brooklet_document::{Document, Shard};
use brooklet_kernel::Bitmap;
use brooklet_schema::Application;
use brooklet_segment::{
    Change, Gaps, Halt, Manifest, NewSegment, Operation, PartitionVersion, Sealing, SegmentBuilder, StoredOperation,
    StoredSchema, StoredSegment, is_of_removed, write_liveness,
};
use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Block, BlockRef, Rejection, Task, Want};

use crate::bounds::Bounds;
use crate::change::{Choice, Chosen, Merge, last_operations, segment_schema};
use crate::cursor::{Cursor, Dated, Fetched, find_all, find_others};
use crate::reason::Reason;

/// Documents merged before the thread is given back.
const STEP_DOCUMENTS: usize = 32;
/// Bytes of source after which it is given back earlier.
const STEP_BYTES: usize = 256 << 10;

/// The task.
pub struct Compact {
    place: PartitionVersion,
    reason: Reason,
    next_segment: u32,
    /// Operations that are not in the tail and come after all that is.
    given: Vec<StoredOperation>,
    /// Removes before this are forgotten, µs since the epoch.
    forget_before: u64,
    /// The documents that stay, if not all do.
    kept: Option<Shard>,
    schemas: Vec<StoredSchema>,
    bounds: Bounds,
    state: State,
    asked: VecDeque<BlockRef>,
    fetched: Fetched,
    change: Change,
}

enum State {
    Manifest,
    Hide(Hide),
    Merge(Box<Merging>),
    Done,
}

/// Finding the documents that the tail hides, segment after segment.
struct Hide {
    segments: Vec<Rc<StoredSegment>>,
    /// The last operation on each document, by their ids.
    last: Vec<StoredOperation>,
    /// Index of the segment that is next.
    next: usize,
    touched: Vec<u32>,
}

/// Writing new segments, merge after merge.
struct Merging {
    queue: VecDeque<Merge>,
    last: Vec<StoredOperation>,
    current: Option<Running>,
}

struct Running {
    stored: StoredSchema,
    /// Those that have stepped over their document, or have none yet.
    advanced: Vec<Cursor>,
    /// The others with the documents that they are at, the least id last.
    ready: Vec<(Cursor, Dated)>,
    puts: VecDeque<Dated>,
    /// Documents that were written before this are left out.
    from: u64,
    builder: SegmentBuilder,
    bounds: Bounds,
    finishing: bool,
    sealing: Option<Sealed>,
}

/// A segment that is written but for its checksums.
struct Sealed {
    number: u32,
    documents: u32,
    sealing: Sealing,
}

impl Compact {
    /// Reads the request (docs/abi.md, compact).
    ///
    /// # Errors
    /// If it is malformed.
    pub fn open(application: &Application, request: &[u8], bounds: Bounds) -> Result<Compact, Rejection> {
        let mut reader = Reader::new(request);
        let place = PartitionVersion::read(&mut reader)?;
        let reason = match reader.u8()? {
            1 => Reason::Fold,
            2 => Reason::Rewrite,
            4 => Reason::Split,
            _ => Reason::Settle,
        };
        let next_segment = reader.u32()?;
        let forget_before = reader.u64()?;
        let kept = (reason == Reason::Split).then(|| Shard::read(&mut reader)).transpose()?;
        reader.end()?;
        let columns = stored_schemas(application);
        Ok(Compact { forget_before, kept, bounds, ..Compact::new(place, reason, next_segment, columns, Vec::new()) })
    }

    /// Folds the tail together with operations that were never in it and come after it, in their order.
    pub(crate) fn with_operations(
        place: PartitionVersion,
        next_segment: u32,
        schemas: Vec<StoredSchema>,
        given: Vec<StoredOperation>,
        bounds: Bounds,
    ) -> Compact {
        Compact { bounds, ..Compact::new(place, Reason::Load, next_segment, schemas, given) }
    }

    fn new(
        place: PartitionVersion,
        reason: Reason,
        next_segment: u32,
        schemas: Vec<StoredSchema>,
        given: Vec<StoredOperation>,
    ) -> Compact {
        Compact {
            place,
            reason,
            next_segment,
            given,
            forget_before: 0,
            kept: None,
            schemas,
            bounds: Bounds::default(),
            state: State::Manifest,
            asked: VecDeque::new(),
            fetched: Fetched::default(),
            change: Change::default(),
        }
    }

    fn take_manifest(&mut self, manifest: Manifest) -> Result<(), Rejection> {
        let segments = manifest.segments.as_ref().ok_or_else(|| Rejection::corrupt("a manifest without segments"))?;
        self.change.operation = manifest.operations.last().map_or(0, |(number, _)| *number);
        let mut last = last_operations(&self.place.key, &manifest, std::mem::take(&mut self.given))?;
        if let Some(kept) = self.kept {
            last.retain(|operation| kept.holds(operation.id()));
        }
        let segments = segments.iter().cloned().map(Rc::new).collect();
        self.state = State::Hide(Hide { segments, last, next: 0, touched: Vec::new() });
        Ok(())
    }

    /// Marks what the tail replaced or removed as dead, in the next segment.
    fn hide(&mut self) -> Result<Option<Want>, Rejection> {
        let State::Hide(hide) = &mut self.state else { return Ok(None) };
        let Some(segment) = hide.segments.get_mut(hide.next).filter(|_| self.kept.is_some() || !hide.last.is_empty())
        else {
            self.begin_merges();
            return Ok(None);
        };
        let replaced = find_all(segment, &hide.last, &mut self.fetched);
        let moved = self.kept.map_or(Ok(Vec::new()), |kept| find_others(segment, kept, &mut self.fetched));
        // Both note what they miss before one of them halts.
        match replaced.and_then(|replaced| Ok([replaced, moved?].concat())) {
            Ok(found) => {
                let alive = |ordinal: &u32| segment.liveness.get(*ordinal as usize);
                let dying: Vec<u32> = found.into_iter().filter(alive).collect();
                if !dying.is_empty() {
                    let segment = Rc::make_mut(segment);
                    dying.iter().for_each(|ordinal| segment.liveness.clear(*ordinal as usize));
                    hide.touched.push(segment.number);
                }
                self.fetched.forget(segment.number, &[]);
                hide.next += 1;
                Ok(Some(Want::Pause))
            }
            Err(Halt::Missing) => Ok(Some(self.want_missing())),
            Err(Halt::Rejected(rejection)) => Err(rejection),
        }
    }

    fn begin_merges(&mut self) {
        let State::Hide(hide) = std::mem::replace(&mut self.state, State::Done) else { return };
        let Compact { reason, schemas, forget_before, bounds, .. } = self;
        let choice = Choice { reason: *reason, schemas, forget_before: *forget_before, bounds: *bounds };
        let Chosen { merges, more } = choice.merges(&hide.segments, &hide.last);
        self.change.more = more;
        let merged = |number: u32| merges.iter().any(|merge| merge.inputs.iter().any(|input| input.number == number));
        for segment in &hide.segments {
            let empty = segment.liveness.count() == 0;
            // Of a schema that was removed, or of an earlier life of one: its documents are gone.
            let unknown = !self.schemas.iter().any(|known| known.name == segment.header.schema);
            if merged(segment.number) || empty || unknown {
                self.change.removed.push(segment.number);
            } else if hide.touched.contains(&segment.number) {
                let liveness = write_liveness(&self.place.key, segment.number, &segment.liveness);
                self.change.liveness.push((segment.number, liveness));
            }
        }
        self.fetched = Fetched::default();
        let merging = Merging { queue: merges.into(), last: hide.last, current: None };
        self.state = State::Merge(Box::new(merging));
    }

    /// Works on the current merge for one step.
    fn merge(&mut self) -> Result<Option<Want>, Rejection> {
        let State::Merge(merging) = &mut self.state else { return Ok(None) };
        if merging.current.is_none() {
            let Some(merge) = merging.queue.pop_front() else {
                self.state = State::Done;
                return Ok(None);
            };
            merging.current = begin(merge, &mut merging.last, &self.schemas, self.forget_before, self.bounds);
        }
        let Some(running) = &mut merging.current else { return Ok(None) };
        if !running.finishing {
            match running.add_documents(&mut self.fetched) {
                Ok(()) => {}
                Err(Halt::Missing) => return Ok(Some(self.want_missing())),
                Err(Halt::Rejected(rejection)) => return Err(rejection),
            }
        } else if running.finish_segment(&self.place.key, &mut self.next_segment, &mut self.change.segments) {
            if running.exhausted() {
                merging.current = None;
            } else {
                running.builder = SegmentBuilder::from_schema(&running.stored);
                running.finishing = false;
            }
        }
        Ok(Some(Want::Pause))
    }

    /// What is to be committed; nothing if nothing is, or the end was not reached.
    pub(crate) fn into_change(self) -> Option<Change> {
        let Change { operation, removed, liveness, segments, more: _ } = &self.change;
        let nothing = *operation == 0 && removed.is_empty() && liveness.is_empty() && segments.is_empty();
        (!nothing && matches!(self.state, State::Done)).then_some(self.change)
    }

    fn want_missing(&mut self) -> Want {
        let missing = self.fetched.take_missing();
        self.asked.extend(&missing);
        Want::Blocks(missing)
    }
}

/// How each schema is stored, and what is left of removed documents.
pub(crate) fn stored_schemas(application: &Application) -> Vec<StoredSchema> {
    let removed = application.stored_names().into_iter().filter(|name| is_of_removed(name));
    let removed = removed.map(|name| StoredSchema::of_removed(&name));
    application.schemas.iter().map(|schema| StoredSchema::new(schema)).chain(removed).collect()
}

fn begin(
    merge: Merge,
    last: &mut Vec<StoredOperation>,
    schemas: &[StoredSchema],
    forget_before: u64,
    bounds: Bounds,
) -> Option<Running> {
    let stored = schemas.iter().find(|stored| stored.name == merge.schema)?.clone();
    // There is one merge of a schema, so it takes the documents themselves.
    let (of_schema, others): (Vec<_>, Vec<_>) =
        std::mem::take(last).into_iter().partition(|operation| segment_schema(operation) == merge.schema);
    *last = others;
    let puts = of_schema.into_iter().map(|StoredOperation { time, operation, .. }| {
        let document = match operation {
            Operation::Put(document) => document,
            Operation::Remove(id) => Document { id, fields: Vec::new() },
        };
        Dated { document, time }
    });
    Some(Running {
        puts: puts.collect(),
        from: if is_of_removed(&merge.schema) { forget_before } else { 0 },
        advanced: merge.inputs.into_iter().map(Cursor::new).collect(),
        ready: Vec::new(),
        builder: SegmentBuilder::from_schema(&stored),
        stored,
        bounds,
        finishing: false,
        sealing: None,
    })
}

impl Running {
    /// Adds some documents in the order of their ids; starts finishing at the end or when the segment is full.
    fn add_documents(&mut self, fetched: &mut Fetched) -> Result<(), Halt> {
        let bytes_before = self.builder.source_bytes();
        for _ in 0..STEP_DOCUMENTS {
            self.fill(fetched)?;
            let Some(Dated { mut document, time }) = self.take_least() else {
                self.finishing = true;
                return Ok(());
            };
            if time < self.from {
                continue;
            }
            self.stored.mark_unread(&mut document.fields);
            self.builder.add(&document, time);
            if self.bounds.ends(&self.builder) {
                self.finishing = true;
                return Ok(());
            }
            if self.builder.source_bytes() - bytes_before > STEP_BYTES {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Writes the segment for one step; whether that was the last. One without documents is none.
    fn finish_segment(&mut self, key: &str, next_segment: &mut u32, segments: &mut Vec<NewSegment>) -> bool {
        if self.sealing.is_none() {
            let Some(built) = self.builder.step() else { return false };
            let documents = built.header.documents;
            if documents == 0 {
                return true;
            }
            let number = *next_segment;
            *next_segment += 1;
            self.sealing = Some(Sealed { number, documents, sealing: Sealing::new(built, key, number) });
        }
        let Some(Sealed { number, documents, sealing }) = &mut self.sealing else { return true };
        let Some((header, blocks)) = sealing.step() else { return false };
        let (number, documents) = (*number, *documents);
        self.sealing = None;
        let liveness = write_liveness(key, number, &Bitmap::all(documents as usize));
        let schema = self.stored.name.clone();
        segments.push(NewSegment { number, schema, documents, header, liveness, blocks });
        true
    }

    /// Has every cursor at its next document; the missing blocks of all of them are noted before it halts.
    fn fill(&mut self, fetched: &mut Fetched) -> Result<(), Halt> {
        let mut gaps = Gaps::default();
        for mut cursor in std::mem::take(&mut self.advanced) {
            match gaps.note(cursor.peek(fetched))? {
                Some(Some(dated)) => {
                    let id = &dated.document.id;
                    let place = self.ready.partition_point(|(_, other)| other.document.id > *id);
                    self.ready.insert(place, (cursor, dated));
                }
                // It is at its end.
                Some(None) => {}
                None => self.advanced.push(cursor),
            }
        }
        gaps.check()
    }

    fn take_least(&mut self) -> Option<Dated> {
        let from_tail = match (self.ready.last(), self.puts.front()) {
            (Some((_, held)), Some(put)) => put.document.id < held.document.id,
            (_, put) => put.is_some(),
        };
        if from_tail {
            return self.puts.pop_front();
        }
        let (mut cursor, held) = self.ready.pop()?;
        cursor.advance();
        self.advanced.push(cursor);
        Some(held)
    }

    fn exhausted(&self) -> bool {
        self.puts.is_empty() && self.ready.is_empty() && self.advanced.is_empty()
    }
}

impl Task for Compact {
    fn wants(&mut self) -> Result<Want, Rejection> {
        loop {
            let want = match &self.state {
                State::Manifest => Some(Want::Manifest { layout: 0, operation: 0 }),
                State::Hide(_) => self.hide()?,
                State::Merge(_) => self.merge()?,
                State::Done => Some(Want::Nothing),
            };
            if let Some(want) = want {
                return Ok(want);
            }
        }
    }

    fn give(&mut self, answer: Block) -> Result<(), Rejection> {
        if matches!(self.state, State::Manifest) {
            return self.take_manifest(Manifest::read(&self.place.key, answer.bytes())?);
        }
        let place = self.asked.pop_front().ok_or_else(|| Rejection::corrupt("a block that was not wanted"))?;
        self.fetched.give(&self.place.key, place, answer)
    }

    fn finish(self: Box<Self>) -> Result<Vec<u8>, Rejection> {
        Ok(self.finish_in_pieces()?.concat())
    }

    fn finish_in_pieces(self: Box<Self>) -> Result<Vec<Vec<u8>>, Rejection> {
        Ok(self.into_change().map_or_else(Vec::new, |change| change.into_pieces(Writer::new())))
    }
}
