//! The recorded answers of the reference's expression parser and evaluator (test-vectors/expression).
use std::rc::Rc;

use brooklet_document::{Tensor, TensorType, parse_literal};
use brooklet_rank::{
    Dialect, Environment, Expression, FeatureName, FeatureSource, FeatureType, Function, Program, Value, text_hash,
};
use brooklet_task::{Code, Rejection};
use serde_json::Value as Json;

/// Rows whose canonical text is asserted, but not what the container's evaluator makes of it.
const VALUE_SKIPPED: &[(&str, &[&str])] = &[
    (
        "texts are numbers on a content node (ranking.md §1): they can be ordered, the container refuses it",
        &["rank-087"],
    ),
    ("the container does not round bfloat16 cells, the content node does (the row's cpp_note)", &["rank-504"]),
    (
        "the container cannot divide a number by a tensor, and swaps a number's power of a tensor",
        &["tensor-function-014", "tensor-function-019"],
    ),
    (
        "the container finds nothing at an index beside a mapped dimension; its own type says it does",
        &["tensor-function-078"],
    ),
    ("the content node's `in` takes constants only (the row's cpp_note): refused", &["rank-120", "rank-123"]),
    (
        "`in` leaves `&&` and `||` outside on the content node (ranking.md §1); the container takes all that stands before",
        &["generated-0060", "generated-0309"],
    ),
    (
        "`%` beside `*` and `/` is read from left to right by the content node (ranking.md §1)",
        &["generated-0067", "generated-0270"],
    ),
    ("C's pow(1, NaN) is 1, the container's is NaN", &["generated-0308", "generated-0430"]),
    ("the container compares a truth with a number as two truths", &["generated-0376", "generated-0444"]),
    ("signs repeat: unary := (\"-\" | \"!\")* (ranking.md §1)", &["generated-0476"]),
    (
        "`~=` is equality within one float step on the content node (ranking.md §1)",
        &["generated-0565", "generated-0567", "generated-0568", "generated-0569"],
    ),
    ("the content node's `in` takes constants only: refused", &["generated-0642"]),
    ("a dimension that is not there cannot be renamed", &["generated-0663", "generated-2150"]),
    (
        "the recorded text of the value leaves out the brackets around one cell, which are no literal here",
        &["generated-0885", "generated-0917", "generated-0949", "generated-0981", "generated-1181"],
    ),
    (
        "the content node rounds each function's cells to float32, where exp(100) is infinite",
        &["generated-0975", "generated-1143"],
    ),
    (
        "the container loses cells when it joins a dense with a mixed tensor in this order: 2 - 1 is not 0",
        &["generated-1498", "generated-1523", "generated-1638"],
    ),
    (
        "the container's type check wants the dimension indexed; its own evaluator computes the value over labels, as we do",
        &[
            "generated-1819",
            "generated-1825",
            "generated-1837",
            "generated-1843",
            "generated-1855",
            "generated-1857",
            "generated-1885",
            "generated-1893",
            "generated-1897",
            "generated-1915",
            "generated-1925",
            "generated-1929",
            "generated-1935",
            "generated-1939",
            "generated-1949",
            "generated-1975",
            "generated-1981",
            "generated-1985",
        ],
    ),
    ("the largest of NaN alone is NaN: max yields its first argument when either is NaN", &["generated-2121"]),
];

/// Rows whose recorded type is not that of their own recorded value.
const TYPE_SKIPPED: &[(&str, &[&str])] = &[
    ("the container says tensor() of `in` over a tensor, and yields a tensor", &["rank-426", "tensor-function-150"]),
    (
        "the container says int8 of a function of int8 cells, and yields float",
        &["tensor-function-141", "tensor-function-142"],
    ),
    (
        "the container says int8 or bfloat16 of a function of such cells, and yields float",
        &[
            "generated-0738",
            "generated-0739",
            "generated-0740",
            "generated-0965",
            "generated-0966",
            "generated-0967",
            "generated-1133",
            "generated-1134",
            "generated-1135",
            "generated-1328",
            "generated-1329",
            "generated-1330",
            "generated-1360",
            "generated-1361",
            "generated-1362",
        ],
    ),
    ("the container says tensor() of `in` over a tensor, and yields a tensor", &["generated-2180", "generated-2181"]),
];

