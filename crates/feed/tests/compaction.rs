//! What folding, settling and rewriting leave: the same documents, in few segments, without the dead.
mod host;

use std::collections::BTreeMap;

use brooklet_document::Value;
use brooklet_feed::Bounds;
use brooklet_segment::layout::{columns, fingerprint};
use brooklet_task::{Block, Task, Want, limits};
use host::{Host, SECOND, application};

const FOLD: u8 = 1;
const REWRITE: u8 = 2;
const SETTLE: u8 = 3;

const NOTE: &str = "schema note { document note {
    field title type string { indexing: summary | index }
    field year type int { indexing: summary }
} }";
const NOTE_WITH_YEARS: &str = "schema note { document note {
    field title type string { indexing: summary | index }
    field year type int { indexing: summary | attribute }
} }";
const MEMO: &str = "schema memo { document memo { field text type string { indexing: summary | index } } }";

fn notes() -> Host {
    Host::new(application(&[("note", NOTE)]))
}

fn id(number: usize) -> String {
    format!("id:n:note:g=u:{number:05}")
}

fn put_range(host: &mut Host, range: std::ops::Range<usize>, year: usize) {
    for number in range {
        host.put(&id(number), &format!("{{\"title\":\"note {number}\",\"year\":{year}}}"));
    }
}

#[test]
fn a_fold_makes_a_segment_of_what_the_tail_says_at_last() {
    let mut host = notes();
    assert!(!host.compact(FOLD), "nothing to do");
    put_range(&mut host, 0..10, 1);
    put_range(&mut host, 3..5, 2);
    host.remove(&id(7));
    host.remove(&id(99));
    let before = host.content();
    assert!(host.compact(FOLD));
    assert_eq!((host.shape(), host.operations.len()), (vec![(9, 9)], 0));
    assert_eq!(host.content(), before);
    assert_eq!(host.content()[&id(4)].field("year"), Some(&Value::Int(2)));
    assert!(!host.compact(FOLD), "nothing to do again");
}

#[test]
fn removes_are_known_until_they_are_forgotten_or_the_document_is_put_again() {
    let mut host = notes();
    host.forget_before = 0;
    put_range(&mut host, 0..10, 1);
    host.remove(&id(7));
    host.remove(&id(3));
    assert!(host.compact(FOLD));
    assert_eq!(host.removed(), [(id(3), 12), (id(7), 11)]);
    host.put(&id(3), "{}");
    host.remove(&id(99));
    assert!(host.compact(FOLD));
    assert_eq!(host.removed(), [(id(7), 11), (id(99), 14)]);
    assert!(host.compact(SETTLE), "two segments of each kind become one");
    assert_eq!((host.removed(), host.shape()), (vec![(id(7), 11), (id(99), 14)], vec![(9, 9), (2, 2)]));
    assert!(!host.compact(SETTLE), "nothing is old enough");
    host.forget_before = 12 * SECOND;
    assert!(host.compact(SETTLE));
    assert_eq!(host.removed(), [(id(99), 14)]);
    host.forget_before = u64::MAX;
    let before = host.content();
    assert!(host.compact(SETTLE));
    assert_eq!((host.removed(), host.shape()), (vec![], vec![(9, 9)]));
    assert_eq!(host.content(), before);
}

#[test]
fn a_tail_of_removes_alone_leaves_no_segment() {
    let mut host = notes();
    host.remove(&id(1));
    assert!(host.compact(FOLD));
    assert_eq!((host.shape(), host.operations.len()), (vec![], 0));
}

#[test]
fn replaced_documents_die_and_the_segment_stays_until_half_is_dead() {
    let mut host = notes();
    put_range(&mut host, 0..100, 1);
    host.compact(FOLD);
    let first = *host.segments.keys().next().expect("a segment");
    put_range(&mut host, 0..10, 2);
    let before = host.content();
    host.compact(FOLD);
    assert_eq!((host.shape(), host.content()), (vec![(100, 90), (10, 10)], before));
    assert!(host.segments.contains_key(&first), "it was not rewritten");
    (40..81).for_each(|number| host.remove(&id(number)));
    let before = host.content();
    host.compact(FOLD);
    assert_eq!(host.content(), before);
    assert!(!host.segments.contains_key(&first), "more than half of it was dead");
    assert!(host.shape().iter().all(|(documents, alive)| documents == alive));
}

