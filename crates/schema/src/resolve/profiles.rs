//! Rank profiles: inheritance merged, values read.
use std::collections::BTreeMap;
use std::sync::Arc;

use brooklet_kernel::{map_of, set_of};
use brooklet_task::{Rejection, did_you_mean};

use super::agreement::Agreement;
use super::outcome::Resolved;
use super::{order, tuning, values};
use crate::place::SourceText;
use crate::rank_profile::{Constant, FieldRanking, Function, Input, OnnxModel, Phase, RankProfile};
use crate::remarks::Remarks;
use crate::schema::Schema;
use crate::sd::settings::unique;
use crate::sd::tree::{FeaturesTree, FieldRankingTree, FunctionTree, Name, PhaseTree, ProfileTree, SchemaTree};

/// Functions, inputs, constants, features and properties of all profiles of a schema: inherited ones count for each
/// profile that has them.
const DEFINITIONS_MAX: usize = 200_000;
/// What properties begin with that Vespa does not know.
const OWN_PROPERTIES: &str = "brooklet.";

/// The profiles of a schema: `default` and `unranked` first, then the others in the order written, then those of the
/// inherited schema. Those of inherited documents, `further`, can be inherited too.
pub(super) fn profiles(
    tree: &SchemaTree,
    schema: &Schema,
    (parent, further): (Option<&Arc<Schema>>, &[&RankProfile]),
    remarks: &mut Remarks,
) -> Resolved<Vec<RankProfile>> {
    unique(tree.profiles.iter().map(|profile| &profile.name), "rank-profile")?;
    let constants = tree.constants.iter().map(values::constant).collect::<Resolved<Vec<_>>>()?;
    let built_in = parent.map_or_else(
        || {
            [default_profile(&constants), unranked_profile(&constants)]
                .map(|profile| with_models(profile, tree))
                .to_vec()
        },
        |of| of.rank_profiles.clone(),
    );
    let inheritable: Vec<&RankProfile> = built_in.iter().chain(further.iter().copied()).collect();
    let parents = tree.profiles.iter().map(|own| parents_of(own, tree, &inheritable)).collect::<Resolved<Vec<_>>>()?;
    let order = order::parents_first(&parents).map_err(|index| {
        let name = &tree.profiles[index].name;
        name.place.reject(format!("rank-profile '{}' inherits itself", name.text))
    })?;
    let mut done: BTreeMap<&str, RankProfile> = BTreeMap::new();
    let mut total = 0;
    for index in order {
        let own = &tree.profiles[index];
        let inherited = own.inherits.iter().filter_map(|name| {
            let other = || inheritable.iter().copied().find(|profile| profile.name == name.text);
            done.get(name.text.as_str()).or_else(other)
        });
        let merger = Merger { tree: own, inherited: inherited.collect(), known: &built_in, done: &done };
        merger.check_default_features(remarks);
        Agreement { own, parents: &merger.inherited, schema, constants: &constants }.check(remarks);
        let tuning = tuning::inherit(own, &merger.inherited, remarks);
        let profile = RankProfile { tuning, ..merger.merge(&constants, &tree.onnx_models, remarks)? };
        warn_unknown_fields(own, schema, remarks);
        total += size(&profile);
        if total > DEFINITIONS_MAX {
            let message = format!("the rank-profiles of the schema have more than {DEFINITIONS_MAX} definitions");
            return Err(own.name.place.reject(message));
        }
        done.insert(&own.name.text, profile);
    }
    let mut all: Vec<RankProfile> = Vec::new();
    let names = ["default", "unranked"].into_iter().chain(tree.profiles.iter().map(|own| own.name.text.as_str()));
    for name in names.chain(built_in.iter().map(|profile| profile.name.as_str())) {
        let profile = done.remove(name).or_else(|| built_in.iter().find(|profile| profile.name == name).cloned());
        if let Some(profile) = profile
            && !all.iter().any(|other| other.name == name)
        {
            all.push(profile);
        }
    }
    let says_own = tree.profiles.iter().any(|own| own.name.text == "unranked");
    understand_words_alike(&mut all, says_own);
    Ok(all)
}

