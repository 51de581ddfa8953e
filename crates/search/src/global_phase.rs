//! The global phase of a rank profile: an expression over the best hits of a schema, once those of all partitions are
//! known. It may put the values of a hit into relation to those of the others, by the functions called normalizers.
//!
//! What it asks about the document is computed where the hit is found, like a match-feature, and travels with the hit. The
//! query's own features and constants do not travel. The expression itself, and the functions it calls, are read as the
//! reference's container reads them.
use std::rc::Rc;
use std::sync::Arc;

use brooklet_document::Tensor;
use brooklet_rank::{
    Dialect, Environment, Expression, FeatureName, FeatureSource, FeatureType, Function, ModelCall, ModelOutput,
    Program, Scratch, Value,
};
use brooklet_task::{Code, Rejection};

use crate::deployed::ProfileEnvironment;
use crate::inputs::Inputs;
use crate::model_runs::Models;

/// The `k` of `reciprocal_rank` if none is given.
const RECIPROCAL_K: f64 = 60.0;

/// A global phase, compiled.
pub(crate) struct GlobalPhase {
    score: Formula,
    normalizers: Vec<Normalizer>,
    /// What it asks about documents: canonical text and program.
    pub(crate) inputs: Vec<(String, Program)>,
}

/// A program with where its features come from.
struct Formula {
    program: Program,
    from: Vec<From>,
}

enum From {
    /// Index in [`GlobalPhase::inputs`].
    Input(usize),
    /// `query(name)`
    Query(String),
    /// What the phases before said.
    Relevance,
    /// The sum of normalizers.
    Normalized(Vec<usize>),
}

/// Values of a formula over all hits, in relation to each other.
struct Normalizer {
    formula: Formula,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Linear,
    Reciprocal { k: f64 },
}

/// A hit as the phase sees it.
pub(crate) struct Seen<'a> {
    pub(crate) relevance: f64,
    pub(crate) inputs: &'a [Value],
}

impl GlobalPhase {
    pub(crate) fn compile(expression: &Expression, profile: &ProfileEnvironment<'_>) -> Result<GlobalPhase, Rejection> {
        let mut builder = Builder { profile, inputs: Vec::new(), normalizers: Vec::new() };
        let score = builder.formula(expression, true)?;
        Ok(GlobalPhase { score, normalizers: builder.normalizers, inputs: builder.inputs })
    }

    /// The type of its score.
    pub(crate) fn result_type(&self) -> &FeatureType {
        self.score.program.result_type()
    }

    /// The scores of hits, which come in the order of the phases before.
    pub(crate) fn scores(&self, hits: &[Seen<'_>], query: &Inputs, models: &mut Models) -> Result<Vec<f64>, Rejection> {
        let mut normalized = Vec::with_capacity(self.normalizers.len());
        for normalizer in &self.normalizers {
            let values = normalizer.formula.values(hits, query, &[], models)?;
            normalized.push(match normalizer.kind {
                Kind::Linear => linear(&values),
                Kind::Reciprocal { k } => reciprocal(&values, k),
            });
        }
        self.score.values(hits, query, &normalized, models)
    }
}

impl Formula {
    fn values(
        &self,
        hits: &[Seen<'_>],
        query: &Inputs,
        normalized: &[Vec<f64>],
        models: &mut Models,
    ) -> Result<Vec<f64>, Rejection> {
        let mut scratch: Scratch = self.program.scratch();
        let value = |(at, hit): (usize, &Seen<'_>)| {
            let mut source = Source { formula: self, hit, at, query, normalized, models: &mut *models };
            self.program.score(&mut source, &mut scratch)
        };
        hits.iter().enumerate().map(value).collect()
    }
}

/// Answers a program's questions about one hit.
struct Source<'a> {
    formula: &'a Formula,
    hit: &'a Seen<'a>,
    at: usize,
    query: &'a Inputs,
    normalized: &'a [Vec<f64>],
    models: &'a mut Models,
}

impl Source<'_> {
    fn value(&self, feature: usize) -> Option<&Value> {
        match &self.formula.from[feature] {
            From::Input(index) => self.hit.inputs.get(*index),
            From::Query(name) => self.query.value(name),
            From::Relevance | From::Normalized(_) => None,
        }
    }
}

