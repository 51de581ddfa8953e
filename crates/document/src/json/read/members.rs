//! The members of the body of an operation, those of `fields` left out.
use brooklet_task::{Code, Rejection};

use super::refusal::{broken_json, check_key, refusal};
use crate::OperationKind;
use crate::json::{JsonKind, Lexer, UniqueNames};

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
    let mut json = Lexer::from_bytes(body, Code::InvalidDocument).map_err(broken_json)?;
    if json.at_end() {
        return Err(refusal("Could not read document, no document?"));
    }
    let kind = json.kind().map_err(broken_json)?;
    if kind != JsonKind::Object {
        return Err(refusal(&format!("expected start of root object, got {}", kind.noun())));
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
                if kind != JsonKind::Object {
                    return Err(refusal(&format!("expected start of JSON object, but got {}", kind.noun())));
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

/// Reads `condition`.
///
/// # Errors
/// If it is neither a string nor null.
pub(crate) fn read_condition(json: &mut Lexer) -> Result<Option<String>, Rejection> {
    match json.kind()? {
        JsonKind::String => Ok(Some(json.string()?.into_owned())),
        JsonKind::Null => json.null().map(|()| None),
        other => Err(refusal(&format!("Expected 'condition' to be a string, but got {}", other.noun()))),
    }
}

/// Reads `create`.
///
/// # Errors
/// If it is not a boolean.
pub(crate) fn read_create(json: &mut Lexer) -> Result<bool, Rejection> {
    match json.kind()? {
        JsonKind::Bool => json.boolean(),
        other => Err(refusal(&format!("Expected 'create' to be a boolean, but got {}", other.noun()))),
    }
}
