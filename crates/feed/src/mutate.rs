//! Changes one document: reads it if the operation asks for it, checks the condition, applies the update, and makes the
//! operation the tail stores.
//!
//! A blind put or remove wants nothing. All else is evaluated on the document as it is *now*: the host runs the task in
//! one turn and queues its result in the same, so nothing comes in between; what is queued for the document already and
//! not yet committed comes with the request and is newer than anything stored. Of the tail only what came since the last
//! look, and the newest operation on the document, are read.
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use brooklet_document::embedding::{EmbeddingWanted, Embeddings, write_wanted};
use brooklet_document::json::{ReadOptions, read_fields, read_update};
use brooklet_document::selection::{Outcome, Selection, Subject};
use brooklet_document::unread::mark_unread;
use brooklet_document::update::Update;
use brooklet_document::{Document, DocumentId, Value, shown_id};
use brooklet_schema::{AllowedValues, Application, Schema};
use brooklet_segment::layout::{Collection, ColumnSpec, columns};
use brooklet_segment::{
    Gaps, Halt, Manifest, Operation, Outline, Outlines, PartitionName, PartitionVersion, StoredOperation,
    StoredSegment, count_values, read_document,
};
use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Block, BlockRef, Code, Rejection, Task, Want, limits};

use crate::cursor::{Fetched, Of, find};
use crate::encode::{OperationRequest, made, options};
use crate::indexing::{Write, make_fields};

pub(crate) const MICROS_PER_SECOND: u64 = 1_000_000;

/// The task.
pub struct Mutate {
    name: PartitionName,
    /// As it is shown, and as it is stored.
    id: DocumentId,
    stored_id: String,
    target: Target,
    change: Change,
    condition: Option<Selection>,
    create: bool,
    ignored: bool,
    /// µs since the epoch.
    now: u64,
    state: State,
    outlines: Rc<RefCell<Outlines>>,
    asked: VecDeque<BlockRef>,
    fetched: Fetched,
}

/// What is out of time before it learnt what is new leaves what was known to the next operation.
impl Drop for Mutate {
    fn drop(&mut self) {
        if let State::Manifest(outline) = &mut self.state {
            self.outlines.borrow_mut().keep(&self.name, std::mem::take(outline));
        }
    }
}

/// What is known of the document's type.
pub(crate) struct Target {
    pub(crate) schema: Arc<Schema>,
    /// What the application stores of the type; everything if nothing is said.
    stored: Option<Selection>,
    pub(crate) bytes_max: usize,
    /// The fields whose texts are listed.
    allowed: Vec<AllowedValues>,
    /// Paths of parts of elements that have columns.
    parts: Vec<String>,
}

enum Change {
    Put(Vec<(String, Value)>),
    /// An update, with the embeddings that are known.
    Update(Update, Embeddings),
    Remove,
}

enum State {
    /// Learning what is new of the partition.
    Manifest(Outline),
    /// Reading the newest operation of the tail on the document, by its number.
    Tail(u64),
    /// Looking through the segments of the type for the document.
    Find(Vec<Rc<StoredSegment>>),
    Read(Rc<StoredSegment>, u32),
    Found(Option<Document>),
    Done(Written),
}

/// What comes of it.
enum Written {
    Operation(Operation),
    /// There is nothing to write: an update of a document that does not exist, or that changes nothing.
    Nothing,
    /// The application does not store such documents.
    NotStored,
    /// Nothing before these texts are embedded.
    Wanted(Vec<EmbeddingWanted>),
}

