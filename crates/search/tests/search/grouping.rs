//! Grouping against a naive twin over random documents and requests, in one partition and spread over several; pages by
//! continuations, and what is read for it.
//! `PROPTEST_CASES` says how many cases are tried.

use std::collections::BTreeMap;

use crate::host::{Answer, Host};
use serde_json::{Value, json};

const SCHEMA: &str = r#"
schema sale {
    document sale {
        field k type string { indexing: summary | attribute }
        field n type int { indexing: summary | attribute }
        field d type double { indexing: summary | attribute }
        field tags type array<string> { indexing: summary | attribute }
        field body type string { indexing: summary | index }
    }
    rank-profile n { first-phase { expression: attribute(n) } }
}
"#;

/// A repeatable stream of numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[derive(Clone)]
struct Doc {
    /// The group of documents it is in where they are spread, and its number.
    group: u64,
    number: usize,
    k: String,
    n: i64,
    d: f64,
    tags: Vec<String>,
}

fn documents(random: &mut Random, count: u64) -> Vec<Doc> {
    let word = |random: &mut Random| ["a", "B", "bb", "é", "zz"][random.below(5) as usize].to_owned();
    let one = |random: &mut Random, number: usize| Doc {
        group: random.below(4),
        number,
        k: word(random),
        n: random.below(40) as i64 - 20,
        d: random.below(1_000) as f64 / 7.0 - 50.0,
        tags: (0..random.below(4)).map(|_| word(random)).collect(),
    };
    (0..count as usize).map(|number| one(random, number)).collect()
}

fn fields(doc: &Doc) -> String {
    json!({"k": doc.k, "n": doc.n, "d": doc.d, "tags": doc.tags, "body": "some words"}).to_string()
}

/// The documents in four groups.
fn spread(documents: &[Doc], folded: bool) -> Host {
    let mut host = Host::with_schema("sale", SCHEMA);
    for (at, doc) in documents.iter().enumerate() {
        if folded && at == documents.len() / 2 {
            for group in 0..4 {
                host.compact(&format!("g:g{group}"), 1);
            }
        }
        host.put(&format!("id:s:sale:g=g{}:{:04}", doc.group, doc.number), &fields(doc)).unwrap();
    }
    host
}

fn fed(documents: &[Doc], folded: bool) -> Host {
    let mut host = Host::with_schema("sale", SCHEMA);
    for (number, doc) in documents.iter().enumerate() {
        if folded && number == documents.len() / 2 {
            host.compact("g:a", 1);
        }
        host.put(&format!("id:s:sale:g=a:{number:04}"), &fields(doc)).unwrap();
    }
    host
}

/// What is grouped by, with the ids of a document's groups and what orders them.
const BY: [&str; 5] = ["k", "mod(n, 3)", "fixedwidth(n, 7)", "tags", "strlen(k)"];

/// An id of a group: what it is ordered by, and how it is shown.
type Id = (i64, String, String);

fn ids(by: usize, doc: &Doc) -> Vec<Id> {
    let text = |text: &String| (0, text.clone(), format!("group:string:{text}"));
    let long = |number: i64| (number, String::new(), format!("group:long:{number}"));
    let mut ids = match by {
        0 => vec![text(&doc.k)],
        1 => vec![long(doc.n % 3)],
        2 => {
            let from = doc.n.div_euclid(7) * 7;
            vec![(from, String::new(), format!("group:long_bucket:{from}:{}", from + 7))]
        }
        3 => doc.tags.iter().map(text).collect(),
        _ => vec![long(doc.k.len() as i64)],
    };
    ids.sort();
    ids.dedup();
    ids
}

const ORDERS: [&str; 4] = ["", "order(-count())", "order(sum(n))", "order(-max(n), count())"];

fn order_keys(order: usize, docs: &[&Doc]) -> Vec<i64> {
    let sum = docs.iter().map(|doc| doc.n).sum();
    let max = docs.iter().map(|doc| doc.n).max().unwrap_or(0);
    match order {
        1 => vec![-(docs.len() as i64)],
        2 => vec![sum],
        3 => vec![-max, docs.len() as i64],
        _ => vec![],
    }
}

const OUTPUTS: &str = "count(), sum(n), avg(d), min(n), max(d), stddev(d), xor(n), quantiles([0.0,0.3,1.0],d) as(q)";

