//! Getting one document by its id.
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use brooklet_document::json::{JsonWriter, Render, TensorFormat, write_fields};
use brooklet_document::{Document, Progress, shown_id, unknown_type};
use brooklet_segment::{Gaps, Halt, Outlines, PartitionVersion, find_id};
use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Block, Code, Rejection, Task, Want};

use crate::asked::field_set::{FieldChoice, FieldSet};
use crate::deployed::{Deployed, DeployedSchema};
use crate::resident::loading::Loading;
use crate::resident::lookup::{Lookup, Standing};
use crate::resident::partition::ResidentPartition;
use crate::resident::reads::Reads;
use crate::resident::residency::Residency;

/// The task: the answer is JSON with a status.
pub struct Get {
    path: String,
    /// As it is shown.
    id: String,
    asked: Result<DocumentRequest, Rejection>,
    tensors: TensorFormat,
    reads: Reads,
    writing: Option<Writing>,
    answer: Option<(u16, String)>,
}

/// The answer as far as it is written.
struct Writing {
    /// None if there is no such document.
    document: Option<Document>,
    json: JsonWriter,
    progress: Progress,
}

/// What is asked for, and by which way it is looked for.
struct DocumentRequest {
    /// As it is stored.
    id: String,
    schema: Rc<DeployedSchema>,
    fields: FieldChoice,
    way: Way,
}

enum Way {
    /// The partition is in memory as it is now.
    Resident(Rc<ResidentPartition>),
    Lookup(Lookup),
}

impl Get {
    /// Reads the request (docs/abi.md, get).
    ///
    /// # Errors
    /// If it is malformed.
    pub fn open(
        deployed: &Deployed,
        residency: Rc<RefCell<Residency>>,
        outlines: Rc<RefCell<Outlines>>,
        request: &[u8],
    ) -> Result<Get, Rejection> {
        let mut reader = Reader::new(request);
        let place = PartitionVersion::read(&mut reader)?;
        let path = reader.text()?.to_owned();
        let id = reader.text()?.to_owned();
        let field_set = reader.text()?.to_owned();
        // An unknown format is the short one here, never an error (document-v1, query parameters).
        let tensors = TensorFormat::from_name(reader.text()?).unwrap_or(TensorFormat::Short);
        let mut reads = Reads::new(residency);
        let asked = asked_for(deployed, &place, &id, &field_set).map(|(schema, fields)| {
            let stored = schema.schema.stored_id(&shown_id(&id)).into_owned();
            let way = match Loading::begin(&place, &mut reads).done() {
                Some(partition) => Way::Resident(partition.clone()),
                None => Way::Lookup(Lookup::begin(&place, &stored, schema.clone(), outlines)),
            };
            DocumentRequest { id: stored, schema, fields, way }
        });
        let id = shown_id(&id).into_owned();
        Ok(Get { path, id, asked, tensors, reads, writing: None, answer: None })
    }

    /// Works until something is missing or the document was read.
    fn look_up(&mut self) -> Result<Want, Halt> {
        let Ok(DocumentRequest { id, schema, fields, way }) = &mut self.asked else { return Ok(Want::Nothing) };
        let standing = match way {
            Way::Resident(partition) => find(partition, &schema.stored.name, id, &mut self.reads)?,
            Way::Lookup(lookup) => {
                let want = lookup.step(&mut self.reads)?;
                let Some(standing) = lookup.done() else { return Ok(want) };
                standing.cloned()
            }
        };
        let document = match &standing {
            None => None,
            Some((segment, ordinal)) => {
                let mut blocks = self.reads.segment(segment);
                Some(schema.read(&segment.header, *ordinal, &|name| fields.has(name), &mut blocks)?)
            }
        };
        self.writing = Some(self.begin(document));
        Ok(Want::Nothing)
    }

    fn begin(&self, document: Option<Document>) -> Writing {
        let mut json = JsonWriter::new();
        json.begin_object();
        json.key("pathId");
        json.string(&self.path);
        json.key("id");
        json.string(&self.id);
        if document.is_some() {
            json.key("fields");
        }
        Writing { document, json, progress: Progress::default() }
    }

