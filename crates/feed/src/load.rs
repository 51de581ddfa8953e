//! Loads operations of a feed into one partition: reads them, and writes the segments of what they put at once, as if
//! the tail had held them; or, when they are few, makes the operations that the tail stores.
//!
//! Only what is written blindly is loaded: puts and removes without a condition, of types whose texts nobody embeds. All
//! else is left to be written by its own, later, and so is every operation on the same document that comes after it.
//! Of several operations on one document the last is stored; nobody can have seen the others.
use std::collections::HashSet;
use std::sync::Arc;

use brooklet_document::json::ReadOptions;
use brooklet_document::{
    Document, DocumentId, OperationKind, Value, operation_target, read_feed_put, read_feed_remove, shown_id,
    unknown_type,
};
use brooklet_kernel::sort_by;
use brooklet_schema::{Application, Schema};
use brooklet_segment::{Operation, PartitionVersion, StoredOperation, StoredSchema};
use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Block, Code, Rejection, Task, Want};

use crate::bounds::Bounds;
use crate::change::last_of_each;
use crate::compact::{Compact, stored_schemas};
use crate::encode::{made, options};
use crate::indexing::Write;
use crate::mutate::{MICROS_PER_SECOND, Target, stored_id};
use crate::split::write_rejection;

/// Bytes of JSON read before the thread is given back.
const STEP_BYTES: usize = 256 << 10;

/// The task.
pub struct Load {
    place: PartitionVersion,
    /// The only content cluster that is written; empty: all that have the types.
    cluster: String,
    /// µs since the epoch.
    now: u64,
    /// The first segment number that is free, if segments are to be written.
    first_segment: Option<u32>,
    types: Vec<Type>,
    schemas: Vec<StoredSchema>,
    options: ReadOptions,
    operations: Vec<u8>,
    /// Where the next of them begins, and how many are left.
    at: usize,
    left: u64,
    outcomes: Vec<Outcome>,
    /// The operations that are loaded, in the order they came.
    loaded: Vec<StoredOperation>,
    /// Documents with an operation that is left for later.
    left_for_later: HashSet<String>,
    writing: Option<Box<Compact>>,
    bounds: Bounds,
}

/// A document type, ready to read documents of it.
struct Type {
    target: Target,
    /// Its name, as operations hold it.
    stored_as: Arc<str>,
    /// Putting a document of it takes embeddings.
    embeds: bool,
}

/// What came of an operation.
enum Outcome {
    /// It is loaded.
    Loaded { ignored_fields: bool },
    /// The application does not store such a document.
    NotStored { ignored_fields: bool },
    /// It has to be written by its own, with this condition beside its body.
    Later { kind: OperationKind, condition: String, object: Vec<u8> },
    /// It cannot be done.
    Refused(Rejection),
}

impl Load {
    /// Reads the request (docs/abi.md, load); its operations are read in steps.
    ///
    /// # Errors
    /// If it is malformed.
    pub fn open(
        application: &Application,
        request: &[u8],
        operations: Vec<u8>,
        bounds: Bounds,
    ) -> Result<Load, Rejection> {
        let mut reader = Reader::new(request);
        let place = PartitionVersion::read(&mut reader)?;
        let now = reader.u64()?;
        let first_segment = Some(reader.u32()?).filter(|number| *number > 0);
        let left = reader.varint()?;
        // Empty: every content cluster that has a type.
        let cluster = if reader.remaining() > 0 { reader.text()?.to_owned() } else { String::new() };
        reader.end()?;
        let is_meant = |schema: &&Arc<Schema>| cluster.is_empty() || schema.cluster == cluster;
        let types = application.schemas.iter().filter(is_meant).map(|schema| {
            let embeds = schema.made_fields().any(|field| field.script.asks_models());
            Ok(Type { target: Target::new(application, schema)?, stored_as: schema.stored_as().into(), embeds })
        });
        let types = types.collect::<Result<_, Rejection>>()?;
        Ok(Load {
            place,
            cluster,
            now,
            first_segment,
            types,
            schemas: stored_schemas(application),
            options: options(application),
            at: 0,
            left,
            operations,
            outcomes: Vec::new(),
            loaded: Vec::new(),
            left_for_later: HashSet::new(),
            writing: None,
            bounds,
        })
    }

    /// Reads operations for one step.
    fn read_some(&mut self) -> Result<(), Rejection> {
        let end = self.at + STEP_BYTES;
        while self.left > 0 && self.at < end {
            let mut reader = Reader::new(&self.operations[self.at..]);
            let object = reader.bytes()?;
            let read = read(
                object,
                (&self.place.key, &self.cluster),
                &self.types,
                self.options,
                self.now,
                &self.left_for_later,
            );
            self.at += reader.position();
            self.left -= 1;
            let outcome = match read {
                Ok(Read::Write(operations, ignored_fields)) => {
                    self.loaded.extend(operations);
                    Outcome::Loaded { ignored_fields }
                }
                Ok(Read::NotStored(ignored_fields)) => Outcome::NotStored { ignored_fields },
                Ok(Read::Later(kind, id, condition)) => {
                    self.left_for_later.insert(id.as_str().to_owned());
                    Outcome::Later { kind, condition, object: object.to_vec() }
                }
                Err(rejection) => Outcome::Refused(rejection),
            };
            self.outcomes.push(outcome);
        }
        Ok(())
    }

