//! Documents in segments that were written before fields were added, searched as they are: every answer is that of the same
//! documents once they are written anew, whatever asks for the new fields. `PROPTEST_CASES` says how many histories there are.

use crate::host::{Host, services};
use crate::random::{Random, config};
use brooklet_schema::Application;
use brooklet_search::Deployed;
use std::rc::Rc;
use std::sync::Arc;

const KEY: &str = "g:a";
const OLD: &str = "field title type string { indexing: summary | index }
  field size type int { indexing: summary | attribute }";
/// Fields of every kind of column, each with a value and with conditions on it.
const ADDED: &[(&str, &str, &str, &[&str])] = &[
    ("i", "type int { indexing: summary | attribute }", "7", &["i = 7", "i > 0", "i = 0", "!(i < 5)"]),
    ("b", "type byte { indexing: summary | attribute }", "-3", &["b = 0", "b < 0"]),
    ("t", "type bool { indexing: summary | attribute }", "true", &["t = true", "t = false"]),
    ("l", "type long { indexing: summary | attribute }", "1789999000", &["l > 5", "range(l, -5, 5)"]),
    ("f", "type float { indexing: summary | attribute }", "-0.0", &["f = 0", "f >= 0"]),
    ("d", "type double { indexing: summary | attribute }", "2.5", &["d < 3", "d > -100"]),
    (
        "s",
        "type string { indexing: summary | attribute }",
        "\"red box\"",
        &["s contains 'red box'", "s contains 'red'"],
    ),
    (
        "x",
        "type string { indexing: summary | index }",
        "\"a red box of rain\"",
        &["x contains 'red'", "x contains phrase('red', 'box')", "x contains near('red', 'rain')", "x matches 'r.d'"],
    ),
    ("xs", "type string { indexing: summary | index | attribute }", "\"red rain\"", &["xs contains 'rain'"]),
    ("ai", "type array<int> { indexing: summary | attribute }", "[1,7]", &["ai = 1", "ai > 2"]),
    ("al", "type array<string> { indexing: summary | index | attribute }", "[\"red\",\"b\"]", &["al contains 'red'"]),
    ("ali", "type array<string> { indexing: summary | index }", "[\"red rain\",\"b\"]", &["ali contains 'rain'"]),
    (
        "w",
        "type weightedset<string> { indexing: summary | attribute }",
        "{\"red\":3}",
        &["w contains 'red'", "dotProduct(w, {'red':2})", "weightedSet(w, {'red':1})", "wand(w, {'red':4})"],
    ),
    (
        "m",
        "type map<string, int> { indexing: summary
      struct-field key { indexing: attribute }
      struct-field value { indexing: attribute } }",
        "{\"k\":4}",
        &["m contains sameElement(key contains 'k', value = 4)", "m.key contains 'k'"],
    ),
    ("p", "type position { indexing: summary | attribute }", "\"N60;E10\"", &["geoLocation(p, 60.0, 10.0, '2 km')"]),
    (
        "v",
        "type tensor<float>(x[2]) { indexing: summary | attribute }",
        "[1.0,0.5]",
        &["{targetHits:3}nearestNeighbor(v, q)", "{targetHits:1}nearestNeighbor(v, q) or i = 7"],
    ),
    (
        "vm",
        "type tensor<float>(k{},x[2]) { indexing: summary | attribute }",
        "{\"a\":[1.0,0.5]}",
        &["{targetHits:3}nearestNeighbor(vm, q)"],
    ),
    ("tk", "type tensor<float>(k{}) { indexing: summary | attribute }", "{\"a\":2.0}", &["true"]),
    ("u", "type uri { indexing: summary | index }", "\"http://a.b/c\"", &["u contains 'a'"]),
];
const FEATURES: &str = "attribute(i) attribute(b) attribute(t) attribute(l) attribute(f) attribute(d) attribute(s) attribute(s).count
  attribute(ai).count attribute(ai,0) attribute(w,red).weight attribute(w,red).contains attribute(w).count attributeMatch(i)
  attributeMatch(s) attributeMatch(s).completeness attributeMatch(w) attributeMatch(w).averageWeight age(l) freshness(l)
  distance(p) closeness(p) closeness(field,v) closeness(field,vm) distance(field,v) rawScore(w) rawScore(v) bm25(x)
  bm25(ali) fieldMatch(x) fieldLength(x) fieldLength(ali) fieldTermMatch(x,0).occurrences matches(x)
  matches(i) matchCount(x) matchCount(w) elementCompleteness(ali).completeness elementSimilarity(ali) textSimilarity(x)
  nativeRank nativeFieldMatch(x) nativeAttributeMatch(i) dotProduct(w,q) attribute(tk) attribute(v) tensors";
const ORDERS: &[&str] =
    &["i", "-b", "t", "-l", "-f", "d", "s", "-s", "x", "xs", "ai", "w", "missing(i,first)", "missing(s,as,zz)"];
