//! Operations as they stand in feeds: `{"put":"id:…","fields":{…},"condition":"…","create":true}`.
//!
//! Requests over HTTP name the document in their path instead; their bodies are read by [`crate::json::read_fields`].
use brooklet_task::{Code, Rejection, nearest_name};

use crate::document_types::DocumentTypes;
use crate::json::{FieldTypes, JsonKind, Lexer, PutBody, ReadOptions, UniqueNames};
use crate::json::{
    broken_json, check_key, read_condition, read_create, read_fields_object, read_put, read_update_fields, refusal,
};
use crate::operation_kind::OperationKind;
use crate::update::Update;
use crate::{DocumentId, Value};

/// One operation of a feed.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// The kind of operation.
    pub kind: OperationKind,
    /// The document.
    pub id: DocumentId,
    /// The fields of a put, in the order they were given.
    pub fields: Vec<(String, Value)>,
    /// What an update changes.
    pub update: Option<Update>,
    /// The selection that must hold.
    pub condition: Option<String>,
    /// What `create` says, if it is there.
    pub create: Option<bool>,
}

/// The refusal of a document of a type that is none of `names`.
pub fn unknown_type<'a>(name: &str, names: impl Iterator<Item = &'a str> + Clone) -> Rejection {
    let hint = match nearest_name(name, names.clone()) {
        Some(near) => format!("; did you mean '{near}'?"),
        None => format!("; the application has {}", names.collect::<Vec<_>>().join(", ")),
    };
    refusal(&format!("Document type {} does not exist{hint}", Rejection::quote(name)))
}

/// Reads the next operation; what follows it is left to be read. Unknown members are passed over.
///
/// # Errors
/// If it is no operation on a document of a known type.
pub fn read_operation(
    types: &dyn DocumentTypes,
    json: &mut Lexer,
    options: ReadOptions,
) -> Result<Operation, Rejection> {
    let envelope = Envelope::read(json).map_err(broken_json)?;
    let (kind, id) = envelope.target.ok_or_else(nothing_done)?;
    let id = DocumentId::given(&id)?;
    let document_type = id.document_type();
    // In the words that were recorded; requests over HTTP get a hint ([`unknown_type`]).
    let missing = || refusal(&format!("Document type {} does not exist", Rejection::quote(document_type)));
    let fields_of_type = types.fields_of(document_type).ok_or_else(missing)?;
    let mut update = None;
    let fields = match (kind, envelope.fields) {
        (OperationKind::Put, Some(mut fields)) => read_fields_object(fields_of_type, &id, &mut fields, options)?,
        (OperationKind::Put, None) => {
            return Err(refusal(&format!("put of document {id} is missing a 'fields' map")));
        }
        (OperationKind::Update, Some(mut fields)) => {
            update = Some(read_update_fields(fields_of_type, &id, &mut fields, options)?);
            Vec::new()
        }
        (OperationKind::Update, None) => {
            return Err(refusal(&format!("update of document {id} is missing a 'fields' map")));
        }
        (OperationKind::Remove, fields) => {
            Envelope { fields, create: envelope.create, ..Envelope::default() }.check_remove()?;
            Vec::new()
        }
    };
    Ok(Operation { kind, id, fields, update, condition: envelope.condition, create: envelope.create })
}

/// What an operation of a feed does, and the id of its document; nothing more of it is read than that takes.
///
/// # Errors
/// If it is broken before that, or names no document.
pub fn operation_target(object: &[u8]) -> Result<(OperationKind, DocumentId), Rejection> {
    // It nearly always stands at the beginning, and then nothing else is looked at.
    let beginning = &object[..object.len().min(BEGINNING_BYTES)];
    let beginning = simdutf8::compat::from_utf8(beginning)
        .or_else(|error| simdutf8::compat::from_utf8(&beginning[..error.valid_up_to()]))
        .unwrap_or_default();
    let mut target = find_target(&mut Lexer::new(beginning, Code::InvalidDocument));
    if !matches!(target, Ok(Some(_))) {
        target = Lexer::from_bytes(object, Code::InvalidDocument).and_then(|mut json| find_target(&mut json));
    }
    let target = target.map_err(broken_json)?;
    let (kind, id) = target.ok_or_else(nothing_done)?;
    Ok((kind, DocumentId::given(&id)?))
}

