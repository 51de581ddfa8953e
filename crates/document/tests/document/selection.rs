//! Runs the recorded answers of the reference implementation for selections, and compares with a naive reading.
use crate::mail;
use std::collections::BTreeSet;
use std::rc::Rc;

use brooklet_document::json::{Lexer, ReadOptions};
use brooklet_document::selection::{Outcome, Scope, Selection, Subject};
use brooklet_document::{DocumentId, Location, Value, read_operation};
use brooklet_task::Code;
use brooklet_task::limits::{PATTERN_BYTES, SELECTION_BYTES, SELECTION_DEPTH};
use proptest::prelude::*;
use serde_json::Value as Json;

/// Seconds since 1970 that `now()` is: the recorded answers hold for any recent time.
const NOW: i64 = 1_790_000_000;

/// Rows that are answered otherwise, and why. The specification (document-v1 §5) rules where the recorded answers are
/// those of the reference implementation's container, which evaluates neither conditions nor visits.
const SKIPS: [(&str, &[&str]); 13] = [
    ("the remainder is of whole numbers", &["selection-254"]),
    ("dividing by zero fails the operation", &["selection-248", "selection-249"]),
    (
        "a document type that does not exist is an error; names of types are case-sensitive",
        &[
            "select-036",
            "selection-181",
            "selection-188",
            "selection-189",
            "selection-242",
            "selection-243",
            "selection-244",
            "selection-276",
            "selection-277",
            "selection-279",
            "selection-285",
            "selection-286",
        ],
    ),
    (
        "a field or a part of one that does not exist is refused (reliability U8, V2)",
        &[
            "select-234",
            "selection-129",
            "selection-133",
            "selection-134",
            "selection-135",
            "selection-136",
            "selection-137",
            "selection-138",
            "selection-139",
            "selection-176",
            "selection-280",
            "selection-281",
            "selection-282",
            "selection-164",
        ],
    ),
    ("`hash()` is the first eight bytes of MD5", &["select-054", "selection-166"]),
    ("a regular expression that cannot be compiled is refused (reliability U6)", &["select-123"]),
    (
        "whole numbers are compared and divided as such, whatever their width",
        &["select-099", "selection-003", "selection-056"],
    ),
    ("`%` binds tighter than `*`", &["selection-006", "selection-007"]),
    (
        "strings are ordered bytewise",
        &["selection-018", "selection-084", "selection-296", "selection-297", "selection-151"],
    ),
    (
        "a number is no string: comparing them is invalid",
        &["selection-071", "selection-072", "selection-160", "selection-270"],
    ),
    ("a number may have a plus sign, and one with an exponent needs its dot", &["selection-010", "selection-015"]),
    (
        "escapes in strings are those of the grammar, and no others",
        &["selection-022", "selection-024", "selection-025", "selection-066", "selection-075"],
    ),
    ("`now()` is written so, and `or` is a keyword", &["selection-180", "selection-182", "selection-214"]),
];

/// Rows that are not compared on documents of another type than the one they name: a field of another type is invalid.
/// The recorded answers take it for the value false, so that deleting unread mails would delete notes.
const OF_ANOTHER_TYPE: [&str; 17] = [
    "select-093",
    "select-102",
    "selection-043",
    "selection-050",
    "selection-077",
    "selection-082",
    "selection-083",
    "selection-087",
    "selection-088",
    "selection-090",
    "selection-095",
    "selection-124",
    "selection-130",
    "selection-131",
    "selection-132",
    "selection-272",
    "selection-295",
];

const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../test-vectors");

fn file(path: &str) -> Vec<Json> {
    let path = format!("{VECTORS}/{path}");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.lines().map(|line| serde_json::from_str(line).expect("a vector is JSON")).collect()
}