/// Compares the fields of a group with sums made one by one.
fn check_fields(fields: &Value, docs: &[&Doc], about: &str) {
    let count = docs.len() as f64;
    let near = |name: &str, wanted: f64| {
        let found = fields[name].as_f64().unwrap();
        assert!((found - wanted).abs() <= 1e-9 * wanted.abs().max(1.0), "{about}: {name} {found}, not {wanted}");
    };
    assert_eq!(fields["count()"], docs.len(), "{about}");
    assert_eq!(fields["sum(n)"], docs.iter().map(|doc| doc.n).sum::<i64>(), "{about}");
    assert_eq!(fields["min(n)"], docs.iter().map(|doc| doc.n).min().unwrap(), "{about}");
    assert_eq!(fields["xor(n)"], docs.iter().fold(0, |bits, doc| bits ^ doc.n), "{about}");
    let mean = docs.iter().map(|doc| doc.d).sum::<f64>() / count;
    near("avg(d)", mean);
    near("stddev(d)", (docs.iter().map(|doc| (doc.d - mean).powi(2)).sum::<f64>() / count).sqrt());
    let mut sorted: Vec<f64> = docs.iter().map(|doc| doc.d).collect();
    sorted.sort_by(f64::total_cmp);
    assert_eq!(fields["max(d)"].as_f64(), sorted.last().copied(), "{about}");
    for (at, quantile) in [0.0, 0.3, 1.0].into_iter().enumerate() {
        let rank = ((quantile * count).ceil() as usize).max(1);
        assert_eq!(fields["q"][at]["value"].as_f64(), Some(sorted[rank - 1]), "{about}: {quantile}");
    }
}

/// Compares a list of groups, and the lists inside.
fn check_list(list: &Value, docs: &[&Doc], levels: &[(usize, usize, usize)], about: &str) {
    let Some(((by, order, max), inner)) = levels.split_first() else { return };
    let mut groups: BTreeMap<Id, Vec<&Doc>> = BTreeMap::new();
    for doc in docs {
        ids(*by, doc).into_iter().for_each(|id| groups.entry(id).or_default().push(doc));
    }
    let mut groups: Vec<(Id, Vec<&Doc>)> = groups.into_iter().collect();
    groups.sort_by_key(|(id, docs)| {
        let rank = docs.iter().map(|doc| doc.n).max().unwrap_or(0);
        (order_keys(*order, docs), -rank, id.clone())
    });
    groups.truncate(*max);
    let found = list["children"].as_array().map_or(&[][..], Vec::as_slice);
    let shown: Vec<&str> = found.iter().map(|group| group["id"].as_str().unwrap()).collect();
    let wanted: Vec<&str> = groups.iter().map(|((_, _, id), _)| id.as_str()).collect();
    assert_eq!(shown, wanted, "{about}");
    for (group, (_, docs)) in found.iter().zip(&groups) {
        check_fields(&group["fields"], docs, about);
        if !inner.is_empty() {
            check_list(&group["children"][0], docs, inner, about);
        }
    }
}

fn request(levels: &[(usize, usize, usize)]) -> String {
    let Some(((by, order, max), inner)) = levels.split_first() else { return String::new() };
    let inner = if inner.is_empty() { String::new() } else { format!(" all({})", request(inner)) };
    format!("group({}) max({max}) {} each(output({OUTPUTS}){inner})", BY[*by], ORDERS[*order])
}

#[test]
fn groups_are_those_of_a_naive_twin() {
    let cases = std::env::var("PROPTEST_CASES").map_or(200, |text| text.parse().unwrap());
    let mut random = Random(4_711);
    for round in 0..u64::div_ceil(cases, 20) {
        let count = 1 + random.below(60);
        let docs = documents(&mut random, count);
        let (host, spread) = (fed(&docs, round % 2 == 1), spread(&docs, round % 3 == 1));
        for _ in 0..20 {
            let depth = 1 + random.below(3);
            let levels: Vec<(usize, usize, usize)> = (0..depth)
                .map(|_| (random.below(5) as usize, random.below(4) as usize, 1 + random.below(6) as usize))
                .collect();
            let least = random.below(40) as i64 - 20;
            // Only the first documents may count.
            let first = [usize::MAX, random.below(20) as usize + 1][usize::from(random.below(4) == 0)];
            let asked = match first {
                usize::MAX => request(&levels),
                first => format!("max({first}) all({})", request(&levels)),
            };
            let yql = format!("select * from sale where n >= {least} limit 0 | all({asked})");
            let mut matching: Vec<&Doc> = docs.iter().filter(|doc| doc.n >= least).collect();
            let check = |answer: Answer, docs: &[&Doc]| {
                assert_eq!(answer.status, 200, "{yql}: {}", answer.body);
                let docs = &docs[..first.min(docs.len())];
                check_list(&answer.json["root"]["children"][0]["children"][0], docs, &levels, &yql);
            };
            let parameters = [("yql", yql.as_str()), ("ranking", "n")];
            check(host.search("g:a", &parameters), &matching);
            let all = [&parameters[..], &[("streaming.selection", "true")]].concat();
            matching.sort_by_key(|doc| (doc.group, doc.number));
            check(spread.search_scoped(&all, "", "", 1 + random.below(4) as usize), &matching);
        }
    }
}