/// Gives `unranked` what `default` says of how words are understood, unless it says otherwise itself: what matches does not
/// depend on whether it is ranked. `says_own`: the schema defines it.
fn understand_words_alike(profiles: &mut [RankProfile], says_own: bool) {
    let [default, unranked, ..] = profiles else { return };
    if !says_own {
        unranked.properties.retain(|(name, _)| !name.starts_with(OWN_PROPERTIES));
    }
    let of_default = default.properties.iter().filter(|(name, _)| name.starts_with(OWN_PROPERTIES));
    let missing: Vec<_> = of_default.filter(|(name, _)| unranked.property(name).is_none()).cloned().collect();
    unranked.properties.extend(missing);
}

/// What a model defines that is ranking expressions, as a rank profile that ranks nothing.
pub(crate) fn of_model(tree: &ProfileTree) -> Resolved<RankProfile> {
    Ok(RankProfile {
        name: tree.name.text.clone(),
        inputs: tree.inputs.iter().map(values::input).collect::<Resolved<_>>()?,
        constants: tree.constants.iter().map(values::constant).collect::<Resolved<_>>()?,
        functions: tree.functions.iter().map(function).collect(),
        ..RankProfile::default()
    })
}

/// A built-in profile with the models of the schema.
fn with_models(profile: RankProfile, tree: &SchemaTree) -> RankProfile {
    RankProfile { onnx_models: tree.onnx_models.clone(), ..profile }
}

/// Scores with nativeRank.
fn default_profile(constants: &[Constant]) -> RankProfile {
    RankProfile {
        name: "default".to_owned(),
        is_of_default: true,
        constants: constants.to_vec(),
        ..RankProfile::default()
    }
}

/// Scores everything 0.
fn unranked_profile(constants: &[Constant]) -> RankProfile {
    let zero = Phase { expression: Some(SourceText::built_in("0")), rank_score_drop_limit: None, rerank_count: None };
    RankProfile {
        name: "unranked".to_owned(),
        first_phase: Some(zero),
        ignore_default_rank_features: true,
        constants: constants.to_vec(),
        ..RankProfile::default()
    }
}

fn parents_of(own: &ProfileTree, tree: &SchemaTree, others: &[&RankProfile]) -> Resolved<Vec<usize>> {
    let mut parents = Vec::new();
    for name in &own.inherits {
        let found = tree.profiles.iter().position(|other| other.name.text == name.text);
        let known = others.iter().map(|profile| profile.name.as_str());
        match found {
            // `rank-profile default inherits default` means the built-in or inherited one.
            Some(index) if tree.profiles[index].name.text != own.name.text => parents.push(index),
            _ if others.iter().any(|profile| profile.name == name.text) => {}
            Some(index) => parents.push(index),
            None => {
                let own_names = tree.profiles.iter().map(|profile| profile.name.text.as_str());
                let hint = did_you_mean(&name.text, own_names.chain(known));
                let message = format!(
                    "rank-profile '{}' inherits '{}', but this is not found in schema '{}'{hint}",
                    own.name.text, name.text, tree.name.text
                );
                return Err(name.place.reject(message));
            }
        }
    }
    Ok(parents)
}

fn size(profile: &RankProfile) -> usize {
    profile.functions.len()
        + profile.inputs.len()
        + profile.constants.len()
        + profile.onnx_models.iter().map(|model| 1 + model.inputs.len() + model.outputs.len()).sum::<usize>()
        + profile.match_features.len()
        + profile.summary_features.len()
        + profile.rank_features.len()
        + profile.properties.len()
        + profile.fields.len()
}

fn warn_unknown_fields(own: &ProfileTree, schema: &Schema, remarks: &mut Remarks) {
    for ranking in &own.fields {
        if schema.field(&ranking.field.text).is_none() && schema.field_set(&ranking.field.text).is_none() {
            let hint = did_you_mean(&ranking.field.text, schema.all_fields().map(|field| field.name.as_str()));
            let (place, profile, field) = (&ranking.field.place, &own.name.text, &ranking.field.text);
            remarks.warn(format!("{place}: rank-profile '{profile}': field '{field}' does not exist{hint}"));
        }
    }
}