const GROUPS: &[&str] =
    &["i", "b", "t", "l", "f", "d", "s", "xs", "ai", "al", "w", "m.key", "m{\"k\"}", "time.year(l)"];

fn deployed(fields: &[&str]) -> Rc<Deployed> {
    let of = |name: &str| ADDED.iter().find(|(added, ..)| *added == name).unwrap();
    let added: String = fields.iter().map(|name| format!("field {name} {}\n", of(name).1)).collect();
    let profiles = if fields.is_empty() { String::new() } else { profiles() };
    let sd = format!("schema d {{ document d {{ {OLD}\n{added} }} {profiles} }}");
    let files = [("services.xml", services(&["d"])), ("schemas/d.sd", sd)];
    let files: Vec<_> = files.map(|(path, text)| (path.to_owned(), text.into_bytes())).into();
    Rc::new(Application::deploy(&files).and_then(Deployed::compile).unwrap_or_else(|rejection| panic!("{rejection}")))
}

fn profiles() -> String {
    format!(
        "rank-profile all {{ inputs {{ query(q) tensor<float>(x[2]) }}
          function tensors() {{ expression: sum(attribute(v) * query(q)) + sum(attribute(tk)) + sum(attribute(vm)) }}
          first-phase {{ expression: bm25(x) + attribute(size) + closeness(field,v) + if(isNan(attribute(i)), 3, attribute(i)) }}
          match-features {{ {FEATURES} }} }}
        rank-profile plain {{ inputs {{ query(q) tensor<float>(x[2]) }} first-phase {{ expression: nativeRank }} }}
        document-summary columns {{ summary i {{ }} summary s {{ }} summary ai {{ }} summary w {{ }} summary v {{ }} summary d {{ }} }}"
    )
}

fn document(random: &mut Random, has_added: bool) -> String {
    let mut fields = vec![format!("\"title\":\"{}\"", random.one_of(&["red box", "blue", "rain box"]))];
    if !random.once_in(3) {
        fields.push(format!("\"size\":{}", random.below(5)));
    }
    for (name, _, value, _) in ADDED.iter().filter(|_| has_added) {
        if random.once_in(2) {
            fields.push(format!("\"{name}\":{value}"));
        }
    }
    format!("{{{}}}", fields.join(","))
}

fn all_fields() -> Vec<&'static str> {
    ADDED.iter().map(|(name, ..)| *name).collect()
}

/// Documents in segments of a schema that has few fields, some of them replaced and removed, and some in the tail with all fields.
fn history(random: &mut Random) -> Host {
    let mut host = Host::with_schema("d", &format!("schema d {{ document d {{ {OLD} }} }}"));
    let id = |number: usize| format!("id:n:d:g=a:{number:02}");
    for fold in 0..random.below(3) + 1 {
        (0..random.below(6) + 1).for_each(|_| host.put(&id(random.below(20)), &document(random, false)).unwrap());
        host.compact(KEY, 1 + 2 * (fold as u8 % 2));
    }
    host.deployed = deployed(&all_fields());
    host.forget();
    for _ in 0..random.below(6) {
        let id = id(random.below(20));
        if random.once_in(4) { host.remove(&id).unwrap() } else { host.put(&id, &document(random, true)).unwrap() }
    }
    host
}

fn query(random: &mut Random) -> Vec<(&'static str, String)> {
    let condition = |random: &mut Random| {
        let (_, _, _, conditions) = random.pick(ADDED);
        (*random.pick(conditions)).to_owned()
    };
    let condition = match random.below(4) {
        0 => "true".to_owned(),
        1 => format!("title contains 'box' and ({})", condition(random)),
        2 => format!("rank(true, {})", condition(random)),
        _ => condition(random),
    };
    let grouping = if random.once_in(2) {
        let (of, value) = (random.pick(GROUPS), random.one_of(&["i", "d", "l", "size"]));
        format!(" | all(group({of}) each(output(count(), sum({value}), min({value}), max({value}), avg({value}))))")
    } else {
        String::new()
    };
    let mut parameters = vec![
        ("yql", format!("select * from d where {condition}{grouping}")),
        ("ranking", random.one_of(&["all", "plain"]).to_owned()),
        ("input.query(q)", "[1, 2]".to_owned()),
        ("hits", "20".to_owned()),
    ];
    if random.once_in(3) {
        parameters.push(("ranking.sorting", (*random.pick(ORDERS)).to_owned()));
    }
    if random.once_in(3) {
        parameters.push(("summary", "columns".to_owned()));
    }
    if random.once_in(4) {
        parameters.push(("presentation.format", "xml".to_owned()));
    }
    if random.once_in(6) {
        parameters.push(("streaming.selection", "id.group == \"a\" and (d.i == 7 or not d.s)".to_owned()));
    } else {
        parameters.push(("streaming.groupname", "a".to_owned()));
    }
    parameters
}

