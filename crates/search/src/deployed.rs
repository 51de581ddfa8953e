//! A deployed application, ready to be queried: columns laid out, rank profiles compiled.
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use brooklet_document::settle::{is_unread, written_name};
use brooklet_document::{DataType, Document, DocumentId, Tensor};
use brooklet_rank::distance::DistanceMetric;
use brooklet_rank::features::{FeatureEnvironment, Home, home, prepare};
use brooklet_rank::match_data::{Collection, FieldId, FieldInfo, FieldKind, QueryTerms, RankProperties};
use brooklet_rank::{Dialect, Environment, Expression, FeatureName, FeatureType, Function, ModelCall, Program, Value};
use brooklet_schema::{
    Application, ElementGap, Field, InputType, InputValue, OnnxSignature, RankMode, RankProfile, RankType, Schema,
    SourceText,
};
use brooklet_segment::layout::{ColumnKind, ColumnSpec};
use brooklet_segment::{BlockSource, Halt, Header, StoredSchema, read_document, removed_of};
use brooklet_task::{Code, Rejection};

use crate::analysis::Analysis;
use crate::global_phase::GlobalPhase;
use crate::onnx_call::onnx_call;
use crate::summary::places::part_of;

/// Files of models.
struct ModelFiles {
    /// Decision trees, by their path below `models/`.
    trees: BTreeMap<String, Arc<[u8]>>,
    /// ONNX files, by their path.
    onnx: BTreeMap<String, Result<Arc<OnnxSignature>, String>>,
}

/// An application with everything compiled that does not depend on a query.
pub struct Deployed {
    /// The application.
    pub application: Application,
    /// Its schemas, in its order.
    pub schemas: Vec<Rc<DeployedSchema>>,
    /// The host's key, that continuations are sealed with.
    pub seal_key: [u8; 16],
}

/// A schema, its columns and its profiles.
pub struct DeployedSchema {
    /// The schema.
    pub schema: Arc<Schema>,
    /// Name of the content cluster that has it.
    pub cluster: String,
    /// How its documents are stored.
    pub stored: StoredSchema,
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
    pub properties: RankProperties,
    /// The application's models.
    models: Rc<ModelFiles>,
}

impl Deployed {
    /// Compiles every profile of an application.
    ///
    /// # Errors
    /// If an expression or feature is wrong or not supported; the message names file, line and column.
    pub fn compile(application: Application) -> Result<Deployed, Rejection> {
        let (deployed, faults) = Deployed::read(application);
        faults.into_iter().next().map_or(Ok(deployed), Err)
    }

    /// Compiles an application that was deployed before, perhaps by a release that compiled more: what this one cannot is an
    /// objection, and searches that ask for it are refused; all else is served.
    #[must_use]
    pub fn restore(application: Application) -> Deployed {
        let (mut deployed, faults) = Deployed::read(application);
        deployed.application.objections.extend(faults.into_iter().map(|fault| fault.message));
        deployed
    }

    /// What can be compiled of an application, and why the rest cannot.
    fn read(application: Application) -> (Deployed, Vec<Rejection>) {
        let (mut schemas, mut faults) = (Vec::new(), Vec::new());
        let (trees, onnx) = (application.models.clone(), application.onnx_files.clone());
        let models = Rc::new(ModelFiles { trees, onnx });
        for schema in &application.schemas {
            let cluster = application.cluster_of(&schema.name).map_or_else(String::new, |of| of.name.clone());
            let mut deployed = DeployedSchema {
                schema: schema.clone(),
                cluster,
                stored: StoredSchema::of(schema),
                profiles: Vec::new(),
                uncompiled: BTreeMap::new(),
                unserved: BTreeMap::new(),
            };
            for (class, fault) in unserved_summaries(schema) {
                deployed.unserved.insert(class.to_owned(), fault.message.clone());
                faults.push(fault);
            }
            for profile in &schema.rank_profiles {
                match compile(schema, profile, &models) {
                    Ok(profile) => deployed.profiles.push(Rc::new(profile)),
                    Err(fault) => {
                        deployed.uncompiled.insert(profile.name.clone(), fault.message.clone());
                        faults.push(fault);
                    }
                }
            }
            schemas.push(Rc::new(deployed));
        }
        (Deployed { application, schemas, seal_key: [0; 16] }, faults)
    }

    /// The schema of that name.
    #[must_use]
    pub fn schema(&self, name: &str) -> Option<&Rc<DeployedSchema>> {
        self.schemas.iter().find(|schema| schema.schema.name == name)
    }

    /// The schema whose documents have this name where they are stored.
    pub(crate) fn stored_as(&self, name: &str) -> Option<&Rc<DeployedSchema>> {
        self.schemas.iter().find(|schema| schema.stored.name == name)
    }

