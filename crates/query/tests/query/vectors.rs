//! The recorded answers of the reference implementation: what it accepts, and the trees it makes.
use std::collections::BTreeMap;

use brooklet_query::simple::Grammar;
use brooklet_query::surroundings::UserQuery;
use brooklet_query::tree::Item;
use brooklet_query::{Form, Query, parse_yql, simple, tree_text, yql_text};
use brooklet_task::Rejection;
use serde_json::Value;

use crate::fixture::rows::{Omission, Skip, check_skips, rows, skipped, text};
use crate::fixture::{RequestParameters, surroundings, user_query};

fn parse_row(row: &Value) -> Result<Query, String> {
    parse_statement(row).map_err(|rejection| rejection.message)
}

fn parse_statement(row: &Value) -> Result<Query, Rejection> {
    let parameters = row.get("params").and_then(Value::as_object).into_iter().flatten();
    let parameters: BTreeMap<String, String> =
        parameters.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect();
    let given = RequestParameters(parameters);
    let query = given.0.get("query").map(|text| user_query(text));
    parse_yql(text(row, "yql").unwrap(), &surroundings(&given, query))
}

/// Differences between a parsed statement and its row.
fn differences(row: &Value, query: &Query, skips: &[Skip]) -> Vec<String> {
    let id = text(row, "id").unwrap();
    let mut found = Vec::new();
    let mut compare = |what: &str, expected: String, got: String| {
        if expected != got {
            found.push(format!("{what}: expected {expected}, got {got}"));
        }
    };
    let recorded = text(row, "serialized").unwrap();
    if recorded.starts_with("ERROR") {
        compare("answerable", "false".into(), (!query.item.holds_null()).to_string());
    } else if !skipped(skips, id, Omission::Serialized) {
        compare("serialized", recorded.to_owned(), yql_text(&query.item, Form::Reference));
    }
    if !skipped(skips, id, Omission::Tree) {
        compare("tree", text(row, "tree").unwrap().to_owned(), tree_text(&query.item));
    }
    let number = |member: &str| row.get(member).and_then(Value::as_i64);
    compare(
        "hits",
        format!("{:?}", number("hits").map(|hits| hits.max(0))),
        format!("{:?}", query.hits.map(i64::from)),
    );
    compare("offset", format!("{:?}", number("offset")), format!("{:?}", query.offset.map(i64::from)));
    compare("timeout", format!("{:?}", number("timeout")), format!("{:?}", query.timeout_ms.map(i64::from)));
    let list = |member: &str| {
        let values = row.get(member).and_then(Value::as_array).into_iter().flatten();
        values.map(|value| value.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let sorted = |names: &[String]| {
        let mut names = names.to_vec();
        names.sort();
        names
    };
    compare("sources", format!("{:?}", list("sources")), format!("{:?}", sorted(&query.sources)));
    compare("fields", format!("{:?}", list("summary")), format!("{:?}", sorted(&query.fields)));
    let groupings: Vec<&str> = query.grouping.iter().map(|grouping| grouping.text.as_str()).collect();
    compare("grouping", format!("{:?}", list("grouping")), format!("{groupings:?}"));
    let keys = text(row, "sorting").map_or(0, |sorting| sorting.split(' ').count());
    compare("sort keys", keys.to_string(), query.order_by.len().to_string());
    found
}

fn check_statements(file: &str, skips: &[Skip]) {
    let rows = rows(file);
    check_skips(skips, &rows);
    let (mut failures, mut compared) = (Vec::new(), 0);
    for row in &rows {
        let id = text(row, "id").unwrap();
        if skipped(skips, id, Omission::Everything) {
            continue;
        }
        compared += 1;
        let yql = text(row, "yql").unwrap();
        match (parse_row(row), text(row, "error")) {
            (Err(_), Some(_)) => {}
            (Ok(query), None) => {
                failures.extend(
                    differences(row, &query, skips)
                        .into_iter()
                        .map(|difference| format!("{id} {yql}\n    {difference}")),
                );
            }
            (Ok(query), Some(error)) => {
                let tree = tree_text(&query.item);
                failures.push(format!("{id} {yql}\n    accepted as {tree}, should be: {error}"));
            }
            (Err(message), None) => failures.push(format!("{id} {yql}\n    refused: {message}")),
        }
    }
    assert!(failures.is_empty(), "{} of {compared} vectors differ:\n{}", failures.len(), failures.join("\n"));
}

/// The `query:L1:29` of a message.
fn location(message: &str) -> Option<&str> {
    let start = message.find("query:L")?;
    message[start..].split(' ').next()
}

/// Whatever is refused, it is said where.
#[test]
fn every_refusal_has_its_place() {
    let mut refused = 0;
    let mut without = Vec::new();
    for row in ["yql/sample.jsonl", "yql/more.jsonl", "yql/nasty.jsonl"].iter().flat_map(|file| rows(file)) {
        let statement = text(&row, "yql").unwrap();
        let Err(rejection) = parse_statement(&row) else { continue };
        refused += 1;
        match rejection.span {
            Some(span) if span.line > 0 && span.column > 0 && span.offset <= statement.len() => {}
            _ => without.push(format!("{statement}: {}", rejection.message)),
        }
    }
    assert!(refused > 300, "only {refused} statements were refused");
    assert!(without.is_empty(), "{} of {refused} have no place:\n{}", without.len(), without.join("\n"));
}

/// Syntax errors are found where the reference implementation finds them.
#[test]
fn places_of_syntax_errors() {
    let skips = [Skip {
        reason: "ours is where the mistake is, not where the reference implementation notices it",
        what: Omission::Everything,
        ids: &[
            "more-y-254",
            "more-y-257",
            "more-y-287",
            "more-y-303",
            "nasty-168",
            "nasty-169",
            "nasty-596",
            "nasty-694",
        ],
    }];
    let rows: Vec<Value> =
        ["sample", "more", "nasty"].iter().flat_map(|name| rows(&format!("yql/{name}.jsonl"))).collect();
    check_skips(&skips, &rows);
    let (mut failures, mut compared) = (Vec::new(), 0);
    for row in &rows {
        let (id, yql) = (text(row, "id").unwrap(), text(row, "yql").unwrap());
        let (Some(expected), Err(message)) = (text(row, "error").and_then(location), parse_row(row)) else { continue };
        if skipped(&skips, id, Omission::Everything) {
            continue;
        }
        compared += 1;
        if location(&message) != Some(expected) {
            failures.push(format!("{id} {yql}\n    expected {expected}, got {message}"));
        }
    }
    assert!(failures.is_empty(), "{} of {compared} places differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn misspelt_names_get_a_suggestion() {
    let cases = [
        ("select * from mail where subject contians \"a\"", "'contains'"),
        ("select * from mail wehre true", "'where'"),
        ("selct * from mail where true", "'select'"),
        ("select * form mail where true", "'from'"),
        ("select * from mail where true limt 3", "'limit'"),
        ("select * from mail where nearestneighbour(emb, q)", "'nearestNeighbor'"),
        ("select * from mail where subject contains phrse(\"a\")", "'phrase'"),
    ];
    let given = RequestParameters::default();
    for (yql, suggestion) in cases {
        let rejection = parse_yql(yql, &surroundings(&given, None)).unwrap_err();
        let expected = format!("Did you mean {suggestion}?");
        assert!(rejection.message.ends_with(&expected), "{yql}: {}", rejection.message);
        assert!(rejection.span.is_some(), "{yql}");
    }
}

const ASPECT: &str = "the reference form of a position ends in the cosine of its latitude, which is of no use here";
const ORDER: &str = "the reference form lists values in the order of a hash table, ours is sorted";

#[test]
fn sample_statements() {
    let skips = [
        Skip { reason: ORDER, what: Omission::Tree, ids: &["yql-171"] },
        Skip { reason: ASPECT, what: Omission::Tree, ids: &["yql-288", "yql-291", "yql-294"] },
    ];
    check_statements("yql/sample.jsonl", &skips);
}

#[test]
fn more_statements() {
    let skips = [
        Skip {
            reason: "accepted by newer versions, as the specification says: labeled(…), parameters after limit, offset and timeout",
            what: Omission::Everything,
            ids: &["more-y-092", "more-y-093", "more-y-259", "more-y-264"],
        },
        Skip {
            reason: "accepted by the reference parser, then answered with an error: nothing in near() or sameElement(), a negative limit",
            what: Omission::Everything,
            ids: &["more-y-038", "more-y-050", "more-y-262"],
        },
        Skip {
            reason: "a missing parameter is refused, as the specification says",
            what: Omission::Everything,
            ids: &["more-y-148"],
        },
        Skip {
            reason: "would silently ignore what was written: a second statement, a field that is no name",
            what: Omission::Everything,
            ids: &["more-y-252", "more-y-267"],
        },
        Skip {
            reason: "refused by the grouping language, which is not parsed here",
            what: Omission::Everything,
            ids: &["more-y-286", "more-y-289"],
        },
        Skip { reason: RANGE_FORMS, what: Omission::Serialized, ids: &["more-y-000", "more-y-002", "more-y-006"] },
        Skip {
            reason: "the same range written in two ways is one tree here; an open range from a number to itself stays empty",
            what: Omission::Tree,
            ids: &["more-y-005", "more-y-006"],
        },
        Skip { reason: LANGUAGES, what: Omission::Serialized, ids: &["more-y-120", "more-y-121", "more-y-178"] },
        Skip { reason: LABELS, what: Omission::Serialized, ids: &["more-y-110", "more-x-374"] },
        Skip {
            reason: "nearestNeighbor takes the common annotations of terms here, which the recorded version drops",
            what: Omission::Tree,
            ids: &["more-x-335"],
        },
        Skip { reason: ORDER, what: Omission::Tree, ids: &["more-y-066"] },
        Skip {
            reason: "what is outside of ASCII is escaped in addresses, too",
            what: Omission::Serialized,
            ids: &["more-y-316", "more-y-317", "more-y-318", "more-y-319", "more-y-325", "more-y-326"],
        },
        Skip {
            reason: ASPECT,
            what: Omission::Tree,
            ids: &[
                "more-y-083",
                "more-y-084",
                "more-y-091",
                "more-y-327",
                "more-y-328",
                "more-x-332",
                "more-x-355",
                "more-x-358",
            ],
        },
    ];
    check_statements("yql/more.jsonl", &skips);
}

#[test]
fn nasty_statements() {
    let skips = [
        Skip {
            reason: RANGE_FORMS,
            what: Omission::Serialized,
            ids: &[
                "nasty-000",
                "nasty-001",
                "nasty-002",
                "nasty-004",
                "nasty-005",
                "nasty-012",
                "nasty-013",
                "nasty-014",
                "nasty-026",
                "nasty-027",
                "nasty-028",
            ],
        },
        Skip { reason: "an open range from a number to itself stays empty", what: Omission::Tree, ids: &["nasty-002"] },
        Skip { reason: BRACES, what: Omission::Serialized, ids: &["nasty-047", "nasty-613"] },
        Skip {
            reason: "the same number in its shortest digits; a number in a parameter without the blanks around it",
            what: Omission::Everything,
            ids: &["nasty-076", "nasty-094"],
        },
        Skip { reason: "half of a surrogate pair is no text", what: Omission::Everything, ids: &["nasty-116"] },
        Skip {
            reason: LANGUAGES,
            what: Omission::Serialized,
            ids: &["nasty-118", "nasty-142", "nasty-149", "nasty-153", "nasty-212"],
        },
        Skip { reason: LABELS, what: Omission::Serialized, ids: &["nasty-194"] },
        Skip {
            reason: "accepted by the reference parser, then answered with an error or meaningless: nothing in onear(), negative counts and limits",
            what: Omission::Everything,
            ids: &[
                "nasty-274",
                "nasty-341",
                "nasty-342",
                "nasty-349",
                "nasty-351",
                "nasty-489",
                "nasty-519",
                "nasty-641",
            ],
        },
        Skip { reason: "alternatives are in the order of their exactness", what: Omission::Tree, ids: &["nasty-371"] },
        Skip {
            reason: "would silently ignore what was written: a second argument, a field that is no name, a box beyond a pole, a strength that is none",
            what: Omission::Everything,
            ids: &["nasty-377", "nasty-389", "nasty-515", "nasty-551", "nasty-577", "nasty-657"],
        },
        Skip {
            reason: "texts of elements may be excluded, as the specification says",
            what: Omission::Everything,
            ids: &["nasty-404", "nasty-405"],
        },
        Skip { reason: ORDER, what: Omission::Tree, ids: &["nasty-446", "nasty-457", "nasty-477"] },
        Skip { reason: "large numbers are written without their suffix", what: Omission::Tree, ids: &["nasty-447"] },
        Skip {
            reason: "annotations that are the default are kept; an index's are in the order of the documentation",
            what: Omission::Serialized,
            ids: &["nasty-523"],
        },
        Skip {
            reason: "an index's annotations are in the order of the documentation; nearestNeighbor takes the common annotations of terms",
            what: Omission::Tree,
            ids: &["nasty-524", "nasty-526"],
        },
        Skip {
            reason: ASPECT,
            what: Omission::Tree,
            ids: &[
                "nasty-527",
                "nasty-528",
                "nasty-529",
                "nasty-53*",
                "nasty-540",
                "nasty-541",
                "nasty-543",
                "nasty-544",
                "nasty-545",
                "nasty-546",
                "nasty-547",
                "nasty-548",
            ],
        },
        Skip { reason: EXPRESSIONS, what: Omission::Everything, ids: &["nasty-556", "nasty-557", "nasty-558"] },
        Skip { reason: ORIGIN, what: Omission::Serialized, ids: &["nasty-617"] },
        Skip {
            reason: "refused by the grouping language, which is not parsed here; or ended at a quoted parenthesis",
            what: Omission::Everything,
            ids: &["nasty-665", "nasty-666", "nasty-667"],
        },
        Skip {
            reason: "accepted by newer versions, as the specification says: parameters after limit and offset",
            what: Omission::Everything,
            ids: &["nasty-700"],
        },
        Skip {
            reason: "the stack of the recorded version overflows; ours has a limit",
            what: Omission::Everything,
            ids: &["nasty-722", "nasty-732", "nasty-733"],
        },
    ];
    check_statements("yql/nasty.jsonl", &skips);
}

fn parse_simple(row: &Value) -> Result<Item, String> {
    let name = text(row, "type").unwrap();
    let grammar = Grammar::named(name).ok_or_else(|| format!("No query type '{name}'"))?;
    let query = UserQuery {
        text: text(row, "query").unwrap(),
        grammar,
        filter: text(row, "filter"),
        default_index: text(row, "default_index"),
    };
    let given = RequestParameters::default();
    simple::parse_user_query(&query, &surroundings(&given, None)).map_err(|rejection| rejection.message)
}

fn check_simple(file: &str, skips: &[Skip]) {
    let rows = rows(file);
    check_skips(skips, &rows);
    let (mut failures, mut compared) = (Vec::new(), 0);
    for row in &rows {
        let id = text(row, "id").unwrap();
        if skipped(skips, id, Omission::Everything) {
            continue;
        }
        compared += 1;
        let query = text(row, "query").unwrap();
        match (parse_simple(row), text(row, "error")) {
            (Err(_), Some(_)) => {}
            (Ok(item), None) => {
                let (expected, got) = (text(row, "tree").unwrap(), tree_text(&item));
                if expected != got && !skipped(skips, id, Omission::Tree) {
                    failures.push(format!("{id} {query}\n    expected {expected}\n    got      {got}"));
                }
                if skipped(skips, id, Omission::Serialized) {
                    continue;
                }
                let (expected, got) = (text(row, "serialized").unwrap(), yql_text(&item, Form::Reference));
                if !expected.starts_with("ERROR") && expected != got {
                    failures.push(format!("{id} {query}\n    expected {expected}\n    got      {got}"));
                }
            }
            (Ok(item), Some(error)) => failures.push(format!("{id} {query}\n    got {}: {error}", tree_text(&item))),
            (Err(message), None) => failures.push(format!("{id} {query}\n    refused: {message}")),
        }
    }
    assert!(failures.is_empty(), "{} of {compared} vectors differ:\n{}", failures.len(), failures.join("\n"));
}

const STEMMING: &str = "the recorded linguistics stem and normalise; how words are processed is not decided here";
const SEGMENTS: &str = "segments of one word that must all match are an ordinary and";
const BRACES: &str =
    "the recorded version writes YQL that cannot be read back: braces that do not match, commas too many";
const ADDRESS: &str = "an address keeps its text";
const LARGE: &str = "integers beyond 64 bits become floating point numbers";
const RANGE_FORMS: &str = "the same range written in two ways is one tree here";
const LANGUAGES: &str = "languages are neither detected nor brought into a canonical form here";
const LABELS: &str = "newer versions pass the label of an input on to its terms, as the specification says";
const EXPRESSIONS: &str = "a regular expression is read when it is bound to a field";
const ORIGIN: &str = "the place of a word in what was typed is not kept as an annotation";

#[test]
fn sample_simple_queries() {
    let skips = [Skip { reason: STEMMING, what: Omission::Everything, ids: &["simplequery-300"] }];
    check_simple("simple-query/sample.jsonl", &skips);
}

#[test]
fn queries_with_operators_between_their_items() {
    let skips = [
        Skip { reason: SEGMENTS, what: Omission::Everything, ids: &["adv-074"] },
        Skip { reason: BRACES, what: Omission::Serialized, ids: &["adv-057"] },
        Skip {
            reason: "the recorded version writes a number inside of near as a comparison, which is no item of one",
            what: Omission::Serialized,
            ids: &["adv-046"],
        },
        Skip { reason: ORIGIN, what: Omission::Serialized, ids: &["adv-107", "adv-108"] },
    ];
    check_simple("simple-query/advanced.jsonl", &skips);
}

#[test]
fn simple_queries_in_a_default_index() {
    let skips = [
        Skip {
            reason: ORIGIN,
            what: Omission::Serialized,
            ids: &[
                "default-*-038",
                "default-*-039",
                "default-*-118",
                "default-*-119",
                "default-*-191",
                "default-*-206",
                "default-*-219",
                "default-*-223",
            ],
        },
        Skip { reason: SEGMENTS, what: Omission::Tree, ids: &["default-*-038"] },
        Skip {
            reason: "an or directly in an or is one or",
            what: Omission::Everything,
            ids: &["default-any-default-182"],
        },
        Skip {
            reason: "what follows a weight that was taken off is no weight again",
            what: Omission::Everything,
            ids: &["default-weakAnd-sender-021"],
        },
        Skip {
            reason: BRACES,
            what: Omission::Serialized,
            ids: &["default-*-052", "default-*-056", "default-*-057", "default-*-070", "default-*-198"],
        },
        Skip { reason: ADDRESS, what: Omission::Serialized, ids: &["default-*-086", "default-*-202"] },
        Skip {
            reason: "nothing to search for is refused when it is answered",
            what: Omission::Everything,
            ids: &["default-weakAnd-sender-095"],
        },
        Skip { reason: LARGE, what: Omission::Serialized, ids: &["default-*-129"] },
        Skip {
            reason: "an empty phrase has no form of its own",
            what: Omission::Serialized,
            ids: &["default-phrase-subject-095"],
        },
    ];
    check_simple("simple-query/default-index.jsonl", &skips);
}

#[test]
fn more_simple_queries() {
    let skips = [
        Skip {
            reason: STEMMING,
            what: Omission::Everything,
            ids: &[
                "more-s-linguistics-115",
                "more-s-linguistics-116",
                "more-s-linguistics-117",
                "more-s-linguistics-119",
                "more-s-linguistics-170",
                "more-s-linguistics-171",
                "more-s-linguistics-173",
                "more-s-linguistics-174",
            ],
        },
        Skip {
            reason: ORIGIN,
            what: Omission::Serialized,
            ids: &["more-s-*-038", "more-s-*-039", "more-s-*-118", "more-s-*-119"],
        },
        Skip {
            reason: SEGMENTS,
            what: Omission::Tree,
            ids: &["more-s-all-038", "more-s-any-038", "more-s-web-038", "more-s-tokenize-038"],
        },
        Skip {
            reason: BRACES,
            what: Omission::Serialized,
            ids: &[
                "more-s-weakAnd-052",
                "more-s-weakAnd-070",
                "more-s-*-056",
                "more-s-*-057",
                "more-s-*-265",
                "more-s-*-266",
            ],
        },
        Skip {
            reason: ADDRESS,
            what: Omission::Serialized,
            ids: &[
                "more-s-weakAnd-086",
                "more-s-all-086",
                "more-s-any-086",
                "more-s-web-086",
                "more-s-*-246",
                "more-s-*-247",
                "more-s-*-248",
                "more-s-*-251",
                "more-s-*-252",
            ],
        },
        Skip { reason: LARGE, what: Omission::Serialized, ids: &["more-s-*-129"] },
    ];
    check_simple("simple-query/more.jsonl", &skips);
}
