//! Values of attributes that share their first 64 KiB, which is what a column has of them: they are told apart.

use crate::host::{Answer, Host};
use serde_json::{Value, json};

const SD: &str = "schema t { document t {
    field k type string {
        indexing: summary | attribute
        sorting { function: raw }
    }
    field tags type array<string> {
        indexing: summary | attribute
        sorting { function: raw }
    }
    field n type int { indexing: summary | attribute }
} rank-profile default { first-phase { expression: attribute(n) }
    match-features: tensorFromLabels(attribute(tags),x)
 } }";

/// What values end with, in the order of their documents. No other value is long.
const ENDS: [&str; 5] = ["c", "a", "d", "a", "b"];

fn long(end: &str) -> String {
    "ä".repeat(32 << 10) + end
}

fn fed(folded: bool) -> Host {
    let mut host = Host::with_schema("t", SD);
    for (number, end) in ENDS.iter().enumerate() {
        let fields = json!({"k": long(end), "tags": ["z", long(end)], "n": number});
        host.put(&format!("id:n:t:g=a:{number}"), &fields.to_string()).unwrap();
    }
    host.put("id:n:t:g=a:9", r#"{"k":"short","tags":["short"],"n":-1}"#).unwrap();
    if folded {
        host.compact("g:a", 1);
    }
    host
}

fn hits(answer: &Answer) -> Vec<Value> {
    let children = answer.json["root"]["children"].as_array().unwrap_or_else(|| panic!("{}", answer.json));
    children.iter().filter(|child| child["fields"].is_object()).map(|hit| hit["fields"].clone()).collect()
}

fn numbers(host: &Host, yql: &str, others: &[(&str, &str)]) -> Vec<i64> {
    let answer = host.search("g:a", &[&[("yql", yql)], others].concat());
    hits(&answer).iter().map(|fields| fields["n"].as_i64().unwrap()).collect()
}

/// Groups by their value's end, with how many documents each has.
fn groups(host: &Host, by: &str) -> Vec<(String, u64)> {
    let yql = format!("select * from t where true limit 0 | all(group({by}) order(max({by})) each(output(count())))");
    let answer = host.search("g:a", &[("yql", &yql)]);
    let list = &answer.json["root"]["children"][0]["children"][0]["children"];
    let list = list.as_array().unwrap_or_else(|| panic!("{}", answer.json));
    let named = |group: &Value| {
        let value = group["value"].as_str().unwrap();
        let name = value.strip_prefix(&long("")).unwrap_or(value);
        (name.to_owned(), group["fields"]["count()"].as_u64().unwrap())
    };
    list.iter().map(named).collect()
}

#[test]
fn long_values_are_sorted_by_all_of_their_text() {
    for folded in [false, true] {
        let host = fed(folded);
        assert_eq!(numbers(&host, "select * from t where n >= 0 order by k, n", &[]), [1, 3, 4, 0, 2]);
        assert_eq!(numbers(&host, "select * from t where n >= 0 order by tags desc, n", &[]), [2, 0, 4, 1, 3]);
    }
}

#[test]
fn long_values_are_groups_of_their_own() {
    let group = |name: &str, count: u64| (name.to_owned(), count);
    for folded in [false, true] {
        let host = fed(folded);
        let ks = [group("short", 1), group("a", 2), group("b", 1), group("c", 1), group("d", 1)];
        assert_eq!(groups(&host, "k"), ks);
        let yql = "select * from t where true limit 0 | all(group(tags) each(output(count())))";
        let answer = host.search("g:a", &[("yql", yql)]);
        let list = answer.json["root"]["children"][0]["children"][0]["children"].as_array().unwrap().clone();
        assert_eq!(list.len(), 6, "short, z, and four that are long");
    }
}

#[test]
fn long_values_are_collapsed_by_all_of_their_text() {
    for folded in [false, true] {
        let host = fed(folded);
        assert_eq!(numbers(&host, "select * from t where n >= 0", &[("collapsefield", "k")]), [4, 3, 2, 0]);
    }
}

#[test]
fn long_values_are_labels_and_shown_as_they_are() {
    for folded in [false, true] {
        let host = fed(folded);
        let answer = host.search("g:a", &[("yql", "select k, tags, n from t where n = 0")]);
        let fields = &hits(&answer)[0];
        assert!(fields["matchfeatures"].to_string().contains(&long("c")));
        assert_eq!((&fields["k"], &fields["tags"]), (&json!(long("c")), &json!(["z", long("c")])));
    }
}