#[test]
fn what_lacks_columns_answers_as_what_is_written_anew() {
    let mut found = 0;
    for seed in 0..config(60).cases {
        let random = &mut Random::new(u64::from(seed));
        let mut host = history(random);
        let queries: Vec<_> = (0..30).map(|_| query(random)).collect();
        let ask = |host: &Host| {
            let answers = queries.iter().map(|parameters| {
                let parameters: Vec<_> = parameters.iter().map(|(name, value)| (*name, value.as_str())).collect();
                let accept = if parameters.len() % 2 == 0 { "application/cbor" } else { "" };
                let answer = host.search_raw(KEY, &parameters, "");
                let other = host.search_accepting(KEY, &parameters, "", accept);
                (answer.status, answer.body, other.body)
            });
            answers.collect::<Vec<_>>()
        };
        let before = ask(&host);
        host.compact(KEY, 2);
        host.forget();
        for ((parameters, before), after) in queries.iter().zip(before).zip(ask(&host)) {
            assert_eq!(after.0, 200, "{parameters:?}: {}", after.1);
            assert_eq!(before, after, "seed {seed}: {parameters:?}");
            found += usize::from(!after.1.contains("\"totalCount\":0"));
        }
    }
    assert!(found > 600, "{found} found something");
}

/// Documents whose new fields have values already are not searched before they are written anew: their answers would lack them.
#[test]
fn what_has_values_of_columns_that_it_lacks_is_not_searched() {
    let host = |sd: &str| {
        let mut host = Host::with_schema("d", sd);
        host.put("id:n:d:g=a:1", r#"{"size":1,"i":7}"#).unwrap();
        host.put("id:n:d:g=a:2", r#"{"size":2}"#).unwrap();
        host
    };
    let shown = format!("schema d {{ document d {{ {OLD} field i type int {{ indexing: summary }} }} }}");
    let status = |host: &Host| host.search(KEY, &[("yql", "select * from d where i = 7")]).status;
    let mut shown = host(&shown);
    shown.compact(KEY, 1);
    shown.deployed = deployed(&all_fields());
    shown.forget();
    assert_eq!(status(&shown), 500);
    // One that is not alive is in no answer.
    shown.remove("id:n:d:g=a:1").unwrap();
    assert_eq!(status(&shown), 200);
    shown.compact(KEY, 2);
    assert_eq!(status(&shown), 200);
}

/// Values that were written for another type of their field are not read any more, whatever columns there are.
#[test]
fn what_has_values_of_another_type_is_not_searched() {
    let mut host = Host::with_schema("d", &format!("schema d {{ document d {{ {OLD} }} }}"));
    host.put("id:n:d:g=a:1", r#"{"size":1}"#).unwrap();
    host.compact(KEY, 1);
    let mut application = host.deployed.application.clone();
    Arc::make_mut(&mut application.schemas[0]).retyped = 2;
    host.deployed = Rc::new(Deployed::compile(application).unwrap());
    host.forget();
    let status = |host: &Host| host.search(KEY, &[("yql", "select * from d where size = 1")]).status;
    assert_eq!(status(&host), 500);
    host.compact(KEY, 2);
    assert_eq!(status(&host), 200);
}

/// A column that the schema has no more may be one that another took the place of.
#[test]
fn what_has_other_columns_is_not_searched() {
    let mut host = Host::with_schema("d", &format!("schema d {{ document d {{ {OLD} }} }}"));
    host.put("id:n:d:g=a:1", r#"{"title":"Red box"}"#).unwrap();
    host.compact(KEY, 1);
    let other = OLD.replace("index }", "index\n match: cased }").replace("size", "other");
    host.deployed = Host::with_schema("d", &format!("schema d {{ document d {{ {other} }} }}")).deployed;
    host.forget();
    let yql = [("yql", "select * from d where title contains 'red'")];
    assert_eq!(host.search(KEY, &yql).status, 500);
    host.compact(KEY, 2);
    let answer = host.search(KEY, &yql);
    assert_eq!((answer.status, answer.json["root"]["fields"]["totalCount"].as_u64()), (200, Some(0)));
}

/// To look at what is long takes as long as a search may not.
#[test]
fn what_is_long_is_written_anew_first() {
    let mut host = Host::with_schema("d", &format!("schema d {{ document d {{ {OLD} }} }}"));
    for number in 0..40 {
        let title = format!("{{\"title\":\"{}\"}}", "red box ".repeat(256));
        host.put(&format!("id:n:d:g=a:{number}"), &title).unwrap();
        if number == 20 {
            host.compact(KEY, 1);
        }
    }
    host.deployed = deployed(&all_fields());
    host.forget();
    let yql = [("yql", "select * from d where true")];
    assert_eq!(host.search(KEY, &yql).status, 200);
    host.deployed = Host::with_schema("d", &format!("schema d {{ document d {{ {OLD} }} }}")).deployed;
    host.compact(KEY, 1);
    host.deployed = deployed(&all_fields());
    host.forget();
    assert_eq!(host.search(KEY, &yql).status, 500);
}
