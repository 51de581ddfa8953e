//! Field sets: which fields of a document a reader asked for.
use std::rc::Rc;

use brooklet_task::{Code, Rejection, nearest_name};

use crate::deployed::{Deployed, DeployedSchema};

const SPECIAL_NAMES: &str = "The only special names (enclosed in '[]') allowed are id, all, document, none";

/// What stands after the name of a type for all its fields, and alone for those of every type.
const ALL_OF_TYPE: &str = "[document]";

/// A field set as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FieldSet {
    /// `[all]` and `[document]`: all fields that were fed.
    Document,
    /// `[id]` and `[none]`.
    Id,
    /// `type:[document]` and `type:a,b`: of other types the fields that are the same by name and type, as heirs have them.
    OfType(String, Option<Vec<String>>),
}

/// The fields of one type that are shown.
#[derive(Clone)]
pub(crate) enum FieldChoice {
    /// None: the document need not be read.
    None,
    /// Those of the deployed document type.
    All(Rc<DeployedSchema>),
    /// These.
    Some(Vec<String>),
}

impl FieldSet {
    /// Reads a field set; an empty text is the whole document.
    ///
    /// # Errors
    /// If it is in brackets and unknown, or names no type.
    pub(crate) fn parse(text: &str) -> Result<FieldSet, Rejection> {
        match text.split_once(':') {
            Some((of, ALL_OF_TYPE)) => Ok(FieldSet::OfType(of.to_owned(), None)),
            Some((of, names)) => {
                let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
                Ok(FieldSet::OfType(of.to_owned(), Some(names.map(str::to_owned).collect())))
            }
            None => match text {
                "" | "[all]" | "[document]" => Ok(FieldSet::Document),
                "[id]" | "[none]" => Ok(FieldSet::Id),
                other if other.starts_with('[') => Err(invalid(SPECIAL_NAMES.to_owned())),
                other => Err(invalid(format!("Unknown field set '{}'", Rejection::quote(other)))),
            },
        }
    }

    /// Checks that the type and the fields it names exist.
    ///
    /// # Errors
    /// If one does not.
    pub(crate) fn check(&self, deployed: &Deployed) -> Result<(), Rejection> {
        let FieldSet::OfType(of, names) = self else { return Ok(()) };
        let schema =
            deployed.schema(of).ok_or_else(|| invalid(format!("Unknown document type {}", Rejection::quote(of))))?;
        let known = |name: &&String| schema.schema.field(name).is_some();
        let Some(wrong) = names.iter().flatten().find(|name| !known(name)) else { return Ok(()) };
        let fields = schema.schema.fields.iter().map(|field| field.name.as_str());
        let whole = names.as_ref().filter(|names| names.len() == 1).map(|_| ALL_OF_TYPE);
        let hint = nearest_name(wrong, fields.chain(whole))
            .map_or_else(String::new, |near| format!(". Did you mean '{near}'?"));
        Err(invalid(format!("No such field {}{hint}", Rejection::quote(wrong))))
    }

    /// The fields of documents of `schema` that it shows.
    pub(crate) fn choice(&self, schema: &Rc<DeployedSchema>, deployed: &Deployed) -> FieldChoice {
        match self {
            FieldSet::Document => FieldChoice::All(schema.clone()),
            FieldSet::Id => FieldChoice::None,
            FieldSet::OfType(of, names) if *of != schema.schema.name => {
                deployed.schema(of).map_or(FieldChoice::None, |of| shared_fields(of, names.as_deref(), schema))
            }
            FieldSet::OfType(_, None) => FieldChoice::All(schema.clone()),
            FieldSet::OfType(_, Some(names)) => FieldChoice::Some(names.clone()),
        }
    }
}

/// The fields of a set of one type, all or those of `names`, that another type has as well.
fn shared_fields(of: &DeployedSchema, names: Option<&[String]>, schema: &DeployedSchema) -> FieldChoice {
    let is_shared = |name: &str| {
        let data_type = of.schema.document_field_type(name);
        data_type.is_some() && data_type == schema.schema.document_field_type(name)
    };
    let all = of.schema.fields.iter().map(|field| field.name.as_str());
    let shared: Vec<String> = match names {
        None => all.filter(|name| is_shared(name)).map(str::to_owned).collect(),
        Some(names) => names.iter().filter(|name| is_shared(name)).cloned().collect(),
    };
    if shared.is_empty() { FieldChoice::None } else { FieldChoice::Some(shared) }
}

impl FieldChoice {
    /// Whether the field of that name is shown.
    pub(crate) fn has(&self, name: &str) -> bool {
        match self {
            FieldChoice::None => false,
            FieldChoice::All(schema) => schema.schema.document_field_type(name).is_some(),
            FieldChoice::Some(names) => names.iter().any(|wanted| wanted == name),
        }
    }
}

fn invalid(message: String) -> Rejection {
    Rejection::new(Code::InvalidDocument, message)
}
