//! An application is compiled when it is deployed: its rank profiles, and what nothing here serves is refused.
use std::collections::BTreeMap;
use std::rc::Rc;

use brooklet_document::DataType;
use brooklet_rank::match_data::{Collection, FieldId, FieldInfo, FieldKind, RankProperties};
use brooklet_rank::{Dialect, Expression, FeatureType, Program};
use brooklet_schema::{
    Application, ElementGap, Field, RankMode, RankProfile, RankType, Schema, SourceText, SummaryTransform,
};
use brooklet_segment::StoredSchema;
use brooklet_task::{Code, Rejection};

use super::analysis::Analysis;
use super::environment::ProfileEnvironment;
use super::global_phase::GlobalPhase;
use super::statements::Statements;
use super::{Deployed, DeployedProfile, DeployedSchema, ModelFiles, ranked_fields};
use crate::summary::places::part_of;

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
            let mut deployed = DeployedSchema {
                schema: schema.clone(),
                cluster: schema.cluster.clone(),
                snippets: application.cluster_of(schema).map(|of| of.snippets.clone()).unwrap_or_default(),
                stored: StoredSchema::new(schema),
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
            if deployed.uncompiled.is_empty() {
                faults.extend(unlisted_selection(&deployed));
            }
            schemas.push(Rc::new(deployed));
        }
        let fingerprint = application.fingerprint();
        let deployed = Deployed {
            application,
            schemas,
            fingerprint,
            seal_key: [0; 16],
            statements: Statements::default(),
            models: std::cell::OnceCell::new(),
        };
        (deployed, faults)
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

/// A document-summary that shows the elements a feature selects, which no rank profile computes for summaries.
fn unlisted_selection(of: &DeployedSchema) -> Option<Rejection> {
    let features = of.profiles.iter().flat_map(|profile| &profile.summary_features);
    let listed: Vec<String> = features.map(|(text, _)| selection_text(text)).collect();
    let fields = of.schema.summary_classes.iter().flat_map(|class| &class.fields);
    let (field, feature) = fields.into_iter().find_map(|field| match &field.transform {
        SummaryTransform::SelectElementsBy(feature) if !listed.contains(&selection_text(feature)) => {
            Some((field, feature))
        }
        _ => None,
    })?;
    let source = field.sources.first().map_or("", String::as_str);
    let (schema, name) = (&of.schema.name, &field.name);
    let message = format!(
        "For schema '{schema}', summary field '{name}': select-elements-by summary feature '{feature}' is not defined for \
         source field '{source}'."
    );
    Some(Rejection::new(Code::InvalidApplication, message))
}

/// The canonical text of a feature that selects elements: a function is one with its parentheses or without.
pub(crate) fn selection_text(feature: &str) -> String {
    let text = Expression::parse(feature).map_or_else(|_| feature.to_owned(), |expression| expression.to_string());
    text.strip_suffix("()").map_or_else(|| text.clone(), str::to_owned)
}

/// A profile that lists these features and nothing else; those that are not computed are left out.
pub(crate) fn with_features(
    schema: &Schema,
    profile: &DeployedProfile,
    names: &[String],
) -> Result<DeployedProfile, Rejection> {
    let DeployedProfile { profile, fields, properties, analysis, models, .. } = profile;
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
        analysis: analysis.clone(),
        models: models.clone(),
        fields: fields.clone(),
    })
}

/// The schema's fields for ranking.
pub(crate) fn fields_of(schema: &Schema, profile: &RankProfile) -> Vec<FieldInfo> {
    let numbered = ranked_fields(schema).enumerate();
    numbered.map(|(index, field)| field_info(FieldId(index as u32), field, profile)).collect()
}

pub(crate) fn field_info(id: FieldId, field: &Field, profile: &RankProfile) -> FieldInfo {
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

pub(crate) fn compile(
    schema: &Schema,
    profile: &RankProfile,
    models: &Rc<ModelFiles>,
) -> Result<DeployedProfile, Rejection> {
    let fields = fields_of(schema, profile);
    let properties: RankProperties = profile.properties.iter().map(|(name, value)| (name, value)).collect();
    let analysis = crate::ranking::group_statistics::check(&properties)
        .and_then(|()| Analysis::from_properties(&properties))
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
        properties: Rc::new(properties),
        analysis: Rc::new(analysis),
        fields,
    })
}

/// A rejection of an expression, at its place in the schema.
pub(crate) fn with_place(source: &SourceText, rejection: Rejection) -> Rejection {
    let rejection = source.locate(rejection);
    let code = if rejection.code == Code::Unsupported { Code::Unsupported } else { Code::InvalidApplication };
    Rejection { code, ..rejection }
}

/// The name under which a listed feature is shown: its canonical text, that of a function its name alone.
pub(crate) fn feature_text(feature: &SourceText) -> String {
    let Ok(expression) = Expression::parse(&feature.text) else { return feature.text.to_string() };
    let text = expression.to_string();
    let function = text.strip_prefix("rankingExpression(").and_then(|rest| rest.strip_suffix(')'));
    let is_name = |name: &&str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    function.filter(is_name).map(str::to_owned).unwrap_or(text)
}

impl ProfileEnvironment<'_> {
    fn compile(&self, source: &SourceText) -> Result<Program, Rejection> {
        let program = Expression::parse(&source.text).and_then(|expression| Program::compile(&expression, self));
        program.map_err(|rejection| with_place(source, rejection))
    }

    fn compile_global(&self, source: &SourceText) -> Result<GlobalPhase, Rejection> {
        let phase = Expression::parse_as(&source.text, Dialect::Container)
            .and_then(|expression| GlobalPhase::compile(&expression, self, self.second_phase()));
        let phase = phase.map_err(|rejection| with_place(source, rejection))?;
        match phase.result_type() {
            FeatureType::Number => Ok(phase),
            FeatureType::Tensor(_) => {
                Err(source.locate(self.refuse("the score of the global phase must be a number".to_owned())))
            }
        }
    }
}
