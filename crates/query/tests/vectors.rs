//! The recorded answers of the reference implementation: what it accepts, and the trees it makes.
mod fixture;

use std::collections::BTreeMap;

use brooklet_query::simple::Grammar;
use brooklet_query::surroundings::UserQuery;
use brooklet_query::tree::{Item, Query};
use brooklet_query::{Form, parse_yql, simple, tree_text, yql_text};
use serde_json::Value;

use fixture::{Given, surroundings, user_query};

/// Vectors of which something is not compared, and why.
struct Skip {
    reason: &'static str,
    what: What,
    ids: &'static [&'static str],
}

/// What is not compared.
#[derive(Clone, Copy, PartialEq)]
enum What {
    Everything,
    /// The short form of the tree.
    Tree,
    /// The YQL of the tree.
    Serialized,
}

fn rows(file: &str) -> Vec<Value> {
    let path = format!("{}/../../test-vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text<'a>(row: &'a Value, member: &str) -> Option<&'a str> {
    row.get(member).and_then(Value::as_str)
}

/// Ids end in `*` to stand for all that begin with them.
fn names(pattern: &str, id: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == id, |prefix| id.starts_with(prefix))
}

fn skipped(skips: &[Skip], id: &str, what: What) -> bool {
    skips.iter().filter(|skip| skip.what == what).flat_map(|skip| skip.ids).any(|pattern| names(pattern, id))
}

/// Every id of a skip list is one of a vector.
fn check_skips(skips: &[Skip], rows: &[Value]) {
    for skip in skips {
        assert!(!skip.reason.is_empty());
        for pattern in skip.ids {
            assert!(rows.iter().any(|row| names(pattern, text(row, "id").unwrap())), "no vector {pattern}");
        }
    }
}

fn parse_row(row: &Value) -> Result<Query, String> {
    let parameters = row.get("params").and_then(Value::as_object).into_iter().flatten();
    let parameters: BTreeMap<String, String> =
        parameters.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect();
    let given = Given(parameters);
    let query = given.0.get("query").map(|text| user_query(text));
    parse_yql(text(row, "yql").unwrap(), &surroundings(&given, query)).map_err(|rejection| rejection.message)
}

/// Differences between a parsed statement and its row.
fn differences(row: &Value, query: &Query, skips: &[Skip]) -> Vec<String> {
    let id = text(row, "id").unwrap();
    let mut found = Vec::new();
    let mut compare = |what: &str, expected: String, got: String| {
        if expected != got {
            found.push(format!("{what}: expected {expected}, got {got}"));
        }
    };
    let recorded = text(row, "serialized").unwrap();
    if recorded.starts_with("ERROR") {
        compare("answerable", "false".into(), (!query.item.holds_null()).to_string());
    } else if !skipped(skips, id, What::Serialized) {
        compare("serialized", recorded.to_owned(), yql_text(&query.item, Form::Reference));
    }
    if !skipped(skips, id, What::Tree) {
        compare("tree", text(row, "tree").unwrap().to_owned(), tree_text(&query.item));
    }
    let number = |member: &str| row.get(member).and_then(Value::as_i64);
    compare("hits", format!("{:?}", number("hits").map(|hits| hits.max(0))), format!("{:?}", query.hits.map(i64::from)));
    compare("offset", format!("{:?}", number("offset")), format!("{:?}", query.offset.map(i64::from)));
    compare("timeout", format!("{:?}", number("timeout")), format!("{:?}", query.timeout_ms.map(i64::from)));
    let list = |member: &str| {
        let values = row.get(member).and_then(Value::as_array).into_iter().flatten();
        values.map(|value| value.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let sorted = |names: &[String]| {
        let mut names = names.to_vec();
        names.sort();
        names
    };
    compare("sources", format!("{:?}", list("sources")), format!("{:?}", sorted(&query.sources)));
    compare("fields", format!("{:?}", list("summary")), format!("{:?}", sorted(&query.fields)));
    let groupings: Vec<&str> = query.grouping.iter().map(|grouping| grouping.text.as_str()).collect();
    compare("grouping", format!("{:?}", list("grouping")), format!("{groupings:?}"));
    let keys = text(row, "sorting").map_or(0, |sorting| sorting.split(' ').count());
    compare("sort keys", keys.to_string(), query.order_by.len().to_string());
    found
}

fn check_statements(file: &str, skips: &[Skip]) {
    let rows = rows(file);
    check_skips(skips, &rows);
    let (mut failures, mut compared) = (Vec::new(), 0);
    for row in &rows {
        let id = text(row, "id").unwrap();
        if skipped(skips, id, What::Everything) {
            continue;
        }
        compared += 1;
        let yql = text(row, "yql").unwrap();
        match (parse_row(row), text(row, "error")) {
            (Err(_), Some(_)) => {}
            (Ok(query), None) => {
                failures.extend(differences(row, &query, skips).into_iter().map(|difference| format!("{id} {yql}\n    {difference}")));
            }
            (Ok(query), Some(error)) => {
                let tree = tree_text(&query.item);
                failures.push(format!("{id} {yql}\n    accepted as {tree}, should be: {error}"));
            }
            (Err(message), None) => failures.push(format!("{id} {yql}\n    refused: {message}")),
        }
    }
    assert!(failures.is_empty(), "{} of {compared} vectors differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn sample_statements() {
    check_statements("yql/sample.jsonl", &[]);
}

#[test]
fn more_statements() {
    check_statements("yql/more.jsonl", &[]);
}

fn parse_simple(row: &Value) -> Result<Item, String> {
    let name = text(row, "type").unwrap();
    let grammar = Grammar::named(name).ok_or_else(|| format!("No query type '{name}'"))?;
    let query = UserQuery {
        text: text(row, "query").unwrap(),
        grammar,
        filter: text(row, "filter"),
        default_index: text(row, "default_index"),
    };
    let given = Given::default();
    simple::parse_user_query(&query, &surroundings(&given, None)).map_err(|rejection| rejection.message)
}

fn check_simple(file: &str, skips: &[Skip]) {
    let rows = rows(file);
    check_skips(skips, &rows);
    let (mut failures, mut compared) = (Vec::new(), 0);
    for row in &rows {
        let id = text(row, "id").unwrap();
        if skipped(skips, id, What::Everything) {
            continue;
        }
        compared += 1;
        let query = text(row, "query").unwrap();
        match (parse_simple(row), text(row, "error")) {
            (Err(_), Some(_)) => {}
            (Ok(item), None) => {
                let (expected, got) = (text(row, "tree").unwrap(), tree_text(&item));
                if expected != got && !skipped(skips, id, What::Tree) {
                    failures.push(format!("{id} {query}\n    expected {expected}\n    got      {got}"));
                }
                if skipped(skips, id, What::Serialized) {
                    continue;
                }
                let (expected, got) = (text(row, "serialized").unwrap(), yql_text(&item, Form::Reference));
                if !expected.starts_with("ERROR") && expected != got {
                    failures.push(format!("{id} {query}\n    expected {expected}\n    got      {got}"));
                }
            }
            (Ok(item), Some(error)) => failures.push(format!("{id} {query}\n    got {}: {error}", tree_text(&item))),
            (Err(message), None) => failures.push(format!("{id} {query}\n    refused: {message}")),
        }
    }
    assert!(failures.is_empty(), "{} of {compared} vectors differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn sample_simple_queries() {
    check_simple("simple-query/sample.jsonl", &[]);
}

#[test]
fn more_simple_queries() {
    check_simple("simple-query/more.jsonl", &[]);
}
