//! bm25 a term at a time is bm25 a document at a time, bit by bit. The same queries are ranked by profiles that ask for
//! sums over terms alone, and by profiles that add nothing of a feature that needs to look at each document.

use crate::host::Host;
use crate::random::Random;

const WORDS: [&str; 6] = ["red", "green", "apple", "pear", "nut", "greenish"];
const SCHEMA: &str = "schema t {
    document t {
        field body type string { indexing: index }
        field tags type array<string> { indexing: index }
        field quiet type string {
            indexing: index
            rank: filter
        }
        field n type int { indexing: attribute }
    }
    fieldset default { fields: body, tags, quiet }
    rank-profile body { first-phase { expression: bm25(body) } }
    rank-profile body_by_document inherits body { first-phase { expression: bm25(body) + 0 * fieldLength(body) } }
    rank-profile all { first-phase { expression: bm25(body) * 3 + if (attribute(n) > 4, bm25(tags), -bm25(quiet)) } }
    rank-profile all_by_document {
        first-phase {
            expression: bm25(body) * 3 + if (attribute(n) > 4, bm25(tags), -bm25(quiet)) + 0 * fieldLength(body)
        }
    }
    rank-profile counted inherits body { rank-properties { brooklet.statistics: group } }
    rank-profile counted_by_document inherits body_by_document { rank-properties { brooklet.statistics: group } }
}";

fn text(random: &mut Random, most: usize) -> String {
    let count = random.below(most + 1);
    (0..count).map(|_| *random.pick(&WORDS)).collect::<Vec<_>>().join(" ")
}

fn term(random: &mut Random) -> String {
    let field = random.one_of(&["body", "body", "tags", "quiet", "default"]);
    let word = random.one_of(&WORDS);
    let other = random.one_of(&WORDS);
    match random.below(9) {
        0 => format!("{field} contains phrase('{word}', '{other}')"),
        1 => format!("{field} contains ({{prefix:true}}'{}')", &word[..2]),
        2 => format!("{field} contains ({{substring:true}}'{}')", &word[1..3]),
        3 => format!("{field} contains ({{usePositionData:false}}'{word}')"),
        4 => format!("{field} contains ({{significance:0.4,weight:30}}'{word}')"),
        5 => format!("{field} contains equiv('{word}', '{other}')"),
        6 => format!("{field} contains near('{word}', '{other}')"),
        _ => format!("{field} contains '{word}'"),
    }
}

fn query(random: &mut Random) -> String {
    let mut terms: Vec<String> = (0..1 + random.below(4)).map(|_| term(random)).collect();
    match random.below(7) {
        // Of these some terms count in fewer documents than they are found in.
        4 => format!("({}) or ({} and {})", terms.join(" or "), term(random), term(random)),
        5 => format!("({} and !({})) or {}", terms.join(" and "), term(random), term(random)),
        6 => format!("rank(n > 3, rank({}, {}), {} and n > 5)", term(random), term(random), terms.join(" and ")),
        0 => terms.join(" and "),
        1 => format!("rank({})", terms.join(", ")),
        2 => {
            terms.push("n > 3".to_owned());
            terms.join(" or ")
        }
        _ => terms.join(" or "),
    }
}

#[test]
fn sums_over_terms_have_the_bits_of_single_documents() {
    let mut random = Random::new(11);
    let mut ranked = 0;
    for history in 0..6 {
        let mut host = Host::with_schema("t", SCHEMA);
        // Enough that most are passed by unseen where few are shown.
        for number in 0..400 {
            let tags: Vec<String> = (0..random.below(4)).map(|_| format!("\"{}\"", text(&mut random, 3))).collect();
            let (body, quiet, n) = (text(&mut random, 30), text(&mut random, 4), random.below(9));
            let fields = format!(r#"{{"body":"{body}","quiet":"{quiet}","tags":[{}],"n":{n}}}"#, tags.join(","));
            host.put(&format!("id:t:t:g=u:{number:03}"), &fields).expect("a put");
            if history % 3 > 0 && number % (60 * history) == 50 {
                host.compact("g:u", 1);
            }
        }
        host.remove("id:t:t:g=u:007").expect("a remove");
        for _ in 0..40 {
            let yql = format!("select documentid from t where {}", query(&mut random));
            let hits = random.one_of(&["1", "4", "20", "400"]);
            let mut shown = vec![("yql", yql.as_str()), ("hits", hits)];
            if random.below(4) == 0 {
                shown.push(("ranking.rankScoreDropLimit", "0.6"));
            }
            for profile in ["body", "all", "counted"] {
                let scores = |profile: &str| {
                    let answer = host.search("g:u", &[&shown[..], &[("ranking", profile)]].concat());
                    let root = &answer.json["root"];
                    assert!(root["errors"].is_null(), "{yql}: {root}");
                    let hits = root["children"].as_array().cloned().unwrap_or_default();
                    let score = |hit: &serde_json::Value| (hit["id"].to_string(), hit["relevance"].to_string());
                    (root["fields"]["totalCount"].clone(), hits.iter().map(score).collect::<Vec<_>>())
                };
                let sums = scores(profile);
                assert_eq!(sums, scores(&format!("{profile}_by_document")), "{yql}, {profile}");
                ranked += sums.1.len();
            }
        }
    }
    assert!(ranked > 20_000, "only {ranked} documents were ranked");
}
