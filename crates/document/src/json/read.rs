//! Reads documents from JSON: the body of a put, `{"fields":{…},"condition":"…","create":true}`.
//!
//! Two kinds of refusals meet here. Broken JSON comes from the lexer with its place in the text; what is good JSON but
//! no good value comes without one, and is told with the field and the path of the value instead.
use brooklet_task::limits::FIELDS;
use brooklet_task::{Rejection, nearest_name};

use super::{JsonKind, Lexer, UniqueNames};
use crate::document_types::FieldTypes;
use crate::{DataType, DocumentId, Value};

mod members;
mod number;
mod options;
mod position;
mod refusal;
mod tensor;
mod update;
mod value;

pub(crate) use members::{read_condition, read_create};
use members::{read_members, start};
pub use options::ReadOptions;
pub(crate) use refusal::{broken_json, check_key, refusal};
pub(crate) use update::read_update_fields;
pub use update::{UpdateBody, read_update};

pub use tensor::{TensorSource, read_query_tensor, read_tensor};
pub(super) use value::ValueReader;
pub(crate) use value::value_from_text;

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
    values.and_then(|values| json.end().map(|()| values)).map_err(broken_json)
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
    let members = members.and_then(|members| json.end().map(|()| members)).map_err(broken_json)?;
    let fields = fields.ok_or_else(|| refusal("document is missing the required \"fields\" field"))?;
    let (condition, create) = (members.condition, members.create);
    Ok((PutBody { fields, condition, create, ignored: reader.values.ignored }, members.targets))
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
    BodyReader::new(types, id, options).fields(json).map_err(broken_json)
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
                return Err(refusal(&format!("A document has more fields than the limit of {FIELDS}")));
            }
            match self.types.data_type(&name) {
                Some(data_type) => {
                    fields.extend(self.field(&name, data_type, json)?.map(|value| (name.into_owned(), value)))
                }
                None if self.values.options.ignore_undefined_fields => {
                    self.values.ignored.push(name.into_owned());
                    json.skip_value()?;
                }
                None => return Err(self.undefined_field(&name)),
            }
        }
        Ok(fields)
    }

    /// The value of a field, none if it is null or an empty collection, which is the same as not set.
    fn field(&mut self, name: &str, data_type: &DataType, json: &mut Lexer) -> Result<Option<Value>, Rejection> {
        if json.kind()? == JsonKind::Null {
            return json.null().map(|()| None);
        }
        let value = self.values.field(name, data_type, json);
        let value = value.map_err(|error| match error.span {
            None => error.within(&format!("In document '{}'", self.id)),
            Some(_) => error,
        })?;
        Ok(if value.is_empty_collection() { None } else { Some(value) })
    }

    fn undefined_field(&self, name: &str) -> Rejection {
        let shown = Rejection::quote(name);
        let hint = match nearest_name(name, self.types.names()) {
            Some(nearest) => format!(". Did you mean '{nearest}'?"),
            None => String::new(),
        };
        refusal(&format!("Field '{shown}' is not defined in document type '{}'{hint}", self.id.document_type()))
    }
}

#[cfg(test)]
mod tests;
