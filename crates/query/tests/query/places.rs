//! Whatever is refused, the refusal says where in the text, and that place is the fault's.
use std::fmt::Write as _;

use brooklet_query::simple::{self, Grammar};
use brooklet_query::{Select, parse_grouping, parse_select, parse_yql};
use brooklet_task::limits::{QUERY_BYTES, QUERY_DEPTH, QUERY_ENTRIES, QUERY_TERMS};
use brooklet_task::{Rejection, Span};

use crate::fixture::rows::{rows, text};
use crate::fixture::{RequestParameters, surroundings};

/// Characters told of what stands at a place.
const SEEN: usize = 28;

/// The reviewed places of all refused rows of `test-vectors/select-json`: the row, line and column, what stands there.
/// `BROOKLET_WRITE_PLACES=1` writes what is found instead.
#[test]
fn places_of_refused_json_queries() {
    let path = format!("{}/tests/query/places.txt", env!("CARGO_MANIFEST_DIR"));
    let mut found = String::new();
    for row in rows("select-json/recorded.jsonl") {
        let (id, filter) = (text(&row, "id").unwrap(), text(&row, "where").unwrap_or("true"));
        let (fields, grouping) = (text(&row, "fields"), text(&row, "grouping"));
        let Some((name, refused, rejection)) = refusal(filter, fields, grouping) else { continue };
        let Some(span) = rejection.span else { panic!("{id} {refused}: no place: {}", rejection.message) };
        assert!(span.offset <= refused.len(), "{id}: {} of {} bytes", span.offset, refused.len());
        assert_eq!(Span::locate(refused, span.offset), span, "{id}: line and column are the offset's");
        let seen: String = refused[span.offset..].chars().take(SEEN).collect();
        let seen = if seen.is_empty() { "(the end)".to_owned() } else { seen.escape_debug().to_string() };
        let _ = writeln!(found, "{id} {name} {}:{} {seen}", span.line, span.column);
    }
    if std::env::var_os("BROOKLET_WRITE_PLACES").is_some() {
        std::fs::write(&path, &found).expect("a place for the places");
    }
    let recorded = std::fs::read_to_string(&path).expect("the recorded places");
    let differs = found.lines().zip(recorded.lines()).find(|(found, recorded)| found != recorded);
    assert_eq!(differs, None, "found, recorded");
    assert_eq!(found.lines().count(), recorded.lines().count());
    assert!(found.lines().count() > 150);
}

/// What refuses a request, and the text its place is in.
fn refusal<'t>(
    filter: &'t str,
    fields: Option<&'t str>,
    grouping: Option<&'t str>,
) -> Option<(&'static str, &'t str, Rejection)> {
    let parse = |fields: Option<&str>, grouping: Option<&str>| {
        let query =
            parse_select(&Select { filter, grouping, fields }, &surroundings(&RequestParameters::default(), None))?;
        query.grouping.iter().try_for_each(|grouping| parse_grouping(&grouping.text).map(drop))
    };
    let whole = parse(None, None).err().map(|rejection| ("where", filter, rejection));
    whole
        .or_else(|| parse(fields, None).err().zip(fields).map(|(rejection, fields)| ("fields", fields, rejection)))
        .or_else(|| parse(None, grouping).err().zip(grouping).map(|(rejection, text)| ("grouping", text, rejection)))
}

/// Where a text is refused, and what stands there.
fn place_of<T>(text: &str, parsed: Result<T, Rejection>) -> (usize, &str) {
    let rejection = parsed.err().expect("a refusal");
    let span = rejection.span.unwrap_or_else(|| panic!("no place: {}", rejection.message));
    (span.offset, &text[span.offset..])
}

#[test]
fn limits_of_the_simple_language_are_refused_where_they_are_passed() {
    let given = RequestParameters::default();
    let around = surroundings(&given, None);
    for grammar in [Grammar::WEAK_AND, Grammar::named("all").unwrap(), Grammar::named("any").unwrap()] {
        let words: Vec<String> = (0..=QUERY_TERMS).map(|number| format!("word{number}")).collect();
        let text = format!("  {}", words.join("  "));
        let (_, at) = place_of(&text, simple::parse(&text, grammar, None, &around));
        assert_eq!(at, format!("word{QUERY_TERMS}"));
        let text = "é".repeat(QUERY_BYTES);
        let (offset, _) = place_of(&text, simple::parse(&text, grammar, None, &around));
        assert_eq!(offset, QUERY_BYTES);
    }
}

#[test]
fn limits_of_yql_are_refused_where_they_are_passed() {
    let given = RequestParameters::default();
    let around = surroundings(&given, None);
    let term = |number: usize| format!("subject contains \"w{number}\"");
    let terms: Vec<String> = (0..=QUERY_TERMS).map(term).collect();
    let text = format!("select * from doc where {} limit 3", terms.join(" or "));
    let (_, at) = place_of(&text, parse_yql(&text, &around));
    assert_eq!(at, format!("\"w{QUERY_TERMS}\" limit 3"));

    let numbers: Vec<String> = (0..=QUERY_ENTRIES).map(|number| number.to_string()).collect();
    let list = format!("year in ({})", numbers.join(","));
    let text = format!("select * from doc where {} and {list}", term(0));
    let (_, at) = place_of(&text, parse_yql(&text, &around));
    assert_eq!(at, list);

    let text = format!("select * from doc where {}{}{}", "!(".repeat(QUERY_DEPTH), term(0), ")".repeat(QUERY_DEPTH));
    let (offset, _) = place_of(&text, parse_yql(&text, &around));
    assert!((24..=24 + 2 * QUERY_DEPTH).contains(&offset), "{offset}");

    let text = format!("select * from doc where {}{}", term(0), " ".repeat(QUERY_BYTES));
    assert_eq!(place_of(&text, parse_yql(&text, &around)).0, QUERY_BYTES);
}
