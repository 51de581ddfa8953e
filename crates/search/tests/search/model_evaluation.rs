//! Models evaluated by themselves answer as the reference's handler did (test-vectors/model/evaluation.json). ONNX models are
//! functions of this test; over HTTP and with a runtime the same rows are asserted by packages/brooklet/test/model-evaluation.test.ts.

use crate::host::model_runs::{self, FLOAT, Wanted};
use crate::host::services;
use brooklet_schema::Application;
use brooklet_search::{Deployed, Evaluate};
use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Block, Task, Want};
use serde_json::Value;

const INT64: u8 = 7;
/// What the gateway adds to failures.
const OURS: [&str; 2] = ["outcome", "code"];

fn vectors() -> Value {
    serde_json::from_str(include_str!("../../../../test-vectors/model/evaluation.json")).unwrap()
}

/// Contents of the application by their paths.
fn contents<'v>(vectors: &'v Value, of: &str) -> impl Iterator<Item = (String, &'v str)> {
    vectors[of].as_object().unwrap().iter().map(|(path, content)| (path.clone(), content.as_str().unwrap()))
}

fn deployed(vectors: &Value, without: &str) -> Deployed {
    let hex = |digits: &str| -> Vec<u8> {
        (0..digits.len() / 2).map(|at| u8::from_str_radix(&digits[at * 2..at * 2 + 2], 16).unwrap()).collect()
    };
    let texts = contents(vectors, "files").map(|(path, content)| (path, content.replace(without, "").into_bytes()));
    let all = texts.chain(contents(vectors, "binaries").map(|(path, content)| (path, hex(content))));
    Deployed::compile(Application::deploy(&all.collect::<Vec<_>>()).unwrap()).unwrap()
}