impl Mutate {
    /// Reads the request (docs/abi.md, mutate), and checks the operation against its schema.
    ///
    /// # Errors
    /// If the id, the type, the body, a value or the condition is not what the schema allows.
    pub fn open(
        application: &Application,
        outlines: Rc<RefCell<Outlines>>,
        request: &[u8],
    ) -> Result<Mutate, Rejection> {
        let mut reader = Reader::new(request);
        let place = PartitionVersion::read(&mut reader)?;
        let now = reader.u64()?;
        let pending = reader.bytes()?;
        let request = OperationRequest::read(reader.raw(reader.remaining())?)?;
        let (schema, id) = application.schema_of(request.id)?;
        if id.partition_key() != place.key {
            let message = format!("Document '{id}' is not in partition '{}'", Rejection::quote(&place.key));
            return Err(Rejection::new(Code::InvalidDocument, message));
        }
        let stored_id = stored_id(schema, &id)?;
        let body = Body::read(application, schema, (&id, now), &request)?;
        let from_url = (!request.condition.is_empty()).then_some(request.condition);
        let condition = from_url.or(body.condition.as_deref().filter(|text| !text.is_empty()));
        let condition = condition.map(|text| Selection::parse(text, application, Code::InvalidDocument)).transpose();
        let condition = condition.map_err(|error| error.within("Failed to parse test and set condition"))?;
        let blind = condition.is_none() && !matches!(body.change, Change::Update(..));
        let mut mutate = Mutate {
            name: place.name(),
            target: Target::new(application, schema)?,
            change: body.change,
            condition,
            create: request.create.or(body.create).unwrap_or(false),
            ignored: body.ignored,
            id,
            stored_id,
            now,
            state: State::Found(None),
            outlines,
            asked: VecDeque::new(),
            fetched: Fetched::default(),
        };
        match (blind, pending.is_empty()) {
            (true, _) => {}
            (false, false) => {
                let operation = StoredOperation::decode(&place.key, pending)?;
                mutate.state = State::Found(mutate.target.document_of(operation));
            }
            (false, true) if place.partition == 0 => {}
            (false, true) => mutate.begin(&place),
        }
        Ok(mutate)
    }

    /// Goes on with what is known of the partition, or learns what is new of it before.
    fn begin(&mut self, place: &PartitionVersion) {
        let outline = self.outlines.borrow_mut().take(&self.name);
        if outline.is_of(place) {
            self.look_up(outline);
        } else {
            self.state = State::Manifest(outline);
        }
    }

    /// The last operation of the tail on the document decides; without one, the segments of its type are looked through.
    fn look_up(&mut self, outline: Outline) {
        let name = self.target.schema.stored_as();
        self.state = match outline.newest(&self.stored_id) {
            Some(number) => State::Tail(number),
            None => {
                let of_type = outline.segments().iter().filter(|segment| segment.header.schema == name);
                State::Find(of_type.cloned().collect())
            }
        };
        self.outlines.borrow_mut().keep(&self.name, outline);
    }

    fn take_operation(&mut self, stored: &[u8]) -> Result<(), Rejection> {
        let operation = StoredOperation::decode(self.name.key(), stored)?;
        if operation.id() != self.stored_id {
            return Err(Rejection::corrupt("An operation of the tail on another document"));
        }
        self.state = State::Found(self.target.document_of(operation));
        Ok(())
    }

    /// One step; `Halt::Missing` if blocks are lacking.
    fn step(&mut self) -> Result<(), Halt> {
        match &self.state {
            State::Find(segments) => {
                let segments = segments.clone();
                let mut found = None;
                let mut gaps = Gaps::default();
                for segment in &segments {
                    let ordinal = gaps.note(find(segment, &self.stored_id, &mut self.fetched))?.flatten();
                    if let Some(ordinal) = ordinal.filter(|ordinal| segment.liveness.get(*ordinal as usize)) {
                        found = Some((segment, ordinal));
                    }
                }
                self.state = match found {
                    Some((segment, ordinal)) => State::Read(segment.clone(), ordinal),
                    None => gaps.check().map(|()| State::Found(None))?,
                };
            }
            State::Read(segment, ordinal) => {
                let mut used = Vec::new();
                let mut blocks = Of { fetched: &mut self.fetched, segment: segment.number, used: &mut used };
                let mut document = read_document(&segment.header, *ordinal, &|_| true, &mut blocks)?;
                self.target.mark_unread(&mut document);
                self.state = State::Found(Some(document));
            }
            State::Found(_) => {
                let State::Found(document) = std::mem::replace(&mut self.state, State::Found(None)) else {
                    return Ok(());
                };
                self.state = State::Done(self.write(document)?);
            }
            State::Manifest(_) | State::Tail(_) | State::Done(_) => {}
        }
        Ok(())
    }

