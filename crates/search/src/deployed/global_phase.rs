//! The global phase of a rank profile: an expression over the best hits of a schema, once those of all partitions are
//! known. It may put the values of a hit into relation to those of the others, by the functions called normalizers.
//!
//! What it asks about the document is computed where the hit is found, like a match-feature, and travels with the hit. The
//! query's own features and constants do not travel. The expression itself, and the functions it calls, are read as the
//! reference's container reads them.
use brooklet_rank::{Dialect, Environment, Expression, FeatureName, FeatureType, Function, ModelCall, Program, Value};
use brooklet_task::{Code, Rejection};

/// The `k` of `reciprocal_rank` if none is given.
const RECIPROCAL_K: f64 = 60.0;

/// A global phase, compiled.
pub(crate) struct GlobalPhase {
    pub(crate) score: Formula,
    pub(crate) normalizers: Vec<Normalizer>,
    /// What it asks about documents: canonical text and program.
    pub(crate) inputs: Vec<(String, Program)>,
}

/// A program with where its features come from.
pub(crate) struct Formula {
    pub(crate) program: Program,
    pub(crate) from: Vec<From>,
}

pub(crate) enum From {
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
pub(crate) struct Normalizer {
    pub(crate) formula: Formula,
    pub(crate) kind: NormalizerKind,
}

#[derive(Clone, Copy)]
pub(crate) enum NormalizerKind {
    Linear,
    Reciprocal { k: f64 },
}

impl GlobalPhase {
    /// Compiles the expression of a profile, which may call the second phase.
    ///
    /// # Errors
    /// If something about it is wrong.
    pub(crate) fn compile(
        expression: &Expression,
        profile: &dyn Environment,
        second_phase: Option<String>,
    ) -> Result<GlobalPhase, Rejection> {
        let mut builder = Builder { profile, second_phase, inputs: Vec::new(), normalizers: Vec::new() };
        let score = builder.formula(expression, true)?;
        Ok(GlobalPhase { score, normalizers: builder.normalizers, inputs: builder.inputs })
    }

    /// The type of its score.
    pub(crate) fn result_type(&self) -> &FeatureType {
        self.score.program.result_type()
    }
}

struct Builder<'a> {
    profile: &'a dyn Environment,
    second_phase: Option<String>,
    inputs: Vec<(String, Program)>,
    normalizers: Vec<Normalizer>,
}

impl Builder<'_> {
    fn formula(&mut self, expression: &Expression, normalizes: bool) -> Result<Formula, Rejection> {
        let environment =
            GlobalEnvironment { profile: self.profile, second_phase: self.second_phase.as_deref(), normalizes };
        let program = Program::compile(expression, &environment)?;
        let from = program.features().iter().map(|(feature, _)| self.from(feature)).collect::<Result<_, _>>()?;
        Ok(Formula { program, from })
    }

    #[inline(never)]
    fn from(&mut self, feature: &FeatureName) -> Result<From, Rejection> {
        let parameters = &feature.parameters[..];
        match (feature.name.as_str(), parameters) {
            ("relevanceScore", []) => Ok(From::Relevance),
            ("query", [name]) => Ok(From::Query(name.clone())),
            ("normalize_linear", [value]) => {
                Ok(From::Normalized(vec![self.normalizer(value, NormalizerKind::Linear)?]))
            }
            ("reciprocal_rank", [value]) => {
                Ok(From::Normalized(vec![self.normalizer(value, NormalizerKind::Reciprocal { k: RECIPROCAL_K })?]))
            }
            ("reciprocal_rank", [value, k]) => {
                let valid = k.trim().parse().ok().filter(|k: &f64| k.is_finite() && *k > 0.0);
                let message = || refuse(format!("the k of '{feature}' must be a positive number"));
                Ok(From::Normalized(vec![
                    self.normalizer(value, NormalizerKind::Reciprocal { k: valid.ok_or_else(message)? })?,
                ]))
            }
            ("reciprocal_rank_fusion", [_, _, ..]) => {
                let kind = NormalizerKind::Reciprocal { k: RECIPROCAL_K };
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

    fn normalizer(&mut self, value: &str, kind: NormalizerKind) -> Result<usize, Rejection> {
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
    profile: &'a dyn Environment,
    second_phase: Option<&'a str>,
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
            "secondPhase" => Some(Function { parameters: Vec::new(), body: self.second_phase?.to_owned() }),
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
