//! Getting one document by its id.
use std::cell::RefCell;
use std::rc::Rc;

use brooklet_document::json::{JsonWriter, Render, TensorFormat, render_fields};
use brooklet_document::{DocumentId, unknown_type};
use brooklet_segment::{Halt, Place, find_id, read_document};
use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Block, Code, Rejection, Task, Want};

use crate::deployed::{Deployed, DeployedSchema};
use crate::field_set::{FieldChoice, FieldSet};
use crate::partition::Loading;
use crate::reads::Reads;
use crate::residency::Residency;

/// The task: the answer is JSON with a status.
pub struct Get {
    deployed: Rc<Deployed>,
    path: String,
    id: String,
    asked: Result<(Rc<DeployedSchema>, FieldChoice), Rejection>,
    tensors: TensorFormat,
    loading: Loading,
    reads: Reads,
    answer: Option<(u16, String)>,
}

impl Get {
    /// Reads the request (docs/abi.md, get).
    ///
    /// # Errors
    /// If it is malformed.
    pub fn open(deployed: Rc<Deployed>, residency: Rc<RefCell<Residency>>, request: &[u8]) -> Result<Get, Rejection> {
        let mut reader = Reader::new(request);
        let place = Place::read(&mut reader)?;
        let path = reader.text()?.to_owned();
        let id = reader.text()?.to_owned();
        let field_set = reader.text()?.to_owned();
        // An unknown format is the short one here, never an error (document-v1, query parameters).
        let tensors = TensorFormat::from_name(reader.text()?).unwrap_or(TensorFormat::Short);
        let mut reads = Reads::new(residency);
        let loading = Loading::begin(&place, &mut reads);
        let asked = asked_for(&deployed, &place, &id, &field_set);
        Ok(Get { deployed, path, id, asked, tensors, loading, reads, answer: None })
    }

    fn look_up(&mut self) -> Result<(), Halt> {
        let (schema, fields) = match &self.asked {
            Ok(asked) => asked,
            Err(rejection) => return Err(rejection.clone().into()),
        };
        let Some(partition) = self.loading.done() else { return Err(Halt::Missing) };
        let mut missing = false;
        let of_schema = |name: &str| name == schema.schema.name;
        for view in partition.views.iter().filter(|view| of_schema(&view.segment.header.schema)) {
            let mut blocks = self.reads.of(&view.segment);
            let ordinal = match find_id(&view.segment.header, &self.id, &mut blocks) {
                Ok(Some(ordinal)) if view.alive.get(ordinal as usize) => ordinal,
                Ok(_) => continue,
                Err(Halt::Missing) => {
                    missing = true;
                    continue;
                }
                Err(halt) => return Err(halt),
            };
            let keep = |name: &str| fields.has(name);
            let document = read_document(&view.segment.header, ordinal, &keep, &mut blocks)?;
            self.answer = Some((200, self.render(Some(&document.fields))));
            return Ok(());
        }
        if missing {
            return Err(Halt::Missing);
        }
        self.answer = Some((404, self.render(None)));
        Ok(())
    }

    fn render(&self, fields: Option<&[(String, brooklet_document::Value)]>) -> String {
        let mut json = JsonWriter::new();
        json.begin_object();
        json.key("pathId");
        json.string(&self.path);
        json.key("id");
        json.string(&self.id);
        if let Some(fields) = fields {
            json.key("fields");
            render_fields(fields, &Render::document(self.tensors), &mut json);
        }
        json.end_object();
        json.finish()
    }
}

fn asked_for(
    deployed: &Deployed,
    place: &Place,
    id: &str,
    field_set: &str,
) -> Result<(Rc<DeployedSchema>, FieldChoice), Rejection> {
    let invalid = |message: String| Rejection::new(Code::InvalidDocument, message);
    let id = DocumentId::parse(id)?;
    if id.partition_key() != place.key {
        return Err(invalid(format!("Document '{}' is not in partition '{}'", id.as_str(), place.key)));
    }
    let name = id.document_type();
    let schema = deployed
        .schema(name)
        .ok_or_else(|| unknown_type(name, deployed.schemas.iter().map(|schema| schema.schema.name.as_str())))?;
    let fields = match FieldSet::parse(field_set)? {
        // The type before the whole document is not looked at.
        FieldSet::OfType(_, None) => FieldSet::Document.of(schema),
        FieldSet::OfType(of, _) if of != name => {
            return Err(invalid(format!("Field set '{field_set}' is of type '{of}', not of '{name}'")));
        }
        asked => {
            asked.check(deployed)?;
            asked.of(schema)
        }
    };
    Ok((schema.clone(), fields))
}

impl Task for Get {
    fn wants(&mut self) -> Result<Want, Rejection> {
        if self.answer.is_some() || self.asked.is_err() {
            return Ok(Want::Nothing);
        }
        if self.loading.done().is_none() {
            let want = self.loading.step(&self.deployed, &mut self.reads)?;
            if want != Want::Nothing {
                return Ok(want);
            }
        }
        match self.look_up() {
            Ok(()) => Ok(Want::Nothing),
            Err(Halt::Missing) => Ok(Want::Blocks(self.reads.take_missing())),
            Err(Halt::Rejected(rejection)) => Err(rejection),
        }
    }

    fn give(&mut self, answer: Block) -> Result<(), Rejection> {
        if self.loading.wants_manifest() {
            return self.loading.give(&self.deployed, answer.bytes());
        }
        self.reads.give(answer)
    }

    fn finish(self: Box<Self>) -> Result<Vec<u8>, Rejection> {
        let (status, body) = match (&self.answer, &self.asked) {
            (Some((status, body)), _) => (*status, body.clone()),
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
