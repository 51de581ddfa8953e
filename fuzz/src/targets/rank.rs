//! Ranking expressions: parsed, printed, compiled and evaluated.
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;

use brooklet_document::{Tensor, TensorType};
use brooklet_rank::features::{FeatureEnvironment, prepare};
use brooklet_rank::match_data::{FieldId, FieldInfo, FieldKind, MatchData, QueryTerm, QueryTerms, RankProperties};
use brooklet_rank::{
    BlockScratch, BlockSource, Environment, Expression, FeatureName, FeatureSource, FeatureType, Function, Interval,
    IntervalSource, Program, Value,
};
use brooklet_task::Rejection;

use super::Target;
use crate::corpus;

pub fn targets() -> Vec<Target> {
    let mut corpus = corpus::members("expression/rank.jsonl", "expr");
    corpus.extend(corpus::members("expression/syntax.jsonl", "expr"));
    corpus.extend(corpus::members("expression/generated.jsonl", "expr").into_iter().step_by(5));
    let profile = Profile::new();
    vec![
        model("lightgbm", &["categorical", "missing", "zero-missing"]),
        model("xgboost", &["categorical", "missing"]),
        feature(),
        Target::text("rank-expression", corpus, move |text| {
            let Ok(expression) = Expression::parse(text) else { return };
            let canonical = expression.to_string();
            if let Ok(program) = Program::compile(&expression, &profile) {
                let mut source = Source { program: &program, tensor: profile.tensor.clone() };
                let _ = black_box(program.evaluate(&mut source, &mut program.scratch()));
            }
            black_box(canonical);
        })
        .costs(2),
    ]
}

/// Documents of a block: enough for trees not to be walked.
const DOCUMENTS: usize = 9;

/// Models of decision trees, compiled, evaluated and bounded; for a block of documents that are all the same, too.
fn model(library: &'static str, names: &[&str]) -> Target {
    let corpus = names.iter().map(|name| corpus::file(&format!("model/{library}-{name}.json")).into_bytes()).collect();
    let expression = Expression::parse(&format!("{library}(\"m.json\")")).expect("an expression");
    Target::new(library, corpus, move |content| {
        let profile = Profile { model: content.into(), ..Profile::new() };
        let Ok(program) = Program::compile(&expression, &profile) else { return };
        let mut source = Source { program: &program, tensor: profile.tensor.clone() };
        let _ = black_box(program.evaluate(&mut source, &mut program.scratch()));
        let bounds = program.interval(&mut source, &mut program.scratch());
        let value = program.score(&mut source, &mut program.scratch());
        if let (Some(bounds), Ok(value)) = (bounds, &value) {
            assert!(bounds.contains(*value), "{value} is not within {bounds:?}");
        }
        let mut scores = [0.0; DOCUMENTS];
        let scored = program.scores(&mut source, &mut BlockScratch::default(), &mut scores);
        assert_eq!(scored.is_ok(), value.is_ok());
        if let Ok(value) = value {
            let same = |score: &f64| score.to_bits() == value.to_bits() || score.is_nan() && value.is_nan();
            assert!(scores.iter().all(same), "{scores:?} are not all {value}");
        }
    })
    .costs(20)
}

/// Features with their parameters and a property, made ready and computed for a document that nothing matched.
fn feature() -> Target {
    let corpus = ["bm25(field: t, label: l)", "elementwise(bm25(t),d,float)", "elementSimilarity(t).x", "value(1,2).1"];
    let corpus = corpus.iter().map(|text| text.as_bytes().to_vec()).collect();
    let fields =
        [FieldInfo::new(FieldId(0), "t", FieldKind::Index), FieldInfo::new(FieldId(1), "a", FieldKind::Attribute)];
    Target::text("rank-feature", corpus, move |text| {
        let Ok(feature) = Expression::parse(text) else { return };
        let query = QueryTerms::new(vec![QueryTerm::new(vec![FieldId(0), FieldId(1)])]);
        let properties = RankProperties::from_iter([("elementSimilarity(t).output.x", text)]);
        let environment = FeatureEnvironment::new(&fields, &query, &properties);
        let text = feature.to_string();
        let (name, rest) = text.split_once('(').unwrap_or((&text, ""));
        let parameters: Vec<String> = rest.trim_end_matches(')').split(',').map(str::to_owned).collect();
        let Ok(mut prepared) = prepare(name, &parameters, &environment) else { return };
        let mut outputs = vec![0.0; prepared.outputs.len()];
        let data = MatchData::new(&query);
        prepared.executor.execute(&data, &mut outputs);
        let _ = black_box((prepared.executor.tensor(&data), outputs));
    })
}

/// A profile where `query(q)` is a tensor, `f` and `g` are functions, and any other feature a number.
struct Profile {
    tensor: Rc<Tensor>,
    model: Arc<[u8]>,
}

impl Profile {
    fn new() -> Profile {
        let tensor_type = Arc::new(TensorType::parse("tensor(x[3])").expect("a type"));
        let tensor = Tensor::dense(tensor_type, vec![1.0, -2.0, 3.5]).expect("three cells");
        Profile { tensor: Rc::new(tensor), model: Arc::from([]) }
    }
}

impl Environment for Profile {
    fn feature_type(&self, feature: &FeatureName) -> Result<FeatureType, Rejection> {
        Ok(match feature.only_parameter("query") {
            Some("q") => FeatureType::Tensor(self.tensor.tensor_type.clone()),
            _ => FeatureType::Number,
        })
    }

    fn function(&self, name: &str) -> Option<Function> {
        let (parameters, body) = match name {
            "f" => (vec!["a".to_owned(), "b".to_owned()], "a * b + g"),
            "g" => (Vec::new(), "sum(query(q) * 2)"),
            _ => return None,
        };
        Some(Function { parameters, body: body.to_owned() })
    }

    fn constant(&self, name: &str) -> Option<Value> {
        (name == "c").then(|| Value::Tensor(self.tensor.clone()))
    }

    fn model(&self, _path: &str) -> Option<Arc<[u8]>> {
        Some(self.model.clone())
    }
}

impl BlockSource for Source<'_> {
    fn numbers(&mut self, feature: usize, _places: &[u32], values: &mut [f64]) {
        values.fill(self.number(feature));
    }

    fn document(&mut self, _place: u32) -> &mut dyn FeatureSource {
        self
    }
}

impl IntervalSource for Source<'_> {
    fn interval(&mut self, feature: usize) -> Option<Interval> {
        let value = self.number(feature);
        Some(Interval::between(value - 1.0, value + 1.0))
    }
}

struct Source<'a> {
    program: &'a Program,
    tensor: Rc<Tensor>,
}

impl FeatureSource for Source<'_> {
    fn number(&mut self, feature: usize) -> f64 {
        feature as f64 - 1.5
    }

    fn tensor(&mut self, feature: usize) -> Rc<Tensor> {
        assert!(matches!(self.program.features()[feature].1, FeatureType::Tensor(_)));
        self.tensor.clone()
    }
}
