//! Token sequences of cross-encoders: what each function yields is what the expression yields that the reference
//! implementation puts in its place (test-vectors/expression/token-sequences.jsonl).
use std::rc::Rc;
use std::sync::Arc;

use brooklet_document::{CellType, Dimension, Tensor, TensorType};
use brooklet_rank::{Environment, Expression, FeatureName, FeatureSource, FeatureType, Function, Program, Value};
use brooklet_task::Rejection;

fn ids_type() -> TensorType {
    TensorType::new(CellType::Float, vec![Dimension { name: "d0".to_owned(), size: Some(4) }])
}

struct Profile;

impl Environment for Profile {
    fn feature_type(&self, _: &FeatureName) -> Result<FeatureType, Rejection> {
        Ok(FeatureType::from_tensor_type(ids_type()))
    }

    fn function(&self, _: &str) -> Option<Function> {
        None
    }

    fn constant(&self, _: &str) -> Option<Value> {
        None
    }
}

/// Token ids by the last letter of a feature's parameter.
struct Texts<'a>(&'a Program, [[f64; 4]; 3]);

impl FeatureSource for Texts<'_> {
    fn number(&mut self, _: usize) -> f64 {
        f64::NAN
    }

    fn tensor(&mut self, feature: usize) -> Rc<Tensor> {
        let text = match self.0.features()[feature].0.parameters[0].as_str() {
            "q" => self.1[0],
            "a" => self.1[1],
            _ => self.1[2],
        };
        Rc::new(Tensor { tensor_type: Arc::new(ids_type()), addresses: vec![Vec::new()], cells: text.to_vec() })
    }
}

fn value(text: &str, texts: [[f64; 4]; 3]) -> Tensor {
    let expression = Expression::parse(text).unwrap_or_else(|rejection| panic!("{text}: {rejection}"));
    let program = Program::compile(&expression, &Profile).unwrap_or_else(|rejection| panic!("{text}: {rejection}"));
    match program.evaluate(&mut Texts(&program, texts), &mut program.scratch()).unwrap() {
        Value::Tensor(tensor) => Tensor::clone(&tensor),
        Value::Number(number) => panic!("{text} is {number}"),
    }
}

#[test]
fn sequences_are_those_of_the_reference() {
    let rows = include_str!("../../../../test-vectors/expression/token-sequences.jsonl");
    let texts = [
        [[7.0, 8.0, 0.0, 0.0], [9.0, 10.0, 11.0, 0.0], [12.0, 0.0, 0.0, 0.0]],
        [[0.0; 4]; 3],
        [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]],
        // A zero inside: what counts is how many are above 0.
        [[7.0, 0.0, 8.0, 0.0], [0.0, 9.0, 0.0, 0.0], [1.0, 1.0, 0.0, 1.0]],
    ];
    let mut compared = 0;
    for row in rows.lines() {
        let row: serde_json::Value = serde_json::from_str(row).unwrap();
        let (call, expansion) = (row["expr"].as_str().unwrap(), row["expands_to"].as_str().unwrap());
        for texts in texts {
            assert_eq!(value(call, texts), value(expansion, texts), "{call} of {texts:?}");
            compared += 1;
        }
    }
    assert_eq!(compared, 36);
}

#[test]
fn what_is_no_sequence_is_refused() {
    for (text, why) in [
        ("tokenInputIds(12)", "takes a length, and at least one tensor"),
        ("tokenInputIds(0, query(q))", "the length of tokenInputIds is 1 to"),
        ("tokenInputIds(1.5, query(q))", "takes whole numbers before its texts"),
        ("tokenInputIds(query(q), query(q))", "takes whole numbers before its texts"),
        ("tokenTypeIds(12, 3)", "takes tensors with one indexed dimension, not a tensor()"),
        ("customTokenInputIds(1, 2, query(q))", "takes a start token, a separator token, a length"),
    ] {
        let compiled = Expression::parse(text).and_then(|expression| Program::compile(&expression, &Profile));
        let message = compiled.err().map(|rejection| rejection.message).unwrap_or_default();
        assert!(message.contains(why), "{text}: {message}");
    }
}
