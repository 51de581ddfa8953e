//! Rank profiles with everything they inherit merged in. Expressions stay text: crate `rank` compiles them.
use std::sync::Arc;

use brooklet_document::{Tensor, TensorType};

use crate::field::{Field, RankMode, RankType};
use crate::place::{SourcePlace, SourceText};
use crate::tuning::Tuning;

/// A rank profile, inheritance resolved.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankProfile {
    /// Its name.
    pub name: String,
    /// The profiles it inherits, as written (what they hold is merged in already).
    pub inherits: Vec<String>,
    /// Whether it is `default`, or comes of it.
    pub is_of_default: bool,
    /// `strict: true`: type errors of expressions are errors also where a type is not known.
    pub strict: bool,
    /// Declared query features.
    pub inputs: Vec<Input>,
    /// Constants of the profile and of the schema.
    pub constants: Vec<Constant>,
    /// ONNX models of the profile and of the schema.
    pub onnx_models: Vec<OnnxModel>,
    /// Functions.
    pub functions: Vec<Function>,
    /// Score of every match. Nothing: `nativeRank`.
    pub first_phase: Option<Phase>,
    /// Where there is one, the score of every match in streaming mode.
    pub second_phase: Option<Phase>,
    /// Decides anew about the first hits, once those of all partitions are known.
    pub global_phase: Option<Phase>,
    /// Features returned with each hit as `matchfeatures`.
    pub match_features: Vec<SourceText>,
    /// Features returned with each hit as `summaryfeatures`.
    pub summary_features: Vec<SourceText>,
    /// Features listed by `ranking.listFeatures` in addition to the default ones.
    pub rank_features: Vec<SourceText>,
    /// Leaves the default features out of that list.
    pub ignore_default_rank_features: bool,
    /// Configuration of features, in order; the same name may occur more than once, the last counts.
    pub properties: Vec<(String, String)>,
    /// `significance { use-model: true }`.
    pub significance_model: bool,
    /// What the profile says about single fields.
    pub fields: Vec<FieldRanking>,
    /// What it says to an index, without effect.
    pub tuning: Tuning,
}

/// A declared query feature.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Its name, without `query(…)`.
    pub name: String,
    /// Its type; a number has the scalar type.
    pub input_type: InputType,
    /// Its value when the query gives none; nothing: 0, an empty text, or an empty tensor.
    pub default: Option<InputValue>,
}

/// Type of a query feature.
#[derive(Clone, Debug, PartialEq)]
pub enum InputType {
    /// A number (`double`, also written `float` or `long`).
    Number,
    /// A text, seen by expressions as its hash.
    Text,
    /// A tensor with at least one dimension.
    Tensor(Arc<TensorType>),
}

/// Value of a query feature or of a constant.
#[derive(Clone, Debug, PartialEq)]
pub enum InputValue {
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// A tensor.
    Tensor(Arc<Tensor>),
}

/// A constant, `constant(name)` in expressions.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// Its name.
    pub name: String,
    /// Its value: a number or a tensor.
    pub value: InputValue,
}

/// An ONNX model, `onnx(name)` in expressions.
#[derive(Clone, Debug, PartialEq)]
pub struct OnnxModel {
    /// Its name.
    pub name: String,
    /// Where it is defined.
    pub place: SourcePlace,
    /// Its file in the application package, or its address.
    pub file: String,
    /// Whether that is an address.
    pub is_address: bool,
    /// The expressions of inputs, by the name in the graph. An input that is not listed is what has its name: a function,
    /// a constant, a field, or an input of the query.
    pub inputs: Vec<(String, SourceText)>,
    /// Names of outputs: in the graph, and in expressions.
    pub outputs: Vec<(String, String)>,
    /// How the runtime is to run it (`intraop-threads`, `gpu-device`, …), for the host.
    pub settings: Vec<(String, String)>,
}

/// A function, known to expressions by its name (as a feature `name` or `name(arguments)`).
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Names of its parameters.
    pub parameters: Vec<String>,
    /// Its body.
    pub expression: SourceText,
    /// `inline`: a hint, no effect on values.
    pub inline: bool,
}

/// A phase of ranking.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// The score. Nothing: as without the phase (only a limit was given).
    pub expression: Option<SourceText>,
    /// Hits with this score or less are dropped. That of the second phase has no effect in streaming mode.
    pub rank_score_drop_limit: Option<f64>,
    /// `rerank-count`, `keep-rank-count` and the like, as written. In streaming mode only that of the global phase has an
    /// effect; that of the second has one too where `brooklet.rerank` asks for it.
    pub rerank_count: Option<i64>,
}

/// What a profile says about one field; nothing where it is silent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldRanking {
    /// The field.
    pub field: String,
    /// `rank FIELD: filter`.
    pub rank: Option<RankMode>,
    /// `rank-type FIELD: tags`.
    pub rank_type: Option<RankType>,
    /// `weight FIELD: 200`.
    pub weight: Option<i32>,
    /// `rank FIELD { element-gap: 3 }`.
    pub element_gap: Option<ElementGap>,
}

/// Words between the last word of one element and the first of the next, for near, onear and nativeProximity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ElementGap {
    /// Nothing is near something in another element.
    #[default]
    Infinite,
    /// That many.
    Words(u32),
}

impl RankProfile {
    /// The function of that name.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.name == name)
    }

    /// The declared query feature of that name.
    #[must_use]
    pub fn input(&self, name: &str) -> Option<&Input> {
        self.inputs.iter().find(|input| input.name == name)
    }

    /// The ONNX model of that name.
    #[must_use]
    pub fn onnx_model(&self, name: &str) -> Option<&OnnxModel> {
        self.onnx_models.iter().find(|model| model.name == name)
    }

    /// The constant of that name.
    #[must_use]
    pub fn constant(&self, name: &str) -> Option<&Constant> {
        self.constants.iter().find(|constant| constant.name == name)
    }

    /// The value of a rank property; the last one given counts.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<&str> {
        self.properties.iter().rev().find(|(property, _)| property == name).map(|(_, value)| value.as_str())
    }

    fn field_ranking(&self, field: &Field) -> Option<&FieldRanking> {
        self.fields.iter().find(|ranking| ranking.field == field.name)
    }

    /// Whether matches in `field` count for more than yes or no under this profile.
    #[must_use]
    pub fn rank_mode(&self, field: &Field) -> RankMode {
        self.field_ranking(field).and_then(|ranking| ranking.rank).unwrap_or(field.rank)
    }

    /// The rank type of `field` under this profile.
    #[must_use]
    pub fn rank_type(&self, field: &Field) -> RankType {
        self.field_ranking(field).and_then(|ranking| ranking.rank_type).unwrap_or(field.rank_type)
    }

    /// The weight of `field` under this profile.
    #[must_use]
    pub fn weight(&self, field: &Field) -> i32 {
        self.field_ranking(field).and_then(|ranking| ranking.weight).unwrap_or(field.weight)
    }

    /// The gap between elements of `field` under this profile.
    #[must_use]
    pub fn element_gap(&self, field: &Field) -> ElementGap {
        self.field_ranking(field).and_then(|ranking| ranking.element_gap).unwrap_or_default()
    }

    /// The expression every match is scored with in streaming mode: the second phase's if there is one, else the
    /// first's; nothing means `nativeRank`.
    #[must_use]
    pub fn final_expression(&self) -> Option<&SourceText> {
        let second = self.second_phase.as_ref().and_then(|phase| phase.expression.as_ref());
        second.or_else(|| self.first_phase.as_ref().and_then(|phase| phase.expression.as_ref()))
    }
}