    fn write(&mut self, document: Option<Document>) -> Result<Written, Rejection> {
        let exists = document.is_some();
        self.check_condition(document.as_ref())?;
        let id = self.stored_id.clone();
        let change = std::mem::replace(&mut self.change, Change::Remove);
        let changed = match change {
            Change::Remove => return Ok(Written::Operation(Operation::Remove(id))),
            Change::Put(fields) => {
                self.target.check_values(&fields, None)?;
                Document { id, fields }
            }
            Change::Update(..) if !exists && !self.create => return Ok(Written::Nothing),
            Change::Update(update, _) if exists && update.is_empty() => return Ok(Written::Nothing),
            Change::Update(update, embeddings) => {
                let mut document = document.unwrap_or(Document { id, fields: Vec::new() });
                update.apply(&mut document)?;
                self.target.check_values(&document.fields, Some(&update))?;
                let wanted = self.target.make_again(&mut document, self.now, exists.then_some(&update), &embeddings)?;
                if !wanted.is_empty() {
                    return Ok(Written::Wanted(wanted));
                }
                document
            }
        };
        if !self.target.stores(&self.id, &changed.fields, self.now_seconds())? {
            return Ok(Written::NotStored);
        }
        Ok(Written::Operation(Operation::Put(changed)))
    }

    /// The condition must be true of the document, which must exist, unless it is to be made.
    fn check_condition(&self, document: Option<&Document>) -> Result<(), Rejection> {
        let Some(condition) = &self.condition else { return Ok(()) };
        let reason = match document {
            None if self.create => return Ok(()),
            None => "Document does not exist",
            Some(document) => {
                let subject = Subject { id: &self.id, fields: &document.fields, now: self.now_seconds() };
                if condition.selects(&subject)? {
                    return Ok(());
                }
                "Condition did not match document"
            }
        };
        let message = format!("ReturnCode(TEST_AND_SET_CONDITION_FAILED, {reason} nodeIndex=0)");
        Err(Rejection::new(Code::ConditionNotMet, message))
    }

    /// `now()` of selections.
    fn now_seconds(&self) -> i64 {
        (self.now / MICROS_PER_SECOND) as i64
    }

    fn want_missing(&mut self) -> Want {
        let missing = self.fetched.take_missing();
        self.asked.extend(&missing);
        Want::Blocks(missing)
    }

    /// The bytes to store, or nothing, or the texts to embed; with what was ignored.
    fn encode(&self, written: Written) -> Result<Vec<u8>, Rejection> {
        let mut writer = Writer::new();
        let (not_stored, wanted) = (matches!(written, Written::NotStored), matches!(written, Written::Wanted(_)));
        writer.u8(u8::from(self.ignored) | u8::from(not_stored) << 1 | u8::from(wanted) << 2);
        let bytes = match written {
            Written::Operation(operation) => {
                let operation =
                    StoredOperation { schema: self.target.schema.stored_as().into(), time: self.now, operation };
                let bytes = operation.encode(self.name.key());
                if let Operation::Put(document) = &operation.operation {
                    self.target.check_size(&self.id, bytes.len())?;
                    self.target.check_parts(document, bytes.len())?;
                }
                bytes
            }
            Written::Nothing | Written::NotStored => Vec::new(),
            Written::Wanted(texts) => write_wanted(&texts),
        };
        writer.bytes(&bytes);
        Ok(writer.finish())
    }
}

/// The parts of an operation.
struct Body {
    change: Change,
    condition: Option<String>,
    create: Option<bool>,
    ignored: bool,
}

