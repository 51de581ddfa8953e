//! The names that schemas have where documents are stored: in operations and in segments.
use std::borrow::Cow;

use brooklet_document::{CLUSTER_MARK, id_in_cluster};
use brooklet_kernel::sort;

use crate::application::Application;
use crate::schema::Schema;

/// The schema of segments of removed documents, of their ids and when each was removed, where the schemas of the documents
/// have no lives (`note`). Those of a schema that has one have segments of their own ([`removed_of`]).
pub const REMOVED: &str = "";
/// What stands before the stored name of a schema in that of the segments of its removed documents.
const REMOVED_MARK: char = '-';
/// What stands between the name of a schema and its life.
const LIFE_MARK: char = '@';

/// The name of a type whose documents are stored with their content cluster in their ids.
pub(crate) fn mark_name(name: &str, cluster: &str) -> String {
    format!("{name}{CLUSTER_MARK}{cluster}")
}

/// The schema of the segments of removed documents of the schema stored under this name: where that has a life (`note@7`),
/// they go with it.
#[must_use]
pub fn removed_of(schema: &str) -> String {
    if schema.contains(LIFE_MARK) { format!("{REMOVED_MARK}{schema}") } else { REMOVED.to_owned() }
}

/// Whether segments of this schema are of removed documents.
#[must_use]
pub fn is_of_removed(schema: &str) -> bool {
    schema == REMOVED || schema.starts_with(REMOVED_MARK)
}

impl Schema {
    /// The document type in the ids of its stored documents: its name, or that with the content cluster.
    #[must_use]
    pub fn stored_type(&self) -> Cow<'_, str> {
        if self.is_marked { Cow::Owned(mark_name(&self.name, &self.cluster)) } else { Cow::Borrowed(&self.name) }
    }

    /// The content cluster that the ids of its stored documents name.
    #[must_use]
    pub fn marked_cluster(&self) -> Option<&str> {
        self.is_marked.then_some(self.cluster.as_str())
    }

    /// The id under which a document of this id is stored.
    #[must_use]
    pub fn stored_id<'i>(&self, shown: &'i str) -> Cow<'i, str> {
        if self.is_marked { Cow::Owned(id_in_cluster(shown, &self.cluster)) } else { Cow::Borrowed(shown) }
    }

    /// The name that operations and segments of its documents have: with the life, so that those of an earlier one are
    /// never taken for its own.
    #[must_use]
    pub fn stored_as(&self) -> Cow<'_, str> {
        let name = self.stored_type();
        if self.life == 0 { name } else { Cow::Owned(format!("{name}{LIFE_MARK}{}", self.life)) }
    }
}

impl Application {
    /// The names that segments have: of all schemas, and of what is left of their removed documents. What an earlier
    /// release wrote of removed ones stays until it is old enough.
    #[must_use]
    pub fn stored_names(&self) -> Vec<String> {
        let schemas = self.schemas.iter().map(|schema| schema.stored_as().into_owned());
        let mut names: Vec<String> = schemas.flat_map(|name| [removed_of(&name), name]).collect();
        names.push(REMOVED.to_owned());
        sort(&mut names);
        names.dedup();
        names
    }
}
