//! An application that is deployed: its schemas, its content clusters, and what the deploy warned about.
use std::collections::BTreeMap;
use std::sync::Arc;

use brooklet_document::json::FieldTypes;
use brooklet_document::{DocumentId, DocumentTypes, cluster_of_id, shown_id, unknown_type};
use brooklet_task::Rejection;

use crate::cluster::ContentCluster;
use crate::generator::GeneratorConfig;
use crate::history::History;
use crate::onnx::{ModelEvaluation, OnnxSignature};
use crate::overrides::Override;
use crate::query_profiles::QueryProfiles;
use crate::rank_profile::RankProfile;
use crate::schema::Schema;
use crate::services::{EmbedderConfig, LanguageModelConfig, SearchChain};
use crate::significance::SignificanceModels;

/// A deployed application.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Application {
    /// The schemas, in the order of their names.
    pub schemas: Vec<Arc<Schema>>,
    /// The schemas that are in no content cluster: nothing is of them, but selections may name what others inherit.
    pub unserved: Vec<Arc<Schema>>,
    /// The content clusters, in the order of services.xml.
    pub clusters: Vec<ContentCluster>,
    /// `document-api/ignore-undefined-fields`: unknown fields in fed documents are skipped rather than refused.
    pub ignore_undefined_fields: bool,
    /// The embedders of services.xml.
    pub embedders: Vec<EmbedderConfig>,
    /// The language models of services.xml.
    pub language_models: Vec<LanguageModelConfig>,
    /// The field generators of services.xml.
    pub generators: Vec<Arc<GeneratorConfig>>,
    /// The search chains of services.xml, with what they inherit.
    pub search_chains: Vec<SearchChain>,
    /// Everything the deploy warned about, each once.
    pub warnings: Vec<String>,
    /// What `validation-overrides.xml` allows.
    pub overrides: Vec<Override>,
    /// Model files that ranking can read, `.json` below `models/`, by their path there.
    pub models: BTreeMap<String, Arc<[u8]>>,
    /// What ONNX files say of themselves, by their path in the package or their address; of a file that is none, why.
    pub onnx_files: BTreeMap<String, Result<Arc<OnnxSignature>, String>>,
    /// Models that are ranking expressions, `.model` below `models/`, by their path there without its ending: their functions,
    /// inputs and constants.
    pub expression_models: BTreeMap<String, Arc<RankProfile>>,
    /// How models are evaluated by themselves; nothing: they are not.
    pub model_evaluation: Option<ModelEvaluation>,
    /// In how many documents of other corpora words stand.
    pub significance: SignificanceModels,
    /// Named sets of request parameters.
    pub query_profiles: QueryProfiles,
    /// What a deployment of this package would be refused for; only of one that was restored.
    pub objections: Vec<String>,
    /// What is remembered of earlier deployments; nothing: it was deployed by a release that did not.
    pub history: Option<History>,
}

impl Application {
    /// The schema of that name; of a type in several content clusters that of the first.
    #[must_use]
    pub fn schema(&self, name: &str) -> Option<&Arc<Schema>> {
        self.schemas.iter().find(|schema| schema.name == name)
    }

    /// The schema of a type in a content cluster.
    #[must_use]
    pub fn schema_in(&self, name: &str, cluster: &str) -> Option<&Arc<Schema>> {
        self.schemas.iter().find(|schema| schema.name == name && schema.cluster == cluster)
    }

    /// What an id means as it is stored, which may name a content cluster: the schema, and the id without that.
    ///
    /// # Errors
    /// If it is no id, or there is no such type.
    pub fn schema_of(&self, stored_id: &str) -> Result<(&Arc<Schema>, DocumentId), Rejection> {
        let shown = DocumentId::parse(&shown_id(stored_id))?;
        let (name, cluster) = (shown.document_type(), cluster_of_id(stored_id));
        let is_it = |schema: &&Arc<Schema>| schema.name == name && schema.marked_cluster() == cluster;
        let found = self.schemas.iter().find(is_it);
        match found.or_else(|| self.schema(name).filter(|_| cluster.is_none())) {
            Some(schema) => Ok((schema, shown)),
            None => Err(unknown_type(name, DocumentTypes::names(self).iter().copied())),
        }
    }

    /// The content cluster that stores the documents of a schema.
    #[must_use]
    pub fn cluster_of(&self, schema: &Schema) -> Option<&ContentCluster> {
        self.clusters.iter().find(|cluster| cluster.name == schema.cluster)
    }

    /// The selection of the documents of a schema that are stored, if not all are: that of its cluster and its own.
    #[must_use]
    pub fn stored_selection(&self, schema: &Schema) -> Option<String> {
        self.cluster_of(schema)?.stored_selection(&schema.name)
    }
}

impl ContentCluster {
    /// The selection of the documents of a type that it stores, if not all are.
    #[must_use]
    pub fn stored_selection(&self, document_type: &str) -> Option<String> {
        let cluster = self;
        let own = cluster.types.iter().find(|config| config.name == document_type)?.selection.as_deref();
        let said = |selection: Option<&'_ str>| selection.filter(|text| !text.trim().is_empty()).map(str::to_owned);
        match (said(cluster.selection.as_deref()), said(own)) {
            (Some(all), Some(own)) => Some(format!("({all}) and ({own})")),
            (one, other) => one.or(other),
        }
    }
}

impl DocumentTypes for Application {
    fn fields_of(&self, document_type: &str) -> Option<&dyn FieldTypes> {
        self.schema(document_type).map(|schema| &**schema as &dyn FieldTypes)
    }

    fn fields_selected(&self, document_type: &str) -> Option<&dyn FieldTypes> {
        let unserved = || self.unserved.iter().find(|schema| schema.name == document_type);
        self.schema(document_type).or_else(unserved).map(|schema| &**schema as &dyn FieldTypes)
    }

    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.schemas.iter().map(|schema| schema.name.as_str()).collect();
        names.dedup();
        names
    }

    fn is_a(&self, document_type: &str, ancestor: &str) -> bool {
        let inherits = |schema: &Arc<Schema>| schema.document_inherits.iter().any(|name| name == ancestor);
        document_type == ancestor || self.schema(document_type).is_some_and(inherits)
    }
}
