//! Visiting against a naive twin: a sorted map of documents. Whatever is written, folded and forgotten between pages,
//! documents nobody touched are seen exactly once, in order, and nothing is seen that was not there.

use std::collections::BTreeMap;

use crate::host::{Host, VisitPage, VisitRequest, services};
use proptest::prelude::*;
use serde_json::{Value, json};

const KEY: &str = "g:alice";

fn deployed() -> Host {
    let note = "schema note { document note { field text type string { indexing: index | summary } \
                field n type int { indexing: attribute | summary } \
                field v type tensor<float>(x[2]) { indexing: attribute } } }";
    let mail = "schema mail { document mail { field subject type string { indexing: index | summary } } }";
    let services = services(&["mail", "note"]);
    let files = [("services.xml", services.as_str()), ("schemas/note.sd", note), ("schemas/mail.sd", mail)];
    Host::new(&files, 64 << 20)
}

fn note(local: &str) -> String {
    format!("id:ns:note:g=alice:{local}")
}

fn ids(page: &VisitPage) -> Vec<String> {
    page.json().iter().map(|document| document["id"].as_str().unwrap().to_owned()).collect()
}

/// All pages of a visit.
fn all(host: &Host, request: &VisitRequest) -> Vec<Value> {
    let mut documents = Vec::new();
    let mut after = request.after.to_owned();
    loop {
        let page = host.visit(KEY, &VisitRequest { after: &after, ..request.clone() }).unwrap();
        documents.extend(page.json());
        if page.complete {
            return documents;
        }
        assert!(page.last > after, "a page moves on");
        after = page.last;
    }
}

