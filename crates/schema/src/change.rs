//! From one deployed application to the next: what would lose or damage stored documents is refused.
use std::collections::BTreeSet;

use brooklet_document::DataType;
use brooklet_task::{Code, Rejection};

use crate::application::Application;
use crate::field::{Field, Origin};
use crate::overrides::Override;
use crate::schema::Schema;

/// What replacing one application by another means for what is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// What changes.
    pub notes: Vec<String>,
    /// Changes that an override allows and after which documents have to be fed again.
    pub refeed: Vec<Refeed>,
    /// Fields of another type that no override allows.
    pub unless_stored: Vec<UnlessStored>,
}

/// A change after which documents have to be fed again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refeed {
    /// Which kind of change, by the name of its override.
    pub name: &'static str,
    /// The document type.
    pub document_type: String,
    /// Its content cluster.
    pub cluster: String,
    /// What changes.
    pub message: String,
}

/// A change that is refused where a stored document has a value of the field: only the host can tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnlessStored {
    /// The schema, by the type in the ids of its stored documents.
    pub schema: String,
    /// The field.
    pub field: String,
    /// Why, if there is such a document.
    pub refusal: String,
    /// What is said if there is none.
    pub warning: String,
}

/// The days on which a change is made, since 1970 UTC: what is allowed depends on it. Nothing: every day is right.
pub type Today = Option<i64>;

const FIELD_TYPE_CHANGE: &str = "field-type-change";
const SCHEMA_REMOVAL: &[&str] = &["schema-removal", "content-type-removal"];
const CLUSTER_REMOVAL: &[&str] = &["content-cluster-removal"];

impl Change {
    /// Refuses what is refused where documents are stored.
    ///
    /// # Errors
    /// If there is anything such.
    pub fn demand_nothing(&self) -> Result<(), Rejection> {
        self.unless_stored.first().map_or(Ok(()), |of| Err(refusal(of.refusal.clone())))
    }
}

impl Application {
    /// As [`Application::change_to`] on any day, over documents that have values of all fields. What changes.
    ///
    /// # Errors
    /// If an override would be needed.
    pub fn validate_change(&self, next: &Application) -> Result<Vec<String>, Rejection> {
        let change = self.change_to(next, None)?;
        change.demand_nothing()?;
        Ok(change.notes)
    }

    /// Checks that `next` can replace this application over the documents it has stored, and tells what changes.
    ///
    /// Everything about searching, ranking and showing may change at once, because it is derived when a query runs.
    ///
    /// # Errors
    /// If a schema or cluster would go without an override.
    pub fn change_to(&self, next: &Application, today: Today) -> Result<Change, Rejection> {
        let mut change = Change::default();
        for cluster in self.clusters.iter().filter(|old| !next.clusters.iter().any(|new| new.name == old.name)) {
            let what = format!(
                "Content cluster '{}' is removed. This will cause loss of all data in this cluster",
                cluster.name
            );
            next.demand(CLUSTER_REMOVAL, today, &what, "")?;
            change.notes.push(format!("Content cluster '{}' is removed: its documents are deleted.", cluster.name));
        }
        for old in &self.schemas {
            let (name, cluster) = (&old.name, old.cluster.as_str());
            let stays = next.schema_in(name, cluster).is_some();
            let new = next.schema_in(name, cluster).or_else(|| next.schema(name));
            if !stays && next.clusters.iter().any(|known| known.name == cluster) {
                let what = format!(
                    "Schema '{name}' is removed in content cluster '{cluster}'. This will cause loss of all data in this schema"
                );
                let hint = if new.is_none() { format!(", or keep schemas/{name}.sd") } else { String::new() };
                next.demand(SCHEMA_REMOVAL, today, &what, &hint)?;
            }
            match new {
                Some(new) if stays => fields(old, new, next, (cluster, today), &mut change),
                Some(new) if self.schema_in(name, &new.cluster).is_some() => change.notes.push(format!(
                    "Schema '{name}' is removed in cluster '{cluster}': its documents there are deleted."
                )),
                Some(new) => change.notes.push(format!(
                    "Schema '{name}' moves from cluster '{cluster}' to '{}': its documents are deleted.",
                    new.cluster
                )),
                None => change.notes.push(format!("Schema '{name}' is removed: its documents are deleted.")),
            }
        }
        for new in next.schemas.iter().filter(|new| self.schema_in(&new.name, &new.cluster).is_none()) {
            if self.schema(&new.name).is_none() {
                change.notes.push(format!("Schema '{}' is added.", new.name));
            } else if new.is_shared {
                let (name, cluster) = (&new.name, &new.cluster);
                change.notes.push(format!("Schema '{name}' is added in cluster '{cluster}', without documents."));
            }
        }
        // What is so in several clusters is said once.
        let mut said = BTreeSet::new();
        change.notes.retain(|note| said.insert(note.clone()));
        Ok(change)
    }

