//! Rows of `expression`: the canonical text, the type, and the value with its bits.
use std::rc::Rc;

use brooklet_document::{Tensor, parse_literal};
use brooklet_rank::{
    Dialect, Environment, Expression, FeatureName, FeatureSource, FeatureType, Function, Program, Value, text_hash,
};
use brooklet_task::{Code, Rejection};
use serde_json::Value as Json;

use crate::row::{self, bits, needed, refusal};

/// A row of `expression`.
pub(crate) fn expression(row: &Json) -> String {
    let is_container = row.get("dialect").and_then(Json::as_str) == Some("container");
    let dialect = if is_container { Dialect::Container } else { Dialect::Content };
    let parsed = match Expression::parse_as(needed(row, "expr"), dialect) {
        Ok(parsed) => parsed,
        Err(rejection) => return refusal(&rejection),
    };
    let bindings = Bindings::of(row);
    let value = Program::compile(&parsed, &bindings).and_then(|program| value_text(&program, &bindings));
    format!("{parsed}\n{}", row::outcome(value))
}

fn value_text(program: &Program, bindings: &Bindings) -> Result<String, Rejection> {
    let mut source = Source { program, bindings };
    let mut scratch = program.scratch();
    let value = program.evaluate(&mut source, &mut scratch)?;
    // The second time memos of the first are there: the value must not depend on that.
    let again = program.evaluate(&mut source, &mut scratch)?;
    Ok(format!("{:?}\n{}\n{}", program.result_type(), text(&value), text(&again)))
}

fn text(value: &Value) -> String {
    match value {
        Value::Number(number) => format!("{number:?} {}", bits(*number)),
        Value::Tensor(tensor) => row::tensor(tensor),
    }
}

/// What the row binds names to.
struct Bindings(Vec<(String, Value)>);

impl Bindings {
    fn of(row: &Json) -> Bindings {
        let bindings = row.get("bindings").and_then(Json::as_object).into_iter().flatten();
        Bindings(bindings.map(|(name, value)| (name.clone(), bound(value))).collect())
    }

    fn find(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

fn bound(value: &Json) -> Value {
    match value {
        Json::String(text) if text.starts_with("tensor") => {
            let tensor = parse_literal(text, None, Code::BadRequest).expect("a bound tensor is well formed");
            if tensor.tensor_type.dimensions.is_empty() {
                Value::Number(tensor.cells[0])
            } else {
                Value::Tensor(Rc::new(tensor))
            }
        }
        Json::Object(text) => Value::Number(text_hash(text["string"].as_str().expect("a bound text"))),
        // `NaN`, `Infinity` and `-Infinity` are texts, as Rust reads them.
        Json::String(text) => Value::Number(text.parse().expect("a bound number")),
        number => Value::Number(number.as_f64().expect("a bound number")),
    }
}

impl Environment for Bindings {
    fn feature_type(&self, feature: &FeatureName) -> Result<FeatureType, Rejection> {
        match self.find(&feature.to_string()) {
            Some(Value::Number(_)) => Ok(FeatureType::Number),
            Some(Value::Tensor(tensor)) => Ok(FeatureType::Tensor(tensor.tensor_type.clone())),
            None => Err(Rejection::new(Code::InvalidApplication, format!("unknown feature '{feature}'"))),
        }
    }

    fn function(&self, _: &str) -> Option<Function> {
        None
    }

    fn constant(&self, _: &str) -> Option<Value> {
        None
    }
}

/// The features a program asks for, by number.
struct Source<'a> {
    program: &'a Program,
    bindings: &'a Bindings,
}

impl Source<'_> {
    fn value(&self, feature: usize) -> &Value {
        self.bindings.find(&self.program.features()[feature].0.to_string()).expect("compiled against these bindings")
    }
}

impl FeatureSource for Source<'_> {
    fn number(&mut self, feature: usize) -> f64 {
        match self.value(feature) {
            Value::Number(number) => *number,
            Value::Tensor(_) => panic!("a tensor asked for as a number"),
        }
    }

    fn tensor(&mut self, feature: usize) -> Rc<Tensor> {
        match self.value(feature) {
            Value::Tensor(tensor) => tensor.clone(),
            Value::Number(_) => panic!("a number asked for as a tensor"),
        }
    }
}
