//! Reads documents from JSON: the body of a put, `{"fields":{…},"condition":"…","create":true}`.
//!
//! Two kinds of refusals meet here. Broken JSON comes from the lexer with its place in the text; what is good JSON but
//! no good value comes without one, and is told with the field and the path of the value instead.
use brooklet_task::limits::{FIELDS, JSON_KEYS};
use brooklet_task::{Code, Rejection};

use super::{Kind, Lexer, UniqueNames, nearest_name};
use crate::{DataType, DocumentId, OperationKind, Value};

mod number;
mod position;
mod tensor;
mod update;
mod value;

pub(crate) use update::read_update_fields;
pub use update::{UpdateBody, read_update};

pub use tensor::{TensorSource, read_query_tensor, read_tensor};
pub(super) use value::ValueReader;
pub(crate) use value::value_from_text;

/// What the reader needs to know about a document type.
pub trait FieldTypes {
    /// The type of a field, if the document type has it.
    fn data_type(&self, field: &str) -> Option<&DataType>;

    /// The names of all fields, for hints.
    fn names(&self) -> Vec<&str>;
}

/// How strictly to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Pass over fields that the document type does not have, instead of refusing them.
    pub ignore_undefined_fields: bool,
    /// Take values in their own JSON type only: no numbers in strings, no strings from numbers.
    pub strict: bool,
}

/// The body of a put.
#[derive(Clone, Debug, PartialEq)]
pub struct PutBody {
    /// The fields that are set, in the order they were given.
    pub fields: Vec<(String, Value)>,
    /// The selection that must hold.
    pub condition: Option<String>,
    /// What `create` says, if it is there.
    pub create: Option<bool>,
    /// Paths of undefined fields that were passed over, `person.nickname`.
    pub ignored: Vec<String>,
}

/// Reads the body of a put of the document `id`. Members it does not know are passed over.
///
/// # Errors
/// If the body is no JSON object with `fields`, or a field cannot be set as asked.
pub fn read_fields(
    types: &dyn FieldTypes,
    id: &DocumentId,
    body: &[u8],
    options: ReadOptions,
) -> Result<PutBody, Rejection> {
    read_put(types, id, body, options).map(|(body, _)| body)
}

/// Reads values from an object with a member for each, as it stands in the `fields` of a put.
///
/// # Errors
/// As [`read_fields`].
pub fn read_values(
    types: &dyn FieldTypes,
    id: &DocumentId,
    object: &[u8],
    options: ReadOptions,
) -> Result<Vec<(String, Value)>, Rejection> {
    let mut json = start(object)?;
    let values = BodyReader::new(types, id, options).fields(&mut json);
    values.and_then(|values| json.end().map(|()| values)).map_err(broken)
}

/// The same as [`read_fields`], and how many members name a document, as those of an operation in a feed do.
pub(crate) fn read_put(
    types: &dyn FieldTypes,
    id: &DocumentId,
    body: &[u8],
    options: ReadOptions,
) -> Result<(PutBody, usize), Rejection> {
    let mut reader = BodyReader::new(types, id, options);
    let mut json = start(body)?;
    let mut fields = None;
    let members = read_members(&mut json, &mut |json| {
        fields = Some(reader.fields(json)?);
        Ok(())
    });
    let members = members.and_then(|members| json.end().map(|()| members)).map_err(broken)?;
    let fields = fields.ok_or_else(|| refused("document is missing the required \"fields\" field"))?;
    let (condition, create) = (members.condition, members.create);
    Ok((PutBody { fields, condition, create, ignored: reader.values.ignored }, members.targets))
}

/// What the body of an operation has beside its fields.
pub(crate) struct Members {
    pub(crate) condition: Option<String>,
    pub(crate) create: Option<bool>,
    pub(crate) has_fields: bool,
    /// Members that name a document in feeds; they are passed over.
    pub(crate) targets: usize,
}

/// Stands before the object that a body must be.
pub(crate) fn start(body: &[u8]) -> Result<Lexer<'_>, Rejection> {
    let mut json = Lexer::from_bytes(body, Code::InvalidDocument).map_err(broken)?;
    if json.at_end() {
        return Err(refused("Could not read document, no document?"));
    }
    let kind = json.kind().map_err(broken)?;
    if kind != Kind::Object {
        return Err(refused(&format!("expected start of root object, got {}", kind.noun())));
    }
    Ok(json)
}