impl FeatureSource for Source<'_> {
    fn number(&mut self, feature: usize) -> f64 {
        match &self.formula.from[feature] {
            From::Relevance => self.hit.relevance,
            From::Normalized(parts) => parts.iter().map(|part| self.normalized[*part][self.at]).sum(),
            From::Input(_) => self.value(feature).map_or(f64::NAN, number),
            From::Query(_) => self.value(feature).map_or(0.0, number),
        }
    }

    fn tensor(&mut self, feature: usize) -> Rc<Tensor> {
        let FeatureType::Tensor(declared) = &self.formula.program.features()[feature].1 else {
            return Rc::new(Tensor::scalar(f64::NAN));
        };
        match self.value(feature) {
            // What travelled is looked at again: programs rely on types.
            Some(Value::Tensor(tensor)) if tensor.tensor_type == *declared => tensor.clone(),
            _ => Rc::new(Tensor::empty(declared.clone())),
        }
    }

    fn model_output(&mut self, output: &Arc<ModelOutput>, inputs: &[Rc<Tensor>]) -> Rc<Tensor> {
        self.models.output(output, inputs)
    }

    fn unknown_outputs(&self) -> usize {
        self.models.unknown
    }
}

fn number(value: &Value) -> f64 {
    match value {
        Value::Number(number) => *number,
        Value::Tensor(_) => f64::NAN,
    }
}

/// `normalize_linear`: the smallest value becomes 0, the largest 1. Values beyond those of float32 do not count for the
/// ends, and those that are no finite numbers have no place between them. Without a range everything is in the middle.
fn linear(values: &[f64]) -> Vec<f64> {
    const LARGEST: f64 = f32::MAX as f64;
    let within = || values.iter().copied().filter(|value| (-LARGEST..=LARGEST).contains(value));
    let (low, high) = (within().fold(f64::INFINITY, f64::min), within().fold(f64::NEG_INFINITY, f64::max));
    let (middle, range) = if low < high { ((low + high) / 2.0, high - low) } else { (f64::NAN, 0.0) };
    let place = |value: f64| if range > 0.0 { 0.5 + (value - middle) / range } else { 0.5 };
    values.iter().map(|value| if value.is_finite() { place(*value) } else { f64::NAN }).collect()
}

/// `reciprocal_rank`: 1 / (k + rank), the largest value has rank 1; what comes first of equals is better, and what is not
/// a number comes last.
fn reciprocal(values: &[f64], k: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    let key = |at: &usize| if values[*at].is_nan() { (1, 0.0) } else { (0, -values[*at]) };
    order.sort_by(|a, b| {
        let (a, b) = (key(a), key(b));
        a.0.cmp(&b.0).then_with(|| (a.1 + 0.0).total_cmp(&(b.1 + 0.0)))
    });
    let mut scores = vec![0.0; values.len()];
    for (place, at) in order.into_iter().enumerate() {
        scores[at] = 1.0 / (k + (place + 1) as f64);
    }
    scores
}

struct Builder<'a> {
    profile: &'a ProfileEnvironment<'a>,
    inputs: Vec<(String, Program)>,
    normalizers: Vec<Normalizer>,
}

