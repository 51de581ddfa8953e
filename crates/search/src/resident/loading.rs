//! Bringing a partition into memory: manifest and tail, and the ids that hide what is older.
use std::rc::Rc;

use brooklet_document::Document;
use brooklet_kernel::{Bitmap, sort};
use brooklet_segment::{
    Gaps, Halt, Manifest, Operation, PartitionVersion, SegmentBuilder, StoredOperation, StoredSchema, StoredSegment,
    find_id, removed_of,
};
use brooklet_task::{Block, Rejection, Want, limits};

use super::partition::{Batch, ResidentPartition, ResidentSegment};
use super::reads::Reads;
use crate::deployed::Deployed;

/// Bringing a partition into memory: manifest, then the ids that hide stored documents.
pub(crate) struct Loading {
    place: PartitionVersion,
    known: Option<Rc<ResidentPartition>>,
    number: u32,
    stage: Stage,
}

pub(crate) enum Stage {
    Manifest,
    Hide { partition: Box<ResidentPartition>, ids: Vec<String>, batch: Batch },
    Done(Rc<ResidentPartition>),
}

impl Loading {
    /// Begins; done at once if the partition is resident as it is now, or does not exist.
    pub(crate) fn begin(place: &PartitionVersion, reads: &mut Reads) -> Loading {
        let name = place.name();
        let known = reads.residency().partition(&name);
        let number = reads.residency().number_for(&name);
        reads.set_partition(&place.key, number);
        let mut loading = Loading { place: place.clone(), known, number, stage: Stage::Manifest };
        if place.partition == 0 {
            // It may have been erased.
            reads.residency().forget(&loading.place.name());
            loading.stage = Stage::Done(Rc::new(loading.nothing()));
        } else if let Some(known) = loading.known.clone()
            && known.layout == place.layout
            && known.operation == place.operation
        {
            loading.stage = if known.unhidden.is_empty() {
                Stage::Done(known)
            } else {
                let partition = Box::new(ResidentPartition { unhidden: Vec::new(), ..(*known).clone() });
                Stage::Hide { partition, ids: known.unhidden.clone(), batch: Batch::default() }
            };
        }
        loading
    }

    fn nothing(&self) -> ResidentPartition {
        ResidentPartition::empty(self.place.name(), self.number, self.place.layout)
    }

    /// The partition, if it is there.
    pub(crate) fn done(&self) -> Option<&Rc<ResidentPartition>> {
        match &self.stage {
            Stage::Done(partition) => Some(partition),
            _ => None,
        }
    }

    /// Whether the next answer is a manifest.
    pub(crate) fn wants_manifest(&self) -> bool {
        matches!(self.stage, Stage::Manifest)
    }

    /// Works until something is missing. After [`Want::Nothing`] it is [`done`](Loading::done).
    pub(crate) fn step(&mut self, deployed: &Deployed, reads: &mut Reads) -> Result<Want, Rejection> {
        let Stage::Hide { partition, ids, .. } = &mut self.stage else {
            return Ok(match &self.stage {
                Stage::Manifest => Want::Manifest {
                    layout: self.known.as_ref().map_or(0, |known| known.layout),
                    operation: self.known.as_ref().map_or(0, |known| known.operation),
                },
                _ => Want::Nothing,
            });
        };
        let mut waiting = Vec::new();
        for id in std::mem::take(ids) {
            match partition.hide_stored(&id, reads) {
                Ok(()) => {}
                Err(Halt::Missing) => waiting.push(id),
                Err(Halt::Rejected(rejection)) => {
                    // What hides too little is not kept.
                    self.stage = Stage::Manifest;
                    return Err(rejection);
                }
            }
        }
        if !waiting.is_empty() {
            *ids = waiting;
            return Ok(Want::Blocks(reads.take_missing()));
        }
        self.settle(deployed, reads);
        Ok(Want::Nothing)
    }

