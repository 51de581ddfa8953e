//! Whole searches over a small partition: any query, any request, any first phase. The answer is JSON, and the same
//! whether the documents stand in the tail or in a segment; only times, traces and bytes read may differ.
use std::hint::black_box;

use brooklet_schema::Application;
use brooklet_search::Deployed;

use super::Target;
use crate::corpus;
use crate::host::{Host, VisitRequest, services};

const BUDGET_BYTES: usize = 64 << 20;

pub fn targets() -> Vec<Target> {
    vec![query(), request(), expression(), first_phase(), visit_selection(), visit_field_set()]
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

/// Any regular expression over a text, a word and a list.
fn expression() -> Target {
    let (tail, segment) = (unfolded(), folded());
    let corpus = [
        "^lease.*(flat|house)s?$",
        r"[a-z]{2,5}\s+\d*",
        "(?i:Re)[^é]+|x*?y",
        r"\Qa.b\E+",
        "(a+)+b",
        "((x{1,9}){1,9}){1,9}",
        "[[:alpha:]_-]",
        r"\x{e9}\u00e9\b\W",
        ".*.*.*=.*",
        "",
    ];
    Target::text("matches", corpus.map(Vec::from).to_vec(), move |text| {
        let quoted: String = text
            .chars()
            .map(|c| match c {
                '"' | '\\' => format!("\\{c}"),
                c if c.is_control() => format!("\\u{:04x}", u32::from(c)),
                c => c.to_string(),
            })
            .collect();
        let condition = ["subject", "sender", "tags"].map(|field| format!("{field} matches \"{quoted}\"")).join(" or ");
        let yql = format!("select * from mail where {condition}");
        let parameters = [("yql", yql.as_str()), ("timeout", "60s")];
        let answer = tail.search(corpus::KEY, &parameters);
        assert_eq!(
            answer.json["root"],
            segment.search(corpus::KEY, &parameters).json["root"],
            "tail and segment answer alike"
        );
    })
    .costs(8)
}

/// Any selection: what is selected does not depend on where documents stand, nor on how long pages are.
fn visit_selection() -> Target {
    let (tail, segment) = (unfolded(), folded());
    let corpus = corpus::members("selection/select.jsonl", "selection");
    Target::text("visit-selection", corpus, move |text| {
        let request = VisitRequest { selection: text, types: &["mail"], ..VisitRequest::default() };
        let short = VisitRequest { documents_max: 1, ..request.clone() };
        let whole = tail.visit(corpus::KEY, &request);
        assert_eq!(whole, segment.visit(corpus::KEY, &request), "tail and segment show the same");
        let first = segment.visit(corpus::KEY, &short);
        assert_eq!(whole.is_ok_and(|page| page.documents > 0), first.is_ok_and(|page| page.documents > 0));
    })
}

/// Any field set.
fn visit_field_set() -> Target {
    let (tail, segment) = (unfolded(), folded());
    let corpus = ["[all]", "[id]", "mail:[document]", "mail:subject,emb", "note:text", "mail:nosuch", "[bad]", ""];
    Target::text("visit-field-set", corpus.map(Vec::from).to_vec(), move |text| {
        let request = VisitRequest { field_set: text, types: &["mail"], ..VisitRequest::default() };
        assert_eq!(tail.visit(corpus::KEY, &request), segment.visit(corpus::KEY, &request));
    })
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
