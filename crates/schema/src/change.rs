//! From one deployed application to the next: what would lose or damage stored documents is refused.
use std::collections::{BTreeMap, BTreeSet};

use brooklet_document::DataType;
use brooklet_task::{Code, Rejection};

use crate::application::Application;
use crate::field::{Field, Origin};
use crate::fingerprint::type_fingerprint;
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
                Some(new) if stays => {
                    let is_allowed = next.allows(&[FIELD_TYPE_CHANGE], today);
                    fields(old, new, &Setting { cluster, is_allowed, known: self.types_of(old) }, &mut change);
                }
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

    /// The types that the fields of a schema had last, of those that were removed, too.
    fn types_of(&self, schema: &Schema) -> Option<&BTreeMap<String, u64>> {
        Some(&self.history.as_ref()?.schemas.get(&*schema.stored_type())?.types)
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

/// Where the fields of a schema change.
struct Setting<'a> {
    cluster: &'a str,
    /// Fields may change their types.
    is_allowed: bool,
    /// The types that fields had last, as numbers, if that is known.
    known: Option<&'a BTreeMap<String, u64>>,
}

fn fields(old: &Schema, new: &Schema, setting: &Setting, change: &mut Change) {
    let stored = |field: &&Field| field.origin == Origin::Document;
    for before in &old.fields {
        let (name, schema) = (&before.name, &old.name);
        let Some(after) = new.fields.iter().find(|field| field.name == *name) else {
            if stored(&before) {
                change.notes.push(format!("Field '{name}' of schema '{schema}' is removed: {HIDDEN}."));
            }
            continue;
        };
        let types = TypeChange::of(&before.data_type, &after.data_type);
        let is_made = !stored(&before) || !stored(&after);
        if !types.changed.is_empty() {
            let what = format!("Field '{name}' of schema '{schema}' changed: data type: {}", types.shown());
            if is_made {
                change.notes.push(format!("{what}: it is unset in stored documents until they are fed again"));
                continue;
            }
            type_change(what, types.keeps_values(), (old, name), setting, change);
        } else if before.indexing != after.indexing && stored(&before) {
            change
                .notes
                .push(format!("Field '{name}' of schema '{schema}' changes how it is used; no refeed is needed."));
        }
        if !is_made {
            let member = |of: &str| format!("Member '{of}' of field '{name}' of schema '{schema}'");
            change.notes.extend(types.removed.iter().map(|of| format!("{} is removed: {HIDDEN}.", member(of))));
            change.notes.extend(types.added.iter().map(|of| format!("{} is added: {UNSET}.", member(of))));
        }
    }
    for added in new.fields.iter().filter(stored).filter(|field| !old.fields.iter().any(|old| old.name == field.name)) {
        change.notes.push(format!("Field '{}' of schema '{}' is {}.", added.name, new.name, addition(added, setting)));
    }
}

/// What is said of values that are not read any more: they are kept under their type (`brooklet_document::unread`).
const HIDDEN: &str = "its values are no longer shown, until it is added again with their type";
/// What is said of values that there may be from before.
const UNSET: &str = "it is not set in documents that were written without it";

/// What is said of a field that is added, perhaps not for the first time.
fn addition(field: &Field, setting: &Setting) -> String {
    let last = setting.known.and_then(|known| known.get(&field.name));
    match last {
        None => format!("added: {UNSET}"),
        Some(last) if *last == type_fingerprint(&field.data_type) => {
            "added again: the values of this type that stored documents have of it are shown again".to_owned()
        }
        Some(_) => {
            "added again with another type: of the values that stored documents have of it only those of this type \
                    are shown"
                .to_owned()
        }
    }
}