impl Builder<'_> {
    fn formula(&mut self, expression: &Expression, normalizes: bool) -> Result<Formula, Rejection> {
        let environment = GlobalEnvironment { profile: self.profile, normalizes };
        let program = Program::compile(expression, &environment)?;
        let from = program.features().iter().map(|(feature, _)| self.from(feature)).collect::<Result<_, _>>()?;
        Ok(Formula { program, from })
    }

    fn from(&mut self, feature: &FeatureName) -> Result<From, Rejection> {
        let parameters = &feature.parameters[..];
        match (feature.name.as_str(), parameters) {
            ("relevanceScore", []) => Ok(From::Relevance),
            ("query", [name]) => Ok(From::Query(name.clone())),
            ("normalize_linear", [value]) => Ok(From::Normalized(vec![self.normalizer(value, Kind::Linear)?])),
            ("reciprocal_rank", [value]) => {
                Ok(From::Normalized(vec![self.normalizer(value, Kind::Reciprocal { k: RECIPROCAL_K })?]))
            }
            ("reciprocal_rank", [value, k]) => {
                let valid = k.trim().parse().ok().filter(|k: &f64| k.is_finite() && *k > 0.0);
                let message = || refuse(format!("the k of '{feature}' must be a positive number"));
                Ok(From::Normalized(vec![self.normalizer(value, Kind::Reciprocal { k: valid.ok_or_else(message)? })?]))
            }
            ("reciprocal_rank_fusion", [_, _, ..]) => {
                let kind = Kind::Reciprocal { k: RECIPROCAL_K };
                let parts = parameters.iter().map(|value| self.normalizer(value, kind));
                Ok(From::Normalized(parts.collect::<Result<_, _>>()?))
            }
            (name, _) if is_normalizer(name) => Err(refuse(format!(
                "'{feature}': normalize_linear takes one argument, reciprocal_rank one and perhaps k, \
                 reciprocal_rank_fusion two or more"
            ))),
            _ => self.input(feature),
        }
    }

    fn normalizer(&mut self, value: &str, kind: Kind) -> Result<usize, Rejection> {
        // The place is one of the argument's text, which is nowhere to be seen.
        let unplaced = |rejection: Rejection| Rejection { span: None, ..rejection };
        let expression = Expression::parse_as(value, Dialect::Container).map_err(unplaced)?;
        let formula = self.formula(&expression, false).map_err(unplaced)?;
        if !matches!(formula.program.result_type(), FeatureType::Number) {
            return Err(refuse(format!("'{}' must be a number to be normalized", Rejection::quote(value))));
        }
        self.normalizers.push(Normalizer { formula, kind });
        Ok(self.normalizers.len() - 1)
    }

    fn input(&mut self, feature: &FeatureName) -> Result<From, Rejection> {
        let text = feature.to_string();
        if let Some(index) = self.inputs.iter().position(|(known, _)| *known == text) {
            return Ok(From::Input(index));
        }
        let program = Program::compile(&Expression::parse(&text)?, self.profile)?;
        self.inputs.push((text, program));
        Ok(From::Input(self.inputs.len() - 1))
    }
}

fn is_normalizer(name: &str) -> bool {
    ["normalize_linear", "reciprocal_rank", "reciprocal_rank_fusion"].contains(&name)
}

fn refuse(message: String) -> Rejection {
    Rejection::new(Code::InvalidApplication, message)
}

/// A rank profile as its global phase sees it.
struct GlobalEnvironment<'a> {
    profile: &'a ProfileEnvironment<'a>,
    /// Whether normalizers are known: not in the argument of another.
    normalizes: bool,
}

impl Environment for GlobalEnvironment<'_> {
    fn feature_type(&self, feature: &FeatureName) -> Result<FeatureType, Rejection> {
        if is_normalizer(&feature.name) {
            let nested = || refuse(format!("'{feature}' cannot stand in another normalizer"));
            return if self.normalizes { Ok(FeatureType::Number) } else { Err(nested()) };
        }
        match (feature.name.as_str(), &feature.parameters[..]) {
            ("relevanceScore", []) => Ok(FeatureType::Number),
            _ => self.profile.feature_type(feature),
        }
    }

    fn function(&self, name: &str) -> Option<Function> {
        match name {
            "secondPhase" => Some(Function { parameters: Vec::new(), body: self.profile.second_phase()? }),
            _ => self.profile.function(name),
        }
    }

    fn dialect_of(&self, function: &str) -> Dialect {
        // The second phase was computed of the documents.
        if function == "secondPhase" { Dialect::Content } else { Dialect::Container }
    }

    fn constant(&self, name: &str) -> Option<Value> {
        self.profile.constant(name)
    }

    fn model_call(&self, feature: &FeatureName) -> Result<ModelCall, Rejection> {
        self.profile.model_call(feature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_normalization_spans_the_finite_values() {
        assert_eq!(linear(&[2.0, 4.0, 3.0]), [0.0, 1.0, 0.5]);
        assert_eq!(linear(&[7.0, 7.0]), [0.5, 0.5]);
        let wild = linear(&[1.0, f64::NAN, 3.0, f64::INFINITY, 1e300]);
        assert_eq!((wild[0], wild[2]), (0.0, 1.0));
        assert!(wild[1].is_nan() && wild[3].is_nan() && wild[4] > 1e299);
        assert!(linear(&[f64::NAN])[0].is_nan() && linear(&[]).is_empty());
    }

    #[test]
    fn reciprocal_ranks_are_stable_and_leave_what_is_no_number_for_the_end() {
        let scores = reciprocal(&[1.0, f64::NAN, 5.0, 1.0], 60.0);
        assert_eq!(scores, [1.0 / 62.0, 1.0 / 64.0, 1.0 / 61.0, 1.0 / 63.0]);
        assert_eq!(reciprocal(&[0.0, -0.0], 1.0), [0.5, 1.0 / 3.0]);
    }
}
