//! `cargo run --release -p brooklet-search --example text_throughput [name of a query [rounds [bytes of cache]]]`: what queries of text cost over one segment of
//! 10,000 documents of 200 words, natively and with everything resident unless the cache is said to be smaller. The bench of the product is `bench/text.mjs`.
#[path = "../tests/search/host/mod.rs"]
mod host;
#[path = "../tests/search/random/mod.rs"]
mod random;

use std::time::Instant;

use host::Host;
use random::Random;

const DOCUMENTS: usize = 10_000;
const WORDS: usize = 200;
/// Rounds of each query; the median is told.
const ROUNDS: usize = 41;
const VOCABULARY: usize = 28_000;
const SCHEMA: &str = "schema t {
    document t { field body type string { indexing: index } }
    rank-profile bm25 { first-phase { expression: bm25(body) } }
}";

/// The settings that `schema()` has.
const DEFAULTS: [(&str, &str); 4] = [
    ("ranking.properties.brooklet.stemming", "english"),
    ("ranking.properties.brooklet.accents", "ignored"),
    ("ranking.properties.brooklet.typos", "forgiven"),
    ("ranking.properties.brooklet.segmentation", "cjk"),
];

/// Words by how often they come, as of a natural language: the one at place r about as often as 1/r.
fn word(random: &mut Random) -> usize {
    ((VOCABULARY as f64).powf(random.unit()) - 1.0) as usize
}

fn main() {
    let cache = std::env::args().nth(3).map_or(64 << 20, |bytes| bytes.parse().expect("a number of bytes"));
    let mut host = Host::new(&[("services.xml", &host::services(&["t"])), ("schemas/t.sd", SCHEMA)], cache);
    let mut random = Random::new(7);
    for number in 0..DOCUMENTS {
        let text: Vec<String> = (0..WORDS).map(|_| name(word(&mut random))).collect();
        host.put(&format!("id:t:t:g=u:{number:05}"), &format!("{{\"body\":\"{}\"}}", text.join(" "))).expect("a put");
    }
    host.compact("g:u", 1);
    let quoted = |words: [usize; 3]| words.map(|at| format!("body contains '{}'", name(at))).join(" or ");
    let typed =
        |words: [String; 3]| format!("{{grammar: 'tokenize', defaultIndex: 'body'}}userInput('{}')", words.join(" "));
    let of_rank = |ranks: [usize; 3]| typed(ranks.map(name));
    let queries = [
        ("typed rare", of_rank([2_000, 3_000, 5_000])),
        ("typed medium", of_rank([150, 250, 400])),
        ("typed common", of_rank([2, 7, 15])),
        ("typed plurals", typed([8_150, 8_250, 8_400].map(|at| name(at) + "s"))),
        ("typed with slips", typed([8_150, 8_250, 8_400].map(with_slip))),
        ("typed with two slips", typed([8_150, 8_250, 8_400].map(with_two_slips))),
        ("being typed", of_rank([150, 250, 400])),
        ("rare or", quoted([2_000, 3_000, 5_000])),
        ("medium or", quoted([150, 250, 400])),
        ("common or", quoted([2, 7, 15])),
        ("phrase", format!("body contains phrase('{}', '{}')", name(3), name(10))),
        ("phrase of medium words", format!("body contains phrase('{}', '{}')", name(100), name(200))),
        ("near", format!("body contains near('{}', '{}')", name(100), name(200))),
        ("prefix", format!("body contains ({{prefix:true}}'{}')", &name(300)[..3])),
        ("substring", format!("body contains ({{substring:true}}'{}')", &name(300)[1..4])),
        ("fuzzy", format!("body contains ({{maxEditDistance:2}}fuzzy('{}'))", name(300))),
        ("matches", format!("body matches '{}.*{}'", name(300), name(301))),
    ];
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let rounds = std::env::args().nth(2).map_or(ROUNDS, |rounds| rounds.parse().expect("a number of rounds"));
    for (what, query) in queries.into_iter().filter(|(what, _)| what.contains(&wanted)) {
        let yql = format!("select documentid from t where {query}");
        let mut times = Vec::new();
        let (mut total, mut read) = (serde_json::Value::Null, 0);
        for _ in 0..rounds {
            let start = Instant::now();
            let mut parameters = vec![("yql", yql.as_str()), ("ranking", "bm25")];
            parameters.extend(DEFAULTS.iter().filter(|_| what.contains("typed")));
            parameters.extend((what == "being typed").then_some(("ranking.properties.brooklet.typing", "true")));
            let answer = host.search("g:u", &parameters);
            times.push(start.elapsed().as_secs_f64() * 1e3);
            total = answer.json["root"]["fields"]["totalCount"].clone();
            read = answer.bytes_read;
        }
        times.sort_by(f64::total_cmp);
        println!("{what:24} {:8.3} ms  {total} hits  {read} bytes read", times[times.len() / 2]);
    }
}

/// A word with a letter more, which none of the others has.
fn with_slip(number: usize) -> String {
    let word = name(number);
    format!("{}q{}", &word[..3], &word[3..])
}

/// The same twice.
fn with_two_slips(number: usize) -> String {
    let word = name(number);
    format!("{}q{}q{}", &word[..3], &word[3..6], &word[6..])
}

/// A word of its own for every number, of letters as words have them.
fn name(number: usize) -> String {
    const SYLLABLES: [&str; 20] = [
        "ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "va", "we", "xi",
        "yo", "zu",
    ];
    let (mut rest, mut name) = (number, String::new());
    loop {
        name.push_str(SYLLABLES[rest % 20]);
        rest /= 20;
        if rest == 0 {
            return name;
        }
    }
}