fn type_change(what: String, keeps_values: bool, of: (&Schema, &str), setting: &Setting, change: &mut Change) {
    let (old, field) = of;
    let schema = &old.name;
    // Which field it was is not known, nor what types it had.
    let again = if old.retyped == 0 { "" } else { "; those that are of the new type, from before, are shown again" };
    if setting.is_allowed {
        let read = if keeps_values {
            "values of the old type are read as those of the new one"
        } else {
            "values of the old type read as unset until the documents are fed again"
        };
        change.notes.push(format!("{what}: {read}{again}"));
        let message = format!("Document type '{schema}': {what}");
        let (document_type, cluster) = (schema.clone(), setting.cluster.to_owned());
        change.refeed.push(Refeed { name: FIELD_TYPE_CHANGE, document_type, cluster, message });
        return;
    }
    let read = if keeps_values { "would be read as those of the new one" } else { "would read as unset" };
    let refusal = format!("{what}. Stored documents have values of the old type, which {read}");
    change.unless_stored.push(UnlessStored {
        schema: old.stored_type().into_owned(),
        field: field.to_owned(),
        refusal: demand(FIELD_TYPE_CHANGE, &refusal) + ", or give the field a new name and feed it",
        warning: format!(
            "{what}: no stored document has a value of the old type{again}. A Vespa asks for the override {FIELD_TYPE_CHANGE} \
             even so"
        ),
    });
}

/// How a type differs from the one before. Members of structs are named by their path; they may come and go, and the
/// counting of weighted sets may change.
#[derive(Default)]
struct TypeChange<'a> {
    removed: Vec<String>,
    added: Vec<String>,
    /// What has another type: the type itself, without a path, or members.
    changed: Vec<Retyped<'a>>,
}

struct Retyped<'a> {
    path: String,
    before: &'a DataType,
    after: &'a DataType,
}

impl<'a> TypeChange<'a> {
    fn of(before: &'a DataType, after: &'a DataType) -> TypeChange<'a> {
        let mut found = TypeChange::default();
        found.compare((before, after), (before, after), "");
        found
    }

    /// Compares types within `whole`, of which a path leads to the types.
    fn compare(
        &mut self,
        (before, after): (&'a DataType, &'a DataType),
        whole: (&'a DataType, &'a DataType),
        path: &str,
    ) {
        match (before, after) {
            (DataType::Array(before), DataType::Array(after)) => self.compare((before, after), whole, path),
            (DataType::WeightedSet { element: before, .. }, DataType::WeightedSet { element: after, .. })
                if before == after => {}
            (DataType::Map(key, before), DataType::Map(next_key, after)) if key == next_key => {
                self.compare((before, after), whole, path);
            }
            (DataType::Struct(before), DataType::Struct(after)) => {
                let inner = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
                for member in &before.fields {
                    let path = inner(&member.name);
                    match after.field(&member.name) {
                        Some(next) => {
                            let types = (&member.data_type, &next.data_type);
                            self.compare(types, types, &path);
                        }
                        None => self.removed.push(path),
                    }
                }
                let added = after.fields.iter().filter(|member| before.field(&member.name).is_none());
                self.added.extend(added.map(|member| inner(&member.name)));
            }
            _ if before == after => {}
            _ => self.changed.push(Retyped { path: path.to_owned(), before: whole.0, after: whole.1 }),
        }
    }

    fn shown(&self) -> String {
        let shown = self.changed.iter().map(|Retyped { path, before, after }| {
            let member = if path.is_empty() { String::new() } else { format!(" (member '{path}')") };
            format!("'{before}' -> '{after}'{member}")
        });
        shown.collect::<Vec<_>>().join(", ")
    }

    /// Whether all values of before are read as those of the types that they have now.
    fn keeps_values(&self) -> bool {
        self.changed.iter().all(|Retyped { before, after, .. }| has_same_values(before, after))
    }
}

/// Whether what is stored of two types is the same.
fn has_same_values(before: &DataType, after: &DataType) -> bool {
    use DataType::{Array, Float, Float16, Map, Predicate, Reference, String, Uri, WeightedSet};
    match (before, after) {
        (String | Uri | Predicate | Reference(_), String | Uri | Predicate | Reference(_))
        | (Float | Float16, Float | Float16) => true,
        (Array(before), Array(after)) | (WeightedSet { element: before, .. }, WeightedSet { element: after, .. }) => {
            has_same_values(before, after)
        }
        (Map(key, value), Map(next_key, next_value)) => {
            has_same_values(key, next_key) && has_same_values(value, next_value)
        }
        _ => before == after,
    }
}
