//! Scores are computed for blocks of documents, match-features for a document at a time: the first phase and the same
//! function as a match-feature agree bit by bit, whatever the order of documents, segments and the tail.

use crate::host::{Host, services};
use crate::random::Random;
use serde_json::Value;

/// Name and expression of each profile.
const PROFILES: [(&str, &str); 7] = [
    (
        "attributes",
        "attribute(n) * 2 + attribute(price) - freshness(when) + freshness(when).logscale + 0.5 * attribute(tags).count
         + if (attribute(flag), bm25(title), age(when) / 1e9)",
    ),
    (
        "matches",
        "nativeRank + fieldMatch(title).completeness * 3 + fieldMatch(title).matches + textSimilarity(body)
         + matchCount(title) * attribute(n) - min(fieldLength(body), 100) + attributeMatch(tags)",
    ),
    ("bounds", "2 * closeness(field, v) + bm25(title) + 0.1 * attribute(price) - max(distance(field, v), attribute(n))"),
    ("trees", "lightgbm(\"m.json\")"),
    (
        "tensors",
        "lightgbm(\"m.json\") * sum(query(q) * attribute(v))
         + switch (attribute(n)) { case 1: xgboost(\"x.json\"), case attribute(price): 2, default: sum(attribute(v)) }",
    ),
    (
        "branches",
        "if (attribute(n) > 3 && closeness(field, v) > 0.4 || isNan(attribute(price)), nativeRank, -1 * distance(field, v))
         + (attribute(n) in [1, 2, 3]) * firstPhaseRank / 1e308",
    ),
    ("infinite", "1 / (attribute(n) - 3) + log(attribute(price) - 1)"),
];

const TREES: &str = r#"{"feature_names":["attribute(n)","attribute(price)","bm25(title)","fieldMatch(body)","closeness(field,v)","half"],
"tree_info":[
 {"tree_structure":{"split_feature":0,"threshold":4,"decision_type":"<=","default_left":true,"missing_type":"NaN",
   "left_child":{"split_feature":1,"threshold":2.5,"decision_type":"<=","default_left":false,"missing_type":"NaN",
     "left_child":{"leaf_value":0.25},"right_child":{"leaf_value":-0.5}},
   "right_child":{"split_feature":4,"threshold":0.45,"decision_type":"<=","default_left":false,"missing_type":"None",
     "left_child":{"leaf_value":1.125},"right_child":{"leaf_value":0.0625}}}},
 {"tree_structure":{"split_feature":2,"threshold":0.2,"decision_type":"<=","default_left":true,"missing_type":"Zero",
   "left_child":{"split_feature":5,"threshold":1,"decision_type":"<=","default_left":true,"missing_type":"NaN",
     "left_child":{"leaf_value":0.1},"right_child":{"leaf_value":0.2}},
   "right_child":{"split_feature":3,"threshold":0.3,"decision_type":"<=","default_left":true,"missing_type":"NaN",
     "left_child":{"leaf_value":0.3},"right_child":{"leaf_value":0.7}}}},
 {"tree_structure":{"split_feature":0,"threshold":"1||2||7","decision_type":"==","missing_type":"NaN",
   "left_child":{"leaf_value":3.5},"right_child":{"leaf_value":-0.125}}}]}"#;

const BOOSTED: &str = r#"[{"nodeid":0,"split":"attribute(price)","split_condition":1.5,"yes":1,"no":2,"missing":2,
"children":[{"nodeid":1,"leaf":0.3},{"nodeid":2,"leaf":-0.7}]}]"#;

fn deployed() -> Host {
    let profiles = PROFILES.map(|(name, expression)| {
        format!(
            "rank-profile {name} inherits base {{
                function f() {{ expression {{ {expression} }} }}
                first-phase {{ expression: f }}
                match-features: f
            }}
            rank-profile {name}_second inherits {name} {{
                first-phase {{ expression: 7 }}
                second-phase {{ expression: f }}
            }}"
        )
    });
    let schema = format!(
        "schema t {{
            document t {{
                field title type string {{ indexing: index }}
                field body type string {{ indexing: index }}
                field tags type array<string> {{ indexing: attribute }}
                field n type int {{ indexing: attribute }}
                field price type float {{ indexing: attribute }}
                field flag type bool {{ indexing: attribute }}
                field when type long {{ indexing: attribute }}
                field v type tensor<float>(x[4]) {{ indexing: attribute }}
            }}
            fieldset default {{ fields: title, body }}
            rank-profile base {{
                inputs {{ query(q) tensor<float>(x[4]) }}
                function half() {{ expression: attribute(n) / 2 }}
            }}
            {}
        }}",
        profiles.join("\n")
    );
    let files = [
        ("services.xml", services(&["t"])),
        ("schemas/t.sd", schema),
        ("models/m.json", TREES.to_owned()),
        ("models/x.json", BOOSTED.to_owned()),
    ];
    Host::of_files(files.map(|(path, text)| (path.to_owned(), text.into_bytes())).into(), 32 << 20)
}