impl Body {
    fn read(
        application: &Application,
        schema: &Schema,
        (id, now): (&DocumentId, u64),
        request: &OperationRequest<'_>,
    ) -> Result<Body, Rejection> {
        let options: ReadOptions = options(application);
        match request.kind {
            1 => {
                let body = read_fields(schema, id, request.body, options)?;
                let (create, ignored) = (body.create, !body.ignored.is_empty());
                let mut fields = body.fields;
                fields.extend(made(schema, Write { id: id.as_str(), time: now }, &fields, request.embeddings)?);
                Ok(Body { change: Change::Put(fields), condition: body.condition, create, ignored })
            }
            2 => {
                let body = read_update(schema, id, request.body, options)?;
                let (create, ignored) = (body.create, !body.ignored.is_empty());
                let change = Change::Update(body.update, Embeddings::read_known(request.embeddings)?);
                Ok(Body { change, condition: body.condition, create, ignored })
            }
            3 => Ok(Body { change: Change::Remove, condition: None, create: None, ignored: false }),
            other => Err(Rejection::new(Code::BadRequest, format!("Unknown kind of operation {other}"))),
        }
    }
}

impl Target {
    pub(crate) fn new(application: &Application, schema: &Arc<Schema>) -> Result<Target, Rejection> {
        let stored = application.stored_selection(schema);
        let stored = stored.map(|text| Selection::parse(&text, application, Code::InvalidApplication)).transpose()?;
        let limit = application.cluster_of(schema).and_then(|cluster| cluster.max_document_bytes);
        let bytes_max = limit.map_or(limits::DOCUMENT_BYTES, |bytes| (bytes as usize).min(limits::DOCUMENT_BYTES));
        let of_parts = |spec: &ColumnSpec| spec.kind.collection() == Collection::Parts;
        let parts = columns(schema).into_iter().filter(of_parts).map(|spec| spec.field).collect();
        Ok(Target { schema: schema.clone(), stored, bytes_max, allowed: schema.allowed_values(), parts })
    }

    /// Makes the fields outside the document again: those that are made of what an update changed, or all of them of a
    /// document that was not there. The texts that must be embedded before, if there are any; then nothing is made.
    fn make_again(
        &self,
        document: &mut Document,
        time: u64,
        changed: Option<&Update>,
        embeddings: &Embeddings,
    ) -> Result<Vec<EmbeddingWanted>, Rejection> {
        let is_updated = |field: &str| changed.is_some_and(|update| changes(update, field));
        // All is made again where that is cheap.
        let embeds = self.schema.made_fields().any(|field| field.script.asks_models());
        let only: Option<&dyn Fn(&str) -> bool> = if embeds && changed.is_some() { Some(&is_updated) } else { None };
        let id = &shown_id(&document.id);
        let made = make_fields(&self.schema, Write { id, time }, &document.fields, embeddings, only)?;
        if made.wanted.is_empty() {
            // What nothing is made of any more is gone.
            document.fields.retain(|(name, _)| !made.ran.contains(name));
            document.fields.extend(made.fields);
        }
        Ok(made.wanted)
    }

    /// Values that were written for another type of their field are not read, but kept.
    fn mark_unread(&self, document: &mut Document) {
        mark_unread(&mut document.fields, &|name| self.schema.field(name).map(|field| &field.data_type));
    }

    /// The document that an operation leaves; there is none of an earlier life of the schema.
    fn document_of(&self, operation: StoredOperation) -> Option<Document> {
        match operation.operation {
            Operation::Put(mut document) if *operation.schema == *self.schema.stored_as() => {
                self.mark_unread(&mut document);
                Some(document)
            }
            Operation::Put(_) | Operation::Remove(_) => None,
        }
    }

    /// Whether the application stores a document with these fields.
    pub(crate) fn stores(&self, id: &DocumentId, fields: &[(String, Value)], now: i64) -> Result<bool, Rejection> {
        let Some(stored) = &self.stored else { return Ok(true) };
        Ok(stored.evaluate(&Subject { id, fields, now })? != Outcome::False)
    }