#[test]
fn a_segment_without_living_documents_goes() {
    let mut host = notes();
    put_range(&mut host, 0..20, 1);
    host.compact(FOLD);
    (0..20).for_each(|number| host.remove(&id(number)));
    assert!(host.compact(FOLD));
    assert_eq!((host.shape(), host.content().len()), (vec![], 0));
}

#[test]
fn segments_of_one_tier_are_merged_when_there_are_eight() {
    let mut host = notes();
    for fold in 0..8 {
        put_range(&mut host, fold * 100..(fold + 1) * 100, fold);
        host.compact(FOLD);
        let expected = if fold < 7 { vec![(100, 100); fold + 1] } else { vec![(800, 800)] };
        assert_eq!(host.shape(), expected);
    }
}

#[test]
fn a_segment_of_a_higher_tier_stays_while_small_ones_are_merged() {
    let mut host = notes();
    put_range(&mut host, 0..3_000, 1);
    host.compact(FOLD);
    for fold in 0..8 {
        put_range(&mut host, 3_000 + fold * 10..3_010 + fold * 10, fold);
        host.compact(FOLD);
    }
    assert_eq!(host.shape(), [(3_000, 3_000), (80, 80)]);
}

#[test]
fn many_folds_leave_few_segments() {
    let mut host = notes();
    for fold in 0..60 {
        put_range(&mut host, fold * 64..(fold + 1) * 64, fold);
        host.compact(FOLD);
    }
    assert_eq!(host.content().len(), 60 * 64);
    assert!(host.segments.len() <= 16, "{:?}", host.shape());
}

#[test]
fn settling_leaves_one_segment_without_the_dead() {
    let mut host = notes();
    for fold in 0..5 {
        put_range(&mut host, fold * 50..fold * 50 + 60, fold);
        host.compact(FOLD);
    }
    host.remove(&id(3));
    let before = host.content();
    assert!(host.compact(SETTLE));
    assert_eq!((host.shape(), host.operations.len()), (vec![(259, 259)], 0));
    assert_eq!(host.content(), before);
    assert!(!host.compact(SETTLE), "settled already");
}

#[test]
fn a_segment_has_so_many_documents_at_most() {
    let mut host = notes();
    let most = limits::SEGMENT_DOCUMENTS;
    put_range(&mut host, 0..most + 600, 1);
    host.compact(FOLD);
    assert_eq!(host.shape(), [(most as u32, most as u32), (600, 600)]);
    put_range(&mut host, most + 600..most + 700, 1);
    host.compact(SETTLE);
    assert_eq!(host.shape(), [(most as u32, most as u32), (700, 700)], "a full segment is not copied");
    assert_eq!(host.content().len(), most + 700);
}

#[test]
fn operations_that_arrive_meanwhile_stay_in_the_tail() {
    for steps in 0..40 {
        let mut host = notes();
        put_range(&mut host, 0..40, 1);
        host.compact(FOLD);
        put_range(&mut host, 20..60, 2);
        let mut task = host.open(SETTLE);
        let done = host.drive(&mut task, 1 + steps).expect("steps");
        let seen = host.operations.len();
        put_range(&mut host, 50..70, 3);
        host.remove(&id(5));
        host.remove(&id(55));
        let before = host.content();
        assert!(done || host.drive(&mut task, usize::MAX).expect("the rest"));
        assert!(host.commit(task));
        assert_eq!((host.content(), host.operations.len()), (before.clone(), 22), "after {steps} of {seen}");
        host.compact(FOLD);
        assert_eq!(host.content(), before);
    }
}

#[test]
fn a_task_that_was_not_finished_changes_nothing() {
    let mut host = notes();
    put_range(&mut host, 0..40, 1);
    let mut task = host.open(FOLD);
    assert!(!host.drive(&mut task, 2).expect("two steps"));
    assert!(!host.commit(task));
}