    /// Whether a removed document was one of a deployed schema for whose name `includes` holds, by the name of its segment:
    /// not of an earlier life of that.
    pub(crate) fn knew(
        &self,
        segment_schema: &str,
        id: &str,
        includes: impl Fn(&str) -> bool,
    ) -> Result<bool, Rejection> {
        let id = DocumentId::parse(id)?;
        let of = self.schema(id.document_type());
        Ok(of.is_some_and(|of| removed_of(&of.stored.name) == segment_schema && includes(&of.schema.name)))
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
        self.stored.settle(&mut document.fields);
        document.fields.retain(|(name, _)| !is_unread(name));
        Ok(document)
    }

    /// The column of a field for which `kind` holds.
    pub(crate) fn column(&self, field: &str, kind: impl Fn(&ColumnKind) -> bool) -> Option<&ColumnSpec> {
        self.stored.columns.iter().find(|spec| spec.field == field && kind(&spec.kind))
    }
}

/// Document-summaries with sources that the schema crate reads and nothing here makes.
fn unserved_summaries(schema: &Schema) -> Vec<(&str, Rejection)> {
    let mut faults = Vec::new();
    let unserved = |source: &&String| {
        schema.field(source).is_none() && part_of(schema, source).is_none() && *source != "documentid"
    };
    for class in &schema.summary_classes {
        for field in &class.fields {
            let Some(source) = field.sources.iter().find(unserved) else { continue };
            let about = format!("schema '{}', document-summary '{}', field '{}'", schema.name, class.name, field.name);
            let message = format!("{about}: source '{source}' is not supported yet");
            faults.push((class.name.as_str(), Rejection::new(Code::Unsupported, message)));
        }
    }
    faults
}

/// The fields ranking knows, numbered by their place: those of the schema, then the parts of all of them.
fn ranked_fields(schema: &Schema) -> impl Iterator<Item = &Field> {
    schema.fields.iter().chain(schema.fields.iter().flat_map(|field| &field.parts))
}

/// A profile that lists these features and nothing else; those that are not computed are left out.
pub(crate) fn with_features(
    schema: &Schema,
    profile: &DeployedProfile,
    names: &[String],
) -> Result<DeployedProfile, Rejection> {
    let DeployedProfile { profile, fields, properties, models, .. } = profile;
    let environment = ProfileEnvironment { schema, profile, models, fields, properties };
    let score = environment.compile(&SourceText::built_in("0"))?;
    let programs = names.iter().filter_map(|name| {
        let program = environment.compile(&SourceText::built_in(name)).ok()?;
        Some((name.clone(), program))
    });
    Ok(DeployedProfile {
        match_features: programs.collect(),
        summary_features: Vec::new(),
        score,
        first: None,
        global: None,
        profile: profile.clone(),
        properties: properties.clone(),
        models: models.clone(),
        fields: fields.clone(),
    })
}

/// The schema's fields for ranking.
fn fields_of(schema: &Schema, profile: &RankProfile) -> Vec<FieldInfo> {
    let numbered = ranked_fields(schema).enumerate();
    numbered.map(|(index, field)| field_info(FieldId(index as u32), field, profile)).collect()
}

fn field_info(id: FieldId, field: &Field, profile: &RankProfile) -> FieldInfo {
    let kind = if field.is_index_for_ranking() { FieldKind::Index } else { FieldKind::Attribute };
    let mut info = FieldInfo::new(id, &field.name, kind);
    info.collection = match &field.data_type {
        DataType::Array(_) => Collection::Array,
        DataType::WeightedSet { .. } => Collection::WeightedSet,
        _ => Collection::Single,
    };
    info.is_filter = profile.rank_mode(field) == RankMode::Filter;
    info.rank_type = match profile.rank_type(field) {
        RankType::About => "about",
        RankType::Identity => "identity",
        RankType::Tags => "tags",
        RankType::Empty => "empty",
    }
    .to_owned();
    info.weight = profile.weight(field);
    info.is_matchable = !matches!(field.data_type.element(), DataType::Tensor(_) | DataType::Raw);
    info.element_gap = match profile.element_gap(field) {
        ElementGap::Infinite => None,
        ElementGap::Words(words) => Some(words),
    };
    info
}

