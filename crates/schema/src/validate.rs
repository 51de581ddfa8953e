//! What only streaming mode says about a schema: warnings, and what cannot be served.
//!
//! The texts are those of the reference implementation.
use brooklet_document::DataType;
use brooklet_task::Rejection;

use crate::match_settings::MatchKind;
use crate::resolve::ResolvedSchema;

/// Checks a schema that `cluster` serves, and gives the warnings.
///
/// # Errors
/// If it has references to other documents, or imported fields.
pub(crate) fn streaming(resolved: &ResolvedSchema, cluster: &str) -> Result<Vec<String>, Rejection> {
    let schema = &resolved.schema;
    let about = format!("For search cluster '{cluster}', streaming schema '{}'", schema.name);
    let refused = |place: &crate::place::SourcePlace, attribute: &str, of: &str| {
        place.reject(format!(
            "{about}: Attribute '{attribute}' has type '{of}'. Document references and imported fields are not allowed in \
             streaming search."
        ))
    };
    if let Some(name) = resolved.imports.first() {
        return Err(refused(&name.place, &name.text, "imported"));
    }
    let mut warnings = Vec::new();
    for field in schema.all_fields() {
        if let of @ DataType::Reference(_) = field.data_type.element() {
            return Err(refused(&resolved.place, &field.name, &of.to_string()));
        }
        let mut warn = |text: &str| warnings.push(format!("{about}, schema field '{}': {text}", field.name));
        if field.matching.kind == MatchKind::Gram {
            warn("n-gram matching is not supported for streaming search.");
        }
        if resolved.hnsw_fields.contains(&field.name) {
            warn("hnsw index is not relevant and not supported, ignoring setting");
        }
        if field.indexing.searchable() && *field.data_type.element() == DataType::Predicate {
            warn("field type predicate is not supported for streaming search");
        }
        if field.indexing.index && *field.data_type.element() == DataType::Uri {
            warn("field type uri is not supported for streaming search, it will be handled as a string field");
        }
    }
    Ok(warnings)
}
