//! Models of decision trees answer as the libraries that made them (test-vectors/model), and their bounds hold.
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use brooklet_document::Tensor;
use brooklet_rank::{
    Environment, Expression, FeatureName, FeatureSource, FeatureType, Function, Interval, IntervalSource, Program,
    Value,
};
use brooklet_task::{Code, Rejection};
use serde_json::Value as Json;

fn folder() -> String {
    format!("{}/../../test-vectors/model", env!("CARGO_MANIFEST_DIR"))
}

fn rows() -> Vec<Json> {
    let text = std::fs::read_to_string(format!("{}/predictions.jsonl", folder())).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Features of these names, models from the folder or as given.
#[derive(Default)]
struct Profile {
    features: Vec<String>,
    models: BTreeMap<String, String>,
}

impl Environment for Profile {
    fn feature_type(&self, feature: &FeatureName) -> Result<FeatureType, Rejection> {
        match self.features.contains(&feature.to_string()) {
            true => Ok(FeatureType::Number),
            false => Err(Rejection::new(Code::InvalidApplication, format!("unknown feature '{feature}'"))),
        }
    }

    fn function(&self, name: &str) -> Option<Function> {
        let body = match name {
            "twice" => "attribute(age) * 2",
            "itself" => "xgboost(\"itself.json\")",
            _ => return None,
        };
        Some(Function { parameters: Vec::new(), body: body.to_owned() })
    }

    fn constant(&self, _: &str) -> Option<Value> {
        None
    }

    fn model(&self, path: &str) -> Option<Arc<[u8]>> {
        let given = self.models.get(path).map(|text| text.clone().into_bytes());
        given.or_else(|| std::fs::read(format!("{}/{path}", folder())).ok()).map(Arc::from)
    }
}

/// Values of the program's features, or bounds of them.
struct Source<'a> {
    program: &'a Program,
    values: &'a dyn Fn(&str) -> Interval,
}

impl FeatureSource for Source<'_> {
    fn number(&mut self, feature: usize) -> f64 {
        let bounds = (self.values)(&self.program.features()[feature].0.to_string());
        if bounds.may_be_nan { f64::NAN } else { bounds.lo }
    }

    fn tensor(&mut self, feature: usize) -> Rc<Tensor> {
        Rc::new(Tensor::scalar(self.number(feature)))
    }
}

impl IntervalSource for Source<'_> {
    fn interval(&mut self, feature: usize) -> Option<Interval> {
        Some((self.values)(&self.program.features()[feature].0.to_string()))
    }
}

fn numbers(row: &Json) -> Vec<f64> {
    let number = |value: &Json| match value.as_str() {
        Some(text) => text.parse().unwrap(),
        None => value.as_f64().unwrap(),
    };
    row.as_array().unwrap().iter().map(number).collect()
}

fn compile(expression: &str, profile: &Profile) -> Result<Program, Rejection> {
    Program::compile(&Expression::parse(expression).unwrap(), profile)
}

