//! What the stages of a search took: time and bytes, which are all of what the search took together.

use crate::host::{Answer, Host, services};
use serde_json::Value;

const NOTE: &str = "schema note { document note {
    field title type string {
        indexing: summary | index
        index: enable-bm25
    }
    field tag type string { indexing: summary | attribute }
    field body type string { indexing: summary }
    field vec type tensor<float>(x[32]) {
        indexing: attribute
        attribute { distance-metric: euclidean }
    } }
    rank-profile near { inputs { query(q) tensor<float>(x[32]) }
        first-phase { expression: bm25(title) + closeness(field, vec) } } }";
const YQL: &str = "select * from note where title contains 'word' and ({targetHits:8}nearestNeighbor(vec,q)) | \
                   all(group(tag) each(output(count())))";

fn host(groups: &[&str]) -> Host {
    let mut host = Host::new(&[("services.xml", &services(&["note"])), ("schemas/note.sd", NOTE)], 64 << 20);
    for group in groups {
        for number in 0..600u32 {
            let cells: Vec<String> = (0..32).map(|cell| format!("{}", (number * 31 + cell * 7) % 97)).collect();
            let body = format!("text {number} ").repeat(20);
            let fields = format!(
                r#"{{"title":"word {number}","tag":"t{}","body":"{body}","vec":[{}]}}"#,
                number % 3,
                cells.join(",")
            );
            host.put(&format!("id:n:note:g={group}:{number:03}"), &fields).unwrap();
        }
        host.compact(&format!("g:{group}"), 1);
    }
    host
}

fn input() -> String {
    format!("[{}]", (0..32).map(|cell| (cell * 3 % 97).to_string()).collect::<Vec<_>>().join(","))
}

fn sum(stages: &Value, member: &str) -> f64 {
    stages.as_object().unwrap().values().map(|of| of[member].as_f64().unwrap()).sum()
}

fn check_sums(answer: &Answer) {
    let timing = &answer.json["timing"];
    for bytes in ["bytesread", "bytesscanned"] {
        assert_eq!(sum(&timing["stages"], bytes), timing[bytes].as_f64().unwrap(), "{bytes} of {timing}");
    }
}

#[test]
fn the_stages_of_a_search_are_all_of_its_time_and_bytes() {
    let (host, input) = (host(&["a"]), input());
    let asked = [
        ("yql", YQL),
        ("streaming.groupname", "a"),
        ("ranking", "near"),
        ("input.query(q)", &input),
        ("presentation.timing", "true"),
    ];
    let cold = host.search_timed("g:a", &asked, 5.0);
    check_sums(&cold);
    let (timing, stages) = (&cold.json["timing"], &cold.json["timing"]["stages"]);
    assert!((sum(stages, "time") - timing["querytime"].as_f64().unwrap()).abs() < 1e-9, "{timing}");
    assert_eq!(stages["wait"]["time"], 0.006, "what it waited for, and the look at the clock before the first stage");
    // Nothing is in the tail, and nothing of a later phase is asked; what ranking reads are the lengths of titles.
    let reading = ["match", "scan", "exact", "rank", "group", "order", "summary"].map(|name| (name, true));
    for (name, reads) in reading.into_iter().chain([("load", false), ("phases", false)]) {
        let of = &stages[name];
        assert!(of["time"].as_f64().unwrap() >= 0.001, "{name} of {timing}");
        assert_eq!(of["bytesread"].as_u64().unwrap() > 0, reads, "{name} of {timing}");
    }
    assert!(stages.get("models").is_none(), "none was asked: {timing}");

    let warm = host.search_timed("g:a", &asked, 0.0);
    check_sums(&warm);
    let of_warm = &warm.json["timing"]["stages"];
    assert_eq!(warm.json["timing"]["bytesread"], 0);
    // What is kept opened is not looked at again.
    let scanned = |of: &Value| of["scan"]["bytesscanned"].as_u64().unwrap();
    assert!((1..=scanned(stages)).contains(&scanned(of_warm)), "{of_warm} after {stages}");
    assert_eq!(warm.json["root"], cold.json["root"]);
    let plain: Vec<_> = asked.iter().filter(|(name, _)| *name != "presentation.timing").copied().collect();
    let plain = host.search_raw("g:a", &plain, "");
    assert_eq!(plain.json["root"], warm.json["root"], "what is measured answers the same");
    assert!(plain.json.get("timing").is_none());
}

#[test]
fn those_of_several_groups_are_added() {
    let (host, input) = (host(&["a", "b", "c"]), input());
    let asked = [
        ("yql", YQL),
        ("streaming.selection", "true"),
        ("ranking", "near"),
        ("input.query(q)", &input),
        ("presentation.timing", "true"),
    ];
    let answer = host.search_scoped(&asked, "", "", 2);
    assert_eq!(answer.status, 200, "{}", answer.body);
    check_sums(&answer);
    let stages = &answer.json["timing"]["stages"];
    assert!(stages["exact"]["bytesread"].as_u64().unwrap() > 0, "{stages}");
    assert!(stages.get("wait").is_none(), "each of them waited for the others: {stages}");
}

#[test]
fn an_answer_of_nothing_has_stages_too() {
    let host = host(&[]);
    let asked = [("yql", "select * from note where true"), ("presentation.timing", "true")];
    let answer = host.search("g:nobody", &asked);
    check_sums(&answer);
    assert_eq!(answer.json["timing"]["bytesscanned"], 0);
}
