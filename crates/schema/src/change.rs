//! From one deployed application to the next: what would lose or damage stored documents is refused.
use brooklet_document::DataType;
use brooklet_task::{Code, Rejection};

use crate::application::Application;
use crate::field::{Field, Origin};
use crate::schema::Schema;

impl Application {
    /// Checks that `next` can replace this application over the documents it has stored, and tells what changes.
    ///
    /// Everything about searching, ranking and showing may change at once, because it is derived when a query runs.
    ///
    /// # Errors
    /// If a schema would go without an override, or a field would have another type.
    pub fn validate_change(&self, next: &Application) -> Result<Vec<String>, Rejection> {
        let mut notes = Vec::new();
        for old in &self.schemas {
            match next.schema(&old.name) {
                Some(new) => {
                    fields(old, new, &mut notes)?;
                    cluster(self, next, &old.name, &mut notes);
                }
                None if next.allows("schema-removal") || next.allows("content-type-removal") => {
                    notes.push(format!("Schema '{}' is removed: its documents can no longer be reached.", old.name));
                }
                None => {
                    return Err(refused(format!(
                        "schema-removal: Schema '{0}' is removed. This will cause loss of all data in this schema. To allow \
                         this add <allow until='yyyy-mm-dd'>schema-removal</allow> to validation-overrides.xml, or keep \
                         schemas/{0}.sd",
                        old.name
                    )));
                }
            }
        }
        for new in next.schemas.iter().filter(|new| self.schema(&new.name).is_none()) {
            notes.push(format!("Schema '{}' is added.", new.name));
        }
        Ok(notes)
    }

    fn allows(&self, id: &str) -> bool {
        self.overrides.iter().any(|allowed| allowed.id == id)
    }
}

fn refused(message: String) -> Rejection {
    Rejection::new(Code::InvalidApplication, message)
}

fn cluster(old: &Application, new: &Application, document_type: &str, notes: &mut Vec<String>) {
    let names = [old, new].map(|of| of.cluster_of(document_type).map_or("", |cluster| cluster.name.as_str()));
    if names[0] != names[1] {
        notes.push(format!("Document type '{document_type}' moves from cluster '{}' to '{}'.", names[0], names[1]));
    }
}

fn fields(old: &Schema, new: &Schema, notes: &mut Vec<String>) -> Result<(), Rejection> {
    let stored = |field: &&Field| field.origin == Origin::Document;
    for before in old.fields.iter().filter(stored) {
        let Some(after) = new.fields.iter().find(|field| field.name == before.name) else {
            notes.push(format!(
                "Field '{}' of schema '{}' is removed: its values are no longer shown.",
                before.name, old.name
            ));
            continue;
        };
        if !compatible(&before.data_type, &after.data_type) {
            return Err(refused(format!(
                "field-type-change: Field '{}' of schema '{}' changed: data type: '{}' -> '{}'. Stored documents have values \
                 of the old type: give the field a new name and feed it, or keep its type",
                before.name, old.name, before.data_type, after.data_type
            )));
        }
        if before.indexing != after.indexing {
            notes.push(format!(
                "Field '{}' of schema '{}' changes how it is used; no refeed is needed.",
                before.name, old.name
            ));
        }
    }
    for added in new.fields.iter().filter(stored).filter(|field| !old.fields.iter().any(|old| old.name == field.name)) {
        notes.push(format!(
            "Field '{}' of schema '{}' is added: it is not set in stored documents.",
            added.name, new.name
        ));
    }
    Ok(())
}

/// Whether stored values of one type can be read as the other: equal, but structs may gain and lose fields, and the
/// counting of weighted sets may change.
fn compatible(before: &DataType, after: &DataType) -> bool {
    match (before, after) {
        (DataType::Array(before), DataType::Array(after)) => compatible(before, after),
        (DataType::WeightedSet { element: before, .. }, DataType::WeightedSet { element: after, .. }) => {
            before == after
        }
        (DataType::Map(key, value), DataType::Map(next_key, next_value)) => {
            key == next_key && compatible(value, next_value)
        }
        (DataType::Struct(before), DataType::Struct(after)) => before
            .fields
            .iter()
            .all(|field| after.field(&field.name).is_none_or(|next| compatible(&field.data_type, &next.data_type))),
        _ => before == after,
    }
}
