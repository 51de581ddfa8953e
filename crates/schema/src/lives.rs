//! Lives of schemas over deployments: what a deployment adds to the history, and what schemas are told of it.
use std::sync::Arc;

use brooklet_kernel::{map_of, set_of};

use crate::application::Application;
use crate::fingerprint::type_fingerprint;
use crate::history::{History, SchemaHistory};
use crate::schema::Schema;
use crate::stored_name::mark_name;

impl History {
    /// What is remembered after deployment `number`, which replaces `before` by `next`; it says there, too, under which ids
    /// documents are stored.
    #[must_use]
    pub fn after(before: Option<&Application>, next: &mut Application, number: u32) -> History {
        let known = before.map(|before| before.history.clone().unwrap_or_else(|| History::without_memory(before)));
        let mut history = known.unwrap_or_default();
        history.name_shared(next);
        let schemas = &mut history.schemas;
        for (name, of) in &mut *schemas {
            if of.cluster.is_some() && !next.schemas.iter().any(|schema| schema.stored_type() == *name) {
                *of = SchemaHistory { life: number, ..SchemaHistory::default() };
            }
        }
        for schema in &next.schemas {
            let cluster = next.cluster_of(schema).map(|cluster| cluster.name.clone());
            let name = schema.stored_type().into_owned();
            let lives_on = schemas.get(&name).is_some_and(|of| of.cluster == cluster);
            let of = schemas.entry(name).or_default();
            if !lives_on {
                *of = SchemaHistory { life: number, cluster, ..SchemaHistory::default() };
            }
            let before =
                before.and_then(|before| before.schemas.iter().find(|of| of.stored_type() == schema.stored_type()));
            of.take_types(schema, before.map(|of| &**of), number);
        }
        history
    }

    /// Decides which schemas have documents whose ids name their content cluster: those that had; else all of a type but
    /// the first, if no other has the plain ones.
    fn name_shared(&self, next: &mut Application) {
        let has =
            |name: &str, cluster: &str| self.schemas.get(name).is_some_and(|of| of.cluster.as_deref() == Some(cluster));
        let plain = next.schemas.iter().filter(|schema| has(&schema.name, &schema.cluster));
        let mut taken = set_of(plain.map(|schema| schema.name.clone()));
        for schema in &mut next.schemas {
            let is_marked = has(&mark_name(&schema.name, &schema.cluster), &schema.cluster)
                || (!has(&schema.name, &schema.cluster) && !taken.insert(schema.name.clone()));
            if is_marked != schema.is_marked {
                Arc::make_mut(schema).is_marked = is_marked;
            }
        }
    }

    /// Of an application that was deployed by a release that did not remember.
    fn without_memory(application: &Application) -> History {
        let schemas = application.schemas.iter().map(|schema| {
            let cluster = application.cluster_of(schema).map(|cluster| cluster.name.clone());
            let mut of = SchemaHistory { cluster, ..SchemaHistory::default() };
            of.take_types(schema, None, 0);
            (schema.stored_type().into_owned(), of)
        });
        History { schemas: map_of(schemas) }
    }
}

impl SchemaHistory {
    /// Takes the types of the fields as they are now. Values of a field that comes back may stand where they are not read, too.
    fn take_types(&mut self, schema: &Schema, before: Option<&Schema>, number: u32) {
        for field in &schema.fields {
            let fingerprint = type_fingerprint(&field.data_type);
            let last = self.types.insert(field.name.clone(), fingerprint);
            let was_there = || before.is_none_or(|before| before.fields.iter().any(|of| of.name == field.name));
            if last.is_some_and(|last| last != fingerprint || !was_there()) {
                self.retyped = number;
            }
        }
    }
}

impl Application {
    /// Tells the schemas what is remembered of them.
    pub fn remember(&mut self, history: History) {
        history.name_shared(self);
        for schema in &mut self.schemas {
            if let Some(of) = history.schemas.get(&*schema.stored_type()) {
                let schema = Arc::make_mut(schema);
                (schema.life, schema.retyped) = (of.life, of.retyped);
            }
        }
        self.history = Some(history);
    }
}