    fn begin_writing(&mut self, first_segment: u32) {
        let (loaded, schemas) = (std::mem::take(&mut self.loaded), std::mem::take(&mut self.schemas));
        self.operations = Vec::new();
        let writing = Compact::with_operations(self.place.clone(), first_segment, schemas, loaded, self.bounds);
        self.writing = Some(Box::new(writing));
    }

    /// The result (docs/abi.md, load).
    fn answer(self) -> Vec<Vec<u8>> {
        let mut writer = Writer::new();
        writer.varint(self.outcomes.len() as u64);
        self.outcomes.iter().for_each(|outcome| outcome.write(&mut writer));
        let Some(writing) = self.writing else {
            writer.u8(2);
            let mut last = last_of_each(self.loaded);
            if self.types.iter().any(|of| of.target.schema.is_shared) {
                // What is done in several content clusters follows one another: the host commits it at once.
                sort_by(&mut last, |one, other| shown_id(one.id()).cmp(&shown_id(other.id())));
            }
            writer.varint(last.len() as u64);
            for operation in &last {
                writer.text(operation.id());
                writer.bytes(&operation.encode(&self.place.key));
            }
            return vec![writer.finish()];
        };
        let change = writing.into_change();
        writer.u8(u8::from(change.is_some()));
        match change {
            Some(change) => change.into_pieces(writer),
            None => vec![writer.finish()],
        }
    }
}

impl Outcome {
    fn write(&self, writer: &mut Writer) {
        let flags = |ignored_fields: bool, not_stored: bool| u8::from(ignored_fields) | u8::from(not_stored) << 1;
        match self {
            Outcome::Loaded { ignored_fields } => {
                writer.u8(0);
                writer.u8(flags(*ignored_fields, false));
            }
            Outcome::NotStored { ignored_fields } => {
                writer.u8(0);
                writer.u8(flags(*ignored_fields, true));
            }
            Outcome::Later { kind, condition, object } => {
                writer.u8(1);
                writer.u8(match kind {
                    OperationKind::Put => 1,
                    OperationKind::Update => 2,
                    OperationKind::Remove => 3,
                });
                writer.text(condition);
                writer.bytes(object);
            }
            Outcome::Refused(rejection) => {
                writer.u8(2);
                write_rejection(rejection, writer);
            }
        }
    }
}

/// What an operation asks for.
enum Read {
    /// What is stored, of a document type in several content clusters in each whose selections take the document.
    Write(Vec<StoredOperation>, bool),
    NotStored(bool),
    Later(OperationKind, DocumentId, String),
}

fn read(
    object: &[u8],
    (key, cluster): (&str, &str),
    types: &[Type],
    options: ReadOptions,
    now: u64,
    left_for_later: &HashSet<String>,
) -> Result<Read, Rejection> {
    let (kind, id) = operation_target(object)?;
    if id.partition_key() != key {
        let message = format!("Document '{id}' is not in partition '{}'", Rejection::quote(key));
        return Err(Rejection::new(Code::InvalidDocument, message));
    }
    let name = id.document_type();
    let mut all = types.iter().filter(|of| of.target.schema.name == name);
    let names = types.iter().map(|of| of.target.schema.name.as_str());
    let of =
        all.next().ok_or_else(|| if cluster.is_empty() { unknown_type(name, names) } else { not_in(name, cluster) })?;
    let condition = if kind == OperationKind::Remove { read_feed_remove(object)? } else { None };
    let by_its_own = kind == OperationKind::Update || (kind == OperationKind::Put && of.embeds);
    let condition = condition.filter(|text| !text.is_empty());
    if by_its_own || condition.is_some() || left_for_later.contains(id.as_str()) {
        return Ok(Read::Later(kind, id, condition.unwrap_or_default()));
    }
    if kind == OperationKind::Remove {
        let removes = std::iter::once(of).chain(all).map(|of| {
            let stored = stored_id(&of.target.schema, &id)?;
            Ok(of.store_operation(Operation::Remove(stored), now))
        });
        return Ok(Read::Write(removes.collect::<Result<_, Rejection>>()?, false));
    }
    let body = read_feed_put(&*of.target.schema, &id, object, options)?;
    if body.condition.is_some_and(|condition| !condition.is_empty()) {
        return Ok(Read::Later(kind, id, String::new()));
    }
    let mut fields = body.fields;
    of.target.check_values(&fields, None)?;
    fields.extend(made(&of.target.schema, Write { id: id.as_str(), time: now }, &fields, &[])?);
    let ignored = !body.ignored.is_empty();
    let of_all: Vec<&Type> = std::iter::once(of).chain(all).collect();
    let puts = puts(&of_all, (key, &id), fields, now)?;
    Ok(if puts.is_empty() { Read::NotStored(ignored) } else { Read::Write(puts, ignored) })
}

