//! A request to write a document blindly → the operation the tail stores. What looks at the document first is
//! `mutate.rs`.
use brooklet_document::embedding::{EmbeddingWanted, Embeddings};
use brooklet_document::json::{ReadOptions, read_fields};
use brooklet_document::{Document, DocumentId, Value};
use brooklet_schema::{Application, Schema};
use brooklet_segment::{Operation, StoredOperation};
use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Code, Rejection, limits};

use crate::indexing::{Made, Write, make_fields};

/// A put, update or remove as it came in.
#[derive(Clone, Debug)]
pub struct OperationRequest<'a> {
    /// 1 put, 2 update, 3 remove.
    pub kind: u8,
    /// The whole id.
    pub id: &'a str,
    /// `create` of the URL, which goes before that of the body.
    pub create: Option<bool>,
    /// `condition` of the URL; empty for none.
    pub condition: &'a str,
    /// The JSON body.
    pub body: &'a [u8],
    /// What the host answered to [`embeddings_wanted`]; empty if nothing is wanted.
    pub embeddings: &'a [u8],
}

/// What is to be stored.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// Schema of the document.
    pub schema: String,
    /// The operation, sealed for its partition.
    pub operation: Vec<u8>,
    /// Fields the application told us to ignore.
    pub ignored: Vec<String>,
}

impl<'a> OperationRequest<'a> {
    /// Reads the request of task `encode` (docs/abi.md).
    ///
    /// # Errors
    /// If it is cut short.
    pub fn read(request: &'a [u8]) -> Result<OperationRequest<'a>, Rejection> {
        let mut reader = Reader::new(request);
        let kind = reader.u8()?;
        reader.text()?;
        let id = reader.text()?;
        let create = match reader.u8()? {
            0 => None,
            said => Some(said == 1),
        };
        let (condition, body) = (reader.text()?, reader.bytes()?);
        Ok(OperationRequest { kind, id, create, condition, body, embeddings: reader.bytes()? })
    }
}

/// Checks an operation against its schema and encodes it; it happened at `time`, µs since the epoch.
///
/// # Errors
/// If the id, the type, the body or a value is not what the schema allows.
pub fn encode(application: &Application, request: &OperationRequest<'_>, time: u64) -> Result<Encoded, Rejection> {
    let (schema, id) = application.schema_of(request.id)?;
    let operation = match request.kind {
        1 => return put(application, schema, &id, request, time),
        3 if request.condition.is_empty() => Operation::Remove(schema.stored_id(id.as_str()).into_owned()),
        3 => return Err(needs_document("A condition on a remove")),
        _ => return Err(needs_document("A partial update")),
    };
    Ok(seal(schema, &id, (operation, time), Vec::new()))
}

#[inline(never)]
fn put(
    application: &Application,
    schema: &Schema,
    id: &DocumentId,
    request: &OperationRequest<'_>,
    time: u64,
) -> Result<Encoded, Rejection> {
    let body = read_fields(schema, id, request.body, options(application))?;
    let conditional = !request.condition.is_empty() || body.condition.is_some_and(|condition| !condition.is_empty());
    if conditional {
        return Err(needs_document("A condition on a put"));
    }
    // `create` changes nothing on a put without a condition.
    let _ = (request.create, body.create);
    let mut fields = body.fields;
    schema.allowed_values().iter().try_for_each(|of| of.check(&fields))?;
    fields.extend(made(schema, Write { id: id.as_str(), time }, &fields, request.embeddings)?);
    let document = Document { id: schema.stored_id(id.as_str()).into_owned(), fields };
    let encoded = seal(schema, id, (Operation::Put(document), time), body.ignored);
    let limit = application
        .cluster_of(schema)
        .and_then(|cluster| cluster.max_document_bytes)
        .map_or(limits::DOCUMENT_BYTES, |bytes| (bytes as usize).min(limits::DOCUMENT_BYTES));
    if encoded.operation.len() > limit {
        let bytes = encoded.operation.len();
        let message = format!("Document '{}' takes {bytes} bytes, at most {limit} are allowed", id.as_str());
        return Err(Rejection::new(Code::TooLarge, message));
    }
    Ok(encoded)
}

/// The values of the fields outside the document.
pub(crate) fn made(
    schema: &Schema,
    write: Write<'_>,
    fields: &[(String, Value)],
    answers: &[u8],
) -> Result<Vec<(String, Value)>, Rejection> {
    let made = made_so_far(schema, write, fields, answers)?;
    if made.wanted.is_empty() {
        return Ok(made.fields);
    }
    let message = format!("Document '{}' has texts to embed, and no embedder is configured", write.id);
    Err(Rejection::new(Code::Unsupported, message))
}

/// What is made with the answers that there are: texts that are generated may be embedded in their turn.
fn made_so_far(
    schema: &Schema,
    write: Write<'_>,
    fields: &[(String, Value)],
    answers: &[u8],
) -> Result<Made, Rejection> {
    let mut reader = Reader::new(answers);
    let mut known = Embeddings::default();
    loop {
        let made = make_fields(schema, write, fields, &known, None)?;
        if made.wanted.is_empty() || reader.remaining() == 0 {
            reader.end()?;
            return Ok(made);
        }
        known.add(&made.wanted, &mut reader)?;
    }
}

/// The texts that must be embedded before an operation can be encoded, after the answers that it has; the host answers
/// with their embeddings.
///
/// # Errors
/// As [`encode`].
pub fn embeddings_wanted(
    application: &Application,
    request: &OperationRequest<'_>,
) -> Result<Vec<EmbeddingWanted>, Rejection> {
    let (schema, id) = application.schema_of(request.id)?;
    if request.kind != 1 || schema.made_fields().all(|field| !field.script.asks_models()) {
        return Ok(Vec::new());
    }
    let body = read_fields(&**schema, &id, request.body, options(application))?;
    // What is asked of models does not depend on the time: a deploy refuses that.
    Ok(made_so_far(schema, Write { id: id.as_str(), time: 0 }, &body.fields, request.embeddings)?.wanted)
}

/// The strictness with which the application reads documents.
pub(crate) fn options(application: &Application) -> ReadOptions {
    ReadOptions { ignore_undefined_fields: application.ignore_undefined_fields, ..ReadOptions::default() }
}

fn seal(schema: &Schema, id: &DocumentId, (operation, time): (Operation, u64), ignored: Vec<String>) -> Encoded {
    let operation = StoredOperation { schema: schema.stored_as().into(), time, operation };
    Encoded { schema: schema.name.clone(), operation: operation.encode(&id.partition_key()), ignored }
}

fn needs_document(what: &str) -> Rejection {
    Rejection::new(Code::Unsupported, format!("{what} is not written blindly: it needs the document it changes"))
}

impl Encoded {
    /// The result of task `encode` (docs/abi.md).
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.text(&self.schema);
        writer.bytes(&self.operation);
        writer.finish()
    }
}
