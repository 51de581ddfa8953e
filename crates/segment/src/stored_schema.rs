//! A schema as its documents are stored: the name its segments have, their columns, and which values are read.
use std::collections::HashMap;

use brooklet_document::unread::mark_unread;
use brooklet_document::{DataType, Value};
use brooklet_schema::{Schema, is_of_removed};

use crate::layout::{ColumnSpec, columns, fingerprint, removed_columns};

/// A schema as its segments are written by.
#[derive(Clone, Debug)]
pub struct StoredSchema {
    /// The name that its operations and segments have.
    pub name: String,
    /// The columns of its segments.
    pub columns: Vec<ColumnSpec>,
    /// A segment with another is rewritten before it is searched.
    pub fingerprint: u64,
    /// Number of the deployment that last changed which values are read; 0: none did.
    retyped: u32,
    types: HashMap<String, DataType>,
}

impl StoredSchema {
    /// The stored form of a schema.
    #[must_use]
    pub fn new(schema: &Schema) -> StoredSchema {
        let types = schema.fields.iter().map(|field| (field.name.clone(), field.data_type.clone())).collect();
        StoredSchema::written(&schema.stored_as(), columns(schema), schema.retyped, types)
    }

    /// That of removed documents, by the name their segments have ([`crate::removed_of`]).
    #[must_use]
    pub fn of_removed(name: &str) -> StoredSchema {
        StoredSchema::of_columns(name, removed_columns())
    }

    /// Some columns, under a name.
    #[must_use]
    pub fn of_columns(name: &str, columns: Vec<ColumnSpec>) -> StoredSchema {
        StoredSchema::written(name, columns, 0, HashMap::new())
    }

    fn written(name: &str, columns: Vec<ColumnSpec>, retyped: u32, types: HashMap<String, DataType>) -> StoredSchema {
        let mut stored = StoredSchema { name: name.to_owned(), columns, fingerprint: 0, retyped, types };
        stored.fingerprint = stored.fingerprint_of(&stored.columns);
        stored
    }

    /// What a segment with these columns has for its fingerprint, if the values in it are those that are read now.
    pub(crate) fn fingerprint_of<'a>(&self, columns: impl IntoIterator<Item = &'a ColumnSpec>) -> u64 {
        match self.retyped {
            0 => fingerprint(columns),
            // Values that were read may not be any more, whatever the columns are.
            retyped => brooklet_kernel::checksum(u64::from(retyped), &fingerprint(columns).to_le_bytes()),
        }
    }

    /// Gives the values of a document the names under which they are read, or not: some may have been written for another
    /// type of their field.
    pub fn mark_unread(&self, fields: &mut Vec<(String, Value)>) {
        if !is_of_removed(&self.name) {
            mark_unread(fields, &|name| self.types.get(name));
        }
    }
}