/// Rows of syntax.jsonl that are read otherwise here.
const SYNTAX_DIFFERENT: &[(&str, &[&str])] = &[
    (
        "signs repeat: unary := (\"-\" | \"!\")* (ranking.md §1)",
        &["syntax-013", "syntax-015", "syntax-241", "syntax-242"],
    ),
    ("slices repeat (ranking.md §1)", &["syntax-074"]),
    (
        "parameters have names in the documentation's bm25(field: t, label: l), which the recorded parser does not know",
        &["syntax-069"],
    ),
    (
        "a call with other arguments than the function of its name takes is a feature, and refused when it is compiled",
        &["syntax-143", "syntax-172", "syntax-196", "syntax-205", "syntax-254", "syntax-271", "syntax-272"],
    ),
    ("the recorded canonical text cannot be parsed again, or means an index", &["syntax-162", "syntax-264"]),
    ("the content node refuses a parameter's name that stands twice", &["syntax-181"]),
    ("a label that looks like a number is a label", &["syntax-203"]),
    ("a limit (reliability.md L-tensor); a number that a float64 cannot hold", &["syntax-211", "syntax-244"]),
    ("random of no dimensions is the feature", &["syntax-256"]),
];

/// Whether the list has the row.
fn is_skipped(list: &[(&str, &[&str])], id: &str) -> bool {
    list.iter().any(|(reason, ids)| !reason.is_empty() && ids.contains(&id))
}

/// What the row binds names to.
struct Bindings(Vec<(String, Value)>);

impl Bindings {
    fn from_row(row: &Json) -> Bindings {
        let bindings = row["bindings"].as_object().expect("bindings are an object");
        Bindings(bindings.iter().map(|(name, value)| (name.clone(), bound(value))).collect())
    }

