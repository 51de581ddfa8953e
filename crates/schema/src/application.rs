//! An application that is deployed: its schemas, its content clusters, and what the deploy warned about.
use std::collections::BTreeMap;
use std::sync::Arc;

use brooklet_document::DocumentTypes;
use brooklet_document::json::FieldTypes;

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
    /// The schema of that name.
    #[must_use]
    pub fn schema(&self, name: &str) -> Option<&Arc<Schema>> {
        self.schemas.iter().find(|schema| schema.name == name)
    }

    /// The cluster that stores the document type of that name.
    #[must_use]
    pub fn cluster_of(&self, document_type: &str) -> Option<&ContentCluster> {
        self.clusters.iter().find(|cluster| cluster.types.iter().any(|config| config.name == document_type))
    }

    /// The selection of the documents of a type that are stored, if not all are: that of its cluster and its own.
    #[must_use]
    pub fn stored_selection(&self, document_type: &str) -> Option<String> {
        let cluster = self.cluster_of(document_type)?;
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

    fn names(&self) -> Vec<&str> {
        self.schemas.iter().map(|schema| schema.name.as_str()).collect()
    }

    fn is_a(&self, document_type: &str, ancestor: &str) -> bool {
        let inherits = |schema: &Arc<Schema>| schema.document_inherits.iter().any(|name| name == ancestor);
        document_type == ancestor || self.schema(document_type).is_some_and(inherits)
    }
}