#[test]
fn attributes_are_grouped_without_reading_documents() {
    let docs = documents(&mut Random(1), 500);
    let mut host = Host::with_schema("sale", SCHEMA);
    let body = "a long text that only the documents themselves hold ".repeat(40);
    for (number, doc) in docs.iter().enumerate() {
        let fields = json!({"k": doc.k, "n": doc.n, "body": format!("{body}{number}")});
        host.put(&format!("id:s:sale:g=a:{number:04}"), &fields.to_string()).unwrap();
    }
    assert!(host.compact("g:a", 1));
    let read = |by: &str| {
        host.forget();
        let yql = format!("select * from sale where true limit 0 | all(group({by}) each(output(count(), sum(n))))");
        host.search("g:a", &[("yql", &yql), ("ranking", "unranked")]).bytes_read
    };
    let (attribute, source) = (read("k"), read("body"));
    assert!(attribute > 0 && attribute < 20_000, "{attribute} bytes");
    assert!(source > 10 * attribute, "{source} bytes of documents, {attribute} of attributes");
}

#[test]
fn continuations_turn_pages() {
    let docs = documents(&mut Random(7), 80);
    let host = fed(&docs, true);
    let ask = |continuations: &str| {
        let yql = format!(
            "select * from sale where true limit 0 | {{'continuations':[{continuations}]}}\
             all(group(n) max(7) order(min(n)) each(output(count()) max(1) each(output(summary()))))"
        );
        host.search("g:a", &[("yql", &yql), ("ranking", "unranked")])
    };
    let page = |answer: &Value| -> Vec<String> {
        let groups = answer["root"]["children"][0]["children"][0]["children"].as_array().unwrap();
        groups.iter().map(|group| group["value"].as_str().unwrap().to_owned()).collect()
    };
    let mut all: Vec<i64> = docs.iter().map(|doc| doc.n).collect();
    all.sort_unstable();
    all.dedup();
    let mut answer = ask("").json;
    let mut seen = Vec::new();
    loop {
        seen.extend(page(&answer));
        let root = answer["root"]["children"][0].clone();
        let Some(next) = root["children"][0]["continuation"]["next"].as_str() else { break };
        let this = root["continuation"]["this"].as_str().unwrap();
        answer = ask(&format!("'{this}','{next}'")).json;
    }
    assert_eq!(seen, all.iter().map(i64::to_string).collect::<Vec<_>>());
    let last = &answer["root"]["children"][0];
    let (this, prev) = (&last["continuation"]["this"], &last["children"][0]["continuation"]["prev"]);
    let again = ask(&format!("{this},{prev}").replace('"', "'")).json;
    assert_eq!(page(&again).len(), 7);
    let forged = ask(&format!("'{}x'", prev.as_str().unwrap()));
    assert_eq!(forged.status, 400, "{}", forged.body);
}

#[test]
fn the_least_and_the_greatest_of_nothing_are_beyond_all_values() {
    let sd = "schema t { document t {
        field k type string { indexing: attribute }
        field n type array<int> { indexing: attribute }
        field d type array<double> { indexing: attribute }
        field s type array<string> { indexing: attribute }
    } }";
    let mut host = Host::with_schema("t", sd);
    for (group, k, values) in [
        ("a", "no", r#""n":[]"#),
        ("b", "yes", r#""n":[-5],"d":[-1.5],"s":["x"]"#),
        ("b", "some", r#""n":[7],"d":[2.5],"s":["y"]"#),
    ] {
        host.put(&format!("id:t:t:g={group}:{k}"), &format!(r#"{{"k":"{k}",{values}}}"#)).unwrap();
    }
    for (order, wanted) in [("-max(n)", ["some", "yes", "no"]), ("min(d)", ["yes", "some", "no"])] {
        let yql = format!(
            "select * from t where true | all(group(k) order({order}) each(output(min(n), max(n), min(d), max(d), max(s))))"
        );
        let answer = host.search_scoped(&[("yql", &yql), ("hits", "0"), ("streaming.selection", "true")], "", "", 2);
        let groups = answer.json["root"]["children"][0]["children"][0]["children"].as_array().unwrap().clone();
        assert_eq!(groups.iter().map(|group| group["value"].as_str().unwrap()).collect::<Vec<_>>(), wanted, "{order}");
        let wanted =
            json!({"min(n)": i64::MAX, "max(n)": i64::MIN, "min(d)": f64::MAX, "max(d)": f64::MIN, "max(s)": ""});
        assert_eq!(groups[2]["fields"], wanted);
    }
}