    /// Writes as much of what was read as a step may.
    fn write(&mut self) -> Want {
        let Some(Writing { document, json, progress }) = &mut self.writing else { return Want::Nothing };
        if let Some(document) = document {
            progress.may_do(*self.reads.work_left());
            if !write_fields(&document.fields, &Render::document(self.tensors), progress, json) {
                return Want::Pause;
            }
        }
        json.end_object();
        let status = if document.is_some() { 200 } else { 404 };
        let text = std::mem::take(json).finish();
        self.writing = None;
        self.answer = Some((status, text));
        Want::Nothing
    }
}

/// Where a document of a resident partition stands. All missing blocks are noted before it halts.
fn find(partition: &ResidentPartition, schema: &str, id: &str, reads: &mut Reads) -> Result<Option<Standing>, Halt> {
    let mut gaps = Gaps::default();
    for view in partition.views.iter().filter(|view| view.segment.header.schema == schema) {
        let found = gaps.note(find_id(&view.segment.header, id, &mut reads.segment(&view.segment)))?.flatten();
        if let Some(ordinal) = found.filter(|ordinal| view.alive.get(*ordinal as usize)) {
            return Ok(Some((view.segment.clone(), ordinal)));
        }
    }
    gaps.check()?;
    Ok(None)
}

fn asked_for(
    deployed: &Deployed,
    place: &PartitionVersion,
    id: &str,
    field_set: &str,
) -> Result<(Rc<DeployedSchema>, FieldChoice), Rejection> {
    let invalid = |message: String| Rejection::new(Code::InvalidDocument, message);
    let (of, id) = deployed.application.schema_of(id)?;
    if id.partition_key() != place.key {
        return Err(invalid(format!("Document '{}' is not in partition '{}'", id.as_str(), place.key)));
    }
    let name = id.document_type();
    let schema = deployed
        .schemas
        .iter()
        .find(|schema| Arc::ptr_eq(&schema.schema, of))
        .ok_or_else(|| unknown_type(name, deployed.schemas.iter().map(|schema| schema.schema.name.as_str())))?;
    let fields = match FieldSet::parse(field_set)? {
        // Which type stands before the whole document is not looked at, as long as it is one.
        asked @ FieldSet::OfType(_, None) => {
            asked.check(deployed)?;
            FieldSet::Document.choice(schema, deployed)
        }
        // A set of a type that it is no heir of is a slip.
        FieldSet::OfType(of, _) if of != name && !schema.schema.document_inherits.contains(&of) => {
            return Err(invalid(format!("Field set '{field_set}' is of type '{of}', not of '{name}'")));
        }
        asked => {
            asked.check(deployed)?;
            asked.choice(schema, deployed)
        }
    };
    Ok((schema.clone(), fields))
}

impl Task for Get {
    fn wants(&mut self) -> Result<Want, Rejection> {
        if self.answer.is_some() || self.asked.is_err() {
            return Ok(Want::Nothing);
        }
        self.reads.begin_step();
        if self.writing.is_some() {
            return Ok(self.write());
        }
        match self.look_up() {
            Ok(Want::Nothing) => Ok(self.write()),
            Ok(want) => Ok(want),
            Err(Halt::Missing) => Ok(Want::Blocks(self.reads.take_missing())),
            Err(Halt::Rejected(rejection)) => Err(rejection),
        }
    }

    fn give(&mut self, answer: Block) -> Result<(), Rejection> {
        if let Ok(DocumentRequest { way: Way::Lookup(lookup), .. }) = &mut self.asked {
            return lookup.give(answer, &mut self.reads);
        }
        self.reads.give(answer)
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<u8>, Rejection> {
        let (status, body) = match (self.answer.take(), &self.asked) {
            (Some(answer), _) => answer,
            (None, Err(rejection)) => (rejection.code.status(), refusal(&self.path, rejection)),
            (None, Ok(_)) => {
                let late = Rejection::new(Code::TimedOut, format!("Timeout while getting '{}'", self.id));
                (504, refusal(&self.path, &late))
            }
        };
        let mut writer = Writer::new();
        writer.u16(status);
        writer.bytes(body.as_bytes());
        Ok(writer.finish())
    }
}

/// A refusal in the shape of /document/v1: flat, scalars only.
fn refusal(path: &str, rejection: &Rejection) -> String {
    let mut json = JsonWriter::new();
    json.begin_object();
    // A read changes nothing, whatever became of it.
    let members = [
        ("pathId", path),
        ("message", rejection.message.as_str()),
        ("outcome", "not_applied"),
        ("code", rejection.code.name()),
    ];
    for (key, value) in members {
        json.key(key);
        json.string(value);
    }
    json.end_object();
    json.finish()
}
