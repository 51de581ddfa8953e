//! A deployed application, ready to be queried: columns laid out, rank profiles compiled.
pub(crate) mod analysis;
pub(crate) mod argument_type;
pub(crate) mod compile;
pub(crate) mod environment;
pub(crate) mod global_phase;
pub(crate) mod model_functions;
pub(crate) mod onnx_call;
pub(crate) mod statements;
pub(crate) mod values;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use brooklet_document::unread::{is_unread, written_name};
use brooklet_document::{Document, DocumentId, cluster_of_id, shown_id};
use brooklet_rank::Program;
use brooklet_rank::distance::DistanceMetric;
use brooklet_rank::match_data::{FieldId, FieldInfo, RankProperties};
use brooklet_schema::{Application, Field, OnnxSignature, RankProfile, Schema, SnippetConfig};
use brooklet_segment::layout::{ColumnKind, ColumnSpec};
use brooklet_segment::{BlockSource, Halt, Header, StoredSchema, read_document, removed_of};
use brooklet_task::{Code, Rejection};

use analysis::Analysis;
use global_phase::GlobalPhase;
use model_functions::Model;
use statements::Statements;

/// Files of models.
pub(crate) struct ModelFiles {
    /// Decision trees, by their path below `models/`.
    pub(crate) trees: BTreeMap<String, Arc<[u8]>>,
    /// ONNX files, by their path.
    pub(crate) onnx: BTreeMap<String, Result<Arc<OnnxSignature>, String>>,
}

/// An application with everything compiled that does not depend on a query.
pub struct Deployed {
    /// The application.
    pub application: Application,
    /// Its schemas, in its order.
    pub schemas: Vec<Rc<DeployedSchema>>,
    /// The application's fingerprint: partial results of another are not merged.
    pub(crate) fingerprint: u64,
    /// The host's key, that continuations are sealed with.
    pub seal_key: [u8; 16],
    /// Queries parsed lately.
    pub(crate) statements: Statements,
    /// What is evaluated by itself, read when it is first asked for.
    models: OnceCell<Vec<Model>>,
}

/// A schema, its columns and its profiles.
pub struct DeployedSchema {
    /// The schema.
    pub schema: Arc<Schema>,
    /// Name of the content cluster that has it.
    pub cluster: String,
    /// How its documents are stored.
    pub stored: StoredSchema,
    /// How its teasers are made.
    pub(crate) snippets: SnippetConfig,
    /// Its rank profiles, compiled.
    pub profiles: Vec<Rc<DeployedProfile>>,
    /// Why the others are not: those of a package that an earlier release took.
    pub(crate) uncompiled: BTreeMap<String, String>,
    /// Why these document-summaries cannot be shown, in such a package.
    pub(crate) unserved: BTreeMap<String, String>,
}

/// A rank profile, compiled.
pub struct DeployedProfile {
    /// The profile.
    pub profile: RankProfile,
    /// The schema's fields as the profile ranks them; a field's number is its index.
    pub fields: Vec<FieldInfo>,
    /// The score of a hit.
    pub score: Program,
    /// The score of the first phase, if `score` is that of the second.
    pub(crate) first: Option<Program>,
    pub(crate) global: Option<GlobalPhase>,
    /// Features shown with hits: text and program.
    pub match_features: Vec<(String, Program)>,
    /// Features shown in summaries.
    pub summary_features: Vec<(String, Program)>,
    /// The profile's rank properties.
    pub properties: Rc<RankProperties>,
    /// What they ask of words.
    pub(crate) analysis: Rc<Analysis>,
    /// The application's models.
    pub(crate) models: Rc<ModelFiles>,
}

impl Deployed {
    /// Its models, in the order of their names.
    pub(crate) fn models(&self) -> &[Model] {
        self.models.get_or_init(|| model_functions::models(&self.application))
    }

    /// The schema of that name; of a type in several content clusters that of the first.
    #[must_use]
    pub fn schema(&self, name: &str) -> Option<&Rc<DeployedSchema>> {
        self.schemas.iter().find(|schema| schema.schema.name == name)
    }

    /// The schema whose documents have this name where they are stored.
    pub(crate) fn stored_as(&self, name: &str) -> Option<&Rc<DeployedSchema>> {
        self.schemas.iter().find(|schema| schema.stored.name == name)
    }