fn documents() -> Vec<(DocumentId, Vec<(String, Value)>)> {
    let text = std::fs::read_to_string(format!("{VECTORS}/feeds/selection.json")).unwrap();
    let rows: Vec<Json> = serde_json::from_str(&text).unwrap();
    rows.iter()
        .map(|row| {
            let text = row.to_string();
            let mut json = Lexer::new(&text, Code::InvalidDocument);
            let operation = read_operation(&mail::Types::new(), &mut json, ReadOptions::default()).unwrap();
            (operation.id, operation.fields)
        })
        .collect()
}

fn parse(text: &str) -> Result<Selection, brooklet_task::Rejection> {
    Selection::parse(text, &mail::Types::new(), Code::InvalidDocument)
}

/// A document must be selected where it was recorded to be, and not where it was not; what it says otherwise, false or
/// invalid, is shown by what `not` makes of it, in rows of their own. Whether anything was compared.
fn run(row: &Json, documents: &[(DocumentId, Vec<(String, Value)>)]) -> bool {
    let (name, text) = (row["id"].as_str().unwrap(), row["selection"].as_str().unwrap());
    let skipped = SKIPS.iter().any(|(reason, ids)| !reason.is_empty() && ids.contains(&name));
    if skipped || row.get("cpp_note").is_some() {
        return false;
    }
    if let Some(error) = row.get("error") {
        let rejection = parse(text).map(|_| ()).expect_err(&format!("{error} for {text}"));
        assert!(rejection.span.is_some(), "{rejection} for {text}");
        return true;
    }
    let unsure: BTreeSet<&str> = row["unsure_docs"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    if unsure.len() == documents.len() {
        return false;
    }
    let selection = parse(text).unwrap_or_else(|rejection| panic!("{rejection}"));
    for (id, fields) in documents.iter().filter(|(id, _)| !unsure.contains(id.as_str())) {
        if OF_ANOTHER_TYPE.contains(&name) && id.document_type() == "note" {
            continue;
        }
        let expected = row["results"][id.as_str()].as_str().unwrap();
        let outcome = selection.evaluate(&Subject { id, fields, now: NOW }).unwrap();
        assert_eq!(expected == "true", outcome == Outcome::True, "{text} on {id}: {outcome:?}, not {expected}");
        assert!(outcome != Outcome::True || contains(selection.scope(), id), "{text} selects {id} beyond its scope");
    }
    true
}

fn contains(scope: &Scope, id: &DocumentId) -> bool {
    scope.locations.as_ref().is_none_or(|locations| locations.contains(id.location()))
        && scope.types.as_ref().is_none_or(|types| types.contains(id.document_type()))
}

#[test]
fn selections_select_as_recorded() {
    let documents = documents();
    let rows: Vec<Json> =
        ["selection/select.jsonl", "selection/more.jsonl"].iter().flat_map(|path| file(path)).collect();
    let count = rows.iter().filter(|row| run(row, &documents)).count();
    assert_eq!((rows.len(), count), (388, 314), "every other row is compared");
}

#[test]
fn a_scope_names_groups_and_types() {
    let group = |name: &str| Location::Group(name.to_owned());
    for (text, locations, types) in [
        ("true", None, None),
        ("false", Some(vec![]), Some(vec![])),
        ("id.group == \"a\"", Some(vec![group("a")]), None),
        ("id.group == 'it\\'s' or 5 == id.user", Some(vec![group("it's"), Location::Number(5)]), None),
        ("mail and (id.group == \"a\" or id.group = \"b\")", Some(vec![group("a"), group("b")]), Some(vec!["mail"])),
        ("id.group = \"a*\"", None, None),
        ("not (id.group != \"a\")", Some(vec![group("a")]), None),
        ("not mail", None, Some(vec!["note"])),
        ("not 0.", None, None),
        ("-0.0", Some(vec![]), Some(vec![])),
        ("mail.year > 3 or id.type == \"note\"", None, Some(vec!["mail", "note"])),
        ("mail.year > 3 and note", Some(vec![]), Some(vec![])),
        ("id.group == \"a\" and id.group == \"b\"", Some(vec![]), Some(vec![])),
        ("id.group == \"a\" or mail.year == 1", None, None),
        ("id == \"id:x:note:n=3:k\"", Some(vec![Location::Number(3)]), Some(vec!["note"])),
        ("(mail.year + 1).abs() > note.year", Some(vec![]), Some(vec![])),
    ] {
        let scope = parse(text).unwrap().scope().clone();
        assert_eq!(scope.locations, locations.map(|known| known.into_iter().collect()), "{text}");
        let types = types.map(|known| known.into_iter().map(str::to_owned).collect());
        assert_eq!(scope.types, types, "{text}");
    }
}

#[test]
fn limits_hold_at_the_limit_and_beyond() {
    let nested = |levels: usize| format!("{}true{}", "(".repeat(levels), ")".repeat(levels));
    assert!(parse(&nested(SELECTION_DEPTH)).is_ok());
    assert!(parse(&nested(SELECTION_DEPTH + 1)).is_err_and(|error| error.span.is_some()));
    let long = |bytes: usize| format!("true{}", " ".repeat(bytes - 4));
    assert!(parse(&long(SELECTION_BYTES)).is_ok());
    assert!(parse(&long(SELECTION_BYTES + 1)).is_err());
    let chain = format!("1{} > 0", "+1".repeat(8_000));
    let id = DocumentId::parse("id:a:mail::").unwrap();
    assert_eq!(parse(&chain).unwrap().evaluate(&Subject { id: &id, fields: &[], now: 0 }), Ok(Outcome::True));
    let functions = format!("id{} == 1", ".lowercase()".repeat(1_300));
    assert!(parse(&functions).is_ok());
    let pattern = |bytes: usize| format!("id =~ \"{}\"", "a".repeat(bytes));
    assert!(parse(&pattern(PATTERN_BYTES)).is_ok());
    assert!(parse(&pattern(PATTERN_BYTES + 1)).is_err());
    assert!(parse("id =~ \"(a{1000}){1000}\"").is_err());
}

#[test]
fn combinations_of_variables_are_bounded() {
    let nums = Value::Array(vec![Value::Int(1); 2_000]);
    let id = DocumentId::parse("id:a:mail::").unwrap();
    let fields = [("nums".to_owned(), nums)];
    let subject = Subject { id: &id, fields: &fields, now: 0 };
    let same = parse("mail.nums[$x] == 2 and mail.nums[$x] == 1").unwrap();
    assert_eq!(same.evaluate(&subject), Ok(Outcome::False));
    let crossed = parse("mail.nums[$x] == 1 and mail.nums[$y] == 2").unwrap();
    assert!(crossed.evaluate(&subject).is_err());
}

/// Also where each comparison is of elements with one value: as many of them as a selection may have were minutes for one document.
#[test]
fn comparisons_of_elements_are_bounded_together() {
    let id = DocumentId::parse("id:a:mail::").unwrap();
    let outcome = |comparison: &str, count: usize, elements: usize| {
        let fields = [("nums".to_owned(), Value::Array(vec![Value::Int(1); elements]))];
        let selection = parse(&vec![comparison; count].join(" or ")).unwrap();
        selection.evaluate(&Subject { id: &id, fields: &fields, now: 0 }).map_err(|refusal| refusal.code)
    };
    assert_eq!(outcome("mail.nums == 2", 167, 100_000), Ok(Outcome::False));
    assert_eq!(outcome("mail.nums == 2", 168, 100_000), Err(Code::TooLarge));
    for comparison in ["mail.nums[$x] == 2", "2 == mail.nums[$x]", "mail.nums[$x] =~ \"a\""] {
        assert!(outcome(comparison, 2, 10_000).is_ok(), "{comparison}");
        // With a variable each is a way of its own to bind it.
        assert_eq!(outcome(comparison, 1, (1 << 20) + 1), Err(Code::TooLarge), "{comparison}");
    }
}

/// Functions and wildcards look at all of a text, each of them anew.
#[test]
fn what_is_done_with_texts_is_bounded_for_a_document() {
    let id = DocumentId::parse("id:a:mail::").unwrap();
    let fields = [("subject".to_owned(), Value::String("aB".repeat(1 << 20)))];
    let outcome = |text: &str| {
        parse(text).unwrap().evaluate(&Subject { id: &id, fields: &fields, now: 0 }).map_err(|refusal| refusal.code)
    };
    let chained = |count: usize| format!("mail.subject{} == \"x\"", ".lowercase()".repeat(count));
    let several = |comparison: &str, count: usize| vec![comparison; count].join(" or ");
    let hashes = "mail.subject.hash() == 1";
    let wildcards = "mail.subject = \"*x*y\"";
    for (at, beyond) in [
        (chained(64), chained(65)),
        (several(hashes, 64), several(hashes, 65)),
        (several(wildcards, 512), several(wildcards, 513)),
    ] {
        assert_eq!(outcome(&at), Ok(Outcome::False));
        assert_eq!(outcome(&beyond), Err(Code::TooLarge));
    }
    assert_eq!(outcome(&several("mail.subject == \"x\"", 600)), Ok(Outcome::False), "it differs at the first letter");
}

#[test]
fn elements_without_members_are_null_as_the_reference_has_them() {
    let id = DocumentId::parse("id:a:mail::").unwrap();
    let (empty, bob) =
        (Value::Struct(vec![]), Value::Struct(vec![("name".to_owned(), Value::String("bob".to_owned()))]));
    for (people, is_there) in
        [(vec![empty.clone()], false), (vec![empty.clone(), empty.clone()], false), (vec![empty, bob], true)]
    {
        let fields = [("people".to_owned(), Value::Array(people))];
        for (text, expected) in [
            ("mail.people", is_there),
            ("mail.people == null", !is_there),
            ("mail.people[0]", false),
            ("mail.people[0] == null", true),
            ("mail.people[1]", is_there),
        ] {
            let outcome = parse(text).unwrap().evaluate(&Subject { id: &id, fields: &fields, now: 0 });
            assert_eq!(outcome == Ok(Outcome::True), expected, "{text} {fields:?}");
        }
    }
}

#[test]
fn regular_expressions_are_bounded_for_a_document() {
    let id = DocumentId::parse("id:a:mail::").unwrap();
    let of = |text: String| [("subject".to_owned(), Value::String(text))];
    let dear = parse("mail.subject =~ \"(x{1,99}){1,9}y\"").unwrap();
    let short = of("x".repeat(2_000) + "y");
    assert_eq!(dear.evaluate(&Subject { id: &id, fields: &short, now: 0 }), Ok(Outcome::True));
    let long = of("x".repeat(200_000));
    let refused = dear.evaluate(&Subject { id: &id, fields: &long, now: 0 }).unwrap_err();
    assert_eq!(refused.code, Code::TooLarge);
    assert!(refused.message.ends_with("steps of regular expressions for one document"), "{}", refused.message);
    let plain = parse("mail.subject =~ \"x+y?$\"").unwrap();
    assert_eq!(plain.evaluate(&Subject { id: &id, fields: &long, now: 0 }), Ok(Outcome::True));
}

#[test]
fn dividing_by_zero_fails() {
    let id = DocumentId::parse("id:a:mail::").unwrap();
    for text in ["1 / 0 == 1", "1 % 0 == 1", "1.0 / 0 == 1"] {
        assert!(parse(text).unwrap().evaluate(&Subject { id: &id, fields: &[], now: 0 }).is_err(), "{text}");
    }
}

/// A selection with what a plain reading of the specification says of a document: `None` is invalid.
#[derive(Clone)]
struct Twin(Rc<Reading>);

type Reading = dyn Fn(&Subject) -> Option<bool>;

impl Twin {
    fn new(twin: impl Fn(&Subject) -> Option<bool> + 'static) -> Twin {
        Twin(Rc::new(twin))
    }
}

impl std::fmt::Debug for Twin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("twin")
    }
}