#[test]
fn a_changed_schema_rewrites_every_segment() {
    let mut host = notes();
    for fold in 0..3 {
        put_range(&mut host, fold * 30..fold * 30 + 30, fold);
        host.compact(FOLD);
    }
    host.remove(&id(0));
    let before = host.content();
    host.application = application(&[("note", NOTE_WITH_YEARS)]);
    let wanted = fingerprint(&columns(&host.application.schemas[0]));
    assert!(host.segments.keys().all(|number| host.header(*number).fingerprint != wanted));
    assert!(host.compact(REWRITE));
    assert!(host.segments.keys().all(|number| host.header(*number).fingerprint == wanted));
    assert_eq!((host.content(), host.shape()), (before, vec![(89, 89)]));
    assert!(!host.compact(REWRITE), "nothing is of another form now");
}

#[test]
fn a_fold_rewrites_what_is_of_another_form_too() {
    let mut host = notes();
    put_range(&mut host, 0..30, 1);
    host.compact(FOLD);
    host.application = application(&[("note", NOTE_WITH_YEARS)]);
    put_range(&mut host, 30..31, 1);
    host.compact(FOLD);
    assert_eq!(host.shape(), [(31, 31)]);
}

#[test]
fn schemas_have_segments_of_their_own() {
    let mut host = Host::new(application(&[("note", NOTE), ("memo", MEMO)]));
    put_range(&mut host, 0..3, 1);
    host.put("id:n:memo:g=u:1", "{\"text\":\"a\"}");
    let before = host.content();
    host.compact(SETTLE);
    assert_eq!((host.content(), host.shape().len()), (before, 2));
}

#[test]
fn what_is_of_another_partition_or_damaged_is_refused() {
    let mut host = notes();
    put_range(&mut host, 0..5, 1);
    host.compact(FOLD);
    put_range(&mut host, 3..7, 2);
    let mut task = host.open(SETTLE);
    assert!(matches!(task.wants(), Ok(Want::Manifest { .. })));
    let mut manifest = host.manifest();
    let last = manifest.len() - 1;
    manifest[last] ^= 1;
    assert!(task.give(Block::copy_of(&manifest)).is_err(), "an operation with another byte");
    let mut task = host.open(SETTLE);
    task.wants().expect("a manifest is wanted");
    task.give(Block::copy_of(&host.manifest())).expect("the manifest");
    let Ok(Want::Blocks(places)) = task.wants() else { panic!("blocks are wanted") };
    let mut bytes = host.block(places[0]).bytes().to_vec();
    bytes[0] ^= 1;
    assert!(task.give(Block::copy_of(&bytes)).is_err(), "a block with another byte");
    assert!(task.give(Block::copy_of(&[])).is_err(), "no block at all");
}

/// Any history, compacted anywhere and for any reason, holds what a map would.
#[test]
fn histories_hold_what_a_map_would() {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(150u64);
    for case in 0..cases {
        let mut state = case;
        let mut below = |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % limit
        };
        let mut host = Host::new(application(&[("note", NOTE), ("memo", MEMO)]));
        let mut expected = BTreeMap::new();
        for step in 0..below(200) {
            let schema = ["note", "memo"][below(2)];
            let id = format!("id:n:{schema}:g=u:{}", below(40));
            if below(4) == 0 {
                host.remove(&id);
                expected.remove(&id);
            } else {
                let (field, text) = (["title", "text"][usize::from(schema == "memo")], format!("step {step}"));
                host.put(&id, &format!("{{\"{field}\":\"{text}\"}}"));
                expected.insert(id, (field, Value::String(text)));
            }
            if below(12) == 0 {
                host.compact([FOLD, FOLD, SETTLE, REWRITE][below(4)]);
            }
        }
        let content = host.content();
        assert!(content.keys().eq(expected.keys()), "case {case}");
        for (id, (field, value)) in &expected {
            assert_eq!(content[id].field(field), Some(value), "case {case}, {id}");
        }
    }
}