/// Puts one profile together.
struct Merger<'a> {
    tree: &'a ProfileTree,
    inherited: Vec<&'a RankProfile>,
    /// Built-in profiles and those of the inherited schema.
    known: &'a [RankProfile],
    done: &'a BTreeMap<&'a str, RankProfile>,
}

impl Merger<'_> {
    fn merge(
        &self,
        schema_constants: &[Constant],
        schema_models: &[OnnxModel],
        remarks: &mut Remarks,
    ) -> Resolved<RankProfile> {
        let tree = self.tree;
        let mut constants = tree.constants.iter().map(values::constant).collect::<Resolved<Vec<_>>>()?;
        self.add_inherited(&mut constants, |profile| &profile.constants, |constant| &constant.name, "constant")?;
        for constant in schema_constants {
            if !constants.iter().any(|other| other.name == constant.name) {
                constants.push(constant.clone());
            }
        }
        let mut onnx_models = tree.onnx_models.clone();
        self.add_inherited(&mut onnx_models, |profile| &profile.onnx_models, |model| &model.name, "onnx-model")?;
        for model in schema_models {
            if !onnx_models.iter().any(|other| other.name == model.name) {
                onnx_models.push(model.clone());
            }
        }
        let mut inputs = tree.inputs.iter().map(values::input).collect::<Resolved<Vec<Input>>>()?;
        self.add_inherited(&mut inputs, |profile| &profile.inputs, |input| &input.name, "input")?;
        let mut functions: Vec<Function> = tree.functions.iter().map(function).collect();
        self.add_inherited(&mut functions, |profile| &profile.functions, |function| &function.name, "function")?;
        Ok(RankProfile {
            name: tree.name.text.clone(),
            inherits: tree.inherits.iter().map(|name| name.text.clone()).collect(),
            is_of_default: tree.name.text == "default" || self.inherited.iter().any(|profile| profile.is_of_default),
            strict: tree
                .strict
                .or(self.inherited_value("strict", |profile| profile.strict.then_some(true))?)
                .unwrap_or(false),
            inputs,
            constants,
            onnx_models,
            functions,
            first_phase: self
                .phase("first-phase", tree.first_phase.as_ref(), |profile| profile.first_phase.as_ref())?,
            second_phase: self
                .phase("second-phase", tree.second_phase.as_ref(), |profile| profile.second_phase.as_ref())?,
            global_phase: self
                .phase("global-phase", tree.global_phase.as_ref(), |profile| profile.global_phase.as_ref())?,
            match_features: self.features(
                "match-features",
                tree.match_features.as_ref(),
                |of| &of.match_features,
                remarks,
            )?,
            summary_features: self.features(
                "summary-features",
                tree.summary_features.as_ref(),
                |of| &of.summary_features,
                remarks,
            )?,
            rank_features: self.rank_features(),
            ignore_default_rank_features: tree.ignore_default_rank_features
                || self.inherited.iter().any(|profile| profile.ignore_default_rank_features),
            properties: self.properties()?,
            significance_model: tree
                .significance_model
                .unwrap_or_else(|| self.inherited.iter().any(|profile| profile.significance_model)),
            fields: self.fields(),
            tuning: self.tree.tuning.clone(),
        })
    }

    /// Whether default rank features are ignored counts as said by every profile: several parents must agree, unless it is
    /// said here.
    fn check_default_features(&self, remarks: &mut Remarks) {
        let ignored = self.inherited.iter().filter(|profile| profile.ignore_default_rank_features).count();
        if self.tree.ignore_default_rank_features || ignored == 0 || ignored == self.inherited.len() {
            return;
        }
        let name = &self.tree.name;
        remarks.object(name.place.reject(format!(
            "Only one of the profiles inherited by rank profile '{}' can contain ignore-default-rank-features, but it is present \
             in multiple",
            name.text
        )));
    }

    /// What the inherited profiles say, if they agree.
    fn inherited_value<T: PartialEq>(&self, what: &str, of: impl Fn(&RankProfile) -> Option<T>) -> Resolved<Option<T>> {
        let mut said = self.inherited.iter().filter_map(|profile| of(profile));
        let first = said.next();
        if said.any(|other| Some(&other) != first.as_ref()) {
            return Err(self.conflict(what));
        }
        Ok(first)
    }

    fn conflict(&self, what: &str) -> brooklet_task::Rejection {
        let name = &self.tree.name;
        name.place.reject(format!("rank-profile '{}' inherits conflicting definitions of {what}", name.text))
    }

    /// Adds to the own definitions the inherited ones that are not redefined.
    fn add_inherited<T: Clone + PartialEq>(
        &self,
        own: &mut Vec<T>,
        of: impl Fn(&RankProfile) -> &Vec<T>,
        name: impl Fn(&T) -> &String,
        what: &str,
    ) -> Resolved<()> {
        let mut places = map_of(own.iter().enumerate().map(|(i, item)| (name(item).clone(), i)));
        let count = own.len();
        for item in self.inherited.iter().flat_map(|profile| of(profile)) {
            match places.get(name(item)) {
                Some(index) if *index >= count && own[*index] != *item => {
                    return Err(self.conflict(&format!("{what} '{}'", name(item))));
                }
                Some(_) => {}
                None => {
                    places.insert(name(item).clone(), own.len());
                    own.push(item.clone());
                }
            }
        }
        Ok(())
    }

    /// A phase: its expression, limit and count are inherited one by one.
    fn phase<'p>(
        &'p self,
        what: &str,
        own: Option<&PhaseTree>,
        of: impl Fn(&'p RankProfile) -> Option<&'p Phase>,
    ) -> Resolved<Option<Phase>> {
        let inherited: Vec<&Phase> = self.inherited.iter().filter_map(|profile| of(profile)).collect();
        if own.is_none() && inherited.is_empty() {
            return Ok(None);
        }
        let own_expression = own.and_then(|own| own.expression.clone());
        let own_limit = own.and_then(|own| own.rank_score_drop_limit);
        let own_count = own.and_then(|own| own.rerank_count);
        Ok(Some(Phase {
            expression: match own_expression {
                Some(expression) => Some(expression),
                None => self.agreed_value(what, inherited.iter().filter_map(|phase| phase.expression.clone()))?,
            },
            rank_score_drop_limit: match own_limit {
                Some(limit) => Some(limit),
                None => self.agreed_value(what, inherited.iter().filter_map(|phase| phase.rank_score_drop_limit))?,
            },
            rerank_count: match own_count {
                Some(count) => Some(count),
                None => self.agreed_value(what, inherited.iter().filter_map(|phase| phase.rerank_count))?,
            },
        }))
    }

    fn agreed_value<T: PartialEq>(&self, what: &str, mut said: impl Iterator<Item = T>) -> Resolved<Option<T>> {
        let first = said.next();
        if said.any(|other| Some(&other) != first.as_ref()) { Err(self.conflict(what)) } else { Ok(first) }
    }

    /// A list of features: the own one, which replaces the inherited one unless it says `inherits`.
    fn features(
        &self,
        what: &str,
        own: Option<&FeaturesTree>,
        of: impl Fn(&RankProfile) -> &Vec<SourceText>,
        remarks: &mut Remarks,
    ) -> Resolved<Vec<SourceText>> {
        let Some(own) = own else {
            let mut said = self.inherited.iter().map(|profile| of(profile)).filter(|list| !list.is_empty());
            let first = said.next();
            // The same features wherever they are said, in whatever order.
            let texts = |list: &[SourceText]| set_of(list.iter().map(|feature| feature.text.clone()));
            if said.any(|other| first.is_some_and(|first| texts(first) != texts(other))) {
                return Err(self.conflict(what));
            }
            return Ok(first.cloned().unwrap_or_default());
        };
        let mut features = Vec::new();
        for name in &own.inherits {
            let mut parents = self.inherited.iter().copied();
            let parent = match parents.find(|profile| profile.name == name.text) {
                Some(parent) => parent,
                None => self.stranger(what, name, remarks)?,
            };
            add_distinct(&mut features, of(parent));
        }
        add_distinct(&mut features, &own.features);
        Ok(features)
    }

    /// A profile whose features are inherited although it is not: objected to.
    fn stranger(&self, what: &str, name: &Name, remarks: &mut Remarks) -> Resolved<&RankProfile> {
        let inherited = self.inherited.iter().map(|profile| profile.name.as_str());
        let hint = did_you_mean(&name.text, inherited);
        let (own, text) = (&self.tree.name.text, Rejection::quote(&name.text));
        let message = format!("{what} inherits '{text}', which rank-profile '{own}' does not inherit{hint}");
        let objection = name.place.reject(message);
        let known = || self.known.iter().find(|profile| profile.name == name.text);
        match self.done.get(name.text.as_str()).or_else(known) {
            Some(profile) => {
                remarks.object(objection);
                Ok(profile)
            }
            None => Err(objection),
        }
    }

    fn rank_features(&self) -> Vec<SourceText> {
        let mut features = Vec::new();
        self.inherited.iter().for_each(|profile| add_distinct(&mut features, &profile.rank_features));
        add_distinct(&mut features, &self.tree.rank_features);
        features
    }

    /// Inherited properties that are not set again, then the own ones.
    fn properties(&self) -> Resolved<Vec<(String, String)>> {
        let mut properties: Vec<(String, String)> = Vec::new();
        for profile in &self.inherited {
            for (name, value) in &profile.properties {
                if self.tree.properties.iter().any(|(own, _)| own == name) {
                    continue;
                }
                match properties.iter().find(|(other, _)| other == name) {
                    Some((_, other)) if other != value => return Err(self.conflict(&format!("rank property '{name}'"))),
                    Some(_) => {}
                    None => properties.push((name.clone(), value.clone())),
                }
            }
        }
        properties.extend(self.tree.properties.iter().cloned());
        Ok(properties)
    }

    /// What is said about fields: own settings over inherited ones, one by one.
    fn fields(&self) -> Vec<FieldRanking> {
        let mut fields: Vec<FieldRanking> = Vec::new();
        for own in &self.tree.fields {
            overlay(&mut fields, &ranking(own), true);
        }
        for inherited in self.inherited.iter().flat_map(|profile| &profile.fields) {
            overlay(&mut fields, inherited, false);
        }
        fields
    }
}

