//! What is remembered of earlier deployments: when each schema came or went, and which types its fields had. By it
//! documents of a schema that was removed are told from those of one of the same name that came later, and values of a
//! field from those of another type.
use std::collections::BTreeMap;

use brooklet_task::Rejection;
use brooklet_task::bytes::{Reader, Writer};

/// Version of the stored form.
const VERSION: u8 = 1;

/// What is remembered of all schemas there ever were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    pub(crate) schemas: BTreeMap<String, SchemaHistory>,
}

/// What is remembered of one schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SchemaHistory {
    /// Number of the deployment that it came with, or that removed it; 0: with one of a release that did not remember.
    pub(crate) life: u32,
    /// The cluster it is in; nothing: it was removed.
    pub(crate) cluster: Option<String>,
    /// The last deployment that gave a field another type than it had before, or one that had been removed back; 0: none.
    pub(crate) retyped: u32,
    /// The types that its fields had last, as numbers.
    pub(crate) types: BTreeMap<String, u64>,
}

impl History {
    /// The deployment since which no schema was removed, or came again: partitions that were last written with an earlier
    /// one may hold documents that are gone.
    #[must_use]
    pub fn erased_from(&self) -> u32 {
        self.schemas.values().map(|of| of.life).max().unwrap_or(0)
    }

    /// The bytes to keep.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.u8(VERSION);
        writer.varint(self.schemas.len() as u64);
        for (name, of) in &self.schemas {
            writer.text(name);
            writer.u32(of.life);
            writer.u8(u8::from(of.cluster.is_some()));
            writer.text(of.cluster.as_deref().unwrap_or_default());
            writer.u32(of.retyped);
            writer.varint(of.types.len() as u64);
            for (field, fingerprint) in &of.types {
                writer.text(field);
                writer.u64(*fingerprint);
            }
        }
        writer.finish()
    }

    /// Reads what [`History::encode`] wrote.
    ///
    /// # Errors
    /// If it is damaged or of a later release.
    pub fn decode(bytes: &[u8]) -> Result<History, Rejection> {
        let mut reader = Reader::new(bytes);
        let version = reader.u8()?;
        if version != VERSION {
            return Err(Rejection::corrupt(format!("A history of schemas of version {version}")));
        }
        let mut schemas = BTreeMap::new();
        for _ in 0..reader.count(12)? {
            let name = reader.text()?.to_owned();
            let life = reader.u32()?;
            let (is_there, cluster) = (reader.u8()? == 1, reader.text()?.to_owned());
            let retyped = reader.u32()?;
            let mut types = BTreeMap::new();
            for _ in 0..reader.count(9)? {
                types.insert(reader.text()?.to_owned(), reader.u64()?);
            }
            schemas.insert(name, SchemaHistory { life, cluster: is_there.then_some(cluster), retyped, types });
        }
        reader.end()?;
        Ok(History { schemas })
    }
}