    /// Refuses fields with texts that the schema does not list; of an update those that it changed: what was stored before a
    /// text was taken from the list keeps no other field from being changed.
    pub(crate) fn check_values(&self, fields: &[(String, Value)], changed: Option<&Update>) -> Result<(), Rejection> {
        let mut to_check = self.allowed.iter().filter(|of| changed.is_none_or(|update| changes(update, of.top())));
        to_check.try_for_each(|of| of.check(fields))
    }

    /// Refuses a document of at most so many bytes that has more values in a part of elements than a column holds of one
    /// document: arrays within arrays have theirs there together.
    pub(crate) fn check_parts(&self, document: &Document, bytes_at_most: usize) -> Result<(), Rejection> {
        // Each takes a byte at least.
        if bytes_at_most <= limits::ELEMENTS {
            return Ok(());
        }
        let Some(part) = self.parts.iter().find(|part| count_values(document, part) > limits::ELEMENTS) else {
            return Ok(());
        };
        let message = format!(
            "Document '{}' has {} values of '{part}' in all, more than the limit of {}",
            shown_id(&document.id),
            count_values(document, part),
            limits::ELEMENTS
        );
        Err(Rejection::new(Code::InvalidDocument, message))
    }

    /// Refuses a document that takes more bytes than the application allows.
    pub(crate) fn check_size(&self, id: &DocumentId, bytes: usize) -> Result<(), Rejection> {
        if bytes <= self.bytes_max {
            return Ok(());
        }
        let message = format!("Document '{id}' takes {bytes} bytes, at most {} are allowed", self.bytes_max);
        Err(Rejection::new(Code::TooLarge, message))
    }
}

/// The id under which a document of a schema is stored.
pub(crate) fn stored_id(schema: &Schema, id: &DocumentId) -> Result<String, Rejection> {
    let stored = schema.stored_id(id.as_str());
    if stored.len() > limits::ID_BYTES {
        let (length, most) = (stored.len(), limits::ID_BYTES);
        let message =
            format!("Document id length {length} with its content cluster is longer than max length of {most}");
        return Err(Rejection::new(Code::InvalidDocument, message));
    }
    Ok(stored.into_owned())
}

/// Whether an update is of a field, or of something in it.
fn changes(update: &Update, field: &str) -> bool {
    let mut paths = update.paths.iter().map(|of| &of.path.field);
    update.fields.iter().any(|of| of.field == field) || paths.any(|of| of == field)
}

impl Task for Mutate {
    fn wants(&mut self) -> Result<Want, Rejection> {
        loop {
            match &self.state {
                State::Manifest(outline) => {
                    return Ok(Want::Manifest { layout: outline.layout(), operation: outline.operation() });
                }
                State::Tail(number) => return Ok(Want::Operation(*number)),
                State::Done(_) => return Ok(Want::Nothing),
                _ => match self.step() {
                    Ok(()) => {}
                    Err(Halt::Missing) => return Ok(self.want_missing()),
                    Err(Halt::Rejected(rejection)) => return Err(rejection),
                },
            }
        }
    }

    fn give(&mut self, answer: Block) -> Result<(), Rejection> {
        match &mut self.state {
            State::Manifest(outline) => {
                let mut outline = std::mem::take(outline);
                outline.take(self.name.key(), Manifest::read(self.name.key(), answer.bytes())?)?;
                self.look_up(outline);
                return Ok(());
            }
            State::Tail(_) => return self.take_operation(answer.bytes()),
            _ => {}
        }
        let place = self.asked.pop_front().ok_or_else(|| Rejection::corrupt("a block that was not wanted"))?;
        self.fetched.give(self.name.key(), place, answer)
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<u8>, Rejection> {
        match &mut self.state {
            State::Done(written) => {
                let written = std::mem::replace(written, Written::NotStored);
                self.encode(written)
            }
            _ => Err(Rejection::new(
                Code::TimedOut,
                format!("Timeout before '{}' was read; nothing was written", self.id),
            )),
        }
    }
}