    fn find(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

fn bound(value: &Json) -> Value {
    match value {
        Json::String(text) if text.starts_with("tensor") => tensor_value(text),
        Json::String(text) => Value::Number(special(text)),
        Json::Object(text) => Value::Number(text_hash(text["string"].as_str().unwrap())),
        number => Value::Number(number.as_f64().unwrap()),
    }
}

fn special(text: &str) -> f64 {
    match text {
        "NaN" => f64::NAN,
        "Infinity" => f64::INFINITY,
        "-Infinity" => f64::NEG_INFINITY,
        other => panic!("unknown number {other}"),
    }
}

fn tensor_value(text: &str) -> Value {
    let tensor = parse_literal(text, None, Code::BadRequest).unwrap_or_else(|rejection| panic!("{text}: {rejection}"));
    if tensor.tensor_type.dimensions.is_empty() {
        Value::Number(tensor.cells[0])
    } else {
        Value::Tensor(Rc::new(tensor))
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
        self.bindings.find(&self.program.features()[feature].0.to_string()).unwrap()
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

fn evaluated(program: &Program, bindings: &Bindings) -> Value {
    let mut source = Source { program, bindings };
    program.evaluate(&mut source, &mut program.scratch()).unwrap()
}

fn type_text(program: &Program) -> String {
    match program.result_type() {
        FeatureType::Number => TensorType::scalar().to_string(),
        FeatureType::Tensor(tensor_type) => tensor_type.to_string(),
    }
}

fn is_near(actual: f64, expected: f64) -> bool {
    if expected.is_nan() || expected.is_infinite() || expected == 0.0 {
        return actual == expected || actual.is_nan() && expected.is_nan();
    }
    (actual - expected).abs() <= expected.abs() * 1e-6
}

fn assert_value(id: &str, row: &Json, actual: &Value) {
    let expected = match (&row["value"], row["value_kind"].as_str()) {
        (Json::String(text), Some("tensor")) => tensor_value(text),
        (value, _) => bound(value),
    };
    match (actual, &expected) {
        (Value::Number(actual), Value::Number(expected)) => {
            assert!(is_near(*actual, *expected), "{id}: {actual} is not {expected}");
        }
        (Value::Tensor(actual), Value::Tensor(expected)) => {
            assert_eq!(actual.tensor_type, expected.tensor_type, "{id}");
            assert_eq!(actual.addresses, expected.addresses, "{id}");
            let cells = actual.cells.iter().zip(&expected.cells);
            let are_near = cells.into_iter().all(|(a, e)| is_near(*a, *e));
            assert!(are_near && actual.cells.len() == expected.cells.len(), "{id}: {actual:?} is not {expected:?}");
        }
        (actual, expected) => panic!("{id}: {actual:?} is not {expected:?}"),
    }
}

/// Asserts one row; whether its value was compared.
fn assert_row(row: &Json) -> bool {
    let id = row["id"].as_str().unwrap();
    let bindings = Bindings::from_row(row);
    let dialect = if row["dialect"] == "container" { Dialect::Container } else { Dialect::Content };
    let parsed = Expression::parse_as(row["expr"].as_str().unwrap(), dialect);
    if let Some(canonical) = row["canonical"].as_str() {
        let parsed = parsed.as_ref().unwrap_or_else(|rejection| panic!("{id}: {rejection}"));
        assert_eq!(parsed.to_string(), canonical, "{id}");
    }
    if is_skipped(VALUE_SKIPPED, id) {
        return false;
    }
    let compiled = parsed.and_then(|parsed| Program::compile(&parsed, &bindings));
    if row.get("error").is_some() || row.get("type_error").is_some() {
        let rejection = compiled.expect_err(id);
        assert!(!rejection.message.is_empty() && rejection.span.is_some(), "{id}: {rejection:?}");
        return true;
    }
    let program = compiled.unwrap_or_else(|rejection| panic!("{id}: {rejection}"));
    if !is_skipped(TYPE_SKIPPED, id) {
        assert_eq!(type_text(&program), row["type"].as_str().unwrap(), "{id}");
    }
    assert_value(id, row, &evaluated(&program, &bindings));
    true
}

fn rows(name: &str) -> Vec<Json> {
    let path = format!("{}/../../test-vectors/expression/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Whether the canonical text, or the refusal, was as recorded.
fn is_syntax_as_recorded(row: &Json) -> bool {
    let parsed = Expression::parse(row["expr"].as_str().unwrap());
    match row["canonical"].as_str() {
        Some(canonical) => parsed.is_ok_and(|parsed| parsed.to_string() == canonical),
        None => parsed.is_err_and(|rejection| !rejection.message.is_empty()),
    }
}

#[test]
fn the_reference_reads_the_same() {
    let rows = rows("syntax");
    let differing = rows.iter().filter(|row| !is_syntax_as_recorded(row));
    let differing: Vec<&str> = differing.map(|row| row["id"].as_str().unwrap()).collect();
    let mut known: Vec<&str> = SYNTAX_DIFFERENT.iter().flat_map(|(_, ids)| ids.iter().copied()).collect();
    known.sort_unstable();
    assert_eq!(differing, known, "differences are known, and each has a reason");
}

#[test]
fn the_reference_answers_the_same() {
    let rows: Vec<Json> = ["rank", "tensor-function", "generated", "container"].into_iter().flat_map(rows).collect();
    let compared = rows.iter().filter(|row| assert_row(row)).count();
    let skipped: usize = VALUE_SKIPPED.iter().map(|(_, ids)| ids.len()).sum();
    let all = 369 + 2314 + 470;
    assert_eq!((compared, rows.len()), (all - skipped, all), "every row is asserted or skipped for a reason");
}
