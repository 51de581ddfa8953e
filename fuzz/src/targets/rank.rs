//! Ranking expressions: parsed, printed, compiled and evaluated.
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;

use brooklet_document::{Tensor, TensorType};
use brooklet_rank::{Environment, Expression, FeatureName, FeatureSource, FeatureType, Function, Program, Value};
use brooklet_task::Rejection;

use super::Target;
use crate::corpus;

pub fn targets() -> Vec<Target> {
    let mut corpus = corpus::members("expression/rank.jsonl", "expr");
    corpus.extend(corpus::members("expression/syntax.jsonl", "expr"));
    let profile = Profile::new();
    vec![
        Target::text("rank-expression", corpus, move |text| {
            let _ = black_box(Expression::parse_features(text));
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

/// A profile where `query(q)` is a tensor, `f` and `g` are functions, and any other feature a number.
struct Profile {
    tensor: Rc<Tensor>,
}

impl Profile {
    fn new() -> Profile {
        let tensor_type = Arc::new(TensorType::parse("tensor(x[3])").expect("a type"));
        let tensor = Tensor::dense(tensor_type, vec![1.0, -2.0, 3.5]).expect("three cells");
        Profile { tensor: Rc::new(tensor) }
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