/// Where the id of a document is looked for first.
const BEGINNING_BYTES: usize = 256;

fn find_target(json: &mut Lexer) -> Result<Option<(OperationKind, String)>, Rejection> {
    json.begin_object()?;
    while let Some(key) = json.next_key()? {
        match OperationKind::from_key(&key) {
            Some(kind) if json.kind()? == JsonKind::String => return Ok(Some((kind, json.string()?.into_owned()))),
            Some(_) => return Err(no_id(&key, json)?),
            None => drop(json.skip_value()?),
        }
    }
    Ok(None)
}

/// Reads a put as it stands in a feed, in one pass whatever the order of its members.
///
/// # Errors
/// If a field cannot be set as asked, or the operation names several documents.
pub fn read_feed_put(
    types: &dyn FieldTypes,
    id: &DocumentId,
    object: &[u8],
    options: ReadOptions,
) -> Result<PutBody, Rejection> {
    let (body, targets) = read_put(types, id, object, options)?;
    if targets > 1 { Err(several_documents()) } else { Ok(body) }
}

/// Reads a remove as it stands in a feed: the condition that must hold.
///
/// # Errors
/// If it has members that a remove cannot have, or names several documents.
pub fn read_feed_remove(object: &[u8]) -> Result<Option<String>, Rejection> {
    let mut json = Lexer::from_bytes(object, Code::InvalidDocument).map_err(broken_json)?;
    let envelope = Envelope::read(&mut json).and_then(|envelope| json.end().map(|()| envelope)).map_err(broken_json)?;
    envelope.check_remove()?;
    Ok(envelope.condition)
}

fn nothing_done() -> Rejection {
    refusal("Missing a document operation ('put', 'update' or 'remove')")
}

fn several_documents() -> Rejection {
    refusal("An operation names more than one document")
}

fn no_id(key: &str, json: &mut Lexer) -> Result<Rejection, Rejection> {
    Ok(refusal(&format!("Expected '{key}' to be a document id, but got {}", json.kind()?.noun())))
}

/// The members of an operation before its document type is known; the fields are found but not read.
#[derive(Default)]
struct Envelope<'a> {
    target: Option<(OperationKind, String)>,
    fields: Option<Lexer<'a>>,
    condition: Option<String>,
    create: Option<bool>,
}

impl<'a> Envelope<'a> {
    fn read(json: &mut Lexer<'a>) -> Result<Envelope<'a>, Rejection> {
        let kind = json.kind()?;
        if kind != JsonKind::Object {
            return Err(refusal(&format!("Expected an operation to be an object, got {}", kind.noun())));
        }
        json.begin_object()?;
        let mut envelope = Envelope::default();
        let mut seen = UniqueNames::default();
        while let Some(key) = json.next_key()? {
            check_key(&mut seen, &key)?;
            match (&*key, OperationKind::from_key(&key)) {
                (_, Some(kind)) => envelope.set_target(kind, &key, json)?,
                ("fields", _) => {
                    let is_object = json.kind()? == JsonKind::Object;
                    envelope.fields = is_object.then(|| json.clone());
                    json.skip_value()?;
                }
                ("condition", _) => envelope.condition = read_condition(json)?,
                ("create", _) => envelope.create = Some(read_create(json)?),
                _ => drop(json.skip_value()?),
            }
        }
        Ok(envelope)
    }

    fn set_target(&mut self, kind: OperationKind, key: &str, json: &mut Lexer) -> Result<(), Rejection> {
        if json.kind()? != JsonKind::String {
            return Err(no_id(key, json)?);
        }
        if self.target.replace((kind, json.string()?.into_owned())).is_some() {
            return Err(several_documents());
        }
        Ok(())
    }

    /// Refuses what a remove cannot have.
    fn check_remove(&self) -> Result<(), Rejection> {
        match (&self.fields, self.create) {
            (Some(_), _) => Err(refusal("A remove operation cannot have 'fields'")),
            (None, Some(_)) => Err(refusal("A remove operation cannot have 'create'")),
            (None, None) => Ok(()),
        }
    }
}
