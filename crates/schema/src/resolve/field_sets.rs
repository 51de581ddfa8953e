//! Field sets.
use brooklet_task::did_you_mean;

use std::sync::Arc;

use brooklet_document::DataType;

use super::matching::match_settings;
use super::outcome::Resolved;
use crate::field::{FieldSet, Roles};
use crate::remarks::Remarks;
use crate::schema::Schema;
use crate::sd::tree::{FieldSetTree, SchemaTree};

/// The field sets of a schema and of the one it inherits.
pub(super) fn field_sets(
    tree: &SchemaTree,
    schema: &Schema,
    parent: Option<&Arc<Schema>>,
    remarks: &mut Remarks,
) -> Resolved<Vec<FieldSet>> {
    let mut sets = tree.field_sets.iter().map(|set| field_set(set, schema)).collect::<Resolved<Vec<_>>>()?;
    for set in parent.into_iter().flat_map(|parent| &parent.field_sets) {
        if !sets.iter().any(|own| own.name == set.name) {
            sets.push(set.clone());
        }
    }
    for (set, own) in sets.iter().zip(&tree.field_sets) {
        let is_tensor =
            |name: &&String| schema.field(name).is_some_and(|field| matches!(field.data_type, DataType::Tensor(_)));
        let tensors = set.fields.iter().filter(is_tensor).count();
        if (1..set.fields.len()).contains(&tensors) {
            let about = format!("For schema '{}', fieldset '{}'", schema.name, set.name);
            remarks.object(own.name.place.reject(format!("{about}: tensors and other fields cannot be mixed")));
        }
    }
    for set in &sets {
        let mut matchings = set.fields.iter().filter_map(|name| schema.field(name)).map(|field| &field.matching);
        let first = matchings.next();
        if set.matching.is_none() && matchings.any(|matching| Some(matching) != first) {
            remarks.warn(format!(
                "For schema '{}', fieldset '{}': The matching settings for the fields in '{1}' are inconsistent (explicitly \
                 or because of field type). This may lead to recall and ranking issues.",
                schema.name, set.name
            ));
        }
    }
    Ok(sets)
}

fn field_set(tree: &FieldSetTree, schema: &Schema) -> Resolved<FieldSet> {
    let mut fields: Vec<String> = Vec::new();
    for name in &tree.fields {
        if schema.field(&name.text).is_none() {
            let hint = did_you_mean(&name.text, schema.all_fields().map(|field| field.name.as_str()));
            let (schema, set) = (&schema.name, &tree.name.text);
            let message =
                format!("For schema '{schema}', fieldset '{set}': field '{}' does not exist{hint}", name.text);
            return Err(name.place.reject(message));
        }
        if !fields.contains(&name.text) {
            fields.push(name.text.clone());
        }
    }
    let text = Roles { index: true, ..Roles::default() };
    let matching = (!tree.matching.is_empty()).then(|| match_settings(&tree.matching, None, &DataType::String, text));
    let of_field = |name: &String| schema.field(name).is_some_and(|field| field.phrase_segmenting);
    let phrase_segmenting = tree.phrase_segmenting || fields.iter().any(of_field);
    Ok(FieldSet { name: tree.name.text.clone(), fields, matching, phrase_segmenting })
}
