//! The second phase limited to the best hits of the first (`brooklet.rerank`), against a naive twin that scores every
//! document in both phases; and against the second phase as streaming mode has it, which the limit may only shorten.

use crate::host::Host;
use crate::random::{Random, config};
use proptest::prelude::*;

/// First and second score of a document.
type Scores = (f64, f64);

/// What is asked for.
#[derive(Clone, Copy, Debug)]
struct Asked {
    count: usize,
    hits: usize,
    offset: usize,
    /// Drop limits of both phases.
    limits: (Option<f64>, Option<f64>),
    is_limited: bool,
}

fn schema(asked: &Asked) -> String {
    let limit = |limit: Option<f64>| limit.map_or(String::new(), |limit| format!("rank-score-drop-limit: {limit:?}"));
    let (first, second) = (limit(asked.limits.0), limit(asked.limits.1));
    format!(
        "schema t {{
            document t {{
                field a type double {{ indexing: attribute }}
                field b type double {{ indexing: attribute }}
            }}
            rank-profile both {{
                first-phase {{
                    expression: attribute(a)
                    {first}
                }}
                second-phase {{
                    expression: attribute(b) / (attribute(b) > -100) + 0.001 * firstPhase
                    rerank-count: {}
                    {second}
                }}
                rank-properties {{
                    brooklet.rerank: {}
                }}
            }}
        }}",
        asked.count, asked.is_limited
    )
}

fn second((a, b): Scores) -> f64 {
    let score = b / f64::from(u8::from(b > -100.0)) + 0.001 * a;
    if score.is_finite() { score } else { f64::NEG_INFINITY }
}

/// Numbers and scores of the hits shown, and how many hits there are.
fn twin(documents: &[Scores], asked: &Asked) -> (Vec<(usize, f64)>, usize) {
    let passes = |score: f64, limit: Option<f64>| limit.is_none_or(|limit| score > limit);
    let best = |hits: &mut Vec<(usize, f64)>| hits.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut hits: Vec<(usize, f64)> = documents.iter().map(|scores| scores.0).enumerate().collect();
    if !asked.is_limited {
        // Every hit has its second score, with which the first phase's limit is compared.
        hits.iter_mut().for_each(|hit| hit.1 = second(documents[hit.0]));
        hits.retain(|hit| passes(hit.1, asked.limits.0));
        best(&mut hits);
        let total = hits.len();
        return (hits.into_iter().skip(asked.offset).take(asked.hits).collect(), total);
    }
    hits.retain(|hit| passes(hit.1, asked.limits.0));
    let matched = hits.len();
    best(&mut hits);
    hits.truncate(asked.count.max(asked.hits + asked.offset));
    let seen = hits.len();
    hits.iter_mut().for_each(|hit| hit.1 = second(documents[hit.0]));
    hits.retain(|hit| passes(hit.1, asked.limits.1));
    best(&mut hits);
    let total = matched - (seen - hits.len());
    (hits.into_iter().skip(asked.offset).take(asked.hits).collect(), total)
}

/// What the core answers.
fn answered(documents: &[Scores], asked: &Asked, folded: bool) -> (Vec<(usize, f64)>, usize) {
    let mut host = Host::with_schema("t", &schema(asked));
    for (number, (a, b)) in documents.iter().enumerate() {
        host.put(&format!("id:t:t:g=u:{number:03}"), &format!("{{\"a\":{a},\"b\":{b}}}")).unwrap();
    }
    if folded {
        host.compact("g:u", 1);
    }
    let (hits, offset) = (asked.hits.to_string(), asked.offset.to_string());
    let yql = "select * from t where true";
    let answer = host.search("g:u", &[("yql", yql), ("ranking", "both"), ("hits", &hits), ("offset", &offset)]);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let none = Vec::new();
    let shown = answer.json["root"]["children"].as_array().unwrap_or(&none).iter().map(|hit| {
        let id = hit["id"].as_str().unwrap();
        let score = hit["relevance"].as_f64().unwrap_or(f64::NEG_INFINITY);
        (id[id.len() - 3..].parse().unwrap(), score)
    });
    (shown.collect(), answer.json["root"]["fields"]["totalCount"].as_u64().unwrap() as usize)
}

fn scores(random: &mut Random, count: usize) -> Vec<Scores> {
    // Few values, so that there are ties, and some second scores that are no number.
    let value = |random: &mut Random| random.below(12) as f64 / 4.0 - 1.0;
    (0..count).map(|_| (value(random), if random.once_in(9) { -200.0 } else { value(random) })).collect()
}

proptest! {
    #![proptest_config(config(120))]

    #[test]
    fn the_best_of_the_first_phase_are_scored_anew(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let count = random.below(40);
        let documents = scores(&mut random, count);
        let limit = |random: &mut Random| random.once_in(3).then(|| random.below(8) as f64 / 4.0 - 1.0);
        let mut asked = Asked {
            count: random.below(30),
            hits: 1 + random.below(12),
            offset: random.below(6),
            limits: (limit(&mut random), limit(&mut random)),
            is_limited: true,
        };
        let folded = random.once_in(2);
        for is_limited in [true, false] {
            asked.is_limited = is_limited;
            let (shown, total) = answered(&documents, &asked, folded);
            let (expected, expected_total) = twin(&documents, &asked);
            prop_assert_eq!(&shown, &expected, "{:?} over {:?}", asked, &documents);
            prop_assert_eq!(total, expected_total, "{:?} over {:?}", asked, &documents);
        }
    }

    #[test]
    fn a_limit_that_no_hit_exceeds_changes_nothing(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let count = random.below(40);
        let documents = scores(&mut random, count);
        let asked = Asked { count: 40, hits: 10, offset: random.below(4), limits: (None, None), is_limited: true };
        let unlimited = Asked { is_limited: false, ..asked };
        prop_assert_eq!(answered(&documents, &asked, true), answered(&documents, &unlimited, true));
    }
}
