//! An operation as the tail keeps it: a whole document, or the id of a removed one.
use std::sync::Arc;

use brooklet_document::encode::{decode_fields, encode_fields};
use brooklet_document::{Document, DocumentId, shown_id};
use brooklet_task::Rejection;
use brooklet_task::bytes::{Reader, Writer};

use crate::block::{open, seal};

/// Version of the form.
const VERSION: u8 = 2;
/// The first version; it did not say when.
const FIRST_VERSION: u8 = 1;
/// The place operations are sealed for: in no segment. Their order is the database's.
const NO_SEGMENT: u32 = u32::MAX;
const NO_BLOCK: u32 = u32::MAX;

/// What happened to a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// The document is this now.
    Put(Document),
    /// There is no document with this id now.
    Remove(String),
}

/// An operation on a document of a schema.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredOperation {
    /// The schema.
    pub schema: Arc<str>,
    /// When, in µs since the epoch; 0: that is not known.
    pub time: u64,
    /// What happened.
    pub operation: Operation,
}

impl StoredOperation {
    /// The id of the document, as it is stored: with its content cluster where others have one of the same id.
    #[must_use]
    pub fn id(&self) -> &str {
        match &self.operation {
            Operation::Put(document) => &document.id,
            Operation::Remove(id) => id,
        }
    }

    /// The bytes to store, sealed for the partition of this key.
    #[must_use]
    pub fn encode(&self, key: &str) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.u8(VERSION);
        writer.u64(self.time);
        writer.text(&self.schema);
        writer.text(self.id());
        match &self.operation {
            Operation::Put(document) => {
                writer.u8(1);
                encode_fields(&document.fields, &mut writer);
            }
            Operation::Remove(_) => writer.u8(0),
        }
        seal(key, NO_SEGMENT, NO_BLOCK, writer.finish())
    }

    /// Reads what [`StoredOperation::encode`] wrote.
    ///
    /// # Errors
    /// If the bytes are damaged or belong to another partition.
    pub fn decode(key: &str, stored: &[u8]) -> Result<StoredOperation, Rejection> {
        let (mut reader, time, schema, id) = begin(key, stored)?;
        let (schema, id) = (schema.into(), id.to_owned());
        if DocumentId::parse(&shown_id(&id))?.partition_key() != key {
            return Err(Rejection::corrupt("An operation of another partition"));
        }
        let operation = match reader.u8()? {
            1 => Operation::Put(Document { id, fields: decode_fields(&mut reader)? }),
            _ => Operation::Remove(id),
        };
        Ok(StoredOperation { schema, time, operation })
    }

    /// The id of the document of an operation that is not read otherwise.
    ///
    /// # Errors
    /// If the bytes are damaged or belong to another partition.
    pub fn id_of<'a>(key: &str, stored: &'a [u8]) -> Result<&'a str, Rejection> {
        let (_, _, _, id) = begin(key, stored)?;
        Ok(id)
    }
}

/// What stands before the fields: the time, the schema, the id; and what is left.
fn begin<'a>(key: &str, stored: &'a [u8]) -> Result<(Reader<'a>, u64, &'a str, &'a str), Rejection> {
    let payload = open(key, NO_SEGMENT, NO_BLOCK, stored)
        .map_err(|_| Rejection::corrupt("An operation of the tail is damaged"))?;
    let mut reader = Reader::new(payload);
    let time = match reader.u8()? {
        FIRST_VERSION => 0,
        VERSION => reader.u64()?,
        other => return Err(Rejection::corrupt(format!("an operation of version {other}"))),
    };
    let (schema, id) = (reader.text()?, reader.text()?);
    Ok((reader, time, schema, id))
}
