//! Looking for one document of a partition that is not resident as it is now: of its tail what is new is read, and the one
//! operation that counts, so that a get after many writes does not take the whole tail into memory.
use std::cell::RefCell;
use std::rc::Rc;

use brooklet_kernel::Bitmap;
use brooklet_segment::{
    Halt, Manifest, Operation, Outline, Outlines, PartitionName, PartitionVersion, StoredOperation, find_id,
};
use brooklet_task::{Rejection, Want};

use super::loading::{in_memory, load_stored};
use super::partition::ResidentSegment;
use super::reads::Reads;
use crate::deployed::DeployedSchema;

/// Where a document stands.
pub(crate) type Standing = (Rc<ResidentSegment>, u32);

/// The search for a document.
pub(crate) struct Lookup {
    name: PartitionName,
    id: String,
    schema: Rc<DeployedSchema>,
    outlines: Rc<RefCell<Outlines>>,
    stage: Stage,
}

enum Stage {
    /// Learning what is new of the partition.
    Manifest(Outline),
    /// Reading the newest operation of the tail on the document, by its number.
    Operation(u64),
    /// Looking through the segments of its type.
    Segments(Vec<(Rc<ResidentSegment>, Bitmap)>),
    Done(Option<Standing>),
}

impl Lookup {
    /// Goes on with what is known of the partition.
    pub(crate) fn begin(
        place: &PartitionVersion,
        id: &str,
        schema: Rc<DeployedSchema>,
        outlines: Rc<RefCell<Outlines>>,
    ) -> Lookup {
        let name = place.name();
        let outline = outlines.borrow_mut().take(&name);
        let is_known = outline.is_of(place);
        let stage = Stage::Manifest(outline);
        let mut lookup = Lookup { name, id: id.to_owned(), schema, outlines, stage };
        if is_known {
            lookup.choose();
        }
        lookup
    }

    /// Works until something is missing; with [`Want::Nothing`] it is [`done`](Lookup::done).
    pub(crate) fn step(&mut self, reads: &mut Reads) -> Result<Want, Rejection> {
        match &self.stage {
            Stage::Manifest(outline) => Ok(Want::Manifest { layout: outline.layout(), operation: outline.operation() }),
            Stage::Operation(number) => Ok(Want::Operation(*number)),
            Stage::Segments(segments) => {
                let mut missing = false;
                for (segment, alive) in segments {
                    match find_id(&segment.header, &self.id, &mut reads.segment(segment)) {
                        Ok(Some(ordinal)) if alive.get(ordinal as usize) => {
                            self.stage = Stage::Done(Some((segment.clone(), ordinal)));
                            return Ok(Want::Nothing);
                        }
                        Ok(_) => {}
                        Err(Halt::Missing) => missing = true,
                        Err(Halt::Rejected(rejection)) => return Err(rejection),
                    }
                }
                if missing {
                    return Ok(Want::Blocks(reads.take_missing()));
                }
                self.stage = Stage::Done(None);
                Ok(Want::Nothing)
            }
            Stage::Done(_) => Ok(Want::Nothing),
        }
    }

    /// Takes what was wanted.
    pub(crate) fn give(&mut self, answer: brooklet_task::Block, reads: &mut Reads) -> Result<(), Rejection> {
        match &mut self.stage {
            Stage::Manifest(outline) => {
                outline.take(self.name.key(), Manifest::read(self.name.key(), answer.bytes())?)?;
                self.choose();
                Ok(())
            }
            Stage::Operation(_) => {
                let operation = StoredOperation::decode(self.name.key(), answer.bytes())?;
                if operation.id() != self.id {
                    return Err(Rejection::corrupt("An operation of the tail on another document"));
                }
                self.stage = Stage::Done(self.of_tail(&operation));
                Ok(())
            }
            Stage::Segments(_) | Stage::Done(_) => reads.give(answer),
        }
    }

    /// Where the document stands, if there is one; nothing while that is not known.
    pub(crate) fn done(&self) -> Option<Option<&Standing>> {
        match &self.stage {
            Stage::Done(standing) => Some(standing.as_ref()),
            _ => None,
        }
    }

    /// The last operation of the tail on the document decides; without one, the segments of its type are looked through.
    fn choose(&mut self) {
        let Stage::Manifest(outline) = &mut self.stage else { return };
        let outline = std::mem::take(outline);
        self.stage = match outline.newest(&self.id) {
            Some(number) => Stage::Operation(number),
            None => {
                let of_schema = |name: &str| name == self.schema.stored.name;
                let segments = outline.segments().iter().filter(|segment| of_schema(&segment.header.schema));
                Stage::Segments(segments.map(|segment| load_stored(segment)).collect())
            }
        };
        self.outlines.borrow_mut().keep(&self.name, outline);
    }

    /// What an operation of the tail leaves, as a segment of one document: it is read as any other.
    fn of_tail(&self, operation: &StoredOperation) -> Option<Standing> {
        let Operation::Put(document) = &operation.operation else { return None };
        let schema = &self.schema;
        if *operation.schema != *schema.stored.name {
            return None;
        }
        let mut document = document.clone();
        schema.stored.mark_unread(&mut document.fields);
        let (segment, ..) = in_memory(&schema.stored, &[(&document, operation.time)]);
        Some((segment, 0))
    }
}

/// A search that is out of time before it learnt what is new leaves what was known to the next one.
impl Drop for Lookup {
    fn drop(&mut self) {
        if let Stage::Manifest(outline) = &mut self.stage {
            self.outlines.borrow_mut().keep(&self.name, std::mem::take(outline));
        }
    }
}