#[test]
fn pages_show_whole_documents_in_the_order_of_ids() {
    let mut host = deployed();
    host.put("id:ns:mail:g=alice:b", r#"{"subject":"Hi"}"#).unwrap();
    host.put(&note("c"), r#"{"text":"x","n":3,"v":[1,2]}"#).unwrap();
    host.put("id:other:note:g=alice:a", r#"{"n":1}"#).unwrap();
    for folded in [false, true] {
        let expected = json!([
            {"id": "id:ns:mail:g=alice:b", "fields": {"subject": "Hi"}},
            {"id": note("c"), "fields": {"text": "x", "n": 3, "v": {"type": "tensor<float>(x[2])", "values": [1.0, 2.0]}}},
            {"id": "id:other:note:g=alice:a", "fields": {"n": 1}},
        ]);
        let found = Value::Array(all(&host, &VisitRequest { documents_max: 1, ..VisitRequest::default() }));
        assert_eq!(found, expected, "folded: {folded}");
        assert!(host.compact(KEY, 1) || folded);
    }
    let nobody = host.visit("g:nobody", &VisitRequest::default()).unwrap();
    assert_eq!((nobody.complete, nobody.documents), (true, 0));
}

#[test]
fn types_namespaces_and_field_sets_choose() {
    let mut host = deployed();
    host.put("id:ns:mail:g=alice:b", r#"{"subject":"Hi"}"#).unwrap();
    host.put(&note("c"), r#"{"text":"x","n":3,"v":[1,2]}"#).unwrap();
    host.put("id:other:note:g=alice:a", r#"{"n":1}"#).unwrap();
    let shown = |request: VisitRequest| Value::Array(all(&host, &request));
    let of = VisitRequest::default;
    let mail_only = json!([{"id": "id:ns:mail:g=alice:b", "fields": {"subject": "Hi"}}]);
    assert_eq!(shown(VisitRequest { types: &["mail"], ..of() }), mail_only);
    assert_eq!(
        shown(VisitRequest { namespace: "other", ..of() }),
        json!([{"id": "id:other:note:g=alice:a", "fields": {"n": 1}}])
    );
    assert_eq!(
        shown(VisitRequest { field_set: "note:n", namespace: "ns", ..of() }),
        json!([{"id": "id:ns:mail:g=alice:b", "fields": {}}, {"id": note("c"), "fields": {"n": 3}}])
    );
    assert_eq!(
        shown(VisitRequest { field_set: "note:v", types: &["note"], namespace: "ns", tensors: "short-value", ..of() }),
        json!([{"id": note("c"), "fields": {"v": [1.0, 2.0]}}])
    );
    let only_ids = shown(VisitRequest { field_set: "[id]", types: &["mail"], ..of() });
    assert_eq!(only_ids, json!([{"id": "id:ns:mail:g=alice:b", "fields": {}}]));
    for (field_set, message) in [
        ("note:nosuch", "No such field nosuch"),
        ("mail:subjct", "No such field subjct. Did you mean 'subject'?"),
        ("mail:[docment]", "No such field [docment]. Did you mean '[document]'?"),
        ("mail:subject,[document]", "No such field [document]"),
        ("nosuch:n", "Unknown document type nosuch"),
        ("[some]", "The only special names (enclosed in '[]') allowed are id, all, document, none"),
    ] {
        let rejection = host.visit(KEY, &VisitRequest { field_set, ..of() }).unwrap_err();
        assert_eq!(rejection.message, message);
    }
}

/// A field is the same in two types where its name and its type are, as those are that a type inherits.
#[test]
fn a_field_set_of_one_type_shows_the_same_fields_of_others() {
    let base = "schema base { document base { field a type string { indexing: summary } field b type int { indexing: summary } } }";
    let heir = "schema heir { document heir inherits base { field c type string { indexing: summary } } }";
    let other = "schema other { document other { field a type string { indexing: summary } field b type long { indexing: summary } } }";
    let services = services(&["base", "heir", "other"]);
    let files = [
        ("services.xml", services.as_str()),
        ("schemas/base.sd", base),
        ("schemas/heir.sd", heir),
        ("schemas/other.sd", other),
    ];
    let mut host = Host::new(&files, 64 << 20);
    host.put("id:n:base:g=alice:1", r#"{"a":"x","b":1}"#).unwrap();
    host.put("id:n:heir:g=alice:1", r#"{"a":"y","b":2,"c":"z"}"#).unwrap();
    host.put("id:n:other:g=alice:1", r#"{"a":"w","b":3}"#).unwrap();
    for folded in [false, true] {
        for (field_set, [of_base, of_heir, of_other]) in [
            ("base:a", [json!({"a": "x"}), json!({"a": "y"}), json!({"a": "w"})]),
            ("base:a,b", [json!({"a": "x", "b": 1}), json!({"a": "y", "b": 2}), json!({"a": "w"})]),
            ("base:[document]", [json!({"a": "x", "b": 1}), json!({"a": "y", "b": 2}), json!({"a": "w"})]),
            ("heir:c", [json!({}), json!({"c": "z"}), json!({})]),
            ("heir:[document]", [json!({"a": "x", "b": 1}), json!({"a": "y", "b": 2, "c": "z"}), json!({"a": "w"})]),
        ] {
            let types = &["base", "heir", "other"];
            let request = VisitRequest { field_set, types, documents_max: 2, ..VisitRequest::default() };
            let fields: Vec<Value> = all(&host, &request).into_iter().map(|found| found["fields"].clone()).collect();
            assert_eq!(fields, [of_base, of_heir, of_other], "{field_set}, folded: {folded}");
        }
        let got = host.get_as("id:n:heir:g=alice:1", "base:b", "");
        assert_eq!(got.json["fields"], json!({"b": 2}));
        assert_eq!(host.get_as("id:n:heir:g=alice:1", "other:a", "").status, 400);
        assert!(host.compact(KEY, 1) || folded);
    }
}

#[test]
fn a_selection_selects() {
    let mut host = deployed();
    host.put("id:ns:mail:g=alice:b", r#"{"subject":"Hi"}"#).unwrap();
    for n in 0..10 {
        host.put(&note(&n.to_string()), &format!(r#"{{"text":"t{n}","n":{n},"v":[{n},0]}}"#)).unwrap();
    }
    for _folded in [false, true] {
        let found = |selection: &str, field_set: &str| {
            let request = VisitRequest { selection, field_set, documents_max: 3, ..VisitRequest::default() };
            Value::Array(all(&host, &request))
        };
        assert_eq!(found("note.n >= 9", "note:text"), json!([{"id": note("9"), "fields": {"text": "t9"}}]));
        assert_eq!(found("mail", "[id]"), json!([{"id": "id:ns:mail:g=alice:b", "fields": {}}]));
        assert_eq!(found("id.group == 'bob'", ""), json!([]));
        assert_eq!(found("note.n < now() - 1789999999", "note:n").as_array().unwrap().len(), 1);
        assert_eq!(found("not note.n > 2", "").as_array().unwrap().len(), 3);
        host.compact(KEY, 1);
    }
    for (selection, message) in [
        ("(foo bar)", "Exception parsing document selector '(foo bar)': "),
        ("nosuch.x == 1", "Exception parsing document selector 'nosuch.x == 1': "),
    ] {
        let rejection = host.visit(KEY, &VisitRequest { selection, ..VisitRequest::default() }).unwrap_err();
        assert!(rejection.message.starts_with(message), "{}", rejection.message);
    }
}

#[test]
fn lines_and_ids_are_other_forms_of_the_same_page() {
    let mut host = deployed();
    host.put(&note("a"), r#"{"n":1}"#).unwrap();
    host.put(&note("b"), r#"{"n":2}"#).unwrap();
    let lines = host.visit(KEY, &VisitRequest { format: 1, ..VisitRequest::default() }).unwrap();
    let expected = "{\"put\":\"id:ns:note:g=alice:a\",\"fields\":{\"n\":1}}\n\
                    {\"put\":\"id:ns:note:g=alice:b\",\"fields\":{\"n\":2}}\n";
    assert_eq!(std::str::from_utf8(&lines.body).unwrap(), expected);
    let named = host.visit(KEY, &VisitRequest { format: 2, ..VisitRequest::default() }).unwrap();
    let mut reader = brooklet_task::bytes::Reader::new(&named.body);
    assert_eq!((reader.text().unwrap(), reader.text().unwrap()), (&*note("a"), &*note("b")));
    assert!(reader.end().is_ok());
}

#[test]
fn a_page_that_is_cut_says_how_far_it_came() {
    let mut host = deployed();
    for number in 0..500 {
        host.put(&note(&format!("{number:04}")), r#"{"text":"word"}"#).unwrap();
    }
    assert!(host.compact(KEY, 1));
    host.forget();
    let (mut found, mut after, mut cut) = (Vec::new(), String::new(), 0);
    loop {
        let request = VisitRequest { after: &after, ..VisitRequest::default() };
        let page = host.visit_for(KEY, &request, 4).unwrap();
        found.extend(ids(&page));
        if page.complete {
            break;
        }
        cut += 1;
        after = page.last;
    }
    assert!(cut > 1, "pages were cut");
    let expected: Vec<String> = (0..500).map(|number| note(&format!("{number:04}"))).collect();
    assert_eq!(found, expected);
}

/// What happens between two pages.
#[derive(Clone, Debug)]
enum Between {
    Put(u8, u8),
    Remove(u8),
    Compact(u8),
    Forget,
}

fn between() -> impl Strategy<Value = Between> {
    prop_oneof![
        6 => (any::<u8>(), any::<u8>()).prop_map(|(id, value)| Between::Put(id, value)),
        3 => any::<u8>().prop_map(Between::Remove),
        2 => (1u8..=3).prop_map(Between::Compact),
        1 => Just(Between::Forget),
    ]
}

/// Ids of many shapes: prefixes of each other, beyond ASCII, two types.
fn id_of(number: u8) -> String {
    let local = match number % 4 {
        0 => "x".repeat(usize::from(number / 4)),
        1 => format!("{number:03}"),
        2 => format!("é{number}"),
        _ => format!("a:{}", number / 8),
    };
    let of = if number.is_multiple_of(3) { "mail" } else { "note" };
    format!("id:ns:{of}:g=alice:{local}")
}

fn apply(host: &mut Host, twin: &mut BTreeMap<String, u8>, step: &Between) -> Option<String> {
    match *step {
        Between::Put(number, value) => {
            let id = id_of(number);
            let fields = if id.contains(":mail:") {
                format!(r#"{{"subject":"s{value}"}}"#)
            } else {
                format!(r#"{{"n":{value}}}"#)
            };
            host.put(&id, &fields).unwrap();
            twin.insert(id.clone(), value);
            Some(id)
        }
        Between::Remove(number) => {
            let id = id_of(number);
            host.remove(&id).unwrap();
            twin.remove(&id);
            Some(id)
        }
        Between::Compact(reason) => {
            host.compact(KEY, reason);
            None
        }
        Between::Forget => {
            host.forget();
            None
        }
    }
}

fn value_of(document: &Value) -> u8 {
    let fields = &document["fields"];
    let number = fields["n"].as_u64().map(|n| n as u8);
    number.unwrap_or_else(|| fields["subject"].as_str().unwrap()[1..].parse().unwrap())
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn untouched_documents_are_seen_exactly_once(
        before in prop::collection::vec(between(), 1..60),
        pages in prop::collection::vec((1u32..9, prop::collection::vec(between(), 0..6)), 1..40),
    ) {
        let mut host = deployed();
        let mut twin = BTreeMap::new();
        before.iter().for_each(|step| drop(apply(&mut host, &mut twin, step)));
        let at_start = twin.clone();
        let mut touched = std::collections::BTreeSet::new();
        let (mut seen, mut after, mut complete) = (Vec::new(), String::new(), false);
        for (documents_max, steps) in pages.iter().cycle().take(400) {
            let request = VisitRequest { after: &after, documents_max: *documents_max, ..VisitRequest::default() };
            let page = host.visit(KEY, &request).unwrap();
            prop_assert_eq!(page.documents as usize, page.json().len());
            for document in page.json() {
                let id = document["id"].as_str().unwrap().to_owned();
                prop_assert_eq!(twin.get(&id), Some(&value_of(&document)), "{} as it is now", id);
                seen.push(id);
            }
            complete = page.complete;
            if complete {
                break;
            }
            after = page.last;
            touched.extend(steps.iter().filter_map(|step| apply(&mut host, &mut twin, step)));
        }
        prop_assert!(complete, "the visit ends");
        prop_assert!(seen.is_sorted_by(|left, right| left < right), "in order, none twice");
        let untouched = at_start.keys().filter(|id| !touched.contains(*id));
        for id in untouched {
            prop_assert!(seen.contains(id), "{} is missing", id);
        }
    }
}

/// The last thing that happened to an id: its value, or nothing if it was removed; and when.
type Lasts = BTreeMap<String, (Option<u8>, u64)>;

/// What a visit of a period shows of them.
fn expected(lasts: &Lasts, request: &VisitRequest) -> Vec<(String, Option<u8>)> {
    let within = |time: u64| request.from <= time && (request.to == 0 || time < request.to);
    let shown =
        lasts.iter().filter(|(_, (value, time))| within(*time) && (value.is_some() || request.includes_removes));
    shown.map(|(id, (value, _))| (id.clone(), *value)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn a_period_shows_what_was_written_in_it_and_removes_if_they_are_asked_for(
        steps in prop::collection::vec((between(), 0u64..3), 1..80),
        periods in prop::collection::vec((0u64..100, 0u64..100, any::<bool>(), 1u32..9), 1..6),
    ) {
        let start = 1_790_000_000_000_000;
        let mut host = deployed();
        let mut twin = BTreeMap::new();
        let mut lasts = Lasts::new();
        host.now = start;
        for (step, later) in &steps {
            // Time stands still at times, and runs backwards once in a while.
            host.now = if host.now % 7 == 5 { host.now - 3 } else { host.now + later };
            if let Some(id) = apply(&mut host, &mut twin, step) {
                lasts.insert(id.clone(), (twin.get(&id).copied(), host.now));
            }
        }
        for (from, length, includes_removes, documents_max) in periods {
            let to = if length % 4 == 0 { 0 } else { start + from + length };
            let from = if from % 5 == 0 { 0 } else { start + from };
            let request = VisitRequest { from, to, includes_removes, documents_max, ..VisitRequest::default() };
            let seen: Vec<_> = all(&host, &request).iter().map(|entry| match entry["remove"].as_str() {
                Some(id) => (id.to_owned(), None),
                None => (entry["id"].as_str().unwrap().to_owned(), Some(value_of(entry))),
            }).collect();
            prop_assert_eq!(seen, expected(&lasts, &request));
        }
    }
}

#[test]
fn a_removed_document_is_selected_by_its_id_alone() {
    let mut host = deployed();
    for local in ["a", "b"] {
        host.put(&note(local), r#"{"n":1}"#).unwrap();
        host.remove(&note(local)).unwrap();
    }
    host.remove("id:other:mail:g=alice:c").unwrap();
    let removed = |selection, types: &[&str], namespace| {
        let request = VisitRequest { selection, types, namespace, includes_removes: true, ..VisitRequest::default() };
        let page = host.visit(KEY, &request).unwrap();
        assert_eq!(page.documents as usize, page.json().len());
        page.json().iter().map(|entry| entry["remove"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(removed("", &["mail", "note"], ""), [note("a"), note("b"), "id:other:mail:g=alice:c".to_owned()]);
    assert_eq!(removed("id.specific == 'b'", &["mail", "note"], ""), [note("b")]);
    assert_eq!(removed("", &["mail"], ""), ["id:other:mail:g=alice:c"]);
    assert_eq!(removed("", &["mail", "note"], "ns"), [note("a"), note("b")]);
    assert_eq!(removed("note.n == 1", &["mail", "note"], ""), Vec::<String>::new(), "its fields are gone");
}

/// The pages of the tail, put together: what was done to which id, and when.
fn tail_of(host: &Host, request: &VisitRequest) -> Vec<(String, bool, u64)> {
    let request = VisitRequest { format: 6, ..request.clone() };
    let shown = all(host, &request);
    let read = shown.iter().map(|operation| {
        assert!(operation["bytes"].as_u64().unwrap() > 0);
        let is_put = operation.get("put").is_some();
        let id = operation[if is_put { "put" } else { "remove" }].as_str().unwrap();
        (id.to_owned(), is_put, operation["timestamp"].as_u64().unwrap())
    });
    read.collect()
}

#[test]
fn a_tail_shows_what_is_not_folded_and_was_selected() {
    let mut host = deployed();
    assert_eq!(tail_of(&host, &VisitRequest::default()), []);
    host.put("id:ns:mail:g=alice:b", r#"{"subject":"Hi"}"#).unwrap();
    host.put(&note("c"), r#"{"text":"x","n":3}"#).unwrap();
    host.put("id:other:note:g=alice:a", r#"{"n":1}"#).unwrap();
    host.remove(&note("c")).unwrap();
    host.put(&note("c"), r#"{"n":4}"#).unwrap();
    let ids = |request: VisitRequest| -> Vec<(String, bool)> {
        tail_of(&host, &request).into_iter().map(|(id, is_put, _)| (id, is_put)).collect()
    };
    let of = VisitRequest::default;
    let (mail, a) = ("id:ns:mail:g=alice:b".to_owned(), "id:other:note:g=alice:a".to_owned());
    let of_c = [(note("c"), true), (note("c"), false), (note("c"), true)];
    let [last, removed, first] = of_c.clone();
    let whole = [last.clone(), removed, (a.clone(), true), first.clone(), (mail.clone(), true)];
    assert_eq!(ids(of()), whole, "the newest first");
    assert_eq!(ids(VisitRequest { documents_max: 1, ..of() }), whole, "whatever the pages are");
    assert_eq!(ids(VisitRequest { bytes_max: 1, ..of() }), whole);
    assert_eq!(ids(VisitRequest { types: &["mail"], ..of() }), [(mail, true)]);
    assert_eq!(ids(VisitRequest { namespace: "other", ..of() }), [(a.clone(), true)]);
    assert_eq!(ids(VisitRequest { selection: "id == \"id:ns:note:g=alice:c\"", ..of() }), of_c);
    assert_eq!(ids(VisitRequest { selection: "note.n > 2", ..of() }), [last, first], "a remove has no fields");
    assert_eq!(ids(VisitRequest { selection: "id.group == \"bob\"", ..of() }), []);
    assert_eq!(ids(VisitRequest { to: 1, ..of() }), []);
    let named = host.visit(KEY, &VisitRequest { format: 7, documents_max: 1, ..of() }).unwrap();
    let mut reader = brooklet_task::bytes::Reader::new(&named.body);
    assert_eq!(reader.text().unwrap(), named.last);
    let shown: Value = serde_json::from_slice(reader.bytes().unwrap()).unwrap();
    assert_eq!((named.documents, named.complete, &shown["put"]), (1, false, &json!(note("c"))));
    let cut = host.visit_for(KEY, &VisitRequest { format: 6, ..of() }, 0).unwrap();
    assert_eq!((cut.documents, cut.complete, cut.last.as_str()), (0, false, ""), "a page that was cut is not the last");
    assert!(host.compact(KEY, 1));
    assert_eq!(tail_of(&host, &of()), [], "what is folded is no operation any more");
    host.remove(&a).unwrap();
    assert_eq!(tail_of(&host, &of()).len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    /// Beside a list of what was done since the last fold.
    #[test]
    fn a_tail_is_what_was_done_lately(steps in prop::collection::vec((0u8..9, 0u8..12, 0u64..3), 1..80), page in 1u32..7) {
        let mut host = deployed();
        let mut done: Vec<(String, bool, u64)> = Vec::new();
        for (kind, own, later) in steps {
            host.now += later;
            let id = note(&own.to_string());
            match kind {
                0 => {
                    host.compact(KEY, 1);
                    done.clear();
                }
                1..=2 => {
                    host.remove(&id).unwrap();
                    // Removing what is not there is an operation too.
                    done.insert(0, (id, false, host.now));
                }
                _ => {
                    host.put(&id, r#"{"n":1}"#).unwrap();
                    done.insert(0, (id, true, host.now));
                }
            }
        }
        let request = VisitRequest { documents_max: page, ..VisitRequest::default() };
        prop_assert_eq!(tail_of(&host, &request), done);
    }
}

/// Documents of which each has a newer version in the tail, and ids that say so.
fn renewed() -> Host {
    let mut host = deployed();
    let put = |host: &mut Host, n: usize, text: &str| {
        host.put(&note(&format!("{n:03}")), &format!(r#"{{"text":"{text}"}}"#)).unwrap();
    };
    (0..200).for_each(|n| put(&mut host, n, "old"));
    host.compact(KEY, 1);
    (0..200).for_each(|n| put(&mut host, n, "new"));
    host
}

#[test]
fn a_turn_that_ends_after_one_read_comes_further() {
    let mut host = renewed();
    let (mut after, mut shown) = (String::new(), Vec::new());
    for turn in 0.. {
        assert!(turn < 24, "{} documents are shown by now", shown.len());
        let page = host.visit_for(KEY, &VisitRequest { after: &after, ..VisitRequest::default() }, 1).unwrap();
        shown.extend(page.json());
        after = page.last;
        if turn % 2 == 0 {
            host.put(&note(&format!("{turn:03}")), r#"{"text":"newer"}"#).unwrap();
        }
        if page.complete {
            break;
        }
    }
    assert_eq!(shown.len(), 200);
    assert!(shown.iter().all(|document| document["fields"]["text"] != "old"));
}

#[test]
fn a_search_goes_on_with_what_one_before_it_read_that_was_out_of_time() {
    for writes in [false, true] {
        let mut host = renewed();
        let search = |text: &str| [("streaming.groupname", "alice"), ("yql", text)].map(|(a, b)| (a, b.to_owned()));
        let everything = search("select * from note where true");
        let everything = everything.each_ref().map(|(name, value)| (*name, value.as_str()));
        assert_eq!(host.search_for(KEY, &everything, 1).status, 504);
        let tail = host.given.replace(0);
        if writes {
            host.put(&note("200"), r#"{"text":"new"}"#).unwrap();
        }
        assert_eq!(host.search_for(KEY, &everything, 1).status, 504);
        assert!(host.given.get() < tail / 20, "{} of {tail} bytes were read again", host.given.get());
        let counted = |text: &str| host.search(KEY, &[("yql", text)]).json["root"]["fields"]["totalCount"].clone();
        assert_eq!(counted("select * from note where text contains 'new'"), 200 + usize::from(writes));
        assert_eq!(counted("select * from note where text contains 'old'"), 0);
    }
}