fn number(subject: &Subject, name: &str) -> Option<i32> {
    subject.fields.iter().find(|(field, _)| field == name).map(|(_, value)| match value {
        Value::Int(number) => *number,
        other => panic!("{other:?} is no int"),
    })
}

fn atoms() -> impl Strategy<Value = (String, Twin)> {
    let operators = prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]);
    let years = prop::sample::select(vec![2001, 2010, 0, -5, 1999]);
    let of_year = (operators, years, prop::sample::select(vec!["mail", "note"])).prop_map(|(sign, wanted, name)| {
        let twin = Twin::new(move |subject| {
            if subject.id.document_type() != name {
                return None;
            }
            match (number(subject, "year"), sign) {
                (None, "==") => Some(false),
                (None, "!=") => Some(true),
                (None, _) => None,
                (Some(year), "==") => Some(year == wanted),
                (Some(year), "!=") => Some(year != wanted),
                (Some(year), "<") => Some(year < wanted),
                (Some(year), "<=") => Some(year <= wanted),
                (Some(year), ">") => Some(year > wanted),
                (Some(year), _) => Some(year >= wanted),
            }
        });
        (format!("{name}.year {sign} {wanted}"), twin)
    });
    let of_type = prop::sample::select(vec!["mail", "note"]).prop_map(|name| {
        let twin = Twin::new(move |subject| Some(subject.id.as_str().split(':').nth(2) == Some(name)));
        (name.to_owned(), twin)
    });
    let of_place = prop::sample::select(vec![("user", "n=1", "1"), ("group", "g=grp", "'grp'")]).prop_map(
        |(part, key, wanted)| {
            let twin = Twin::new(move |subject| {
                let keys = subject.id.as_str().split(':').nth(3)?;
                (keys.get(..1) == key.get(..1)).then_some(keys == key)
            });
            (format!("id.{part} == {wanted}"), twin)
        },
    );
    let literals =
        [("0.", false), ("-0.0", false), ("0.5", true), ("0", false), ("-3", true), ("'x'", true), ("null", false)];
    let literal = prop::sample::select(literals.to_vec())
        .prop_map(|(text, holds)| (text.to_owned(), Twin::new(move |_| Some(holds))));
    prop_oneof![3 => of_year, 3 => of_type, 3 => of_place, 1 => literal]
}

