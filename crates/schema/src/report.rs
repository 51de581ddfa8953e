//! The deploy report.
use std::fmt::Write;

use brooklet_document::DataType;

use crate::application::Application;
use crate::change::Change;
use crate::field::Field;
use crate::history::History;
use crate::schema::Schema;

impl Application {
    /// The report of the deploy as JSON, in the form docs/abi.md gives.
    #[must_use]
    pub fn report(&self) -> String {
        self.report_of(&Change::default())
    }

    /// The report of a deploy that changes this of the application before.
    #[must_use]
    pub fn report_of(&self, change: &Change) -> String {
        let schemas = list(&self.schemas, |schema| {
            let cluster = schema.cluster.as_str();
            let fields = list(&schema.fields, |field| field_report(schema, field));
            let embeds = schema.made_fields().any(|field| field.script.asks_models());
            let expiry = self.expiry(schema).map_or_else(String::new, |(selection, seconds)| {
                let selection = quote(&selection);
                format!(",\"garbageCollection\":{{\"selection\":{selection},\"intervalSeconds\":{seconds}}}")
            });
            // Where it is not the name.
            let stored = schema.marked_cluster().map_or_else(String::new, |_| {
                let stored = quote(&schema.stored_type());
                format!(",\"storedType\":{stored}")
            });
            let profiles = list(&schema.rank_profiles, |profile| quote(&profile.name));
            let (name, cluster) = (quote(&schema.name), quote(cluster));
            format!(
                "{{\"name\":{name},\"cluster\":{cluster},\"fields\":{fields},\"rankProfiles\":{profiles},\
                 \"embeds\":{embeds}{expiry}{stored}}}"
            )
        });
        let clusters = list(&self.clusters, |cluster| {
            let types = list(&cluster.types, |config| quote(&config.name));
            format!("{{\"name\":{},\"types\":{types}}}", quote(&cluster.name))
        });
        let warnings = list(&self.warnings, |warning| quote(warning));
        let objections = list(&self.objections, |objection| quote(objection));
        let pairs = |of: &[(String, String)]| list(of, |(name, value)| format!("[{},{}]", quote(name), quote(value)));
        let embedders = list(&self.embedders, |embedder| {
            let settings = pairs(&embedder.settings);
            format!("{{\"id\":{},\"type\":{},\"settings\":{settings}}}", quote(&embedder.id), quote(&embedder.kind))
        });
        let models = list(&self.language_models, |model| {
            format!("{{\"id\":{},\"settings\":{}}}", quote(&model.id), pairs(&model.settings))
        });
        let generators = list(&self.generators, |generator| {
            format!("{{\"id\":{},\"provider\":{}}}", quote(&generator.id), quote(&generator.provider))
        });
        let chains = list(&self.search_chains, |chain| {
            let searcher =
                chain.searcher.as_ref().map_or_else(String::new, |kind| format!(",\"searcher\":{}", quote(kind)));
            format!("{{\"id\":{}{searcher},\"settings\":{}}}", quote(&chain.id), pairs(&chain.settings))
        });
        let refeed = list(&change.refeed, |refeed| {
            let (name, document_type) = (quote(refeed.name), quote(&refeed.document_type));
            let (cluster, message) = (quote(&refeed.cluster), quote(&refeed.message));
            format!(
                "{{\"name\":{name},\"documentType\":{document_type},\"clusterName\":{cluster},\"messages\":[{message}]}}"
            )
        });
        let unless_stored = list(&change.unless_stored, |of| {
            let (schema, field) = (quote(&of.schema), quote(&of.field));
            let (refusal, warning) = (quote(&of.refusal), quote(&of.warning));
            format!("{{\"schema\":{schema},\"field\":{field},\"refusal\":{refusal},\"warning\":{warning}}}")
        });
        let stored = list(&self.stored_names(), |name| quote(name));
        let erased_from = self.history.as_ref().map_or(0, History::erased_from);
        let fingerprint = self.fingerprint();
        format!(
            "{{\"schemas\":{schemas},\"clusters\":{clusters},\"embedders\":{embedders},\
             \"languageModels\":{models},\"generators\":{generators},\"searchChains\":{chains},\"warnings\":{warnings},\"objections\":{objections},\
             \"refeed\":{refeed},\
             \"unlessStored\":{unless_stored},\"erasedFrom\":{erased_from},\"stored\":{stored},\"fingerprint\":\"{fingerprint:016x}\"}}"
        )
    }

    /// Which documents of a schema are removed by and by, and how often it is looked, seconds. A document of which the
    /// selection cannot be told (a field is not set) stays.
    #[must_use]
    pub fn expiry(&self, schema: &Schema) -> Option<(String, u32)> {
        let seconds = self.cluster_of(schema)?.garbage_collection_s?;
        let stored = self.stored_selection(schema)?;
        Some((format!("not ({stored})"), seconds))
    }
}

/// What the host says of a field to whoever searches without the schema at hand.
fn field_report(schema: &Schema, field: &Field) -> String {
    let mut report = format!("{{\"name\":{},\"type\":{}", quote(&field.name), quote(&field.data_type.to_string()));
    let mut add = |name: &str, value: &str| {
        // Writing to a text cannot fail.
        let _ = write!(report, ",\"{name}\":{value}");
    };
    if schema.is_abridged(&field.name) {
        add("abridged", "true");
    }
    let is_text = match &field.data_type {
        DataType::Array(element) => **element == DataType::String,
        data_type => *data_type == DataType::String,
    };
    if is_text && field.indexing.index {
        add("words", "true");
    }
    if matches!(field.data_type, DataType::Tensor(_)) {
        add("metric", &quote(field.distance_metric.name()));
    }
    if schema.made_fields().any(|made| made.name == field.name) {
        add("made", "true");
        if let [call] = field.script.embed_calls().as_slice() {
            add("embedder", &quote(&call.embedder));
        }
        if let Some(pieces) = field.script.pieces() {
            add("pieces", &quote(&pieces));
        }
    }
    report.push('}');
    report
}

fn list<T>(of: &[T], each: impl Fn(&T) -> String) -> String {
    let items: Vec<String> = of.iter().map(each).collect();
    format!("[{}]", items.join(","))
}

/// A JSON string.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c < ' ' => {
                // Writing to a text cannot fail.
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
