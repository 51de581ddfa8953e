//! Queries in JSON are the queries that the same conditions are in YQL: random trees of every operator, with annotations,
//! written in both notations by writers that share nothing with the parsers. `PROPTEST_CASES` says how many are compared.
use brooklet_query::annotations::Typed;
use brooklet_query::tree::{Item, TextRange};
use brooklet_query::{Select, parse_grouping, parse_select, parse_yql, tree_text};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::fixture::{RequestParameters, surroundings, user_query};

/// One condition in both notations.
type Pair = (String, Json);

/// The item without what tells where it was written.
fn placeless(mut item: Item) -> Item {
    fn clear(item: &mut Item) {
        item.place = TextRange::default();
        item.annotations.typed = Typed::No;
        item.children_mut().into_iter().for_each(clear);
    }
    clear(&mut item);
    item
}

/// Single words: several in one text are a phrase in YQL, and stay as they are in JSON.
fn words() -> impl Strategy<Value = String> {
    let known = ["å", "日", "😀", "...", "Ab1"];
    prop_oneof![3 => "[a-z]{1,4}", 1 => prop::sample::select(known.to_vec()).prop_map(str::to_owned)]
}

/// What fields that are compared as a whole are asked for.
fn values() -> impl Strategy<Value = String> {
    let known = ["hello world", "\"a'", "\n\t", "A\\", "a\"b'c\\d", "å é 日本", "1.5", "it's", "x@y"];
    prop_oneof![words(), prop::sample::select(known.to_vec()).prop_map(str::to_owned)]
}

fn texts() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["subject", "body", "sender", "folder", "default", "tags", "people.name", "attrtags"][..])
}

fn numbers() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["year", "size", "b", "nums", "people.age", "score", "f"][..])
}

/// A number in both notations: whole numbers beyond 32 bits have a sign for that in YQL.
fn number() -> impl Strategy<Value = Pair> {
    prop_oneof![
        any::<i32>().prop_map(|number| (number.to_string(), json!(number))),
        any::<i64>().prop_map(|number| (format!("{number}L"), json!(number))),
        (-1e9..1e9f64).prop_map(|number| (format!("{number:?}"), json!(number))),
    ]
}

fn whole() -> impl Strategy<Value = Pair> {
    prop_oneof![
        any::<i32>().prop_map(|number| (number.to_string(), json!(number))),
        any::<i64>().prop_map(|number| (format!("{number}L"), json!(number))),
    ]
}

/// What terms may say of themselves; members of an object as they are written in YQL, and in JSON.
fn annotations() -> impl Strategy<Value = Vec<(String, Json)>> {
    let one = prop_oneof![
        (-5..300i32).prop_map(|weight| ("weight".to_owned(), json!(weight))),
        prop::sample::select(
            &["ranked", "filter", "stem", "normalizeCase", "accentDrop", "usePositionData", "nfkc"][..]
        )
        .prop_flat_map(|name| any::<bool>().prop_map(move |truth| (name.to_owned(), json!(truth)))),
        Just(("label".to_owned(), json!("l \"1\""))),
        (0..9u32).prop_map(|id| ("id".to_owned(), json!(id))),
        Just(("significance".to_owned(), json!(0.25))),
        Just(("documentFrequency".to_owned(), json!({"frequency": 3, "count": 9}))),
        Just(("implicitTransforms".to_owned(), json!(false))),
    ];
    prop::collection::vec(one, 0..4).prop_map(|mut all| {
        let mut seen = std::collections::BTreeSet::new();
        all.retain(|(name, _)| seen.insert(name.clone()));
        all
    })
}

/// With `more` of one operator.
fn with(more: impl Strategy<Value = Option<(String, Json)>>) -> impl Strategy<Value = Vec<(String, Json)>> {
    (annotations(), more).prop_map(|(mut all, more)| {
        all.extend(more);
        all
    })
}

fn literal(value: &Json) -> String {
    match value {
        Json::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(name, value)| format!("{}: {}", literal(&json!(name)), literal(value))).collect();
            format!("{{{}}}", members.join(", "))
        }
        other => other.to_string(),
    }
}

fn annotated(said: &[(String, Json)], yql: String) -> String {
    if said.is_empty() {
        return yql;
    }
    let members: Vec<String> = said.iter().map(|(name, value)| format!("{name}: {}", literal(value))).collect();
    format!("({{{}}}{yql})", members.join(", "))
}