/// Reads the members of a body; the value of `fields` is left to `read_fields`.
pub(crate) fn read_members(
    json: &mut Lexer,
    read_fields: &mut dyn FnMut(&mut Lexer) -> Result<(), Rejection>,
) -> Result<Members, Rejection> {
    json.begin_object()?;
    let mut seen = UniqueNames::default();
    let mut members = Members { condition: None, create: None, has_fields: false, targets: 0 };
    while let Some(key) = json.next_key()? {
        check_key(&mut seen, &key)?;
        match &*key {
            "fields" => {
                let kind = json.kind()?;
                if kind != Kind::Object {
                    return Err(refused(&format!("expected start of JSON object, but got {}", kind.noun())));
                }
                members.has_fields = true;
                read_fields(json)?;
            }
            "condition" => members.condition = read_condition(json)?,
            "create" => members.create = Some(read_create(json)?),
            other => {
                members.targets += usize::from(OperationKind::from_key(other).is_some());
                json.skip_value()?;
            }
        }
    }
    Ok(members)
}

/// Reads the value of `fields` alone.
///
/// # Errors
/// As [`read_fields`].
pub(crate) fn read_fields_object(
    types: &dyn FieldTypes,
    id: &DocumentId,
    json: &mut Lexer,
    options: ReadOptions,
) -> Result<Vec<(String, Value)>, Rejection> {
    BodyReader::new(types, id, options).fields(json).map_err(broken)
}

/// Marks what the lexer refused, which alone has a place.
pub(crate) fn broken(rejection: Rejection) -> Rejection {
    if rejection.span.is_some() { rejection.within("failed parsing document") } else { rejection }
}

pub(crate) fn refused(message: &str) -> Rejection {
    Rejection::new(Code::InvalidDocument, message)
}

/// Refuses a key that was seen before in its object, and objects with too many keys.
pub(crate) fn check_key(seen: &mut UniqueNames, key: &str) -> Result<(), Rejection> {
    if !seen.first_time(key) {
        return Err(refused(&format!("Duplicate key '{}'", Rejection::quote(key))));
    }
    if seen.count() > JSON_KEYS {
        return Err(refused(&format!("An object has more keys than the limit of {JSON_KEYS}")));
    }
    Ok(())
}

/// Reads `condition`.
///
/// # Errors
/// If it is neither a string nor null.
pub(crate) fn read_condition(json: &mut Lexer) -> Result<Option<String>, Rejection> {
    match json.kind()? {
        Kind::String => Ok(Some(json.string()?.into_owned())),
        Kind::Null => json.null().map(|()| None),
        other => Err(refused(&format!("Expected 'condition' to be a string, but got {}", other.noun()))),
    }
}

/// Reads `create`.
///
/// # Errors
/// If it is not a boolean.
pub(crate) fn read_create(json: &mut Lexer) -> Result<bool, Rejection> {
    match json.kind()? {
        Kind::Bool => json.boolean(),
        other => Err(refused(&format!("Expected 'create' to be a boolean, but got {}", other.noun()))),
    }
}

struct BodyReader<'a> {
    types: &'a dyn FieldTypes,
    id: &'a DocumentId,
    values: ValueReader,
}

impl<'a> BodyReader<'a> {
    fn new(types: &'a dyn FieldTypes, id: &'a DocumentId, options: ReadOptions) -> BodyReader<'a> {
        BodyReader { types, id, values: ValueReader::new(options) }
    }

    fn fields(&mut self, json: &mut Lexer) -> Result<Vec<(String, Value)>, Rejection> {
        json.begin_object()?;
        let mut fields = Vec::new();
        let mut seen = UniqueNames::default();
        while let Some(name) = json.next_key()? {
            check_key(&mut seen, &name)?;
            if seen.count() > FIELDS {
                return Err(refused(&format!("A document has more fields than the limit of {FIELDS}")));
            }
            match self.types.data_type(&name) {
                Some(data_type) => {
                    fields.extend(self.field(&name, data_type, json)?.map(|value| (name.into_owned(), value)))
                }
                None if self.values.options.ignore_undefined_fields => {
                    self.values.ignored.push(name.into_owned());
                    json.skip_value()?;
                }
                None => return Err(self.undefined(&name)),
            }
        }
        Ok(fields)
    }

    /// The value of a field, none if it is null or an empty collection, which is the same as not set.
    fn field(&mut self, name: &str, data_type: &DataType, json: &mut Lexer) -> Result<Option<Value>, Rejection> {
        if json.kind()? == Kind::Null {
            return json.null().map(|()| None);
        }
        let value = self.values.field(name, data_type, json);
        let value = value.map_err(|error| match error.span {
            None => error.within(&format!("In document '{}'", self.id)),
            Some(_) => error,
        })?;
        Ok(if value.is_empty_collection() { None } else { Some(value) })
    }

    fn undefined(&self, name: &str) -> Rejection {
        let shown = Rejection::quote(name);
        let hint = match nearest_name(name, self.types.names()) {
            Some(nearest) => format!(". Did you mean '{nearest}'?"),
            None => String::new(),
        };
        refused(&format!("Field '{shown}' is not defined in document type '{}'{hint}", self.id.document_type()))
    }
}

#[cfg(test)]
mod tests;