fn not_in(name: &str, cluster: &str) -> Rejection {
    let (name, cluster) = (Rejection::quote(name), Rejection::quote(cluster));
    let message = format!("There is no document type '{name}' in cluster '{cluster}'");
    Rejection::new(Code::InvalidDocument, message)
}

/// What a put stores: in each content cluster of its type whose selections take the document.
fn puts(
    of_all: &[&Type],
    (key, id): (&str, &DocumentId),
    fields: Vec<(String, Value)>,
    now: u64,
) -> Result<Vec<StoredOperation>, Rejection> {
    let seconds = (now / MICROS_PER_SECOND) as i64;
    let mut taking = Vec::with_capacity(of_all.len());
    for of in of_all {
        if of.target.stores(id, &fields, seconds)? {
            taking.push(*of);
        }
    }
    let bytes_at_most = bytes_at_most(&fields);
    let (mut fields, mut puts) = (Some(fields), Vec::with_capacity(taking.len()));
    for (at, of) in taking.iter().enumerate() {
        // The last takes the values themselves.
        let own = if at + 1 == taking.len() { fields.take() } else { fields.clone() };
        let document = Document { id: stored_id(&of.target.schema, id)?, fields: own.unwrap_or_default() };
        let bytes_at_most = document.id.len() + of.stored_as.len() + bytes_at_most;
        of.target.check_parts(&document, bytes_at_most)?;
        let operation = of.store_operation(Operation::Put(document), now);
        if bytes_at_most > of.target.bytes_max {
            of.target.check_size(id, operation.encode(key).len())?;
        }
        puts.push(operation);
    }
    Ok(puts)
}

impl Type {
    fn store_operation(&self, operation: Operation, time: u64) -> StoredOperation {
        StoredOperation { schema: self.stored_as.clone(), time, operation }
    }
}

/// More bytes than the fields take when they are stored: their exact number takes making them.
fn bytes_at_most(fields: &[(String, Value)]) -> usize {
    /// A tag and the longest number, or the longest length.
    const OF_VALUE: usize = 16;
    fn value_bytes(value: &Value) -> usize {
        OF_VALUE
            + match value {
                Value::String(text) => text.len(),
                Value::Raw(bytes) => bytes.len(),
                Value::Array(elements) => elements.iter().map(value_bytes).sum(),
                Value::WeightedSet(entries) => entries.iter().map(|(key, _)| OF_VALUE + value_bytes(key)).sum(),
                Value::Map(entries) => entries.iter().map(|(key, value)| value_bytes(key) + value_bytes(value)).sum(),
                Value::Struct(members) => bytes_at_most(members),
                Value::Tensor(tensor) => {
                    let dimensions = tensor.tensor_type.dimensions.iter().map(|of| 2 * OF_VALUE + of.name.len());
                    let labels = tensor.addresses.iter().flatten().map(|label| OF_VALUE + label.len());
                    size_of_val(&tensor.cells[..]) + dimensions.chain(labels).sum::<usize>()
                }
                _ => 0,
            }
    }
    /// Version, kind, checksum and what else stands beside the fields.
    const OF_OPERATION: usize = 64;
    OF_OPERATION + fields.iter().map(|(name, value)| 2 * OF_VALUE + name.len() + value_bytes(value)).sum::<usize>()
}

impl Task for Load {
    fn wants(&mut self) -> Result<Want, Rejection> {
        if self.left > 0 {
            self.read_some()?;
            return Ok(Want::Pause);
        }
        if let Some(writing) = &mut self.writing {
            return writing.wants();
        }
        match self.first_segment {
            Some(number) if !self.loaded.is_empty() => {
                self.begin_writing(number);
                Ok(Want::Pause)
            }
            _ => Ok(Want::Nothing),
        }
    }

    fn give(&mut self, answer: Block) -> Result<(), Rejection> {
        match &mut self.writing {
            Some(writing) => writing.give(answer),
            None => Err(Rejection::corrupt("an answer that nobody waits for")),
        }
    }

    fn finish(self: Box<Self>) -> Result<Vec<u8>, Rejection> {
        Ok(self.finish_in_pieces()?.concat())
    }

    fn finish_in_pieces(self: Box<Self>) -> Result<Vec<Vec<u8>>, Rejection> {
        if self.left > 0 {
            return Err(Rejection::new(Code::TimedOut, "Timeout before all operations were read; none was written"));
        }
        Ok(self.answer())
    }
}
