//! Holds every conversation of test-vectors/search and test-vectors/document-api and asserts what is expected of each
//! answer, with the documents in the tail and in segments.
//!
//! An expectation (`expect` of a step; `refused` of a conversation is that of its deploy) says any of: `status` (200 if
//! it is silent); of a search `ids` (local ids in order), `matching` (in any order), `total`, `relevance` (of the hits),
//! `error` (members of the first), `groups` (its groups in short: fields, and by label lists of hits or of pairs of an id and a
//! group), `fields` and `exactly` (of hits by their local id), `rounds` (how many runs of models were wanted, each time it was asked); of any answer `body` (members),
//! `is` (the whole), `text` (the whole as text), `says` (a part of its messages), `absent` (pointers); of a refused write
//! `refused` (the code) and `message`. Numbers that are not whole agree within a millionth.
mod expectation;

use std::fs;
use std::path::Path;

use brooklet_vectors::conversation::hold;
use serde_json::Value as Json;

use expectation::check;

const CONVERSATIONS_MIN: usize = 50;
const ARRANGEMENTS: [(&str, bool); 2] = [("tail", false), ("folded", true)];

fn files() -> Vec<(String, Json)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the vectors");
    let mut files = Vec::new();
    for topic in ["search", "document-api"] {
        for entry in fs::read_dir(root.join(topic)).expect("the folder is there") {
            let path = entry.expect("an entry").path();
            let text = fs::read_to_string(&path).expect("a file of conversations");
            let json = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            files.push((format!("{topic}/{}", path.file_name().expect("a name").to_string_lossy()), json));
        }
    }
    files
}

fn member<'a>(json: &'a Json, name: &str) -> &'a str {
    json[name].as_str().filter(|text| !text.is_empty()).unwrap_or_else(|| panic!("no text '{name}' in {json}"))
}

/// What is expected of each outcome of a conversation, with the step it is expected of.
fn expectations(conversation: &Json) -> Vec<(&Json, &Json)> {
    if let Some(refused) = conversation.get("refused") {
        return vec![(&conversation["files"], refused)];
    }
    let steps = conversation["steps"].as_array().expect("steps");
    steps.iter().map(|step| (step, &step["expect"])).collect()
}

#[test]
fn conversations_go_as_expected() {
    let (mut held, mut steps, mut failures) = (0, 0, Vec::new());
    for (name, file) in files() {
        for conversation in file["conversations"].as_array().expect("conversations") {
            let about = format!("{name}: {}", member(conversation, "name"));
            assert!(!member(conversation, "why").is_empty());
            let expected = expectations(conversation);
            assert!(!expected.is_empty(), "{about} expects nothing");
            held += 1;
            for (arrangement, folded) in ARRANGEMENTS {
                let outcomes = hold(&file, conversation, folded);
                assert_eq!(outcomes.len(), expected.len(), "{about}: {:?}", outcomes.first());
                for (outcome, (step, expected)) in outcomes.iter().zip(&expected) {
                    steps += 1;
                    let wrong = check(expected, outcome);
                    failures
                        .extend(wrong.map(|wrong| {
                            format!("{about} ({arrangement}): {wrong}\n    {step}\n    {}", outcome.body)
                        }));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} of {steps} steps differ:\n{}", failures.len(), failures.join("\n"));
    assert!(held >= CONVERSATIONS_MIN, "{held} conversations");
}

#[test]
fn an_answer_that_differs_is_noticed() {
    let outcome = brooklet_vectors::conversation::Outcome {
        status: 200,
        body: r#"{"root":{"fields":{"totalCount":1},"children":[{"id":"id:n:t:g=a:1","relevance":0.5,"fields":{"a":1}}]}}"#.to_owned(),
        rounds: vec![2],
    };
    let of = |expected: &str| check(&serde_json::from_str(expected).expect("JSON"), &outcome);
    for good in [
        r#"{"ids":["1"]}"#,
        r#"{"total":1}"#,
        r#"{"rounds":[2]}"#,
        r#"{"relevance":[0.50000000001]}"#,
        r#"{"exactly":{"1":{"a":1}}}"#,
        r#"{"absent":["root/errors"]}"#,
    ] {
        assert_eq!(of(good), None, "{good}");
    }
    for bad in [
        "{}",
        r#"{"status":400}"#,
        r#"{"ids":["2"]}"#,
        r#"{"ids":[]}"#,
        r#"{"matching":["1","2"]}"#,
        r#"{"total":2}"#,
        r#"{"rounds":[]}"#,
        r#"{"relevance":[0.50001]}"#,
        r#"{"fields":{"2":{}}}"#,
        r#"{"fields":{"1":{"a":2}}}"#,
        r#"{"exactly":{"1":{}}}"#,
        r#"{"says":"no"}"#,
        r#"{"absent":["root/fields"]}"#,
        r#"{"error":{"code":4}}"#,
        r#"{"body":{"root":{"children":[]}}}"#,
        r#"{"text":"{}"}"#,
        r#"{"is":{"root":{}}}"#,
        r#"{"nosuch":1,"total":1}"#,
    ] {
        assert!(of(bad).is_some(), "{bad}");
    }
}
