//! Groups do not depend on how documents are spread: a query over several partitions is answered as over one that has all
//! of them, however their parts are merged. `PROPTEST_CASES` says how many requests are compared.

use crate::host::{Answer, Host, services};
use crate::random::Random;
use serde_json::{Value, json};

const GROUPS: usize = 4;

/// Two schemas, whose fields of one name have two types.
fn schema(name: &str, number: &str) -> String {
    format!(
        "schema {name} {{
    document {name} {{
        field k type string {{ indexing: summary | attribute }}
        field n type {number} {{ indexing: summary | attribute }}
        field date type long {{ indexing: summary | attribute }}
        field tags type array<string> {{ indexing: summary | attribute }}
        field sold type bool {{ indexing: summary | attribute }}
        field sizes type map<string, int> {{ indexing: summary }}
    }}
    rank-profile n {{ first-phase {{ expression: attribute(n) }} }}
    document-summary short {{ summary k {{}} }}
}}
"
    )
}

fn empty() -> Host {
    let (sale, gift) = (schema("sale", "int"), schema("gift", "double"));
    let services = services(&["sale", "gift"]);
    Host::new(&[("services.xml", &services), ("schemas/sale.sd", &sale), ("schemas/gift.sd", &gift)], 16 << 20)
}

/// One host with everything in one group, and one with everything spread. The ids of both have the same order.
fn hosts(random: &mut Random) -> (Host, Host) {
    let (mut one, mut many) = (empty(), empty());
    for number in 0..random.below(80) {
        let (schema, group) = (["sale", "sale", "gift"][random.below(3)], random.below(GROUPS));
        let word = |random: &mut Random| random.one_of(&["a", "B", "bb", "é", "zz"]);
        let mut fields = json!({
            "k": word(random),
            "date": 1_790_000_000 + 50_000 * (random.below(50) as i64 - 40),
            "tags": (0..random.below(4)).map(|_| word(random)).collect::<Vec<_>>(),
            "sizes": (0..random.below(3)).map(|_| (word(random).to_owned(), json!(random.below(5)))).collect::<serde_json::Map<_, _>>(),
        });
        if random.below(5) > 0 {
            fields["sold"] = json!(random.below(2) == 0);
            let n = random.below(12);
            fields["n"] = if schema == "gift" { json!(n as f64 / 4.0) } else { json!(n) };
        }
        one.put(&format!("id:s:{schema}:g=a:g{group}/{number:03}"), &fields.to_string()).unwrap();
        many.put(&format!("id:s:{schema}:g=g{group}:{number:03}"), &fields.to_string()).unwrap();
        if random.below(10) == 0 {
            one.compact("g:a", 1);
            many.compact(&format!("g:g{}", random.below(GROUPS)), 1);
        }
    }
    (one, many)
}

const BY: [&str; 10] = [
    "k",
    "n",
    "tags",
    "mod(n, 3)",
    "fixedwidth(n, 2)",
    "predefined(k, bucket(-inf, \"b\"), bucket[\"b\", \"c\">)",
    "time.dayofmonth(date)",
    "sizes.key",
    "strcat(k, tags)",
    "docidnsspecific()",
];
const ORDERS: [&str; 8] = [
    "-count()",
    "sum(n)",
    "-max(n), count()",
    "min(date) - now()",
    "-(now() - max(date)) / 86400 * count()",
    "-avg(n)",
    "max(k)",
    "stddev(n), -min(k)",
];
const OUTPUTS: [&str; 10] = [
    "count()",
    "sum(n)",
    "avg(n)",
    "min(k)",
    "max(date)",
    "stddev(n)",
    "xor(date)",
    "quantiles([0.0, 0.5, 0.9], n)",
    "sum(sizes.value)",
    "max(n - now())",
];
const FILTERS: [&str; 3] = ["range(1, 9, n)", "regex(\"[ab].*\", tags)", "not istrue(sold)"];

fn outputs(random: &mut Random) -> String {
    let some: Vec<&str> = OUTPUTS.into_iter().filter(|_| random.below(3) == 0).collect();
    if some.is_empty() { String::new() } else { format!("output({})", some.join(", ")) }
}

/// What stands in an operation: a list of groups, or of hits.
fn body(random: &mut Random, depth: usize) -> String {
    let max = |random: &mut Random| ["max(1) ", "max(2) ", "max(3) ", ""][random.below(4)];
    if depth == 0 || random.below(4) == 0 {
        return match random.below(3) {
            0 => format!("{}each(output(summary(short)))", max(random)),
            1 => format!("{}each(output(summary()))", max(random)),
            _ => "output(count())".to_owned(),
        };
    }
    let mut text = format!("group({}) ", random.one_of(&BY));
    if random.below(4) == 0 {
        text += &format!("filter({}) ", random.one_of(&FILTERS));
    }
    text += max(random);
    if random.below(5) == 0 {
        text += "precision(20) ";
    }
    if random.below(2) == 0 {
        text += &format!("order({}) ", random.one_of(&ORDERS));
    }
    if random.below(5) == 0 {
        text += "output(count()) ";
    }
    let inner = if random.below(3) == 0 {
        format!("all({}) all({}) as(y)", body(random, depth - 1), body(random, 0)).replace(" as(y)", "")
    } else {
        format!("all({})", body(random, depth - 1))
    };
    text + &format!("each({} {inner})", outputs(random))
}