    /// The partition with its new batch becomes resident, also where some older documents are not hidden yet.
    fn settle(&mut self, deployed: &Deployed, reads: &mut Reads) {
        match std::mem::replace(&mut self.stage, Stage::Manifest) {
            Stage::Hide { partition: mut settled, ids, batch } => {
                settled.push(batch);
                settled.unhidden = ids;
                let partition = Rc::new(settled.join_partition(deployed));
                reads.residency().keep_partition(&partition);
                self.stage = Stage::Done(partition);
            }
            stage => self.stage = stage,
        }
    }

    /// Keeps what was read, when its task is out of time before it has all: the next one goes on from there.
    pub(crate) fn keep(mut self, deployed: &Deployed, reads: &mut Reads) {
        // Damage the next one tells.
        let _ = self.step(deployed, reads);
        self.settle(deployed, reads);
    }

    /// Takes the manifest that was wanted.
    pub(crate) fn give(&mut self, deployed: &Deployed, manifest: &[u8]) -> Result<(), Rejection> {
        let manifest = Manifest::read(&self.place.key, manifest)?;
        let mut partition = self.nothing();
        partition.layout = manifest.layout;
        match (&manifest.segments, &self.known) {
            (Some(segments), _) => partition.stored = segments.iter().map(load_stored).collect(),
            (None, Some(known)) => {
                partition.stored = known.stored.clone();
                partition.batches = known.batches.clone();
                partition.operation = known.operation;
            }
            (None, None) => return Err(Rejection::corrupt("a manifest without segments")),
        }
        let mut operations = Vec::new();
        for (number, bytes) in &manifest.operations {
            partition.operation = *number;
            operations.push(StoredOperation::decode(&self.place.key, bytes)?);
        }
        let batch = Batch::new(operations, deployed);
        let mut ids: Vec<String> = batch.operations.iter().map(|operation| operation.id().to_owned()).collect();
        if let (None, Some(known)) = (&manifest.segments, &self.known) {
            ids.extend_from_slice(&known.unhidden);
        }
        self.stage = Stage::Hide { partition: Box::new(partition), ids, batch };
        Ok(())
    }
}

/// A stored segment as it is read, with its documents that are alive.
pub(crate) fn load_stored(segment: &StoredSegment) -> (Rc<ResidentSegment>, Bitmap) {
    let resident = ResidentSegment { number: Some(segment.number), header: segment.header.clone(), memory: Vec::new() };
    (Rc::new(resident), segment.liveness.clone())
}

impl Batch {
    /// The segments of some operations in their order; of several on one document only the last counts.
    pub(crate) fn new(operations: Vec<StoredOperation>, deployed: &Deployed) -> Batch {
        let mut last = std::collections::BTreeMap::new();
        for operation in operations {
            last.insert(operation.id().to_owned(), operation);
        }
        let mut operations: Vec<StoredOperation> = last.into_values().collect();
        let mut segments = Vec::new();
        for schema in &deployed.schemas {
            let of_schema = operations.iter_mut().filter(|operation| *operation.schema == *schema.stored.name);
            let puts = of_schema.filter_map(|operation| match &mut operation.operation {
                Operation::Put(document) => {
                    schema.stored.mark_unread(&mut document.fields);
                    Some((&*document, operation.time))
                }
                Operation::Remove(_) => None,
            });
            let puts: Vec<(&Document, u64)> = puts.collect();
            // Columns are read as those of stored segments, which have so many documents at most.
            let chunks = puts.chunks(limits::SEGMENT_DOCUMENTS);
            segments.extend(chunks.map(|documents| in_memory(&schema.stored, documents)));
        }
        let mut lives: Vec<String> = operations.iter().map(|operation| removed_of(&operation.schema)).collect();
        sort(&mut lives);
        lives.dedup();
        segments.extend(lives.iter().flat_map(|life| removed_segments(life, &operations)));
        Batch { operations, segments }
    }
}

