//! `streaming.partialResults` (an extension): a search that runs out of time answers with what it has, and says so.
mod host;

use std::collections::BTreeMap;

use host::{Answer, Host};

const SCHEMA: &str = "schema note { document note {
    field year type int { indexing: summary | attribute }
    field title type string { indexing: summary | index }
} rank-profile default { first-phase { expression: attribute(year) } } }";

const DOCUMENTS: u64 = 1_500;

fn host() -> Host {
    let mut host = Host::with_schema("note", SCHEMA);
    for number in 0..DOCUMENTS {
        let fields =
            format!(r#"{{"year":{},"title":"{} note"}}"#, number * 7 % 1_501, ["odd", "even"][number as usize % 2]);
        host.put(&format!("id:n:note:g=alice:{number:05}"), &fields).unwrap();
        if number == 700 {
            host.compact("g:alice", 1);
        }
    }
    host
}

const QUERY: [(&str, &str); 4] = [
    ("yql", "select * from note where title contains 'odd'"),
    ("streaming.groupname", "alice"),
    ("hits", "5"),
    ("timeout", "100ms"),
];

fn late(host: &Host, steps: usize, more: &[(&str, &str)]) -> Answer {
    let parameters = [&QUERY[..], more].concat();
    host.forget();
    host.search_late("g:alice", &parameters, steps, 75.0)
}

const PARTIAL: (&str, &str) = ("streaming.partialResults", "true");

fn hits(answer: &Answer) -> BTreeMap<String, String> {
    let hits = answer.json["root"]["children"].as_array().cloned().unwrap_or_default();
    hits.iter().map(|hit| (hit["id"].to_string(), hit.to_string())).collect()
}

#[test]
fn what_was_found_in_time_is_shown_with_honest_coverage() {
    let host = host();
    let whole = late(&host, usize::MAX, &[PARTIAL]);
    assert_eq!(whole.json["root"]["coverage"]["full"], true);
    assert_eq!(whole.json["root"]["fields"]["totalCount"], DOCUMENTS / 2);
    let (mut seen_before, mut partial, mut steps) = (0, 0, 0);
    loop {
        let answer = late(&host, steps, &[PARTIAL]);
        let coverage = &answer.json["root"]["coverage"];
        let seen = coverage["documents"].as_u64().unwrap();
        assert_eq!(answer.status, 200);
        assert!(seen >= seen_before, "{steps} steps: {seen} documents after {seen_before}");
        assert_eq!(coverage["coverage"].as_u64().unwrap(), seen * 100 / DOCUMENTS);
        if coverage["full"] == true {
            assert_eq!(answer.body, whole.body);
            break;
        }
        assert_eq!(
            coverage["degraded"],
            serde_json::json!({"match-phase": false, "timeout": true, "adaptive-timeout": false, "non-ideal-state": false})
        );
        assert_eq!(coverage["resultsFull"], 0);
        let total = answer.json["root"]["fields"]["totalCount"].as_u64().unwrap();
        assert!(total <= DOCUMENTS / 2 && hits(&answer).len() as u64 == total.min(5), "{}", answer.body);
        partial += u64::from(total > 0);
        (seen_before, steps) = (seen, steps + 1);
    }
    assert!(partial > 0, "no partial result had hits");
}

#[test]
fn without_being_asked_for_a_search_is_all_or_nothing() {
    let host = host();
    let whole = late(&host, usize::MAX, &[]);
    assert_eq!(whole.json["root"]["coverage"]["full"], true);
    for steps in 0..6 {
        assert_eq!(late(&host, steps, &[]).body, whole.body);
    }
}

#[test]
fn the_share_of_the_timeout_can_be_set() {
    let host = host();
    let full = |factor: &str| {
        let answer = late(&host, 0, &[PARTIAL, ("ranking.softtimeout.factor", factor)]);
        answer.json["root"]["coverage"]["full"] == true
    };
    assert!(full("0.8") && !full("0.7"));
    let refused = late(&host, 0, &[PARTIAL, ("ranking.softtimeout.factor", "1.5")]);
    assert_eq!(refused.status, 400);
}