    /// The schema whose documents are stored under such ids.
    pub(crate) fn of_stored_id(&self, id: &str) -> Result<Option<&Rc<DeployedSchema>>, Rejection> {
        let (shown, cluster) = (DocumentId::parse(&shown_id(id))?, cluster_of_id(id));
        let is_it = |schema: &Schema| schema.name == shown.document_type() && cluster == schema.marked_cluster();
        Ok(self.schemas.iter().find(|of| is_it(&of.schema)))
    }

    /// Whether a removed document was one of a deployed schema for which `includes` holds, by the name of its segment:
    /// not of an earlier life of that.
    pub(crate) fn knew(
        &self,
        segment_schema: &str,
        id: &str,
        includes: impl Fn(&Schema) -> bool,
    ) -> Result<bool, Rejection> {
        let of = self.of_stored_id(id)?;
        Ok(of.is_some_and(|of| removed_of(&of.stored.name) == segment_schema && includes(&of.schema)))
    }
}

impl DeployedProfile {
    /// Whether it asks for `bm25`, in which an exact word counts for more than its variants.
    pub(crate) fn ranks_words(&self) -> bool {
        let shown = self.match_features.iter().chain(&self.summary_features).map(|(_, program)| program);
        let asked = self.global.iter().flat_map(|global| &global.inputs).map(|(_, program)| program);
        let programs = std::iter::once(&self.score).chain(&self.first).chain(shown).chain(asked);
        programs.flat_map(Program::features).any(|(feature, _)| feature.name.contains("bm25"))
    }
}

impl DeployedSchema {
    /// The profile of that name.
    #[must_use]
    pub fn profile(&self, name: &str) -> Option<&Rc<DeployedProfile>> {
        self.profiles.iter().find(|profile| profile.profile.name == name)
    }

    /// Refuses a document-summary of a stored package that this release cannot show.
    pub(crate) fn check_served(&self, summary: &str) -> Result<(), Rejection> {
        self.unserved.get(summary).map_or(Ok(()), |why| Err(self.unusable("document-summary", summary, why)))
    }

    /// The refusal of a part of a stored package that an earlier release took.
    pub(crate) fn unusable(&self, what: &str, name: &str, why: &str) -> Rejection {
        let (name, schema) = (Rejection::quote(name), &self.schema.name);
        let message = format!("{what} '{name}' of schema '{schema}' cannot be used by this release: {why}");
        Rejection::new(Code::InvalidQueryParameter, message)
    }

    /// The number of a field, or of a part of one, in ranking.
    pub(crate) fn field_id(&self, name: &str) -> Option<FieldId> {
        ranked_fields(&self.schema).position(|field| field.name == name).map(|place| FieldId(place as u32))
    }

    /// As [`read_document`], of a segment that may have been written by an earlier deployment: values that were written for
    /// another type of their field are not read.
    ///
    /// # Errors
    /// If a block is missing or damaged.
    pub(crate) fn read(
        &self,
        header: &Header,
        ordinal: u32,
        keep: &dyn Fn(&str) -> bool,
        blocks: &mut dyn BlockSource,
    ) -> Result<Document, Halt> {
        if header.fingerprint == self.stored.fingerprint || header.is_of_removed() {
            return read_document(header, ordinal, keep, blocks);
        }
        let mut document = read_document(header, ordinal, &|name| keep(written_name(name)), blocks)?;
        self.stored.mark_unread(&mut document.fields);
        document.fields.retain(|(name, _)| !is_unread(name));
        Ok(document)
    }

    /// The column of a field for which `kind` holds.
    pub(crate) fn column(&self, field: &str, kind: impl Fn(&ColumnKind) -> bool) -> Option<&ColumnSpec> {
        self.stored.columns.iter().find(|spec| spec.field == field && kind(&spec.kind))
    }
}

/// The fields ranking knows, numbered by their place: those of the schema, then the parts of all of them.
pub(crate) fn ranked_fields(schema: &Schema) -> impl Iterator<Item = &Field> {
    schema.fields.iter().chain(schema.fields.iter().flat_map(|field| &field.parts))
}

/// The metric of a tensor field.
pub(crate) fn metric_of(field: &Field) -> DistanceMetric {
    DistanceMetric::from_name(field.distance_metric.name()).unwrap_or(DistanceMetric::Euclidean)
}