/// Segments, of the name that those of removed documents have, of what some operations remove.
pub(crate) fn removed_segments(
    name: &str,
    operations: &[StoredOperation],
) -> Vec<(Rc<ResidentSegment>, Vec<String>, Bitmap)> {
    let removes = operations.iter().filter(|operation| matches!(operation.operation, Operation::Remove(_)));
    let removes = removes.filter(|operation| removed_of(&operation.schema) == name);
    let left = removes.map(|remove| (Document { id: remove.id().to_owned(), fields: Vec::new() }, remove.time));
    let left: Vec<(Document, u64)> = left.collect();
    let left: Vec<(&Document, u64)> = left.iter().map(|(document, time)| (document, *time)).collect();
    let stored = StoredSchema::of_removed(name);
    left.chunks(limits::SEGMENT_DOCUMENTS).map(|documents| in_memory(&stored, documents)).collect()
}

/// A segment of some documents and their times, all in memory, with their ids.
pub(crate) fn in_memory(
    schema: &StoredSchema,
    documents: &[(&Document, u64)],
) -> (Rc<ResidentSegment>, Vec<String>, Bitmap) {
    let mut builder = SegmentBuilder::from_schema(schema);
    documents.iter().for_each(|(document, time)| builder.add(document, *time));
    let built = builder.finish();
    let memory = built.payloads.iter().map(|payload| Block::copy_of(payload)).collect();
    let ids = documents.iter().map(|(document, _)| document.id.clone()).collect();
    let segment = ResidentSegment { number: None, header: built.header, memory };
    (Rc::new(segment), ids, Bitmap::all(documents.len()))
}

impl ResidentPartition {
    /// Hides the stored documents with this id. All missing blocks are noted before it halts.
    pub(crate) fn hide_stored(&mut self, id: &str, reads: &mut Reads) -> Result<(), Halt> {
        let mut gaps = Gaps::default();
        for (segment, alive) in &mut self.stored {
            if let Some(Some(ordinal)) = gaps.note(find_id(&segment.header, id, &mut reads.segment(segment)))? {
                alive.clear(ordinal as usize);
            }
        }
        gaps.check()
    }

    /// Adds a batch that is newer than all others.
    pub(crate) fn push(&mut self, batch: Batch) {
        if batch.operations.is_empty() {
            return;
        }
        for older in &mut self.batches {
            let hides = older.segments.iter().any(|(_, ids, alive)| {
                batch.operations.iter().any(|operation| {
                    ids.binary_search_by(|id| id.as_str().cmp(operation.id())).is_ok_and(|at| alive.get(at))
                })
            });
            if hides {
                *older = Rc::new(older.hidden_by(&batch));
            }
        }
        self.batches.push(Rc::new(batch));
    }

    /// Joins the newest batches while the older is not larger than the newer: sizes then fall by half at least.
    pub(crate) fn join_partition(mut self, deployed: &Deployed) -> ResidentPartition {
        while let [.., older, newer] = &self.batches[..] {
            if older.operations.len() > newer.operations.len() {
                break;
            }
            let operations = older.operations.iter().chain(&newer.operations).cloned().collect();
            self.batches.truncate(self.batches.len() - 2);
            self.batches.push(Rc::new(Batch::new(operations, deployed)));
        }
        self.rebuild_views();
        self
    }
}

impl Batch {
    pub(crate) fn hidden_by(&self, newer: &Batch) -> Batch {
        let mut segments = Vec::new();
        for (segment, ids, alive) in &self.segments {
            let mut alive = alive.clone();
            for operation in &newer.operations {
                if let Ok(at) = ids.binary_search_by(|id| id.as_str().cmp(operation.id())) {
                    alive.clear(at);
                }
            }
            segments.push((segment.clone(), ids.clone(), alive));
        }
        Batch { operations: self.operations.clone(), segments }
    }
}
