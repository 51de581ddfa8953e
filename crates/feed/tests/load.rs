//! Loading a feed: whatever way operations go, and however they are cut into loads, the partition then holds what it
//! would hold had they been written one by one.
mod host;

use brooklet_document::Value;
use brooklet_feed::split;
use brooklet_task::bytes::Reader;
use brooklet_task::limits;
use host::{Host, Loaded, application};
use proptest::prelude::*;

const NOTE: &str = "schema note { document note {
    field title type string { indexing: summary | index }
    field year type int { indexing: summary | attribute }
    field v type tensor<float>(x[3]) { indexing: attribute }
} }";
const MEMO: &str = "schema memo { document memo { field text type string { indexing: summary | index } } }";
const DONE: Loaded = Loaded::Done(0);

fn notes() -> Host {
    Host::new(application(&[("note", NOTE), ("memo", MEMO)]))
}

fn id(number: usize) -> String {
    format!("id:n:note:g=u:{number}")
}

fn put(number: usize, year: i64) -> String {
    format!(r#"{{"put":"{}","fields":{{"title":"note {number}","year":{year},"v":[1,{year},0.5]}}}}"#, id(number))
}

fn remove(number: usize) -> String {
    format!(r#"{{"remove":"{}"}}"#, id(number))
}

#[test]
fn a_load_writes_segments_and_takes_the_tail_with_it() {
    let mut host = notes();
    host.put(&id(1), r#"{"year":1}"#);
    host.put(&id(2), r#"{"year":2}"#);
    let operations = [put(2, 20), put(3, 30), put(3, 31), remove(1), remove(77)];
    assert_eq!(host.load(&operations, true), vec![DONE; 5]);
    // One of the documents, and one that knows which ids were removed.
    assert_eq!((host.shape(), host.operations.len()), (vec![(2, 2), (2, 2)], 0));
    assert_eq!(host.removed().into_iter().map(|(id, _)| id).collect::<Vec<_>>(), [id(1), id(77)]);
    assert_eq!(host.content()[&id(2)].field("year"), Some(&Value::Int(20)));
    assert_eq!(host.content()[&id(3)].field("year"), Some(&Value::Int(31)));
    assert_eq!(host.load(&[put(2, 21), remove(3)], true), vec![DONE; 2]);
    assert_eq!((host.content().len(), host.content()[&id(2)].field("year")), (1, Some(&Value::Int(21))));
}

#[test]
fn a_document_with_too_many_values_in_its_parts_is_refused_alone() {
    let schema = "schema deep { document deep {
        struct inner { field numbers type array<byte> {} }
        field inners type array<inner> { indexing: summary | index }
    } }";
    let mut host = Host::new(application(&[("deep", schema)]));
    let inner = |values: usize| format!(r#"{{"numbers":[{}]}}"#, vec!["1"; values].join(","));
    let put = |number: usize, inners: &[String]| {
        format!(r#"{{"put":"id:n:deep:g=u:{number}","fields":{{"inners":[{}]}}}}"#, inners.join(","))
    };
    let whole = inner(limits::ELEMENTS);
    let told = host.load(&[put(1, &[inner(3)]), put(2, &[whole.clone(), inner(1)]), put(3, &[whole])], true);
    assert_eq!(told[0], DONE);
    assert!(matches!(&told[1], Loaded::Refused(..)), "{:?}", told[1]);
    assert_eq!(told[2], DONE);
    assert_eq!(host.content().len(), 2);
}

#[test]
fn a_load_of_removes_alone_hides_what_the_segments_have() {
    let mut host = notes();
    host.load(&(0..10).map(|number| put(number, 1)).collect::<Vec<_>>(), true);
    assert_eq!(host.load(&[remove(4), remove(99)], true), vec![DONE; 2]);
    assert_eq!(host.shape(), vec![(10, 9), (2, 2)]);
    assert_eq!(host.load(&[remove(99)], true), vec![DONE], "there was nothing to remove");
    assert_eq!(host.content().len(), 9);
}

#[test]
fn loads_are_merged_when_there_are_thirty_two() {
    let mut host = notes();
    for load in 0..32 {
        let operations: Vec<String> = (load * 20..load * 20 + 20).map(|number| put(number, 1)).collect();
        host.load(&operations, true);
        let expected = if load < 31 { vec![(20, 20); load + 1] } else { vec![(640, 640)] };
        assert_eq!(host.shape(), expected);
    }
}

#[test]
fn loads_are_merged_when_they_have_the_documents_of_a_full_segment() {
    const FULL: u32 = limits::SEGMENT_DOCUMENTS as u32;
    // Four of them are a few less than enough.
    const LOAD: u32 = FULL / 4 - 10;
    let mut host = notes();
    let mut load = |number: u32| {
        let operations: Vec<String> = (number * LOAD..(number + 1) * LOAD).map(|at| put(at as usize, 1)).collect();
        host.load(&operations, true);
        host.shape()
    };
    for number in 0..4 {
        assert_eq!(load(number), vec![(LOAD, LOAD); number as usize + 1]);
    }
    let left = 5 * LOAD - FULL;
    assert_eq!(load(4), [(FULL, FULL), (left, left)]);
    // A full one is left alone.
    assert_eq!(load(5), [(FULL, FULL), (left, left), (LOAD, LOAD)]);
    assert_eq!(host.content().len(), 6 * LOAD as usize);
}

#[test]
fn loads_are_merged_when_they_make_two_full_segments() {
    let mut host = Host::new(application(&[(
        "note",
        "schema note { document note { field text type string { indexing: summary } } }",
    )]));
    let text = "x".repeat(limits::SEGMENT_SOURCE_BYTES / 8);
    for load in 0..9 {
        let number = |at: usize| id(load * 4 + at);
        let put = |at: usize| format!(r#"{{"put":"{}","fields":{{"text":"{text}"}}}}"#, number(at));
        host.load(&[put(0), put(1), put(2), put(3)], true);
        let expected = if load < 4 { vec![(4, 4); load + 1] } else { vec![(8, 8), (8, 8), (4, 4)] };
        if load < 5 {
            assert_eq!(host.shape(), expected);
        }
    }
    // Full ones are left alone, and the rest is not enough again.
    assert_eq!(host.shape(), [(8, 8), (8, 8), (8, 8), (8, 8), (4, 4)]);
}

#[test]
fn a_small_load_becomes_operations_of_the_tail() {
    let mut host = notes();
    assert_eq!(host.load(&[put(1, 1), put(1, 2), remove(2)], false), vec![DONE; 3]);
    assert_eq!((host.shape(), host.operations.len()), (vec![], 2));
    assert_eq!(host.content()[&id(1)].field("year"), Some(&Value::Int(2)));
}

#[test]
fn what_needs_the_document_is_left_for_later_with_all_that_follows_on_it() {
    let mut host = notes();
    let id_1 = id(1);
    let operations = [
        put(1, 1),
        format!(r#"{{"update":"{id_1}","fields":{{"year":{{"increment":1}}}}}}"#),
        put(2, 2),
        put(1, 9),
        remove(1),
        format!(r#"{{"remove":"{}","condition":"note.year==2"}}"#, id(3)),
        format!(r#"{{"put":"{}","fields":{{}},"condition":"note.year==2"}}"#, id(4)),
        format!(r#"{{"condition":"","put":"{}","create":true,"fields":{{}}}}"#, id(5)),
    ];
    let later = |condition: &str| Loaded::Later(condition.to_owned());
    let expected = [DONE, later(""), DONE, later(""), later(""), later("note.year==2"), later(""), DONE];
    for into_segments in [false, true] {
        let mut host = notes();
        assert_eq!(host.load(&operations, into_segments), expected);
        assert_eq!(host.content().keys().cloned().collect::<Vec<_>>(), [id(1), id(2), id(5)]);
    }
    assert!(host.load(&[], true).is_empty() && host.content().is_empty());
}

#[test]
fn what_is_refused_is_told_and_changes_nothing_else() {
    let mut host = notes();
    let refusals = [
        (format!(r#"{{"put":"{}","fields":{{"year":"x"}}}}"#, id(1)), "year"),
        (format!(r#"{{"put":"{}","fields":{{"other":1}}}}"#, id(1)), "Field 'other' is not defined"),
        (format!(r#"{{"put":"{}","fields":{{"v":[1,2]}}}}"#, id(1)), "3"),
        (format!(r#"{{"put":"{}"}}"#, id(1)), "fields"),
        (format!(r#"{{"put":"{}","fields":{{}},"remove":"{}"}}"#, id(1), id(2)), "more than one document"),
        (format!(r#"{{"put":"{}","fields":{{"#, id(1)), "Unexpected end of JSON"),
        (format!(r#"{{"put":"{}","fields":{{}}}} x"#, id(1)), "expecting the end"),
        (r#"{"put":"id:n:note:g=other:1","fields":{}}"#.to_owned(), "not in partition"),
        (r#"{"put":"id:n:notes:g=u:1","fields":{}}"#.to_owned(), "did you mean 'note'"),
        (format!(r#"{{"remove":"{}","fields":{{}}}}"#, id(1)), "cannot have 'fields'"),
        (format!(r#"{{"remove":"{}","create":true}}"#, id(1)), "cannot have 'create'"),
        (r#"{"put":7}"#.to_owned(), "a document id"),
        ("{}".to_owned(), "Missing a document operation"),
    ];
    for into_segments in [false, true] {
        for (operation, expected) in &refusals {
            let outcomes = host.load(&[put(8, 1), operation.clone(), put(9, 1)], into_segments);
            let [DONE, Loaded::Refused(status, _, message), DONE] = &outcomes[..] else { panic!("{outcomes:?}") };
            assert_eq!(*status, 400, "{operation}");
            assert!(message.contains(expected), "{operation}: {message}");
        }
        assert_eq!(host.content().len(), 2);
    }
}

#[test]
fn a_document_that_is_too_large_is_refused_wherever_it_goes() {
    let text = "x".repeat(limits::DOCUMENT_BYTES - 40);
    let memo = |text: &str| format!(r#"{{"put":"id:n:memo:g=u:1","fields":{{"text":"{text}"}}}}"#);
    for into_segments in [false, true] {
        let mut host = notes();
        let outcomes = host.load(&[memo(&text), memo(&text[200..])], into_segments);
        assert!(matches!(&outcomes[..], [Loaded::Refused(413, ..), DONE]), "{outcomes:?}");
        // As one written by its own is, byte for byte.
        let mut single = notes();
        single.put("id:n:memo:g=u:1", &format!(r#"{{"text":"{}"}}"#, &text[200..]));
        assert_eq!(host.content(), single.content());
    }
}

#[test]
fn a_chunk_is_split_by_partition_and_its_rest_is_left() {
    let chunk = r#"[{"put":"id:n:a:g=x:1","fields":{}},
        {"fields":{},"update":"id:n:a:n=7:2"}, {"nothing":1}, {"remove":"id:n:a:g=x:3"} {"put":"id:n"#;
    let split_chunk = split(chunk.as_bytes()).expect("a split");
    let mut reader = Reader::new(&split_chunk);
    assert_eq!(reader.u32().unwrap() as usize, chunk.find(r#"{"put":"id:n"#).map_or(0, |_| chunk.len() - 12));
    let mut groups = Vec::new();
    for _ in 0..reader.varint().unwrap() {
        let key = reader.text().unwrap().to_owned();
        let ids = reader.text().unwrap();
        let mut id_begin = 0;
        for _ in 0..reader.varint().unwrap() / 4 {
            let (number, id_end) = (reader.u32().unwrap(), reader.u32().unwrap() as usize);
            let id = ids[id_begin..id_end].to_owned();
            id_begin = id_end;
            let (begin, length) = (reader.u32().unwrap() as usize, reader.u32().unwrap() as usize);
            assert!(chunk[begin..begin + length].contains(&id));
            groups.push((key.clone(), number, id));
        }
    }
    let expected = [("g:x", 0, "id:n:a:g=x:1"), ("g:x", 3, "id:n:a:g=x:3"), ("n:7", 1, "id:n:a:n=7:2")];
    assert_eq!(groups, expected.map(|(key, number, id)| (key.to_owned(), number, id.to_owned())));
    assert_eq!((reader.varint().unwrap(), reader.varint().unwrap(), reader.u16().unwrap()), (1, 2, 400));
}

#[test]
fn a_fault_in_a_feed_is_told_after_what_stands_before_it() {
    let before = br#"{"remove":"id:n:a::1"} x"#;
    assert_eq!(Reader::new(&split(before).expect("what stands before it")).u32().unwrap(), 22);
    let fault = split(&before[22..]).unwrap_err();
    assert!(fault.message.contains("'x' stands where an operation should begin"), "{}", fault.message);
    let endless = [b"{\"put\":\"".as_slice(), &vec![b'x'; limits::OPERATION_BYTES]].concat();
    assert!(split(&endless).unwrap_err().message.contains("or does not end"));
}

/// An operation of a random history.
#[derive(Clone, Debug)]
enum HistoryOperation {
    Put(usize, i64),
    Remove(usize),
    Fold(u8),
}

fn steps() -> impl Strategy<Value = Vec<HistoryOperation>> {
    let step = prop_oneof![
        8 => (0usize..12, 0i64..100).prop_map(|(number, year)| HistoryOperation::Put(number, year)),
        3 => (0usize..12).prop_map(HistoryOperation::Remove),
        1 => prop::sample::select(vec![1u8, 3]).prop_map(HistoryOperation::Fold),
    ];
    prop::collection::vec(step, 1..60)
}

fn cases() -> ProptestConfig {
    ProptestConfig::with_cases(std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(200))
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn loads_leave_what_single_operations_leave(
        steps in steps(),
        cuts in prop::collection::vec((1usize..20, any::<bool>()), 1..20),
    ) {
        let (mut single, mut loaded) = (notes(), notes());
        let mut waiting: Vec<String> = Vec::new();
        let mut cuts = cuts.into_iter().cycle();
        let mut cut = cuts.next().expect("there is one");
        for step in steps {
            match step {
                HistoryOperation::Put(number, year) => {
                    single.put(&id(number), &format!(r#"{{"title":"note {number}","year":{year},"v":[1,{year},0.5]}}"#));
                    waiting.push(put(number, year));
                }
                HistoryOperation::Remove(number) => {
                    single.remove(&id(number));
                    waiting.push(remove(number));
                }
                HistoryOperation::Fold(reason) => {
                    single.compact(reason);
                    loaded.compact(reason);
                }
            }
            if waiting.len() >= cut.0 {
                let outcomes = loaded.load(&waiting, cut.1);
                prop_assert!(outcomes.iter().all(|outcome| *outcome == DONE));
                waiting.clear();
                prop_assert_eq!(loaded.content(), single.content());
                cut = cuts.next().expect("it is a cycle");
            }
        }
        loaded.load(&waiting, true);
        prop_assert_eq!(loaded.content(), single.content());
        prop_assert!(loaded.operations.is_empty() || waiting.is_empty());
    }
}
