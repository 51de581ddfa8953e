//! What an explanation says of a document is what the answers themselves show of it.

use std::collections::BTreeSet;

use crate::host::{Host, ids};

const SCHEMA: &str = "schema note { document note {
    field title type string { indexing: summary | index }
    field tags type array<string> { indexing: summary | index }
    field year type int { indexing: summary | attribute }
} rank-profile default { first-phase { expression: bm25(title) + attribute(year) / 10
    rank-score-drop-limit: 0.75 } } }";

const WORDS: [&str; 5] = ["red", "barn", "blue", "sky", "sea"];
const DOCUMENTS: usize = 40;

const QUERIES: [&str; 6] = [
    "title contains 'red'",
    "title contains 'red' and tags contains 'sky'",
    "title contains 'sea' or (tags contains 'blue' and year > 5)",
    "title contains 'barn' and !(tags contains 'red')",
    "title contains phrase('red', 'blue') or tags contains near('sky', 'sea') or year = 7",
    "rank(title contains 'sea', tags contains 'red')",
];

fn host() -> Host {
    let mut host = Host::with_schema("note", SCHEMA);
    for number in 0..DOCUMENTS {
        let word = |at: usize| WORDS[(number * 7 + at * 3 + number / 3) % WORDS.len()];
        let fields = format!(
            r#"{{"title":"{} {}","tags":["{} {}","{}"],"year":{}}}"#,
            word(0),
            word(1),
            word(2),
            word(3),
            word(4),
            number % 9
        );
        host.put(&id(number), &fields).unwrap();
        if number == DOCUMENTS / 2 {
            host.compact("g:alice", 1);
        }
    }
    host
}

fn id(number: usize) -> String {
    format!("id:n:note:g=alice:{number:02}")
}

#[test]
fn outcomes_and_positions_are_those_of_the_answers() {
    let host = host();
    let mut outcomes = BTreeSet::new();
    for condition in QUERIES {
        let yql = format!("select * from note where {condition}");
        let all = ids(&host.search("g:alice", &[("yql", &yql), ("hits", "400")]));
        let undropped =
            ids(&host.search("g:alice", &[("yql", &yql), ("hits", "400"), ("ranking.rankScoreDropLimit", "-1")]));
        for number in 0..DOCUMENTS {
            let id = id(number);
            let answer = host.search("g:alice", &[("yql", &yql), ("hits", "3"), ("explain.id", &id)]);
            let explained = &answer.json["explain"];
            let outcome = explained["outcome"].as_str().unwrap();
            let local = id.rsplit(':').next().unwrap();
            let place = all.iter().position(|hit| hit.ends_with(local));
            let expected = match place {
                Some(place) if place < 3 => "RETURNED",
                Some(_) => "OUTSIDE_WINDOW",
                None if undropped.iter().any(|hit| hit.ends_with(local)) => "DROPPED",
                None => "NOT_MATCHED",
            };
            assert_eq!(outcome, expected, "{condition}, {id}: {explained}");
            assert_eq!(explained["query"]["matched"], outcome != "NOT_MATCHED", "{condition}, {id}");
            assert_eq!(explained["reasons"].as_array().unwrap().is_empty(), outcome == "RETURNED");
            if let Some(place) = place {
                // Ties are ordered by ids, which the position leaves open.
                let (before, tied) = (explained["position"].as_u64().unwrap(), explained["tied"].as_u64().unwrap());
                assert!((before..=before + tied).contains(&(place as u64)), "{condition}, {id}: {place}, {explained}");
                let score = &explained["ranking"]["firstPhase"]["value"];
                assert_eq!(explained["relevance"], *score, "{condition}, {id}");
            }
            outcomes.insert(outcome.to_owned());
        }
    }
    assert_eq!(outcomes.len(), 4, "{outcomes:?}");
}

#[test]
fn an_answer_is_the_same_with_and_without_explanation() {
    let host = host();
    for condition in &QUERIES[..4] {
        let yql = format!("select * from note where {condition}");
        let plain = host.search("g:alice", &[("yql", &yql)]);
        let explained = host.search("g:alice", &[("yql", &yql), ("explain", "true"), ("explain.id", &id(0))]);
        let mut root = explained.json["root"].clone();
        for hit in root.get_mut("children").and_then(|hits| hits.as_array_mut()).into_iter().flatten() {
            assert_eq!(hit["explain"]["query"]["matched"], true);
            let value = hit["explain"]["ranking"]["firstPhase"]["value"].clone();
            assert_eq!(hit["relevance"], value);
            hit.as_object_mut().unwrap().remove("explain").unwrap();
        }
        assert_eq!(root, plain.json["root"], "{condition}");
    }
}
