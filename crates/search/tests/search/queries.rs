//! A query that is open: what it tells its host, what it is given, and how often it is compiled.

use crate::host::{Host, rendered};
use brooklet_task::Code;
use brooklet_task::bytes::{Reader, Writer};

const SCHEMA: &str = "schema note {
  document note {
    field title type string { indexing: summary | index }
    field year type int { indexing: summary | attribute }
    field place type tensor<float>(x[2]) { indexing: attribute | summary }
  }
  rank-profile near {
    inputs { query(q) tensor<float>(x[2]) }
    first-phase { expression: sum(query(q) * attribute(place)) }
  }
  rank-profile by_year { first-phase { expression: attribute(year) } }
}";
const ODD: (&str, &str) = ("yql", "select * from note where title contains 'odd'");
const EVERYBODY: (&str, &str) = ("streaming.selection", "true");
const ALICE: (&str, &str) = ("streaming.groupname", "alice");
const NEAR: (&str, &str) = ("ranking", "near");

const GROUPS: u64 = 1_000;

fn host() -> Host {
    let mut host = Host::with_schema("note", SCHEMA);
    for (number, vector) in [(0, "[1,0]"), (1, "[0,1]")] {
        let fields = format!(r#"{{"title":"odd","year":{number},"place":{{"values":{vector}}}}}"#);
        host.put(&format!("id:n:note:g=alice:{number}"), &fields).unwrap();
    }
    host
}

#[test]
fn a_query_of_a_thousand_partitions_is_compiled_once() {
    let mut host = Host::with_schema("note", SCHEMA);
    for number in 0..GROUPS {
        let title = ["odd", "even"][number as usize % 2];
        let fields = format!(r#"{{"title":"{title}","year":{number}}}"#);
        host.put(&format!("id:n:note:g={number}:a"), &fields).unwrap();
    }
    for parameters in [
        vec![ODD, EVERYBODY, ("ranking", "by_year"), ("hits", "3"), ("timeout", "60s")],
        vec![
            ("yql", "select * from note where true | all(group(time.year(year)) each(output(count())))"),
            EVERYBODY,
            ("timezone", "Europe/Oslo"),
            ("timeout", "60s"),
        ],
    ] {
        let before = host.counts();
        let answer = host.search_scoped(&parameters, "", "", 100);
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(answer.json["root"]["coverage"]["documents"], GROUPS);
        let (compiled, matched) = host.counts();
        assert_eq!((compiled - before.0, matched - before.1), (1, GROUPS));
    }
    let best = host.search_scoped(&[ODD, EVERYBODY, ("ranking", "by_year"), ("hits", "1")], "", "", 7);
    assert_eq!(best.json["root"]["children"][0]["relevance"], 998.0);
}

#[test]
fn a_merge_compiles_nothing() {
    let host = host();
    let query = host.query(&[ODD, EVERYBODY], "", "");
    let part = host.search_part("g:alice", &query, &[]).unwrap();
    let before = host.counts();
    for _ in 0..3 {
        host.merge(&query, &[], &[part.clone(), part.clone()], false).unwrap();
    }
    assert_eq!(host.answer_late(&query, &[part], 1.0).status, 200);
    assert_eq!(host.counts(), before);
}

#[test]
fn nothing_is_compiled_to_know_the_scope_and_the_time() {
    let host = host();
    let query = host.query(&[ODD, ALICE, ("timeout", "7s"), ("Offset", "3")], r#"{"hits": 4}"#, "");
    let description = query.description();
    let mut reader = Reader::new(&description);
    assert_eq!((reader.u8().unwrap(), reader.varint().unwrap(), reader.text().unwrap()), (1, 1, "g:alice"));
    assert_eq!(reader.varint().unwrap(), 0, "no texts");
    reader.end().unwrap();
    assert_eq!(query.timeout_ms(), 7_000);
    // By its full name, by an alias, and as it was written.
    for name in ["offset", "start", "Offset"] {
        assert_eq!(query.parameter(name), Some("3"), "{name}");
    }
    assert_eq!((query.parameter("hits"), query.parameter("no.such")), (Some("4"), None));
    assert_eq!(host.counts(), (0, 0));
    assert_eq!(query.refusal(), None);
    assert_eq!(host.counts(), (1, 0));
}

#[test]
fn a_query_that_is_refused_says_so_whatever_is_asked_of_it() {
    let host = host();
    let status = |parameters: &[(&str, &str)]| {
        let query = host.query(parameters, "", "");
        let refused = query.refusal().map(|answer| rendered(&answer));
        let answer = host.answer(&query, "g:alice", &|_| panic!("it has no models"));
        let refused = refused.unwrap_or_else(|| panic!("not refused: {}", answer.body));
        assert_eq!((refused.status, &refused.json["root"]["errors"]), (400, &answer.json["root"]["errors"]));
        // The same where it is searched in several, and merged.
        let part = host.search_part("g:alice", &query, &[]).unwrap();
        let merged = host.merge(&query, &[], &[part], false).unwrap();
        let mut reader = Reader::new(&merged);
        assert_eq!(reader.u8().unwrap(), 1, "nothing more can change it");
        reader.bytes().unwrap();
        let part = reader.bytes().unwrap().to_vec();
        assert_eq!(host.answer_late(&query, &[part], 0.0).json["root"]["errors"], answer.json["root"]["errors"]);
        (query.timeout_ms(), query.description()[0])
    };
    // No group, no query, no field: only the first is known before the query is read.
    assert_eq!(status(&[ODD]), (u32::MAX, 0));
    assert_eq!(status(&[("yql", "select * from note where"), ALICE]), (u32::MAX, 1));
    assert_eq!(
        status(&[("yql", "select * from note where nosuch contains 'a'"), ALICE, ("timeout", "3s")]),
        (u32::MAX, 1)
    );
}

/// A vector for each text.
fn embeddings(vectors: &[[f32; 2]]) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.varint(vectors.len() as u64);
    for vector in vectors {
        writer.u8(1);
        writer.varint(2);
        vector.iter().for_each(|value| writer.f32(*value));
    }
    writer.finish()
}

#[test]
fn texts_to_embed_are_found_however_they_are_written() {
    let host = host();
    let bodies = [
        r#"{"input.query(q)": "embed(hash, @t)"}"#,
        r#"{"input.query(q)": " embed (hash,@t) "}"#,
        r#"{"input.query(q)": "\u0065mbed(hash, @t)"}"#,
        r#"{"ranking": {"features": {"query(q)": "embed(hash, \"up\")"}}}"#,
    ];
    for body in bodies {
        let query = host.query(&[ODD, ALICE, NEAR, ("t", "up")], body, "");
        let description = query.description();
        let mut reader = Reader::new(&description);
        assert_eq!((reader.u8().unwrap(), reader.varint().unwrap()), (1, 1));
        assert_eq!((reader.text().unwrap(), reader.varint().unwrap()), ("g:alice", 1), "{body}");
        assert_eq!((reader.text().unwrap(), reader.u8().unwrap()), ("hash", 1));
        assert_eq!((reader.u32().unwrap(), reader.text().unwrap()), (2, "up"));
        reader.end().unwrap();
        // Before it is given any it is refused; what it is given is compared with what it wanted.
        assert_eq!(rendered(&query.refusal().unwrap()).status, 400);
        let wrong = query.give_embeddings(&embeddings(&[[0.0, 2.0], [1.0, 1.0]])).unwrap_err();
        assert_eq!(wrong.code, Code::Internal);
        query.give_embeddings(&embeddings(&[[0.0, 2.0]])).unwrap();
        assert_eq!(query.refusal(), None);
        let answer = host.answer(&query, "g:alice", &|_| panic!("it has no models"));
        assert_eq!(answer.json["root"]["children"][0]["relevance"], 2.0, "{}", answer.body);
    }
}

#[test]
fn a_wrong_parameter_is_told_whether_or_not_there_is_a_query() {
    let host = host();
    for (name, value) in [
        ("hits", "500"),
        ("offset", "-1"),
        ("ranking.sorting", "+nosuch("),
        ("model.sources", "nosuch"),
        ("ranking.softtimeout.factor", "2"),
        ("pos.ll", "nosuch"),
        ("timeout", "abc"),
        ("ranking.rankScoreDropLimit", "x"),
        ("recall", "nosuch:("),
        ("select", "all(nosuch"),
    ] {
        let refusal = |query: std::rc::Rc<brooklet_search::Query>| rendered(&query.refusal().unwrap());
        let alone = refusal(host.query(&[ALICE, (name, value)], "", ""));
        assert_eq!(alone.status, 400, "{name}: {}", alone.body);
        assert_eq!(alone.body, refusal(host.query(&[ALICE, (name, value), ODD], "", "")).body, "{name}");
    }
    // What is about a query is not looked at without one.
    for alone in [("hits", "3"), ("ranking", "nosuch"), ("ranking", "near")] {
        let null = rendered(&host.query(&[ALICE, alone], "", "").refusal().unwrap());
        assert_eq!((null.status, &null.json["root"]["errors"][0]["code"]), (500, &1.into()), "{}", null.body);
    }
}