/// A request; in some of them only the first documents count, for all or for parts.
fn request(random: &mut Random) -> String {
    let depth = random.below(3) + 1;
    match random.below(5) {
        0 => format!("all(max({}) all({}))", 1 + random.below(30), body(random, depth)),
        1 => format!(
            "all({} all(max({}) all({})) all(group(k) each(output(count()))))",
            outputs(random),
            1 + random.below(9),
            body(random, 1).replace("group(k)", "group(tags)")
        ),
        2 => {
            format!("all(group(tags) each(output(count()) all(max({}) all({}))))", 1 + random.below(9), body(random, 1))
        }
        _ => format!("all({} all({}))", outputs(random), body(random, depth)),
    }
}

/// An answer without what may be another: continuations are none but there or not, and ids are those of the spread.
fn comparable(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let of = |(name, value): (&String, &Value)| match name.as_str() {
                "continuation" => (name.clone(), json!(value.as_object().unwrap().keys().collect::<Vec<_>>())),
                _ => (name.clone(), comparable(value)),
            };
            Value::Object(members.iter().map(of).collect())
        }
        Value::Array(values) => Value::Array(values.iter().map(comparable).collect()),
        Value::String(text) => json!(
            text.replace(":g=a:g0/", ":g=g0:")
                .replace(":g=a:g1/", ":g=g1:")
                .replace(":g=a:g2/", ":g=g2:")
                .replace(":g=a:g3/", ":g=g3:")
        ),
        other => other.clone(),
    }
}

fn roots(answer: &Answer) -> Vec<Value> {
    let children = answer.json["root"]["children"].as_array().cloned().unwrap_or_default();
    children.into_iter().filter(|child| child["id"].as_str().is_some_and(|id| id.starts_with("group:root"))).collect()
}

/// All continuations of an answer, in the order they stand in it.
fn continuations(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| match value.as_object() {
            Some(turns) if name == "continuation" => {
                let moves = turns.iter().filter(|(name, _)| *name != "this");
                found.extend(moves.map(|(_, text)| text.as_str().unwrap().to_owned()));
            }
            _ => continuations(value, found),
        }),
        Value::Array(values) => values.iter().for_each(|value| continuations(value, found)),
        _ => {}
    }
}

#[test]
fn several_partitions_answer_as_one() {
    let cases = std::env::var("PROPTEST_CASES").map_or(300, |text| text.parse().unwrap());
    let mut compared = 0;
    for case in 0..u64::div_ceil(cases, 10) {
        let mut random = Random::new(case);
        let (one, many) = hosts(&mut random);
        compared += (0..10).filter(|_| compare(&mut random, &one, &many, case)).count() as u64;
    }
    assert!(compared > cases / 2, "{compared} of {cases} requests were compared");
}

/// Compares the answers to a request, and to some of its continuations. False: it was no use.
fn compare(random: &mut Random, one: &Host, many: &Host, case: u64) -> bool {
    let request =
        if random.below(4) == 0 { format!("{} | {}", request(random), request(random)) } else { request(random) };
    let from = random.one_of(&["sources sale, gift", "sale"]);
    let condition = random.one_of(&["true", "n >= 2", "k contains 'bb' or date < 1790000000"]);
    let ranking = random.one_of(&["n", "unranked"]);
    let zone = random.one_of(&["utc", "GMT+7", "Europe/Oslo"]);
    let (mut of_one, mut of_many) = (String::new(), String::new());
    for turn in 0..3 {
        let ask = |continuation: &str, scope: (&str, &str), at_once: usize| {
            let yql = format!("select * from {from} where {condition} limit 0 | {continuation}{request}");
            let parameters =
                [("yql", yql.as_str()), ("ranking", ranking), ("timezone", zone), scope, ("timeout", "20s")];
            let answer = match scope.0 {
                "streaming.groupname" => one.search_raw("g:a", &parameters, ""),
                _ => many.search_scoped(&parameters, "", "", at_once),
            };
            // Some random requests say a thing twice or too much, and are refused by both.
            let reasons = ["for multiple siblings", "theoretical total number"];
            let is_refused = answer.status == 400 && reasons.iter().any(|reason| answer.body.contains(reason));
            assert!(answer.status == 200 || is_refused, "{yql}: {}", answer.body);
            answer
        };
        let (a, b) = (
            ask(&of_one, ("streaming.groupname", "a"), 1),
            ask(&of_many, ("streaming.selection", "true"), 1 + random.below(GROUPS)),
        );
        assert_eq!(a.status, b.status, "{request}");
        if a.status != 200 {
            return false;
        }
        let (a, b) = (roots(&a), roots(&b));
        let about = format!("case {case}, turn {turn}: {request}, {from} where {condition}, {ranking}, {zone}");
        // What is said of documents by their own part of the id differs.
        if request.contains("docidnsspecific") {
            return false;
        }
        for (a, b) in a.iter().zip(&b) {
            let (a, b) = (comparable(a), comparable(b));
            assert!(a == b, "{about}\none: {a}\nmany: {b}");
        }
        assert_eq!(a.len(), b.len(), "{about}");
        let (mut turns_of_one, mut turns_of_many) = (Vec::new(), Vec::new());
        a.iter().for_each(|root| continuations(root, &mut turns_of_one));
        b.iter().for_each(|root| continuations(root, &mut turns_of_many));
        assert_eq!(turns_of_one.len(), turns_of_many.len(), "{about}");
        if turns_of_one.is_empty() {
            return true;
        }
        let next = random.below(turns_of_one.len());
        let this = |root: &Value| root["continuation"]["this"].as_str().unwrap_or_default().to_owned();
        of_one = format!("{{'continuations':['{}','{}']}}", this(&a[0]), turns_of_one[next]);
        of_many = format!("{{'continuations':['{}','{}']}}", this(&b[0]), turns_of_many[next]);
    }
    true
}
