//! However a history of puts and removes is cut into tail and segments, and whatever stays in memory between requests,
//! every answer is the same to the last byte.

use crate::host::{Host, services};
use crate::random::{Random, config};
use proptest::prelude::*;

const MAIL: &str = r#"
schema mail {
    document mail {
        field subject type string { indexing: summary | index }
        field body type string { indexing: summary | index }
        field sender type string { indexing: summary | attribute }
        field code type string {
            indexing: summary | index
            match: word
        }
        field received type long { indexing: summary | attribute }
        field size type int { indexing: summary | attribute }
        field flag type byte { indexing: summary | attribute }
        field score type double { indexing: summary | attribute }
        field weight type float { indexing: summary | attribute }
        field unread type bool { indexing: summary | attribute }
        field labels type array<string> { indexing: summary | index }
        field folders type array<string> { indexing: summary | attribute }
        field years type array<int> { indexing: summary | attribute }
        field tags type weightedset<string> { indexing: summary | attribute }
        field counts type weightedset<int> { indexing: summary | attribute }
        field note type map<string, int> { indexing: summary }
        field vec type tensor<float>(x[33]) {
            indexing: summary | attribute
            attribute { distance-metric: angular }
        }
        field parts type tensor<bfloat16>(p{},x[33]) { indexing: summary | attribute }
        field small type tensor<int8>(x[4]) {
            indexing: attribute
            attribute { distance-metric: hamming }
        }
    }
    fieldset default { fields: subject, body }
    rank-profile text {
        first-phase { expression: bm25(subject) + nativeRank(body) + fieldMatch(subject) }
        match-features: bm25(subject) bm25(body) nativeRank fieldMatch(subject).proximity attribute(received)
        summary-features: attribute(score) matches(labels) attributeMatch(tags)
    }
    rank-profile near {
        inputs { query(q) tensor<float>(x[33]) query(s) tensor<int8>(x[4]) }
        first-phase { expression: closeness(field, vec) + closeness(field, parts) + closeness(field, small) }
        match-features: distance(field, vec) closeness(field, parts) rawScore(small)
    }
    rank-profile mixed inherits near {
        first-phase { expression: 2 * closeness(field, vec) + bm25(subject) + 0.001 * attribute(size) }
    }
    document-summary brief { summary subject {} summary tags {} }
}
"#;

const WORDS: [&str; 12] =
    ["invoice", "october", "lunch", "café", "Straße", "new", "york", "re", "the", "due", "Über", "x"];
const KEY: &str = "g:u";

/// Condition and what follows it, profile.
const QUERIES: [(&str, &str); 30] = [
    ("true", "text"),
    ("subject contains 'invoice'", "text"),
    ("default contains 'lunch' or body contains 'due'", "text"),
    ("body contains phrase('new', 'york')", "text"),
    ("body contains 'the cafe'", "text"),
    ("subject contains ({prefix:true}'o')", "text"),
    ("subject contains ({suffix:true}'e')", "text"),
    ("body contains ({substring:true}'er')", "text"),
    ("body contains ({substring:true}'e d')", "text"),
    ("labels contains 'october'", "text"),
    ("folders contains 'lunch' and !(sender contains 'due')", "text"),
    ("tags contains 'the' or counts = 3", "text"),
    ("code contains 'new' or code contains 'new york'", "text"),
    ("received > 1000000000000 and size < 50", "text"),
    ("range(score, -1.5, 0.75) or weight >= 0.5", "text"),
    ("flag = -3 or unread = true", "text"),
    ("years in (2019, 2021) and size in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)", "text"),
    ("sender in ('lunch', 'new') order by sender desc, size", "text"),
    ("true order by received, score desc limit 7 offset 3", "text"),
    ("true order by folders, tags desc limit 30 offset 0", "text"),
    ("true order by years desc limit 40", "near"),
    ("rank(subject contains 'invoice', body contains 'new')", "text"),
    ("userInput('invoice -lunch new')", "text"),
    ("weakAnd(subject contains 'x', body contains 'uber') limit 4 offset 2", "text"),
    ("({targetHits:5}nearestNeighbor(vec,q))", "near"),
    ("({targetHits:4}nearestNeighbor(parts,q)) and size < 70", "near"),
    ("({targetHits:3}nearestNeighbor(small,s)) or subject contains 'due'", "near"),
    ("({targetHits:9}nearestNeighbor(vec,q)) and ({targetHits:6}nearestNeighbor(parts,q))", "near"),
    ("rank(true, ({targetHits:2}nearestNeighbor(vec,q))) limit 5", "mixed"),
    ("({targetHits:3}nearestNeighbor(vec,q)) or true limit 6 offset 2", "mixed"),
];