const WORDS: [&str; 5] = ["red", "green", "apple", "pear", "nut"];

fn text(random: &mut Random, most: usize) -> String {
    (0..random.below(most + 1)).map(|_| *random.pick(&WORDS)).collect::<Vec<_>>().join(" ")
}

/// The fields of a document; each may be unset.
fn fields(random: &mut Random) -> String {
    let mut fields = vec![
        format!(r#""title":"{}""#, text(random, 6)),
        format!(r#""body":"{}""#, text(random, 20)),
        format!(
            r#""tags":[{}]"#,
            (0..random.below(3)).map(|_| format!("\"{}\"", random.pick(&WORDS))).collect::<Vec<_>>().join(",")
        ),
        format!(r#""n":{}"#, random.below(9)),
        format!(r#""price":{}"#, random.below(40) as f64 / 8.0),
        format!(r#""flag":{}"#, random.once_in(2)),
        format!(r#""when":{}"#, 1_700_000_000 - random.below(9_000_000)),
        format!(
            r#""v":{{"values":[{:.3},{:.3},{:.3},{:.3}]}}"#,
            random.gaussian(),
            random.gaussian(),
            random.gaussian(),
            random.gaussian()
        ),
    ];
    fields.retain(|_| !random.once_in(8));
    format!("{{{}}}", fields.join(","))
}

fn query(random: &mut Random) -> String {
    let word = |random: &mut Random| {
        format!("{} contains '{}'", random.one_of(&["default", "title", "tags"]), random.pick(&WORDS))
    };
    let near = format!("{{targetHits:{}}}nearestNeighbor(v, q)", 1 + random.below(30));
    let (first, second) = (word(random), word(random));
    match random.below(5) {
        0 => format!("rank(true, {near}, {first}, {second})"),
        1 => format!("{near} or {first}"),
        2 => format!("{first} or {second} or n < 4"),
        3 => format!("title contains phrase('red', 'apple') or {first}"),
        _ => "true".to_owned(),
    }
}

/// A feature or relevance as it is shown; what is no finite number is −∞ as a score.
fn score(shown: &Value) -> f64 {
    shown.as_f64().unwrap_or(f64::NEG_INFINITY)
}

#[test]
fn first_phases_and_match_features_agree() {
    let mut random = Random::new(3);
    let (mut compared, mut infinite) = (0, 0);
    for history in 0..4 {
        let mut host = deployed();
        for number in 0..230 {
            host.put(&format!("id:t:t:g=u:{number:03}"), &fields(&mut random)).expect("a put");
            if history % 2 == 1 && number % 90 == 70 {
                host.compact("g:u", 1);
            }
        }
        for _ in 0..8 {
            let yql = format!("select * from t where {}", query(&mut random));
            let point: Vec<String> = (0..4).map(|_| format!("{:.3}", random.gaussian())).collect();
            for (name, _) in PROFILES {
                let profile = if random.once_in(4) { format!("{name}_second") } else { name.to_owned() };
                let hits = random.one_of(&["5", "300"]);
                let parameters = [
                    ("yql", yql.as_str()),
                    ("ranking", &profile),
                    ("hits", hits),
                    ("input.query(q)", &format!("[{}]", point.join(","))),
                    ("ranking.freshness", "1700000000"),
                ];
                // Blocks of the store are read as they are missed, too.
                if random.once_in(3) {
                    host.forget();
                }
                let answer = host.search("g:u", &parameters);
                let root = &answer.json["root"];
                assert!(root["errors"].is_null(), "{yql}: {root}");
                for hit in root["children"].as_array().into_iter().flatten() {
                    let (relevance, feature) = (score(&hit["relevance"]), score(&hit["fields"]["matchfeatures"]["f"]));
                    assert_eq!(relevance.to_bits(), feature.to_bits(), "{profile}, {yql}: {hit}");
                    compared += 1;
                    infinite += usize::from(relevance.is_infinite());
                }
            }
        }
    }
    assert!(compared > 10_000 && infinite > 100, "{compared} hits were compared, {infinite} without a number");
}