fn compile(schema: &Schema, profile: &RankProfile, models: &Rc<ModelFiles>) -> Result<DeployedProfile, Rejection> {
    let fields = fields_of(schema, profile);
    let properties: RankProperties = profile.properties.iter().map(|(name, value)| (name, value)).collect();
    crate::ranking::group_statistics::check(&properties)
        .and_then(|()| Analysis::of(&properties).map(|_| ()))
        .map_err(|rejection| rejection.within(&format!("rank profile '{}'", profile.name)))?;
    let environment = ProfileEnvironment { schema, profile, models, fields: &fields, properties: &properties };
    let default = SourceText::built_in(if profile.name == "unranked" { "0" } else { "nativeRank" });
    let score = environment.compile(profile.final_expression().unwrap_or(&default))?;
    if !matches!(score.result_type(), FeatureType::Number) {
        return Err(profile.final_expression().unwrap_or(&default).locate(Rejection::new(
            Code::InvalidApplication,
            format!("The score of rank profile '{}' must be a number, not a tensor", profile.name),
        )));
    }
    let second = profile.second_phase.as_ref().and_then(|phase| phase.expression.as_ref());
    let first = profile.first_phase.as_ref().and_then(|phase| phase.expression.as_ref());
    let first = second.map(|_| environment.compile(first.unwrap_or(&default))).transpose()?;
    let global = profile.global_phase.as_ref().and_then(|phase| phase.expression.as_ref());
    let listed = |features: &[SourceText]| {
        let programs = features.iter().map(|feature| Ok((feature_text(feature), environment.compile(feature)?)));
        programs.collect::<Result<Vec<_>, Rejection>>()
    };
    Ok(DeployedProfile {
        match_features: listed(&profile.match_features)?,
        summary_features: listed(&profile.summary_features)?,
        score,
        first,
        global: global.map(|expression| environment.compile_global(expression)).transpose()?,
        profile: profile.clone(),
        models: models.clone(),
        properties,
        fields,
    })
}

/// A rejection of an expression, at its place in the schema.
fn located(source: &SourceText, rejection: Rejection) -> Rejection {
    let rejection = source.locate(rejection);
    let code = if rejection.code == Code::Unsupported { Code::Unsupported } else { Code::InvalidApplication };
    Rejection { code, ..rejection }
}

/// The name under which a listed feature is shown: its canonical text.
fn feature_text(feature: &SourceText) -> String {
    Expression::parse(&feature.text).map_or_else(|_| feature.text.to_string(), |expression| expression.to_string())
}

/// A rank profile as the expression compiler sees it.
pub(crate) struct ProfileEnvironment<'a> {
    schema: &'a Schema,
    profile: &'a RankProfile,
    models: &'a ModelFiles,
    fields: &'a [FieldInfo],
    properties: &'a RankProperties,
}

impl ProfileEnvironment<'_> {
    fn compile(&self, source: &SourceText) -> Result<Program, Rejection> {
        let program = Expression::parse(&source.text).and_then(|expression| Program::compile(&expression, self));
        program.map_err(|rejection| located(source, rejection))
    }

    fn compile_global(&self, source: &SourceText) -> Result<GlobalPhase, Rejection> {
        let phase = Expression::parse_as(&source.text, Dialect::Container)
            .and_then(|expression| GlobalPhase::compile(&expression, self));
        let phase = phase.map_err(|rejection| located(source, rejection))?;
        match phase.result_type() {
            FeatureType::Number => Ok(phase),
            FeatureType::Tensor(_) => {
                Err(source.locate(self.refuse("the score of the global phase must be a number".to_owned())))
            }
        }
    }

    /// The text of the second phase's expression.
    pub(crate) fn second_phase(&self) -> Option<String> {
        let second = self.profile.second_phase.as_ref().and_then(|phase| phase.expression.as_ref());
        second.map(|expression| expression.text.to_string())
    }

    /// What the ONNX file at this path says of itself.
    pub(crate) fn onnx_file(&self, path: &str) -> Option<&Result<Arc<OnnxSignature>, String>> {
        self.models.onnx.get(path)
    }

    /// The rank profile.
    pub(crate) fn profile(&self) -> &RankProfile {
        self.profile
    }

    /// The schema.
    pub(crate) fn schema(&self) -> &Schema {
        self.schema
    }

    pub(crate) fn refuse(&self, message: String) -> Rejection {
        Rejection::new(Code::InvalidApplication, format!("rank profile '{}': {message}", self.profile.name))
    }

    fn attribute_type(&self, feature: &FeatureName) -> Result<FeatureType, Rejection> {
        let name = feature.parameters.first().map_or("", String::as_str);
        let field = self.schema.field(name);
        let Some(field) = field else {
            return Err(self.refuse(format!("'{feature}' names no field of schema '{}'", self.schema.name)));
        };
        match &field.data_type {
            DataType::Tensor(of) => Ok(FeatureType::of((**of).clone())),
            _ => Ok(FeatureType::Number),
        }
    }

    fn vector_field(&self, feature: &FeatureName) -> Result<(), Rejection> {
        let (kind, name) = match &feature.parameters[..] {
            [name] => ("field", name.as_str()),
            [kind, name] => (kind.as_str(), name.as_str()),
            _ => return Err(self.refuse(format!("'{feature}' takes a field or a label"))),
        };
        match (kind, self.schema.field(name)) {
            ("label", _) => Ok(()),
            ("field", Some(field)) if matches!(field.data_type, DataType::Tensor(_)) => Ok(()),
            _ => Err(self.refuse(format!("'{feature}' names no tensor field of schema '{}'", self.schema.name))),
        }
    }

    fn document_feature(&self, feature: &FeatureName) -> Result<FeatureType, Rejection> {
        match feature.name.as_str() {
            "attribute" => self.attribute_type(feature),
            "query" => {
                let input = feature.only_parameter("query").and_then(|name| self.profile.input(name));
                Ok(match input.map(|input| &input.input_type) {
                    Some(InputType::Tensor(of)) => FeatureType::Tensor(of.clone()),
                    _ => FeatureType::Number,
                })
            }
            "closeness" | "distance" => crate::ranking::document::position_feature_type(feature, self.schema)
                .unwrap_or_else(|| self.vector_field(feature).map(|()| FeatureType::Number)),
            "age" | "freshness" => {
                let field = feature.parameters.first().and_then(|name| self.schema.field(name));
                if field.is_none() {
                    return Err(self.refuse(format!("'{feature}' names no field of schema '{}'", self.schema.name)));
                }
                Ok(FeatureType::Number)
            }
            "rawScore" | "itemRawScore" | "now" | "firstPhaseRank" => Ok(FeatureType::Number),
            "secondPhase" | "relevanceScore" | "firstPhase" | "constant" => Err(Rejection::new(
                Code::Unsupported,
                format!("'{feature}' is not supported here in rank profile '{}'", self.profile.name),
            )),
            _ => crate::ranking::document::feature_type(feature, self.schema)
                .unwrap_or_else(|| Err(self.refuse(format!("'{feature}' is unknown")))),
        }
    }
}