#[test]
fn a_segment_full_of_bytes_is_not_copied_by_the_folds_that_follow() {
    let mut host = notes();
    let body = "word ".repeat(100_000);
    // Seven eighths of what one may have.
    for number in 0..limits::SEGMENT_SOURCE_BYTES / body.len() * 7 / 8 {
        host.put(&id(number), &format!(r#"{{"title":"{body}"}}"#));
    }
    host.compact(FOLD);
    let large: Vec<u32> = host.segments.keys().copied().collect();
    for fold in 1..12 {
        put_range(&mut host, fold * 100..fold * 100 + 10, 1);
        host.compact(FOLD);
    }
    assert!(host.segments.contains_key(&large[0]), "{large:?} became {:?}", host.segments.keys().collect::<Vec<_>>());
    assert!(host.segments.len() < 11, "the small ones are joined: {:?}", host.shape());
}

/// Texts of which every word is another.
fn words_of(number: usize, count: usize) -> String {
    (0..count).map(|word| format!("w{number}x{word} ")).collect()
}

#[test]
fn a_bounded_instance_writes_small_segments_and_merges_little_at_a_time() {
    const BOUND: usize = 64 << 10;
    let mut host = notes();
    host.bounds = Bounds::of_segments(BOUND);
    let put = |host: &mut Host, number: usize, count: usize| {
        host.put(&id(number), &format!(r#"{{"title":"{}","year":{count}}}"#, words_of(number, count)));
    };
    for number in 0..120 {
        put(&mut host, number, 20 + number * 7 % 90);
        if number % 5 == 4 {
            host.compact(FOLD);
        }
    }
    (0..120).step_by(3).for_each(|number| host.remove(&id(number)));
    (1..120).step_by(6).for_each(|number| put(&mut host, number, 33));
    let expected = host.content();
    let (mut changes, mut most) = (0, 0);
    loop {
        let before: Vec<u32> = host.segments.keys().copied().collect();
        if !host.compact(SETTLE) {
            break;
        }
        assert_eq!(host.content(), expected, "after change {changes}");
        let new: Vec<u32> = host.segments.keys().copied().filter(|number| !before.contains(number)).collect();
        let gone: usize = before.iter().filter(|number| !host.segments.contains_key(number)).count();
        assert!(gone > 0 || changes == 0, "each change gets further");
        let written: usize = new.iter().flat_map(|number| &host.segments[number].blocks).map(Vec::len).sum();
        most = most.max(written);
        changes += 1;
        if !host.has_more {
            break;
        }
    }
    assert!(changes > 3, "{changes} changes");
    assert!(most < 4 * BOUND, "{most} bytes of one change");
    assert!(
        host.shape().iter().all(|(documents, alive)| documents == alive),
        "nothing dead is left: {:?}",
        host.shape()
    );
    let notes = host.segments.iter().filter(|(_, segment)| segment.schema == "note").map(|(number, _)| *number);
    let small: Vec<usize> =
        notes.map(|number| host.header(number).bytes()).filter(|bytes| *bytes < BOUND / 2).collect();
    assert!(small.len() <= 1, "one at most is not full: {small:?}");
    assert!(!host.compact(SETTLE), "all is done");
}

#[test]
fn the_bound_is_of_all_columns_and_a_document_that_is_longer_has_a_segment_of_its_own() {
    let sd = "schema note { document note { field title type string { indexing: summary | index } \
              field v type tensor<float>(x[64]) { indexing: summary | attribute } } }";
    let mut host = Host::new(application(&[("note", sd)]));
    host.bounds = Bounds::of_segments(32 << 10);
    let vector: Vec<String> = (0..64).map(|cell| cell.to_string()).collect();
    for number in 0..300 {
        host.put(&id(number), &format!(r#"{{"v":[{}]}}"#, vector.join(",")));
    }
    host.put(&id(300), &format!(r#"{{"title":"{}"}}"#, words_of(0, 3_000)));
    let expected = host.content();
    host.compact(FOLD);
    assert_eq!(host.content(), expected);
    let bytes: Vec<usize> = host.segments.keys().map(|number| host.header(*number).bytes()).collect();
    assert!(bytes.len() > 3, "{bytes:?}");
    assert!(bytes.iter().filter(|bytes| **bytes > 40 << 10).count() <= 1, "{bytes:?}");
}

#[test]
fn a_rewrite_of_a_bounded_instance_takes_several_changes() {
    let mut host = notes();
    host.bounds = Bounds::of_segments(16 << 10);
    for number in 0..60 {
        host.put(&id(number), &format!(r#"{{"title":"{}"}}"#, words_of(number, 60)));
    }
    host.compact(FOLD);
    let expected = host.content();
    host.application = application(&[("note", NOTE_WITH_YEARS)]);
    let mut changes = 0;
    while host.compact(REWRITE) {
        changes += 1;
        assert_eq!(host.content(), expected);
        if !host.has_more {
            break;
        }
    }
    assert!(changes > 2, "{changes}");
    assert!(!host.compact(REWRITE));
}