fn ranking(tree: &FieldRankingTree) -> FieldRanking {
    FieldRanking {
        field: tree.field.text.clone(),
        rank: tree.rank,
        rank_type: tree.rank_type,
        weight: tree.weight,
        element_gap: tree.element_gap,
    }
}

/// Adds what `more` says; where both speak, `newer` tells whether `more` counts.
fn overlay(fields: &mut Vec<FieldRanking>, more: &FieldRanking, newer: bool) {
    let Some(known) = fields.iter_mut().find(|field| field.field == more.field) else {
        fields.push(more.clone());
        return;
    };
    let (first, second) = if newer { (more.clone(), known.clone()) } else { (known.clone(), more.clone()) };
    known.rank = first.rank.or(second.rank);
    known.rank_type = first.rank_type.or(second.rank_type);
    known.weight = first.weight.or(second.weight);
    known.element_gap = first.element_gap.or(second.element_gap);
}

fn add_distinct(features: &mut Vec<SourceText>, more: &[SourceText]) {
    for feature in more {
        if !features.iter().any(|other| other.text == feature.text) {
            features.push(feature.clone());
        }
    }
}

fn function(tree: &FunctionTree) -> Function {
    Function {
        name: tree.name.text.clone(),
        parameters: tree.parameters.clone(),
        expression: tree.expression.clone(),
        inline: tree.inline,
    }
}