/// What the models of the vectors compute.
fn output(run: &Wanted, name: &str) -> (u8, Vec<f64>) {
    let sum = |a: &str, b: &str| run.inputs[a].iter().zip(&run.inputs[b]).map(|(a, b)| a + b).collect::<Vec<f64>>();
    match (run.file.as_str(), name) {
        ("models/weighted.onnx", "total") => (FLOAT, sum("a", "b")),
        ("models/weighted.onnx", "score") => (FLOAT, sum("a", "b").iter().map(|total| total * 2.0).collect()),
        ("models/open.onnx", "z") => (FLOAT, sum("x", "y")),
        ("models/ids.onnx", "o") => (INT64, run.inputs["i"].iter().map(|id| id + 1.0).collect()),
        ("models/number.onnx", "w") => (FLOAT, run.inputs["v"].iter().map(|value| value * 2.0).collect()),
        other => panic!("{other:?} is no output of a model"),
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes().iter();
    while let Some(byte) = rest.next() {
        let digits = || -> String { rest.clone().take(2).map(|digit| char::from(*digit)).collect() };
        if *byte == b'%' {
            bytes.push(u8::from_str_radix(&digits(), 16).unwrap());
            rest.nth(1);
        } else {
            bytes.push(*byte);
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// Status, body, and how often models were run.
fn ask(deployed: &Deployed, base: &str, target: &str) -> (u16, String, usize) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let parameters: Vec<(String, String)> = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect();
    let mut writer = Writer::new();
    writer.text(base);
    writer.text(&decoded(path));
    writer.varint(parameters.len() as u64);
    for (name, value) in &parameters {
        writer.text(name);
        writer.text(value);
    }
    let mut task = Box::new(Evaluate::open(deployed, &writer.finish()).unwrap());
    let mut rounds = 0;
    loop {
        match task.wants().unwrap() {
            Want::Nothing => break,
            Want::ModelRuns { anew, runs } => {
                assert!(!anew && rounds < 2);
                rounds += 1;
                let (_, outputs) = model_runs::run(&runs, &output);
                task.give(Block::copy_of(&outputs)).unwrap();
            }
            other => panic!("it wants {other:?}"),
        }
    }
    let result = task.finish().unwrap();
    let mut reader = Reader::new(&result);
    let (status, body) = (reader.u16().unwrap(), String::from_utf8(reader.bytes().unwrap().to_vec()).unwrap());
    (status, body, rounds)
}

#[test]
fn models_answer_as_the_reference_does() {
    let vectors = vectors();
    let deployed = deployed(&vectors, "\u{0}");
    let base = format!("http://{}/model-evaluation/v1/", vectors["host"].as_str().unwrap());
    let mut wrong = Vec::new();
    let mut asked = 0;
    for conversation in vectors["conversations"].as_array().unwrap() {
        for exchange in conversation["exchanges"].as_array().unwrap() {
            // Versions are the gateway's.
            let target = exchange["target"].as_str().unwrap();
            let Some(rest) = target.strip_prefix("/model-evaluation/v1") else { continue };
            asked += 1;
            let (status, answer, _) = ask(&deployed, &base, rest);
            let mut plain: Value = serde_json::from_str(&answer).unwrap_or_default();
            if let Some(members) = plain.as_object_mut().filter(|members| members.contains_key("error")) {
                OURS.iter().for_each(|name| drop(members.remove(*name).unwrap()));
            }
            let same = match exchange.get("text") {
                Some(text) => answer == *text,
                // What a row says that differs carries its reason there.
                None => plain == exchange["body"] || !exchange["differs"].is_null(),
            };
            if u64::from(status) != exchange["status"] || !same {
                wrong.push(format!("{}: {exchange}\n  {status} {answer}", conversation["name"]));
            }
        }
    }
    assert!(asked > 100, "{asked}");
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

/// What the reference does not answer, or by accident: functions that call each other, inputs without dimensions, upper case.
#[test]
fn models_answer_where_the_reference_cannot() {
    let vectors = vectors();
    let deployed = deployed(&vectors, "\u{0}");
    let answer = |target: &str| ask(&deployed, "", target);
    let numbers = |number: &str| (200, format!("{{\"type\":\"tensor()\",\"values\":[{number}]}}"), 0);
    let inputs = "input1=%7Ba:%5B1,2,3%5D%7D&input2=%5B1,2,3%5D&extra=2";
    assert_eq!(answer(&format!("/example/added/eval?{inputs}")), numbers("7.0"));
    assert_eq!(answer(&format!("/example/both/eval?{inputs}")), numbers("83.5"));
    assert_eq!(answer(&format!("/EXAMPLE/Added/eval?{inputs}")), numbers("7.0"));
    let float = (200, r#"{"type":"tensor<float>()","values":[6.0]}"#.to_owned(), 1);
    assert_eq!(answer("/number/eval?v=3"), (200, r#"{"type":"tensor()","values":[6.0]}"#.to_owned(), 1), "{float:?}");
    // What is of no size that fits is told by the name of the size.
    let (status, body, rounds) = answer("/open/eval?x=%5B%5B1,2%5D,%5B3,4%5D%5D&y=%5B%5B1,2%5D%5D");
    assert_eq!((status, rounds), (400, 0), "{body}");
    assert!(body.contains("where batch is 2"), "{body}");
}

#[test]
fn nothing_is_evaluated_that_services_do_not_offer() {
    let deployed = deployed(&vectors(), "<model-evaluation/>");
    let (status, body, _) = ask(&deployed, "", "/trees/eval?price=3&Weight=1");
    assert_eq!(status, 404);
    assert!(body.contains("<model-evaluation/>"), "{body}");
}

#[test]
fn a_model_file_that_is_no_model_is_refused_with_its_place() {
    let mut files = vec![
        ("services.xml".to_owned(), services(&["d"]).into_bytes()),
        ("schemas/d.sd".to_owned(), b"schema d { document d { } }".to_vec()),
    ];
    for (text, message) in [
        ("modell m { }", "unknown element 'modell'; did you mean 'model'"),
        ("model m { function f() { } }", "function 'f' has no expression"),
        ("model m { inputs { a tensor(x[2]) } }", "':'"),
        ("model m { constants { a: tensor(x[2]): 3 } }", "cannot be a number"),
    ] {
        files.push(("models/m.model".to_owned(), text.as_bytes().to_vec()));
        let refused = Application::deploy(&files).unwrap_err();
        assert!(refused.message.contains("models/m.model:1:") && refused.message.contains(message), "{refused:?}");
        // What an earlier release passed over is served nevertheless.
        assert_eq!(Application::restore(&files, &[]).unwrap().objections.len(), 1);
        files.pop();
    }
}