fn text(random: &mut Random, words: usize) -> String {
    let count = random.below(words);
    let words: Vec<&str> = (0..count).map(|_| random.one_of(&WORDS)).collect();
    words.join(random.one_of(&[" ", ", ", "-", "  "]))
}

fn list<T>(random: &mut Random, of: impl Fn(&mut Random) -> T) -> Vec<T> {
    let count = random.below(4);
    (0..count).map(|_| of(random)).collect()
}

/// Different keys with weights.
fn weighted(random: &mut Random, keys: &[&str]) -> Vec<String> {
    let (count, order) = (random.below(4), random.order(keys.len()));
    order.into_iter().take(count).map(|key| format!("\"{}\":{}", keys[key], random.below(9))).collect()
}

/// The fields of a document; some are always left out.
fn fields(random: &mut Random) -> String {
    let vector = |random: &mut Random, size: usize| (0..size).map(|_| random.gaussian() as f32).collect::<Vec<f32>>();
    let years = list(random, |random| 2018 + random.below(5));
    let labels = list(random, |random| text(random, 4));
    let folders = list(random, |random| (random.one_of(&WORDS)).to_owned());
    let tags = weighted(random, &WORDS);
    let counts = weighted(random, &["0", "1", "2", "3", "-4"]);
    let blocks: Vec<String> =
        (0..random.below(4)).map(|label| format!("\"{label}\":{:?}", vector(random, 33))).collect();
    let small: Vec<i64> = (0..4).map(|_| random.below(256) as i64 - 128).collect();
    let all = [
        format!("\"subject\":\"{}\"", text(random, 5)),
        format!("\"body\":\"{}\"", text(random, 30)),
        format!("\"sender\":\"{}\"", random.pick(&WORDS)),
        format!("\"code\":\"{}\"", text(random, 3)),
        format!("\"received\":{}", random.below(3) * 1_000_000_000_000 + random.below(9)),
        format!("\"size\":{}", random.below(100)),
        format!("\"flag\":{}", random.below(8) as i64 - 4),
        format!("\"score\":{:?}", random.gaussian()),
        format!("\"weight\":{:?}", random.unit() as f32),
        format!("\"unread\":{}", random.once_in(2)),
        format!("\"labels\":{labels:?}"),
        format!("\"folders\":{folders:?}"),
        format!("\"years\":{years:?}"),
        format!("\"tags\":{{{}}}", tags.join(",")),
        format!("\"counts\":{{{}}}", counts.join(",")),
        format!("\"note\":{{\"a\":{}}}", random.below(5)),
        format!("\"vec\":{:?}", vector(random, 33)),
        format!("\"parts\":{{\"blocks\":{{{}}}}}", blocks.join(",")),
        format!("\"small\":{small:?}"),
    ];
    let sparse = random.once_in(4);
    let kept: Vec<&str> =
        all.iter().filter(|_| !random.once_in(if sparse { 2 } else { 6 })).map(String::as_str).collect();
    format!("{{{}}}", kept.join(","))
}

/// What happens to the group, in order: a put or a remove, and how the history may be cut after it.
struct Step {
    id: String,
    fields: Option<String>,
    cut: usize,
}

fn history(random: &mut Random, steps: usize) -> Vec<Step> {
    let step = |random: &mut Random| Step {
        id: format!("id:m:mail:g=u:{}", random.below(2 + steps / 2)),
        fields: (!random.once_in(5)).then(|| fields(random)),
        cut: random.below(24),
    };
    (0..steps).map(|_| step(random)).collect()
}

