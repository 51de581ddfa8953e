//! Long values of every kind are written in steps, by every way out, and read as they were put.

use serde_json::{Map, Value, json};

use crate::host::{Host, VisitRequest};

const KINDS: [&str; 7] = ["dense", "mixed", "cells", "raw", "entry", "struct", "list"];

fn schema() -> String {
    let classes: String = KINDS.map(|name| format!("document-summary {name} {{ summary {name} {{}} }}\n")).concat();
    format!(
        "schema t {{
        document t {{
            struct part {{
                field numbers type array<double> {{}}
                field text type string {{}}
            }}
            field k type int {{ indexing: attribute | summary }}
            field dense type tensor<double>(x[300],y[200]) {{ indexing: summary }}
            field mixed type tensor<float>(k{{}},x[64]) {{ indexing: summary }}
            field cells type tensor<double>(k{{}},l{{}}) {{ indexing: summary }}
            field raw type raw {{ indexing: summary }}
            field entry type map<string, array<double>> {{ indexing: summary }}
            field struct type part {{ indexing: summary }}
            field list type array<part> {{ indexing: summary }}
        }}
        {classes}}}"
    )
}

fn numbers(count: u32) -> Vec<f64> {
    (0..count).map(|number| f64::from(number) + 0.5).collect()
}

/// A value of each kind as it is put.
fn values() -> [Value; KINDS.len()] {
    let numbers_of_struct = json!({"numbers": numbers(60_000), "text": "\"a\n".repeat(40_000)});
    let blocks: Map<String, Value> = (0..900).map(|number| (format!("b{number}"), json!(numbers(64)))).collect();
    let cell = |number: u32| json!({"address": {"k": format!("{number}"), "l": "ä"}, "value": number});
    [
        json!({"values": numbers(60_000)}),
        json!({ "blocks": blocks }),
        json!({"cells": (0..60_000).map(cell).collect::<Vec<_>>()}),
        json!("Zm9v".repeat(500_000)),
        json!({"only": numbers(60_000)}),
        numbers_of_struct.clone(),
        json!([numbers_of_struct, numbers_of_struct]),
    ]
}

fn fed() -> Host {
    let mut host = Host::with_schema("t", &schema());
    for (k, (kind, value)) in KINDS.iter().zip(values()).enumerate() {
        host.put(&format!("id:t:t:g=u:{k}"), &json!({"k": k, *kind: value}).to_string()).expect("a put");
    }
    let few = json!({"k": -1, "cells": {"cells": [{"address": {"k": "1", "l": "1"}, "value": 1}]}});
    host.put("id:t:t:g=u:short", &few.to_string()).expect("a put");
    host
}

/// What a value that was put is shown as: cells come in the order of their addresses.
fn sorted(mut value: Value) -> Value {
    if let Some(Value::Array(cells)) = value.get_mut("cells") {
        cells.sort_by_key(|cell| cell["address"]["k"].to_string());
    }
    value
}

/// A value without the type that tensors are shown with, and numbers as doubles.
fn untyped(value: &Value, put: &Value) -> Value {
    match (value, put) {
        (Value::Object(shown), Value::Object(put)) => {
            Value::Object(put.iter().map(|(name, put)| (name.clone(), untyped(&shown[name], put))).collect())
        }
        (Value::Array(shown), Value::Array(put)) if shown.len() == put.len() => {
            Value::Array(shown.iter().zip(put).map(|(shown, put)| untyped(shown, put)).collect())
        }
        // The cells of a matrix were put in one list.
        (Value::Array(rows), Value::Array(_)) => {
            Value::Array(rows.iter().flat_map(|row| row.as_array().unwrap().clone()).collect())
        }
        (Value::Number(number), Value::Number(put)) if number.as_f64() == put.as_f64() => Value::Number(put.clone()),
        _ => value.clone(),
    }
}

fn assert_same(shown: &Value, put: &Value, what: &str) {
    let put = sorted(put.clone());
    assert!(untyped(shown, &put) == put, "{what}: {}", &shown.to_string()[..200]);
}

#[test]
fn hits_are_written_in_steps_whatever_they_have() {
    let mut host = fed();
    for folded in [false, true] {
        for (format, tensors) in [("json", "short"), ("json", "long"), ("cbor", "long"), ("xml", "short")] {
            let ask = |k: i32, class: &str| {
                let yql = format!("select * from t where k = {k}");
                let parameters = [
                    ("yql", yql.as_str()),
                    ("ranking", "unranked"),
                    ("presentation.summary", class),
                    ("presentation.format", format),
                    ("presentation.format.tensors", tensors),
                ];
                // What it reads is in memory then.
                host.search_stepwise("g:u", &parameters);
                host.search_stepwise("g:u", &parameters)
            };
            let few = ask(-1, "cells").1;
            for (k, (kind, value)) in KINDS.iter().zip(values()).enumerate() {
                let (answer, steps) = ask(k as i32, kind);
                assert!(steps > few + 1, "{kind} {format} {tensors}, folded: {folded}: {steps} {few}");
                if (format, tensors) == ("json", "short") {
                    let shown = &answer.json["root"]["children"][0]["fields"][*kind];
                    assert_same(shown, &value, kind);
                }
            }
        }
        host.compact("g:u", 1);
    }
}

fn all_after(after: &str) -> VisitRequest<'_> {
    VisitRequest { after, types: &["t"], bytes_max: u32::MAX, tensors: "long", ..VisitRequest::default() }
}

#[test]
fn documents_are_written_in_steps_by_gets_and_visits() {
    let mut host = fed();
    for folded in [false, true] {
        // So many steps bring what is needed, and one of what is written.
        let cold = |id: &str, steps: usize| {
            host.forget();
            host.get_for(id, ("", "long"), steps).status
        };
        let few = (1..100).find(|steps| cold("id:t:t:g=u:short", *steps) == 200).expect("a document");
        for (k, (kind, value)) in KINDS.iter().zip(values()).enumerate() {
            let id = format!("id:t:t:g=u:{k}");
            let whole = host.get(&id);
            assert_same(&whole.json["fields"][*kind], &value, kind);
            assert_eq!(cold(&id, few), 504, "{kind}, folded: {folded}");
        }
        let all = host.visit("g:u", &all_after("")).unwrap();
        assert_eq!((all.complete, all.documents), (true, KINDS.len() as u32 + 1));
        let (mut shown, mut after, mut pages) = (Vec::new(), String::new(), 0);
        loop {
            // A page that is cut within a document ends before it, or else with it, so that the next one goes on.
            let page = host.visit_for("g:u", &all_after(&after), few).unwrap();
            assert_eq!(page.json().len(), page.documents as usize);
            shown.extend(page.json());
            (after, pages) = (page.last, pages + 1);
            if page.complete {
                break;
            }
        }
        assert!(shown == all.json() && pages > 2, "folded: {folded}: {pages}");
        host.compact("g:u", 1);
    }
}