fn selections() -> impl Strategy<Value = (String, Twin)> {
    atoms().prop_recursive(4, 24, 3, |inner| {
        let joined = (prop::collection::vec(inner.clone(), 2..4), any::<bool>()).prop_map(|(parts, all)| {
            let texts: Vec<_> = parts.iter().map(|(text, _)| format!("({text})")).collect();
            let twins: Vec<Twin> = parts.into_iter().map(|(_, twin)| twin).collect();
            let twin = Twin::new(move |subject| {
                let outcomes: Vec<_> = twins.iter().map(|twin| twin.0(subject)).collect();
                match (outcomes.contains(&Some(!all)), outcomes.contains(&None)) {
                    (true, _) => Some(!all),
                    (false, true) => None,
                    (false, false) => Some(all),
                }
            });
            (texts.join(if all { " and " } else { " or " }), twin)
        });
        let negated = inner.prop_map(|(text, twin)| {
            let negated = Twin::new(move |subject| twin.0(subject).map(|outcome| !outcome));
            (format!("not ({text})"), negated)
        });
        prop_oneof![joined, negated]
    })
}

proptest! {
    #[test]
    fn logic_has_three_values_and_scopes_lose_nothing((text, twin) in selections()) {
        let selection = parse(&text).unwrap();
        for (id, fields) in &documents() {
            let subject = Subject { id, fields, now: NOW };
            let expected = match twin.0(&subject) {
                Some(true) => Outcome::True,
                Some(false) => Outcome::False,
                None => Outcome::Invalid,
            };
            prop_assert_eq!(selection.evaluate(&subject).unwrap(), expected, "{} on {}", text, id);
            prop_assert!(expected != Outcome::True || contains(selection.scope(), id), "{} on {}", text, id);
        }
    }
}