/// A row of vectors, compiled.
fn compiled(row: &Json) -> (Program, Vec<String>) {
    let features: Vec<String> =
        row["features"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect();
    let profile = Profile { features: features.clone(), ..Profile::default() };
    (compile(row["expr"].as_str().unwrap(), &profile).unwrap_or_else(|rejection| panic!("{rejection}")), features)
}

fn exactly(features: &[String], inputs: &[f64], name: &str) -> Interval {
    Interval::exactly(inputs[features.iter().position(|known| known == name).unwrap()])
}

fn score(program: &Program, values: &dyn Fn(&str) -> Interval) -> f64 {
    program.score(&mut Source { program, values }, &mut program.scratch()).unwrap()
}

#[test]
fn predictions_are_those_of_the_libraries() {
    let mut compared = 0;
    for row in rows() {
        let (program, features) = compiled(&row);
        for (inputs, expected) in row["rows"].as_array().unwrap().iter().zip(numbers(&row["expected"])) {
            let inputs = numbers(inputs);
            let actual = score(&program, &|name| exactly(&features, &inputs, name));
            let near = (actual - expected).abs() <= expected.abs().max(1e-3) * 1e-6;
            assert!(near, "{} {inputs:?}: {actual} is not {expected}", row["id"]);
            compared += 1;
        }
    }
    assert!(compared > 700, "{compared}");
}

#[test]
fn bounds_hold_whatever_the_inputs_are() {
    for row in rows() {
        let (program, features) = compiled(&row);
        let all: Vec<Vec<f64>> = row["rows"].as_array().unwrap().iter().map(numbers).collect();
        for (inputs, others) in all.iter().zip(all.iter().skip(1)) {
            let hull = |name: &str| exactly(&features, inputs, name).union(exactly(&features, others, name));
            let bounds =
                program.interval(&mut Source { program: &program, values: &hull }, &mut program.scratch()).unwrap();
            for mixed in 0..16u32 {
                let inputs: Vec<f64> =
                    (0..4).map(|at| if mixed >> at & 1 == 1 { inputs[at] } else { others[at] }).collect();
                let value = score(&program, &|name| exactly(&features, &inputs, name));
                assert!(bounds.contains(value), "{} {inputs:?}: {value} is not within {bounds:?}", row["id"]);
            }
        }
    }
}

const LEAVES: &str = r#"{"left_child":{"leaf_value":1},"right_child":{"leaf_value":2},"#;

/// A LightGBM model of one tree of one split.
fn stump(split: &str, more: &str) -> String {
    format!(r#"{{"feature_names":["twice"],"tree_info":[{{"tree_structure":{LEAVES}{split}}}}}]{more}}}"#)
}

fn with(model: &str) -> Profile {
    let models = BTreeMap::from([("m.json".to_owned(), model.to_owned())]);
    Profile { features: vec!["attribute(age)".to_owned(), "attribute(color)".to_owned()], models }
}

#[test]
fn features_are_expressions_of_the_profile() {
    let model = stump(r#""split_feature":0,"threshold":10,"decision_type":"<=""#, "");
    let program = compile("lightgbm(\"m.json\") * 10", &with(&model)).unwrap();
    assert_eq!(score(&program, &|_| Interval::exactly(5.0)), 10.0);
    assert_eq!(score(&program, &|_| Interval::exactly(5.1)), 20.0);
}

#[test]
fn named_categories_match_texts() {
    let split = r#""split_feature":0,"threshold":"0||2","decision_type":"==""#;
    let model = stump(split, r#","pandas_categorical":[["red","green","blue"]]"#).replace("twice", "attribute(color)");
    let program = compile("lightgbm(\"m.json\")", &with(&model)).unwrap();
    for (text, expected) in [("red", 1.0), ("green", 2.0), ("blue", 1.0), ("black", 2.0)] {
        assert_eq!(score(&program, &|_| Interval::exactly(brooklet_rank::text_hash(text))), expected, "{text}");
    }
}

#[test]
fn what_is_wrong_with_a_model_is_told() {
    let refused = |model: &str, expression: &str| {
        let rejection = compile(expression, &with(model)).expect_err(model);
        assert!(rejection.span.is_some(), "{rejection:?}");
        rejection.message
    };
    let light = |model: &str| refused(model, "lightgbm(\"m.json\")");
    let xg = |model: &str| refused(model, "xgboost(\"m.json\")");
    assert!(refused("", "lightgbm(\"other.json\")").contains("there is no file models/other.json"));
    assert!(refused("", "lightgbm(m)").contains("the name of a file in quotes"));
    assert!(refused("", "xgboost(\"m.ubj\")").contains("binary models are not supported"));
    assert!(light("{").contains("models/m.json:1:2"), "{}", light("{"));
    let split = r#""split_feature":0,"threshold":10,"decision_type":"<=""#;
    let poisson = stump(split, r#","objective":"poisson""#);
    assert!(light(&poisson).contains("the LightGBM objective 'poisson' is not supported"));
    assert!(light(&stump(split, r#","num_class":3"#)).contains("several classes"));
    assert!(light(&stump(&split.replace(":0", ":7"), "")).contains("feature_names does not have"));
    assert!(light(&stump(&split.replace("<=", "<>"), "")).contains("unknown decision_type '<>'"));
    assert!(light(r#"{"feature_names":[],"tree_info":[{"tree_structure":{}}]}"#).contains("a node needs"));
    assert!(light(&stump(split, "").replace("twice", "nothing")).contains("feature 'nothing' of models/m.json"));
    assert!(xg("{}").contains("dump_format"));
    assert!(xg(r#"[{"nodeid":0,"split":"f0","yes":1,"children":[{"leaf":1}]}]"#).contains("a node needs"));
    let deep = "{\"left_child\":".repeat(200);
    assert!(light(&format!(r#"{{"tree_info":[{{"tree_structure":{deep}"#)).contains("deep"), "{}", light(&deep));
}

#[test]
fn an_indicator_is_yes_if_it_is_not_zero() {
    let model =
        r#"[{"nodeid":0,"split":"twice","yes":1,"no":2,"children":[{"nodeid":1,"leaf":5},{"nodeid":2,"leaf":7}]}]"#;
    let program = compile("xgboost(\"m.json\")", &with(model)).unwrap();
    assert_eq!(score(&program, &|_| Interval::exactly(1.0)), 5.0);
    assert_eq!(score(&program, &|_| Interval::exactly(0.0)), 7.0);
}

#[test]
fn a_feature_for_each_term_is_put_together() {
    let profile = Profile { features: (0..16).map(|n| format!("term({n}).weight")).collect(), ..Profile::default() };
    let weight = |name: &str| {
        Interval::exactly(if name == "term(1).weight" {
            250.0
        } else if name == "term(0).weight" {
            100.0
        } else {
            0.0
        })
    };
    let value = |text: &str| score(&compile(text, &profile).unwrap_or_else(|rejection| panic!("{rejection}")), &weight);
    assert_eq!(value("foreach(terms,N,term(N).weight,true,sum)"), 350.0);
    assert_eq!(value("foreach(terms,N,term(N).weight,\">0\",average)"), 175.0);
    assert_eq!(value("foreach(terms,N,term(N).weight,\">100\",count)"), 1.0);
    assert_eq!(value("foreach(terms,N,term(N).weight,\"<200\",max)"), 100.0);
    assert_eq!(value("foreach(terms,N,term(N).weight,\">0\",product)"), 25_000.0);
    assert_eq!(value("foreach(terms,N,term(N).weight,\">0\",min)"), 100.0);
    assert_eq!(value("foreach(terms,N,term(N).weight,\">900\",average)"), 0.0);
    let refused = |text: &str| compile(text, &profile).expect_err(text).message;
    assert!(refused("foreach(words,N,term(N).weight,true,sum)").contains("terms, fields or attributes"));
    assert!(refused("foreach(terms,N,term(N).weight,true,median)").contains("sum, product, average"));
    assert!(refused("foreach(terms,N,term(N).weight,\"=3\",sum)").contains("'<number' or '>number'"));
    assert!(refused("foreach(terms,N,nothing(N),true,sum)").contains("unknown feature 'nothing(0)'"));
}
