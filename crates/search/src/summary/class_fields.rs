//! Which summary fields an answer shows: those of a class, or those that a field list names. What is done to their values
//! is above.
use brooklet_document::DataType;
use brooklet_schema::{Schema, SummaryClass, SummaryField, SummaryTransform};

use super::places;
use crate::deployed::DeployedSchema;
use crate::plan::SchemaPlan;

/// The name that the id of a document is shown by.
pub(super) const DOCUMENT_ID: &str = "documentid";

/// The fields a hit shows: those the query names, else those of the class.
pub(super) fn shown_fields(of: &SchemaPlan, class: Option<&SummaryClass>, named: &[String]) -> Vec<SummaryField> {
    if named.is_empty() {
        class.map_or_else(Vec::new, |class| fields_of(&of.schema.schema, class))
    } else {
        named.iter().filter_map(|name| find_field(&of.schema, class, name)).collect()
    }
}

/// The fields of a class. The default one also has what others define under another name, unless that is the value of
/// an attribute or a list of tokens (query-api §3).
fn fields_of(schema: &Schema, class: &SummaryClass) -> Vec<SummaryField> {
    let mut fields = class.fields.clone();
    if class.name == "default" {
        for field in schema.summary_classes.iter().flat_map(|other| &other.fields) {
            let left_out = field.name == DOCUMENT_ID
                || field.transform == SummaryTransform::Tokens
                || is_attribute(schema, field)
                || fields.iter().any(|known| known.name == field.name);
            if !left_out {
                fields.push(field.clone());
            }
        }
    }
    fields
}

/// Whether a summary field shows nothing but the value of an attribute, or of a struct all of whose parts are attributes.
fn is_attribute(schema: &Schema, field: &SummaryField) -> bool {
    let [source] = &field.sources[..] else { return false };
    let Some(source) = schema.field(source).filter(|_| field.transform == SummaryTransform::Full) else { return false };
    let mut plain = source.parts.iter().filter(|part| !matches!(part.data_type, DataType::Struct(_))).peekable();
    source.indexing.attribute || plain.peek().is_some() && plain.all(|part| part.indexing.attribute)
}

/// The summary field a name in a field list means: that of the class, else of any class, else the field itself.
fn find_field(schema: &DeployedSchema, class: Option<&SummaryClass>, name: &str) -> Option<SummaryField> {
    let declared = class.and_then(|class| class.field(name));
    let anywhere = || schema.schema.summary_classes.iter().find_map(|class| class.field(name));
    if let Some(field) = declared.or_else(anywhere) {
        return Some(field.clone());
    }
    let plain = |name: &str| SummaryField {
        name: name.to_owned(),
        sources: vec![name.to_owned()],
        transform: SummaryTransform::Full,
    };
    let is_field = schema.schema.fields.iter().any(|field| field.name == name);
    (name == DOCUMENT_ID || is_field || places::part_of(&schema.schema, name).is_some()).then(|| plain(name))
}
