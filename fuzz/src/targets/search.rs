//! Whole searches over a small partition: any query, any request, any first phase. The answer is JSON, and the same
//! whether the documents stand in the tail or in a segment; only times, traces and bytes read may differ.
use std::hint::black_box;

use brooklet_schema::Application;
use brooklet_search::Deployed;

use super::Target;
use crate::corpus;
use crate::host::{Host, services};

const BUDGET_BYTES: usize = 64 << 20;

pub fn targets() -> Vec<Target> {
    vec![query(), request(), first_phase()]
}

/// The application `mail` without `note`, with the documents of the corpus in its tail.
fn unfolded() -> Host {
    let sd = corpus::file("applications/mail/schemas/mail.sd");
    let mut host = Host::new(&[("services.xml", &services(&["mail"])), ("schemas/mail.sd", &sd)], BUDGET_BYTES);
    for (number, body) in corpus::bodies().iter().enumerate() {
        let body = String::from_utf8_lossy(body);
        let fields =
            body.strip_prefix("{\"fields\":").and_then(|rest| rest.strip_suffix('}')).expect("a body of the corpus");
        host.put(&format!("id:ns:mail:g=a:{number}"), fields).expect("a good document");
    }
    host
}

fn folded() -> Host {
    let mut host = unfolded();
    assert!(host.compact(corpus::KEY, 1), "the tail is folded");
    host
}

fn query() -> Target {
    let (tail, segment) = (unfolded(), folded());
    let mut corpus = corpus::members("yql/sample.jsonl", "yql");
    corpus.extend(corpus::members("yql/more.jsonl", "yql"));
    Target::text("search-query", corpus, move |text| {
        let parameters = [
            ("yql", text),
            ("ranking", "bm25"),
            ("query", "lease -flat tags:red"),
            ("input.query(q)", "[1, 2, 3]"),
            ("timeout", "60s"),
        ];
        let answer = tail.search(corpus::KEY, &parameters);
        assert_eq!(
            answer.json["root"],
            segment.search(corpus::KEY, &parameters).json["root"],
            "tail and segment answer alike"
        );
    })
    .costs(4)
}

fn request() -> Target {
    let (tail, segment) = (unfolded(), folded());
    let corpus = [
        r#"{"yql":"select * from mail where true","hits":5,"ranking":{"profile":"bm25"},"presentation":{"summary":"short"}}"#,
        r#"{"yql":"select subject from mail where userQuery()","query":"lease flat","type":"all","trace.level":3,"timeout":2}"#,
        r#"{"yql":"select * from mail where {targetHits:3}nearestNeighbor(emb,q)","input":{"query(q)":[1,2,3]},"ranking":"bm25"}"#,
        r#"{"yql":"select * from mail where subject contains @w","w":"lease","sorting":"-year +size","offset":1,"bolding":false}"#,
    ];
    Target::text("search-request", corpus.map(Vec::from).to_vec(), move |text| {
        let scope = [("streaming.groupname", "a"), ("timeout", "60s")];
        let answer = tail.search_raw(corpus::KEY, &scope, text);
        assert_eq!(
            answer.json["root"],
            segment.search_raw(corpus::KEY, &scope, text).json["root"],
            "tail and segment answer alike"
        );
    })
    .costs(2)
}

/// Ranking expressions where they belong: in a profile of a schema.
fn first_phase() -> Target {
    let schema = |expression: &str| {
        format!(
            "schema mail {{ document mail {{ field subject type string {{ indexing: summary | index }}\n field year type int \
             {{ indexing: attribute }}\n field emb type tensor<float>(x[3]) {{ indexing: attribute }} }}\n rank-profile default \
             {{ inputs {{ query(q) tensor<float>(x[3]) }}\n first-phase {{ expression {{ {expression} }} }} }} }}"
        )
    };
    let mut corpus = corpus::members("expression/rank.jsonl", "expr");
    corpus.extend(corpus::members("expression/syntax.jsonl", "expr"));
    Target::text("first-phase", corpus, move |text| {
        let files = [
            ("services.xml".to_owned(), services(&["mail"]).into_bytes()),
            ("schemas/mail.sd".to_owned(), schema(text).into_bytes()),
        ];
        let _ = black_box(Application::deploy(&files).and_then(Deployed::compile));
    })
    .costs(4)
}