    /// Whether one of these overrides is there and its last day is not over.
    fn allows(&self, ids: &[&str], today: Today) -> bool {
        let is_valid = |allowed: &Override| today.is_none_or(|today| allowed.until_day >= today);
        self.overrides.iter().any(|allowed| ids.contains(&allowed.id.as_str()) && is_valid(allowed))
    }

    fn demand(&self, ids: &[&str], today: Today, what: &str, hint: &str) -> Result<(), Rejection> {
        if self.allows(ids, today) { Ok(()) } else { Err(refusal(format!("{}{hint}", demand(ids[0], what)))) }
    }

    /// No override may be valid for longer than a month: they would be forgotten.
    ///
    /// # Errors
    /// If one is.
    pub fn check_overrides(&self, today: i64) -> Result<(), Rejection> {
        match self.overrides.iter().find(|allowed| allowed.until_day - today >= OVERRIDE_DAYS_MAX) {
            None => Ok(()),
            Some(Override { id, until, .. }) => Err(refusal(format!(
                "validation-overrides is invalid: allow '{id}' until {until} is too far in the future: Max {OVERRIDE_DAYS_MAX} \
                 days is allowed"
            ))),
        }
    }
}

const OVERRIDE_DAYS_MAX: i64 = 30;

/// A refusal that says how it is overcome.
fn demand(id: &str, what: &str) -> String {
    format!("{id}: {what}. To allow this add <allow until='yyyy-mm-dd'>{id}</allow> to validation-overrides.xml")
}

fn refusal(message: String) -> Rejection {
    Rejection::new(Code::InvalidApplication, message)
}

fn fields(old: &Schema, new: &Schema, next: &Application, (cluster, today): (&str, Today), change: &mut Change) {
    let stored = |field: &&Field| field.origin == Origin::Document;
    let made = |field: &Field| field.origin != Origin::Document;
    for before in &old.fields {
        let (name, schema) = (&before.name, &old.name);
        let Some(after) = new.fields.iter().find(|field| field.name == *name) else {
            if stored(&before) {
                change
                    .notes
                    .push(format!("Field '{name}' of schema '{schema}' is removed: its values are no longer shown."));
            }
            continue;
        };
        if !compatible(&before.data_type, &after.data_type) {
            let types = format!("data type: '{}' -> '{}'", before.data_type, after.data_type);
            let what = format!("Field '{name}' of schema '{schema}' changed: {types}");
            if made(before) || made(after) {
                change.notes.push(format!("{what}: it is unset in stored documents until they are fed again"));
                continue;
            }
            type_change(next.allows(&[FIELD_TYPE_CHANGE], today), what, (old, name, cluster), change);
        } else if before.indexing != after.indexing && stored(&before) {
            change
                .notes
                .push(format!("Field '{name}' of schema '{schema}' changes how it is used; no refeed is needed."));
        }
    }
    for added in new.fields.iter().filter(stored).filter(|field| !old.fields.iter().any(|old| old.name == field.name)) {
        change.notes.push(format!(
            "Field '{}' of schema '{}' is added: it is not set in stored documents.",
            added.name, new.name
        ));
    }
}

fn type_change(is_allowed: bool, what: String, (of, field, cluster): (&Schema, &str, &str), change: &mut Change) {
    let schema = &of.name;
    if is_allowed {
        change.notes.push(format!("{what}: values of the old type read as unset until the documents are fed again"));
        let message = format!("Document type '{schema}': {what}");
        let (document_type, cluster) = (schema.clone(), cluster.to_owned());
        change.refeed.push(Refeed { name: FIELD_TYPE_CHANGE, document_type, cluster, message });
        return;
    }
    let refusal = format!("{what}. Stored documents have values of the old type, which would read as unset");
    change.unless_stored.push(UnlessStored {
        schema: of.stored_type().into_owned(),
        field: field.to_owned(),
        refusal: demand(FIELD_TYPE_CHANGE, &refusal) + ", or give the field a new name and feed it",
        warning: format!(
            "{what}: no stored document has a value of it. A Vespa asks for the override {FIELD_TYPE_CHANGE} even so"
        ),
    });
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
