//! Rows of `generated`: many documents made from a seed, and what queries answer about them before and after they are
//! folded. They reach what no hand-written row does: the kernels' wide lanes and rests, the bounds that pass over most
//! vectors, blocks of many documents, and every transcendental function. A row says what is made: `vectors` (of a cell
//! type, a metric and a size) or `texts`.
use std::fmt::Write;

use serde_json::Value as Json;

use crate::host::Host;
use crate::row::{needed, text};

const GROUP: &str = "g:a";
const FOLD: u8 = 1;
/// Different words of the generated texts.
const TEXT_WORDS: u64 = 48;

/// A row of `generated`: the bodies of all answers.
pub(crate) fn answers(row: &Json) -> String {
    let mut random = Random(number(row, "seed"));
    let documents = number(row, "documents");
    let (mut host, queries) = match needed(row, "kind") {
        "vectors" => vectors(row, documents, &mut random),
        "texts" => texts(documents, &mut random),
        other => panic!("nothing generates {other}"),
    };
    let mut bodies = Vec::new();
    for folded in [false, true] {
        if folded {
            assert!(host.compact(GROUP, FOLD), "there is something to fold");
        }
        for parameters in &queries {
            let parameters: Vec<(&str, &str)> =
                parameters.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let answer = host.search(GROUP, &parameters);
            assert!(answer.json["root"].get("children").is_some(), "{parameters:?}: {}", answer.body);
            bodies.push(answer.body);
        }
    }
    bodies.join("\n")
}