/// Arguments as they are, or beside what is said of the operator.
fn arguments(children: Json, said: &[(String, Json)], bare: bool) -> Json {
    if said.is_empty() && bare {
        return children;
    }
    let attributes: serde_json::Map<String, Json> = said.iter().cloned().collect();
    json!({"children": children, "attributes": attributes})
}

fn quoted(word: &str) -> String {
    json!(word).to_string()
}

/// What stands for a word after `contains`, and what is said of it.
fn operand() -> impl Strategy<Value = (Vec<(String, Json)>, String, Json)> {
    let several = || prop::collection::vec(words(), 2..4);
    let list = |words: &[String]| words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(", ");
    let untouched = |words: &[String]| {
        words
            .iter()
            .map(|word| format!("({{implicitTransforms: false}}{})", quoted(word)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let kind = prop::sample::select(&["prefix", "suffix", "substring"][..]);
    let part = prop_oneof![Just(None), kind.prop_map(|kind| Some((kind.to_owned(), json!(true))))];
    let distance = (0..9u32).prop_map(|distance| Some(("distance".to_owned(), json!(distance))));
    let edits = (0..4u32).prop_map(|edits| Some(("maxEditDistance".to_owned(), json!(edits))));
    let anchor = any::<bool>().prop_map(|truth| Some(("startAnchor".to_owned(), json!(truth))));
    prop_oneof![
        4 => (with(part), words()).prop_map(|(said, word)| (said, quoted(&word), json!(word))),
        1 => (annotations(), several())
            .prop_map(move |(said, words)| (said, format!("phrase({})", list(&words)), json!({ "phrase": words }))),
        1 => (annotations(), several())
            .prop_map(move |(said, words)| (said, format!("equiv({})", list(&words)), json!({ "equiv": words }))),
        1 => (with(distance), several(), any::<bool>()).prop_map(move |(said, words, ordered)| {
            let name = if ordered { "onear" } else { "near" };
            (said, format!("{name}({})", untouched(&words)), json!({ name: words }))
        }),
        1 => annotations().prop_map(|said| {
            let words = json!({"a": 1.0, "b c": 0.5});
            (said, "alternatives({\"a\": 1.0, \"b c\": 0.5})".to_owned(), json!({ "alternatives": [words] }))
        }),
        1 => (with(edits), words())
            .prop_map(|(said, word)| (said, format!("fuzzy({})", quoted(&word)), json!({ "fuzzy": [word] }))),
        1 => with(anchor).prop_map(|said| {
            (said, "uri(\"http://a.b/c?d=e\")".to_owned(), json!({ "uri": ["http://a.b/c?d=e"] }))
        }),
    ]
}

fn contains() -> impl Strategy<Value = Pair> {
    (texts(), operand(), any::<bool>(), any::<bool>()).prop_map(|(field, (said, yql, json), inside, bare)| {
        let yql = format!("{field} contains {}", annotated(&said, yql));
        // What is said may stand at the function itself, or at `contains`.
        let json = match json.as_object().and_then(|function| function.iter().next()) {
            Some((name, children)) if inside => {
                json!({"contains": [field, { name: arguments(children.clone(), &said, bare) }]})
            }
            None if said.is_empty() && bare => json!({ field: json }),
            _ => json!({ "contains": arguments(json!([field, json]), &said, bare) }),
        };
        (yql, json)
    })
}

fn text_input() -> impl Strategy<Value = Pair> {
    let grammar = prop::sample::select(&["all", "any", "weakAnd", "raw", "segment", "web", "phrase"][..]);
    let said = (annotations(), grammar, any::<bool>()).prop_map(|(mut said, grammar, default)| {
        said.retain(|(name, _)| name != "nfkc");
        said.push(("grammar".to_owned(), json!(grammar)));
        said.extend(default.then(|| ("defaultIndex".to_owned(), json!("body"))));
        said
    });
    let texts = prop_oneof![values(), Just("a -b \"c d\" +e".to_owned()), Just("year:>3 x!200".to_owned())];
    (said, texts, any::<bool>(), any::<bool>()).prop_map(|(said, text, in_field, member)| {
        let attributes: serde_json::Map<String, Json> = said.iter().cloned().collect();
        let input = if member || in_field {
            json!({"query": text, "attributes": attributes})
        } else {
            json!({"children": [text], "attributes": attributes})
        };
        if in_field {
            let yql = format!("subject contains {}", annotated(&said, format!("text({})", quoted(&text))));
            return (yql, json!({"contains": ["subject", {"text": input}]}));
        }
        (annotated(&said, format!("userInput({})", quoted(&text))), json!({ "userInput": input }))
    })
}

/// Comparisons, and ranges with one end or two.
fn ranges() -> impl Strategy<Value = Pair> {
    let one = (numbers(), number(), prop::sample::select(&["=", "<", "<=", ">", ">="][..]), annotations());
    let one = one.prop_map(|(field, (low, bound), operator, said)| {
        let yql = format!("{field} {operator} {}", annotated(&said, low));
        (yql, json!({ "range": arguments(json!([field, { operator: bound }]), &said, true) }))
    });
    let limit = prop_oneof![Just(None), (-9..9i32).prop_map(|limit| Some(("hitLimit".to_owned(), json!(limit))))];
    let two = (numbers(), number(), number(), any::<bool>(), any::<bool>(), with(limit), any::<bool>());
    let two = two.prop_map(|(field, (low, low_json), (high, high_json), open, end_open, said, turned)| {
        let mut yql_said = said.clone();
        let bounds = match (open, end_open) {
            (true, true) => Some("open"),
            (true, false) => Some("leftOpen"),
            (false, true) => Some("rightOpen"),
            (false, false) => None,
        };
        yql_said.extend(bounds.map(|bounds| ("bounds".to_owned(), json!(bounds))));
        let ends = json!({
            if open { ">" } else { ">=" }: low_json,
            if end_open { "<" } else { "<=" }: high_json,
        });
        let children = if turned { json!([ends, field]) } else { json!([field, ends]) };
        let yql = annotated(&yql_said, format!("range({field}, {low}, {high})"));
        (yql, json!({ "range": arguments(children, &said, true) }))
    });
    let equal = (numbers(), whole(), any::<bool>()).prop_map(|(field, (yql, json), object)| {
        let json = if object { json!({"field": field, "value": json}) } else { json!([field, json]) };
        (format!("{field} = {yql}"), json!({ "equals": json }))
    });
    let element = (0..20u32, whole()).prop_map(|(index, (yql, json))| {
        (format!("nums[{index}] = {yql}"), json!({"equals": {"field": "nums", "index": index, "value": json}}))
    });
    let truth = any::<bool>().prop_map(|truth| (format!("unread = {truth}"), json!({ "equals": ["unread", truth] })));
    prop_oneof![2 => one, 2 => two, 1 => equal, 1 => element, 1 => truth]
}

fn lists() -> impl Strategy<Value = Pair> {
    let numbers = (prop::collection::vec(whole(), 1..4), annotations(), 0..3u32).prop_map(|(values, said, form)| {
        let (yql, json): (Vec<String>, Vec<Json>) = values.into_iter().unzip();
        membership("nums", &yql, &json, &said, form)
    });
    let texts = (prop::collection::vec(values(), 1..4), annotations(), 0..3u32).prop_map(|(values, said, form)| {
        let yql: Vec<String> = values.iter().map(|word| quoted(word)).collect();
        let json: Vec<Json> = values.into_iter().map(Json::from).collect();
        membership("sender", &yql, &json, &said, form)
    });
    let target = prop_oneof![Just(None), (1..9u32).prop_map(|hits| Some(("targetHits".to_owned(), json!(hits))))];
    let name = prop::sample::select(&["weightedSet", "dotProduct", "wand"][..]);
    let weighted = (name, prop::collection::btree_map("[a-z ]{1,3}", -9..99i32, 1..4), with(target));
    let weighted = weighted.prop_map(|(name, weights, said)| {
        let json = json!(weights);
        let yql = annotated(&said, format!("{name}(weights, {})", literal(&json)));
        (yql, json!({ name: arguments(json!(["weights", json]), &said, true) }))
    });
    let pairs = (prop::sample::select(&["weightedSet", "dotProduct", "wand"][..]), any::<i32>(), -9..99i32);
    let pairs = pairs.prop_map(|(name, key, weight)| {
        (format!("{name}(iw, [[{key}, {weight}], [3, 2]])"), json!({ name: ["iw", [[key, weight], [3, 2]]] }))
    });
    let pattern = (texts_of_patterns(), annotations()).prop_map(|(pattern, said)| {
        let yql = format!("sender matches {}", annotated(&said, quoted(pattern)));
        (yql, json!({ "matches": arguments(json!(["sender", pattern]), &said, true) }))
    });
    prop_oneof![numbers, texts, weighted, pairs, pattern]
}

fn membership(field: &str, yql: &[String], json: &[Json], said: &[(String, Json)], form: u32) -> Pair {
    let yql = annotated(said, format!("({field} in ({}))", yql.join(", ")));
    let attributes: serde_json::Map<String, Json> = said.iter().cloned().collect();
    let listed = match form {
        0 => json!({"field": field, "value": json, "attributes": attributes}),
        1 => json!({"field": field, "values": json, "attributes": attributes}),
        _ => {
            let mut children = vec![json!(field)];
            children.extend_from_slice(json);
            arguments(json!(children), said, true)
        }
    };
    (yql, json!({ "in": listed }))
}

fn texts_of_patterns() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["a.*\\d", "^x|y$", "[a-c]{2,}", "\"q\""][..])
}

/// Operators that are written in one way only, and conditions on elements.
fn others() -> impl Strategy<Value = Pair> {
    let nearest = prop_oneof![
        Just(Some(("distanceThreshold".to_owned(), json!(2.5)))),
        Just(Some(("approximate".to_owned(), json!(false)))),
        Just(Some(("hnsw.exploreAdditionalHits".to_owned(), json!(7)))),
    ];
    let nearest = with(nearest).prop_map(|mut said| {
        said.push(("targetHits".to_owned(), json!(3)));
        let yql = annotated(&said, "nearestNeighbor(emb, q)".to_owned());
        (yql, json!({ "nearestNeighbor": arguments(json!(["emb", "q"]), &said, true) }))
    });
    let circle = annotations().prop_map(|said| {
        let yql = annotated(&said, "geoLocation(location, 63.5, -10.5, \"3 km\")".to_owned());
        (yql, json!({ "geoLocation": arguments(json!(["location", 63.5, -10.5, "3 km"]), &said, true) }))
    });
    let area = Just((
        "geoBoundingBox(location, -1.5, 2, 3, 4)".to_owned(),
        json!({"geoBoundingBox": ["location", -1.5, 2, 3, 4]}),
    ));
    let predicate = Just((
        "predicate(pred, {\"a\": \"b\", \"c\": [\"d\", \"e\"]}, {\"f\": 7})".to_owned(),
        json!({"predicate": ["pred", {"a": "b", "c": ["d", "e"]}, {"f": 7}]}),
    ));
    let element = (words(), -9..99i32, any::<bool>()).prop_map(|(word, age, shorthand)| {
        let name = if shorthand { json!({ "name": word }) } else { json!({"contains": ["name", word]}) };
        let yql = format!("people contains sameElement(name contains {}, age > {age})", quoted(&word));
        (yql, json!({"contains": ["people", {"sameElement": [name, {"range": ["age", {">": age}]}]}]}))
    });
    prop_oneof![nearest, circle, area, predicate, element, Just(("userQuery()".to_owned(), json!({"userQuery": []})))]
}

fn condition() -> impl Strategy<Value = Pair> {
    let simple = prop_oneof![4 => contains(), 1 => text_input(), 3 => ranges(), 3 => lists(), 2 => others(),
        1 => any::<bool>().prop_map(|truth| (truth.to_string(), json!(truth)))];
    let tree = simple.prop_recursive(4, 24, 3, |inner| {
        let hits = prop::sample::select(&["targetHits", "totalTargetHits"][..]);
        (inner.clone(), inner.clone(), inner, 0..7u32, (hits, 1..9u32), any::<bool>()).prop_map(
            |((a, a_json), (b, b_json), (c, c_json), kind, (hits, count), bare)| {
                let said = [(hits.to_owned(), json!(count))];
                let none = |children: Json| arguments(children, &[], bare);
                match kind {
                    0 => (format!("(({a}) and ({b}))"), json!({ "and": none(json!([a_json, b_json])) })),
                    1 => (format!("(({a}) or ({b}) or ({c}))"), json!({ "or": none(json!([a_json, b_json, c_json])) })),
                    2 => (
                        format!("(({a}) and !({b}) and !({c}))"),
                        json!({ "and_not": none(json!([a_json, b_json, c_json])) }),
                    ),
                    3 => (format!("rank({a}, {b})"), json!({ "rank": none(json!([a_json, b_json])) })),
                    4 => (format!("weakAnd({a}, {b})"), json!({ "weakAnd": none(json!([a_json, b_json])) })),
                    5 => (
                        annotated(&said, format!("weakAnd({a}, {b})")),
                        json!({ "weakAnd": arguments(json!([a_json, b_json]), &said, false) }),
                    ),
                    _ => (format!("nonEmpty({a})"), json!({ "nonEmpty": a_json })),
                }
            },
        )
    });
    // Within others, what is only negated becomes one operator with them in YQL.
    (tree, prop::bool::weighted(0.1)).prop_map(|((yql, json), negated)| {
        if negated { (format!("!({yql})"), json!({ "not": json })) } else { (yql, json) }
    })
}

/// A grouping in both notations.
fn grouping() -> impl Strategy<Value = Pair> {
    let expression = prop::sample::select(
        &["year", "time.year(year)", "fixedwidth(size, 10)", "strcat(sender, \"x\")", "people.name", "size % 3 + 1"][..],
    );
    let output = prop::sample::select(&["count()", "sum(size)", "max(score)", "quantiles([0.5, 0.9], size)"][..]);
    let order = prop::sample::select(&["-count()", "sum(size)", "-max(score)"][..]);
    let buckets = Just((
        "predefined(size, bucket(-inf, 2), bucket[2, 9>)".to_owned(),
        json!({"predefined": ["size", {"bucket": ["-inf", 2]}, "bucket[2,9>"]}),
    ));
    let by = prop_oneof![3 => expression.prop_map(|text| (text.to_owned(), json!(text))), 1 => buckets];
    let hits = Just(("each(output(summary()))".to_owned(), json!({"output": "summary()"})));
    let level = (by, output, order, 1..9u32, prop::option::of("[a-z]{1,5}"));
    let level = move |inner: BoxedStrategy<Pair>| {
        (level.clone(), inner).prop_map(|(((by, by_json), output, order, max, label), (inside, inside_json))| {
            let named = label.as_ref().map_or(String::new(), |label| format!(" as(\"{label}\")"));
            let yql = format!("all(group({by}) max({max}) order({order}) each(output({output}) {inside}){named})");
            let mut each = serde_json::Map::new();
            each.insert("output".to_owned(), json!(output));
            let inner = if inside.starts_with("all") { "all" } else { "each" };
            each.insert(inner.to_owned(), inside_json);
            let mut members = json!({"group": by_json, "max": max, "order": order, "each": each});
            if let Some(label) = label {
                members["label"] = json!(label);
            }
            (yql, members)
        })
    };
    level(prop_oneof![hits.clone(), level(hits.boxed())].boxed())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn conditions_in_json_are_those_in_yql((yql, json) in condition()) {
        let given = RequestParameters::default();
        let around = surroundings(&given, Some(user_query("foo \"bar baz\" -qux")));
        let statement = format!("select * from mail where {yql}");
        let text = json.to_string();
        let expected = parse_yql(&statement, &around).map(|query| placeless(query.item));
        let got = parse_select(&Select { filter: &text, grouping: None, fields: None }, &around);
        let got = got.map(|query| placeless(query.item));
        match (&got, &expected) {
            (Ok(got), Ok(expected)) => {
                prop_assert_eq!(tree_text(got), tree_text(expected), "\n{}\n{}", text, statement);
                prop_assert_eq!(got, expected, "\n{}\n{}", text, statement);
            }
            (Err(_), Err(_)) => {}
            _ => prop_assert!(false, "{}\n{:?}\n{}\n{:?}", text, got, statement, expected),
        }
    }

    #[test]
    fn groupings_in_json_are_those_in_yql((yql, json) in grouping()) {
        let given = RequestParameters::default();
        let around = surroundings(&given, None);
        let statement = format!("select * from mail where true | {yql}");
        let grouping = json!([{ "all": json }]).to_string();
        let of = |query: brooklet_query::Query| -> Vec<String> {
            let operations = query.grouping.iter().flat_map(|grouping| parse_grouping(&grouping.text).unwrap());
            operations.map(|operation| operation.to_string()).collect()
        };
        let expected = of(parse_yql(&statement, &around).unwrap());
        let select = Select { filter: "true", grouping: Some(&grouping), fields: None };
        prop_assert_eq!(of(parse_select(&select, &around).unwrap()), expected, "\n{}\n{}", grouping, statement);
    }
}