impl Environment for ProfileEnvironment<'_> {
    fn feature_type(&self, feature: &FeatureName) -> Result<FeatureType, Rejection> {
        if home(&feature.name) == Some(Home::Document) {
            return self.document_feature(feature);
        }
        let terms = QueryTerms::default();
        let environment = FeatureEnvironment::new(self.fields, &terms, self.properties);
        let prepared = prepare(&feature.name, &feature.parameters, &environment)?;
        prepared.output(feature.output.as_deref())?;
        Ok(prepared.tensor_type.map_or(FeatureType::Number, FeatureType::Tensor))
    }

    fn function(&self, name: &str) -> Option<Function> {
        if name == "firstPhase" {
            let first = self.profile.first_phase.as_ref().and_then(|phase| phase.expression.as_ref());
            let body = first.map_or_else(|| "nativeRank".to_owned(), |expression| expression.text.to_string());
            return Some(Function { parameters: Vec::new(), body });
        }
        let function = self.profile.function(name)?;
        Some(Function { parameters: function.parameters.clone(), body: function.expression.text.to_string() })
    }

    fn fields(&self, attributes: bool) -> Vec<String> {
        let kind = if attributes { FieldKind::Attribute } else { FieldKind::Index };
        self.fields.iter().filter(|field| field.kind == kind).map(|field| field.name.clone()).collect()
    }

    fn model(&self, path: &str) -> Option<Arc<[u8]>> {
        self.models.trees.get(path).cloned()
    }

    fn model_call(&self, feature: &FeatureName) -> Result<ModelCall, Rejection> {
        onnx_call(self, feature)
    }

    fn constant(&self, name: &str) -> Option<Value> {
        self.profile.constant(name).map(|constant| value_of(&constant.value))
    }
}

/// A value of the schema as ranking takes it.
pub(crate) fn value_of(value: &InputValue) -> Value {
    match value {
        InputValue::Number(number) => Value::Number(*number),
        InputValue::Text(text) => Value::Number(brooklet_rank::text_hash(text)),
        InputValue::Tensor(tensor) => tensor_value(Tensor::clone(tensor)),
    }
}

/// A tensor as a value; one without dimensions is a number.
pub(crate) fn tensor_value(tensor: Tensor) -> Value {
    match (&tensor.tensor_type.dimensions[..], &tensor.cells[..]) {
        ([], [cell]) => Value::Number(*cell),
        _ => Value::Tensor(Rc::new(tensor)),
    }
}

/// The metric of a tensor field.
pub(crate) fn metric_of(field: &Field) -> DistanceMetric {
    DistanceMetric::from_name(field.distance_metric.name()).unwrap_or(DistanceMetric::Euclidean)
}
