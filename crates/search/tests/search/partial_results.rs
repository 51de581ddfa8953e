//! `brooklet.partial` (an extension): a search that runs out of time answers with what it has, and says so.

use std::collections::BTreeMap;

use crate::host::{Answer, Host, rendered};
use brooklet_task::bytes::Reader;

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

const PARTIAL: (&str, &str) = ("brooklet.partial", "true");

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

#[test]
fn the_answer_of_several_partitions_says_that_one_was_late() {
    let mut host = host();
    for number in 0..40 {
        let fields = format!(r#"{{"year":{number},"title":"odd note"}}"#);
        host.put(&format!("id:n:note:g=bob:{number:05}"), &fields).unwrap();
    }
    let parameters = [
        ("yql", "select * from note where title contains 'odd'"),
        ("streaming.selection", "id.group == \"alice\" or id.group == \"bob\""),
        ("hits", "400"),
        ("timeout", "100ms"),
        PARTIAL,
    ];
    let query = host.query(&parameters, "", "");
    let of_bob = host.search_part("g:bob", &query, &[]).unwrap();
    let mut partial = 0;
    for steps in 0.. {
        host.forget();
        let of_alice = host.search_part_late("g:alice", &query, steps, 75.0);
        let merged = host.merge(&query, &[], &[of_alice, of_bob.clone()], true).unwrap();
        let answer = rendered(&merged);
        let root = &answer.json["root"];
        let coverage = &root["coverage"];
        let seen = coverage["documents"].as_u64().unwrap();
        assert_eq!(answer.status, 200);
        assert_eq!(coverage["coverage"].as_u64().unwrap(), seen * 100 / (DOCUMENTS + 40), "{coverage}");
        // What the other partition found is there, however late this one was.
        let of = |group: &str| hits(&answer).keys().filter(|id| id.contains(group)).count();
        let total = root["fields"]["totalCount"].as_u64().unwrap();
        assert_eq!(of("g=alice") + of("g=bob"), (total as usize).min(400), "{steps} steps");
        if coverage["full"] == true {
            assert_eq!((seen, total), (DOCUMENTS + 40, DOCUMENTS / 2 + 40));
            break;
        }
        assert_eq!(coverage["degraded"]["timeout"], true);
        assert!(of("g=bob") == 40 || total > 400, "{steps} steps: {}", answer.body);
        partial += u64::from(of("g=alice") > 0);
    }
    assert!(partial > 0, "no partial result had hits of both");
}

#[test]
fn damaged_partitions_refuse_a_query_or_are_told_where_it_takes_a_part() {
    let mut host = host();
    for number in 0..30 {
        let fields = format!(r#"{{"year":{number},"title":"odd note"}}"#);
        host.put(&format!("id:n:note:g=bob:{number:05}"), &fields).unwrap();
    }
    let answer = |more: &[(&str, &str)], groups: &[&str], damaged: &[u32]| {
        let all = [("yql", "select * from note where title contains 'odd'"), ("streaming.selection", "true")];
        let parameters: Vec<_> = all.iter().chain(more).copied().collect();
        let query = host.query(&parameters, "", "");
        let mut parts: Vec<_> = groups.iter().map(|key| host.search_part(key, &query, &[]).unwrap()).collect();
        let mut over = false;
        for count in damaged {
            let merged = host.merge_damaged(&query, &[], &parts, false, *count).unwrap();
            let mut reader = Reader::new(&merged);
            over = reader.u8().unwrap() == 1;
            reader.bytes().unwrap();
            parts = vec![reader.bytes().unwrap().to_vec()];
        }
        (over, rendered(&host.merge(&query, &[], &parts, true).unwrap()))
    };
    let error = |answer: &Answer| {
        let told = answer.json["root"]["errors"][0].clone();
        (answer.status, told["name"].as_str().map(ToOwned::to_owned), told["message"].as_str().map(ToOwned::to_owned))
    };
    let corrupt = Some("STORE_CORRUPT".to_owned());
    let (over, refused) = answer(&[], &["g:bob"], &[1]);
    assert!(over, "nobody goes on");
    assert_eq!(error(&refused), (500, corrupt.clone(), Some("The stored data is damaged".to_owned())));
    assert!(refused.json["root"]["children"].is_null());

    let (over, part) = answer(&[PARTIAL], &["g:bob"], &[1, 2]);
    assert!(!over, "others are searched");
    let told = "The stored data of 3 of 4 groups is damaged: they were not searched".to_owned();
    assert_eq!(error(&part), (200, corrupt.clone(), Some(told)));
    let coverage = &part.json["root"]["coverage"];
    assert_eq!((&coverage["documents"], &coverage["coverage"]), (&30.into(), &25.into()), "{coverage}");
    assert_eq!((&coverage["full"], &coverage["degraded"]["non-ideal-state"]), (&false.into(), &true.into()));
    assert_eq!(coverage["degraded"]["timeout"], false);
    assert_eq!(part.json["root"]["fields"]["totalCount"], 30);

    let (_, nothing) = answer(&[PARTIAL], &[], &[1]);
    assert_eq!(error(&nothing).0, 500, "there is nothing that a part could be of: {}", nothing.body);
    let (_, sound) = answer(&[PARTIAL], &["g:bob", "g:alice"], &[0]);
    assert_eq!((sound.status, &sound.json["root"]["coverage"]["full"]), (200, &true.into()));
}

#[test]
fn a_search_through_values_rests() {
    let mut host = Host::with_schema("note", SCHEMA);
    let title = "lorem ipsum ".repeat(2_000);
    for number in 0..40 {
        host.put(&format!("id:n:note:g=alice:{number:05}"), &format!(r#"{{"title":"{title}{number}"}}"#)).unwrap();
    }
    host.compact("g:alice", 1);
    let query = [("yql", "select * from note where title matches 'o.*1.$'"), QUERY[1], ("timeout", "100ms"), PARTIAL];
    let whole = host.search("g:alice", &query);
    assert_eq!(whole.json["root"]["fields"]["totalCount"], 10);
    // All blocks are there: it is only the rests at which the clock is looked at.
    let full = |steps: usize| {
        let answer = host.search_late("g:alice", &query, steps, 75.0);
        assert!(answer.json["root"]["coverage"]["full"] != true || answer.body == whole.body);
        answer.json["root"]["coverage"]["full"] == true
    };
    let steps = (0..).find(|steps| full(*steps)).unwrap();
    assert!(steps > 4, "all values were looked at in {steps} steps");
}

/// The error of an answer: status, number, message.
fn refused(answer: &Answer) -> (u16, i64, String) {
    assert!(answer.json["root"]["children"].is_null(), "{}", answer.body);
    let error = &answer.json["root"]["errors"][0];
    (answer.status, error["code"].as_i64().unwrap_or(0), error["message"].as_str().unwrap_or("").to_owned())
}

const TIMED_OUT: &str = "Query timed out in streaming visitor";

fn no_time_left(waited_ms: u32) -> (u16, i64, String) {
    (504, 12, format!("No time left after waiting for {waited_ms}ms to execute query"))
}

#[test]
fn a_query_whose_time_was_over_while_it_waited_is_refused_before_it_is_begun() {
    let host = host();
    let query = |timeout| [QUERY[0], QUERY[1], ("timeout", timeout), ("hits", "1")];
    for more in [&[][..], &[PARTIAL]] {
        let waited = |timeout, ms| host.search_late("g:alice", &[&query(timeout)[..], more].concat(), 0, ms);
        for _ in 0..40 {
            assert_eq!(refused(&waited("0", 0.0)), no_time_left(1));
        }
        assert_eq!(refused(&waited("100ms", 100.0)), no_time_left(100));
        assert_eq!(refused(&waited("100ms", 150.9)), no_time_left(150));
    }
    assert_eq!(host.search_late("g:alice", &query("100ms"), 0, 99.9).status, 200);
    let in_yql = [("yql", "select * from note where true timeout 0"), QUERY[1]];
    assert_eq!(refused(&host.search_late("g:alice", &in_yql, 0, 0.0)), no_time_left(1));
    // What is wrong with a query is told whatever the time.
    assert_eq!(host.search_late("g:alice", &[("yql", "select"), QUERY[1], ("timeout", "0")], 0, 9.0).status, 400);
}

#[test]
fn the_clock_decides_whether_what_was_done_was_done_in_time() {
    let host = host();
    let all = usize::MAX;
    let done_after = |ms| host.search_late("g:alice", &QUERY, all, ms);
    assert_eq!(done_after(99.9).status, 200);
    assert_eq!(refused(&done_after(100.0)), (504, 12, TIMED_OUT.to_owned()));
    assert_eq!(host.search_late("g:alice", &[&QUERY[..], &[PARTIAL]].concat(), all, 100.0).status, 200);

    let query = host.query(&[QUERY[0], ("streaming.selection", "true"), QUERY[3]], "", "");
    let parts = vec![host.search_part("g:alice", &query, &[]).unwrap()];
    assert_eq!(host.answer_late(&query, &parts, 99.9).status, 200);
    assert_eq!(refused(&host.answer_late(&query, &parts, 100.0)), (504, 12, TIMED_OUT.to_owned()));
    assert_eq!(refused(&host.answer_late(&query, &[], 120.0)), no_time_left(120));
    let late_part = vec![host.search_part_late("g:alice", &query, 0, 100.0)];
    assert_eq!(refused(&host.answer_late(&query, &late_part, 100.0)), (504, 12, TIMED_OUT.to_owned()));
}