type Queries = Vec<Vec<(&'static str, String)>>;

fn number(row: &Json, member: &str) -> u64 {
    row[member].as_u64().unwrap_or_else(|| panic!("no number '{member}' in {row}"))
}

fn vectors(row: &Json, documents: u64, random: &mut Random) -> (Host, Queries) {
    let (cell, metric, size) = (needed(row, "cell"), needed(row, "metric"), number(row, "size"));
    let several = if text(row, "several").is_some() { "m{}," } else { "" };
    let schema = format!(
        "schema point {{ document point {{ \
           field vector type tensor<{cell}>({several}x[{size}]) {{ indexing: attribute\n attribute {{ distance-metric: {metric} }} }} \
           field rank type int {{ indexing: attribute }} }}\n\
           rank-profile near {{ inputs {{ query(q) tensor<{cell}>(x[{size}]) }}\n\
             first-phase {{ expression: closeness(field, vector) }}\n match-features: distance(field, vector) }}\n\
           rank-profile mixed inherits near {{ first-phase {{ expression: closeness(field, vector) * 3 + log(attribute(rank)) }} }} }}"
    );
    let mut host = Host::with_schema("point", &schema);
    for document in 0..documents {
        let vector = random.vector(cell, metric, size);
        let vector = if several.is_empty() {
            vector
        } else {
            format!(r#"{{"a":{vector},"b":{}}}"#, random.vector(cell, metric, size))
        };
        let fields = format!(r#"{{"vector":{vector},"rank":{}}}"#, 1 + random.below(100));
        host.put(&format!("id:n:point:g=a:{document:04}"), &fields).expect("a point is a document");
    }
    let statement = |hits: u64, more: &str| {
        format!("select matchfeatures from point where {{targetHits:{hits}}}nearestNeighbor(vector,q){more}")
    };
    let near = |profile: &str, hits: u64, more: &str, query: String| {
        vec![
            ("yql", statement(hits, more)),
            ("ranking", profile.to_owned()),
            ("input.query(q)", query),
            ("hits", "50".to_owned()),
        ]
    };
    let mut query = || random.vector(cell, metric, size);
    let queries = vec![
        near("near", 1, "", query()),
        near("near", 10, "", query()),
        near("near", documents, "", query()),
        near("near", 7, " and rank < 20", query()),
        near("mixed", 10, " or rank = 50", query()),
    ];
    (host, queries)
}

const TEXTS: &str = "schema page { document page { \
    field title type string { indexing: index | summary } \
    field body type string { indexing: index } \
    field tag type array<string> { indexing: attribute } \
    field size type double { indexing: attribute } \
    field year type int { indexing: attribute } }\n\
    fieldset default { fields: title, body }\n\
    rank-profile text { first-phase { expression: nativeRank + bm25(body) * bm25(title) + fieldMatch(body) }\n\
      match-features: nativeFieldMatch nativeProximity nativeAttributeMatch bm25(title) bm25(body) fieldMatch(title) \
        fieldMatch(body).proximity fieldMatch(body).segments textSimilarity(body) fieldTermMatch(body,0).firstPosition \
        elementCompleteness(body).completeness fieldLength(body) matchCount(body) term(0).significance }\n\
    rank-profile numbers { first-phase { expression: sin(attribute(size)) + tanh(attribute(size) / 7) }\n\
      second-phase { expression: firstPhase + log(attribute(year)) * exp(-attribute(size) / 100) + pow(attribute(year), 0.37) }\n\
      match-features { exp_of atan(attribute(size)) cosh(attribute(size) / 50) log10(attribute(year)) fmod(attribute(size), 3) \
        erf(attribute(size) / 40) sigmoid(attribute(size) / 9) }\n\
      function exp_of() { expression: exp(sqrt(abs(attribute(size)))) } } }";

fn texts(documents: u64, random: &mut Random) -> (Host, Queries) {
    let mut host = Host::with_schema("page", TEXTS);
    for document in 0..documents {
        let (title, body, tag) = (random.words(1, 6), random.words(0, 60), random.words(1, 2));
        let fields = format!(
            r#"{{"title":"{title}","body":"{body}","tag":["{tag}"],"size":{},"year":{}}}"#,
            random.decimal(100),
            1900 + random.below(130)
        );
        host.put(&format!("id:n:page:g=a:{document:04}"), &fields).expect("a page is a document");
    }
    let ask = |profile: &str, condition: &str| {
        vec![
            ("yql", format!("select * from page where {condition}")),
            ("ranking", profile.to_owned()),
            ("hits", "50".to_owned()),
        ]
    };
    let queries = vec![
        ask("text", "default contains 'w1' or title contains 'w2' or tag contains 'w3'"),
        ask("text", "body contains phrase('w1','w2') or body contains 'w5'"),
        ask("text", "userInput('w1 w7 \\'w3 w4\\' w9')"),
        ask("text", "body contains ({prefix:true}'w1') and !(title contains ({suffix:true}'3'))"),
        ask("numbers", "year > 1950 and size < 60"),
        ask("numbers", "true order by year desc, size"),
    ];
    (host, queries)
}

/// A sequence of numbers that looks random and depends on its seed alone (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// A number of five decimals within `limit` on both sides of zero, as text.
    fn decimal(&mut self, limit: u64) -> String {
        let sign = if self.below(2) == 0 { "" } else { "-" };
        format!("{sign}{}.{:05}", self.below(limit), self.below(100_000))
    }

    fn vector(&mut self, cell: &str, metric: &str, size: u64) -> String {
        let cells = (0..size).map(|_| match (cell, metric) {
            ("int8", _) => (self.below(256) as i64 - 128).to_string(),
            (_, "geodegrees") => self.decimal(90),
            _ => self.decimal(2),
        });
        let cells: Vec<String> = cells.collect();
        format!("[{}]", cells.join(","))
    }

    /// At least `least` words, and fewer than `bound`.
    fn words(&mut self, least: u64, bound: u64) -> String {
        let mut words = String::new();
        for _ in 0..least + self.below(bound - least) {
            // Common words are common: a product of two fractions is small more often than not.
            let word = self.below(TEXT_WORDS) * self.below(TEXT_WORDS) / TEXT_WORDS;
            write!(words, "w{word} ").expect("a string takes all text");
        }
        words
    }
}
