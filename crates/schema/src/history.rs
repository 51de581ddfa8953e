//! What is remembered of earlier deployments: when each schema came or went, and which types its fields had. By it
//! documents of a schema that was removed are told from those of one of the same name that came later, and values of a
//! field from those of another type.
use std::collections::BTreeMap;
use std::sync::Arc;

use brooklet_task::Rejection;
use brooklet_task::bytes::{Reader, Writer};

use crate::application::Application;
use crate::report::type_fingerprint;
use crate::schema::Schema;

/// Version of the stored form.
const VERSION: u8 = 1;

/// What is remembered of all schemas there ever were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    schemas: BTreeMap<String, SchemaHistory>,
}

/// What is remembered of one schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct SchemaHistory {
    /// Number of the deployment that it came with, or that removed it; 0: with one of a release that did not remember.
    life: u32,
    /// The cluster it is in; nothing: it was removed.
    cluster: Option<String>,
    /// The last deployment that gave a field another type than it had before; 0: none.
    retyped: u32,
    /// The types that its fields had last, as numbers.
    types: BTreeMap<String, u64>,
}

impl History {
    /// What is remembered after deployment `number`, which replaces `before` by `next`.
    #[must_use]
    pub fn after(before: Option<&Application>, next: &Application, number: u32) -> History {
        let known = before.map(|before| before.history.clone().unwrap_or_else(|| History::of(before)));
        let mut schemas = known.unwrap_or_default().schemas;
        for (name, of) in &mut schemas {
            if of.cluster.is_some() && next.schema(name).is_none() {
                *of = SchemaHistory { life: number, ..SchemaHistory::default() };
            }
        }
        for schema in &next.schemas {
            let cluster = next.cluster_of(&schema.name).map(|cluster| cluster.name.clone());
            let lives_on = schemas.get(&schema.name).is_some_and(|of| of.cluster == cluster);
            let of = schemas.entry(schema.name.clone()).or_default();
            if !lives_on {
                *of = SchemaHistory { life: number, cluster, ..SchemaHistory::default() };
            }
            of.take_types(schema, number);
        }
        History { schemas }
    }

    /// Of an application that was deployed by a release that did not remember.
    fn of(application: &Application) -> History {
        let schemas = application.schemas.iter().map(|schema| {
            let cluster = application.cluster_of(&schema.name).map(|cluster| cluster.name.clone());
            let mut of = SchemaHistory { cluster, ..SchemaHistory::default() };
            of.take_types(schema, 0);
            (schema.name.clone(), of)
        });
        History { schemas: schemas.collect() }
    }

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

impl SchemaHistory {
    /// Takes the types of the fields as they are now.
    fn take_types(&mut self, schema: &Schema, number: u32) {
        for field in &schema.fields {
            let fingerprint = type_fingerprint(&field.data_type);
            let before = self.types.insert(field.name.clone(), fingerprint);
            if before.is_some_and(|before| before != fingerprint) {
                self.retyped = number;
            }
        }
    }
}

impl Application {
    /// Tells the schemas what is remembered of them.
    pub fn remember(&mut self, history: History) {
        for schema in &mut self.schemas {
            if let Some(of) = history.schemas.get(&schema.name) {
                let schema = Arc::make_mut(schema);
                (schema.life, schema.retyped) = (of.life, of.retyped);
            }
        }
        self.history = Some(history);
    }
}