fn empty_host(cache_bytes: usize) -> Host {
    Host::new(&[("services.xml", &services(&["mail"])), ("schemas/mail.sd", MAIL)], cache_bytes)
}

fn apply(host: &mut Host, step: &Step) {
    let applied = match &step.fields {
        Some(fields) => host.put(&step.id, fields),
        None => host.remove(&step.id),
    };
    applied.unwrap_or_else(|rejection| panic!("{rejection}: {:?}", step.fields));
}

/// Folds, settles, forgets or asks in between, as the step says; `shift` makes hosts differ.
fn cut(host: &mut Host, step: &Step, shift: usize) {
    match (step.cut + shift) % 24 {
        0..3 => assert!(host.compact(KEY, 1), "there is a tail"),
        3 => {
            host.compact(KEY, 3);
        }
        4 | 5 => host.forget(),
        6..9 => {
            ask(host, QUERIES[(step.cut * 7 + shift) % QUERIES.len()]);
        }
        _ => {}
    }
}

fn ask(host: &Host, (condition, profile): (&str, &str)) -> String {
    let yql = format!("select * from mail where {condition}");
    let vector: Vec<f32> = (0..33).map(|index| (index % 7) as f32 - 3.0).collect();
    let vector = format!("{vector:?}");
    let parameters = [
        ("yql", yql.as_str()),
        ("ranking", profile),
        ("input.query(q)", &vector),
        ("input.query(s)", "[1, -2, 127, 0]"),
        ("hits", "400"),
        ("timeout", "60s"),
    ];
    let answer = host.search(KEY, &parameters);
    assert_eq!(answer.status, 200, "{yql}: {}", answer.json);
    answer.json.to_string()
}

fn compare(hosts: &[Host], steps: &[Step]) {
    for query in QUERIES {
        let expected = ask(&hosts[0], query);
        for (number, host) in hosts.iter().enumerate().skip(1) {
            assert_eq!(ask(host, query), expected, "{query:?} of host {number}");
        }
    }
    for step in steps {
        let expected = hosts[0].get(&step.id);
        for host in &hosts[1..] {
            let got = host.get(&step.id);
            assert_eq!((got.status, got.json.to_string()), (expected.status, expected.json.to_string()));
        }
    }
}

proptest! {
    #![proptest_config(config(40))]

    #[test]
    fn all_arrangements_answer_alike(seed in any::<u64>(), steps in 1usize..160) {
        let mut random = Random::new(seed);
        let steps = history(&mut random, steps);
        let mut tail = empty_host(64 << 20);
        let mut settled = empty_host(64 << 20);
        let mut cut_hosts = [empty_host(0), empty_host(20_000), empty_host(64 << 20)];
        for step in &steps {
            apply(&mut tail, step);
            apply(&mut settled, step);
            for (number, host) in cut_hosts.iter_mut().enumerate() {
                apply(host, step);
                cut(host, step, 5 * number);
            }
        }
        prop_assert_eq!(tail.shape(KEY), (0, steps.len()));
        settled.compact(KEY, 1);
        settled.compact(KEY, 3);
        // One of documents, and one of what is left of those that were removed.
        prop_assert!(settled.shape(KEY).0 <= 2 && settled.shape(KEY).1 == 0);
        let [cold, tiny, warm] = cut_hosts;
        compare(&[tail, settled, cold, tiny, warm], &steps);
    }
}

#[test]
fn enough_documents_for_bounds_and_several_blocks_answer_alike() {
    let mut random = Random::new(7);
    let mut hosts = [empty_host(64 << 20), empty_host(0), empty_host(64 << 20)];
    let steps = history(&mut random, 1_200);
    for (number, step) in steps.iter().enumerate() {
        for (host, fold_every) in hosts.iter_mut().zip([usize::MAX, 400, 90]) {
            apply(host, step);
            if (number + 1) % fold_every == 0 {
                host.compact(KEY, 1);
            }
        }
    }
    assert!(hosts[1].shape(KEY).0 >= 2, "the history was cut into segments");
    for query in QUERIES {
        assert!(ask(&hosts[0], query).contains("children"), "{query:?} finds something");
    }
    compare(&hosts, &steps[..50]);
}
