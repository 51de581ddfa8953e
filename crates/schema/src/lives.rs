//! Lives of schemas over deployments: what a deployment adds to the history, and what schemas are told of it.
use std::sync::Arc;

use crate::application::Application;
use crate::fingerprint::type_fingerprint;
use crate::history::{History, SchemaHistory};
use crate::schema::Schema;

impl History {
    /// What is remembered after deployment `number`, which replaces `before` by `next`.
    #[must_use]
    pub fn after(before: Option<&Application>, next: &Application, number: u32) -> History {
        let known = before.map(|before| before.history.clone().unwrap_or_else(|| History::without_memory(before)));
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
    fn without_memory(application: &Application) -> History {
        let schemas = application.schemas.iter().map(|schema| {
            let cluster = application.cluster_of(&schema.name).map(|cluster| cluster.name.clone());
            let mut of = SchemaHistory { cluster, ..SchemaHistory::default() };
            of.take_types(schema, 0);
            (schema.name.clone(), of)
        });
        History { schemas: schemas.collect() }
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
