//! The recorded answers of the reference implementation about groupings: what it accepts, the canonical text of it, and
//! what it refuses when it makes a request of it.
use brooklet_query::grouping::{Defaults, json_grouping, parse_grouping, resolve};
use serde_json::Value;

/// Rows of which something is not compared, and why.
const SKIPPED: [(&str, &[&str]); 6] = [
    (
        "an alias that nobody gave is refused here; there it is no expression, or an internal error",
        &["all(group($a) each(output(count())))", "all(group($x) each(output(count())))"],
    ),
    (
        "the specification gives avg of several arguments a meaning, which that release has not",
        &[
            "all(group(avg(a,b)) each(output(count())))",
            "all(group(a) order(avg(max(a),min(a))) each(output(count())))",
            "all(group(a) order(avg(1,2)) each(output(count())))",
        ],
    ),
    (
        "the specification lets the list of buckets stand in parentheses",
        &[
            "all(group(predefined(a, (bucket(1,2),bucket(3,4)))) each(output(count())))",
            "all(group(predefined(a, (bucket(1,2)))) each(output(count())))",
        ],
    ),
    (
        "blanks that are taken here, in what it prints itself among others",
        &[
            "all(group(math.pow(a, b)) each(output(count())))",
            "all(group(m{ attribute( src ) }) each(output(count())))",
        ],
    ),
    (
        "a pattern is read where documents are matched with it",
        &["all(group(a) filter(regex(\"[\",b)) each(output(count())))"],
    ),
    (
        "a filter that aggregates is refused here when it is bound",
        &["all(group(a) filter(istrue(count())) each(output(count())))"],
    ),
];

/// Rows beyond the limits of this implementation, which are refused with a message that says so.
const LIMITED: [&str; 5] =
    ["math.floor(math.floor(math.floor(math.floor(", "a9) each", "a10) each", "as(\"\")) as(", "\u{0}"];

fn rows(file: &str) -> Vec<Value> {
    let path = format!("{}/../../test-vectors/grouping/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn is_limited(expr: &str) -> bool {
    LIMITED.iter().any(|part| expr.contains(part))
}

/// What a row is here: its canonical texts and what is wrong with its levels, or why it is refused.
fn answer(row: &Value) -> Result<(Vec<String>, Option<String>), String> {
    let text = row["expr"].as_str().unwrap();
    let operations = parse_grouping(text).map_err(|rejection| {
        assert!(rejection.span.is_some(), "{text}: {rejection}");
        rejection.message
    })?;
    let canonical = operations.iter().map(ToString::to_string).collect();
    let defaults = Defaults { global_max_groups: None, ..Defaults::default() };
    let wrong = operations.iter().find_map(|operation| resolve(operation, text, &defaults).err());
    Ok((canonical, wrong.map(|rejection| rejection.message)))
}

#[test]
fn recorded_groupings() {
    let rows: Vec<Value> = rows("sample.jsonl").into_iter().chain(rows("more.jsonl")).collect();
    for (reason, exprs) in SKIPPED {
        assert!(!reason.is_empty());
        assert!(exprs.iter().all(|expr| rows.iter().any(|row| row["expr"] == **expr)), "{exprs:?}");
    }
    let (mut failures, mut compared) = (Vec::new(), 0);
    for row in &rows {
        let (id, expr) = (row["id"].as_str().unwrap(), row["expr"].as_str().unwrap());
        if is_limited(expr) || SKIPPED.iter().any(|(_, exprs)| exprs.contains(&expr)) {
            continue;
        }
        compared += 1;
        let expected: Vec<&str> = row["canonical"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let differs = match (answer(row), row["error"].as_str(), row["build_error"].as_str()) {
            (Err(_), Some(_), _) => None,
            (Ok((canonical, _)), Some(error), _) => Some(format!("accepted as {canonical:?}, should be: {error}")),
            (Err(message), None, _) => Some(format!("refused: {message}")),
            (Ok((canonical, _)), None, _) if canonical != expected => {
                Some(format!("{canonical:?} instead of {expected:?}"))
            }
            (Ok((_, wrong)), None, Some(expected)) if expected.starts_with("Level for") => {
                wrong.is_some().then(String::new)
            }
            (Ok((_, wrong)), None, expected) => {
                (wrong.as_deref() != expected).then(|| format!("{wrong:?} instead of {expected:?}"))
            }
        };
        failures.extend(differs.map(|differs| format!("{id} {expr}\n    {differs}")));
    }
    assert!(failures.is_empty(), "{} of {compared} rows differ:\n{}", failures.len(), failures.join("\n"));
    assert!(compared > 650, "{compared} rows");
}

#[test]
fn canonical_text_reads_back() {
    for row in rows("sample.jsonl").iter().chain(&rows("more.jsonl")) {
        let Ok((canonical, _)) = answer(row) else { continue };
        // A label or key with quotes, and one that is no name, is not written in a form that can be read.
        let readable = |text: &String| !text.contains("k\"l") && !text.contains("x\"y") && !text.contains("as(n m)");
        for text in canonical.iter().filter(|text| readable(text)) {
            let unreadable = ["as(x y)", "as(size of a)", "as()", "NaN", "Infinity", "neg(1))) each(output", "\\d\""];
            if unreadable.iter().any(|part| text.contains(part)) {
                continue;
            }
            let again = parse_grouping(text).unwrap_or_else(|rejection| panic!("{text}: {rejection}"));
            assert_eq!(again.len(), 1);
            assert_eq!(again[0].to_string(), *text);
        }
    }
}

#[test]
fn what_is_too_large_is_refused_with_its_place() {
    let nested = |open: &str, close: &str, times: usize| format!("{}a{}", open.repeat(times), close.repeat(times));
    let by = |expression: &str| format!("all(group({expression}) each(output(count())))");
    let doubling: String = (0..40).map(|i| format!("alias(a{}, add($a{i}, $a{i})) ", i + 1)).collect();
    for (text, says) in [
        (by(&nested("math.floor(", ")", 33)), "32 levels"),
        (by(&nested("(", ")", 1_000)), "32 levels"),
        (by(&vec!["a"; 40].join("+")), "32 levels"),
        (format!("all({}) ", "all(".repeat(500)), "32 levels"),
        (format!("all(group(a) filter({}istrue(b)) each(output(count())))", "not ".repeat(100)), "32 levels"),
        (format!("all(alias(a0, x) {doubling})"), "10000 parts"),
        (by(&"a ".repeat(10_000)), "16384"),
    ] {
        let rejection = parse_grouping(&text).unwrap_err();
        assert!(rejection.message.contains(says), "{rejection}");
    }
    let levels =
        (1..=9).rev().fold("output(count())".to_owned(), |inner, level| format!("group(a{level}) each({inner})"));
    let text = format!("all({levels})");
    let operations = parse_grouping(&text).unwrap();
    let rejection = resolve(&operations[0], &text, &Defaults::default()).unwrap_err();
    assert!(rejection.message.contains("8 levels") && rejection.span.is_some(), "{rejection}");
}

#[test]
fn the_number_of_groups_and_hits_is_bounded() {
    let total = |text: &str| {
        let operations = parse_grouping(text).unwrap();
        resolve(&operations[0], text, &Defaults::default()).map_err(|rejection| rejection.message)
    };
    assert!(total("all(group(a) max(10000) each(output(count())))").is_ok());
    assert!(total("all(group(a) max(10001) each(output(count())))").unwrap_err().contains("( 10001 > 10000 )"));
    assert!(total("all(group(a) max(inf) each(output(count())))").unwrap_err().contains("unbounded number of groups"));
    assert!(total("all(group(a) each(max(inf) each(output(summary()))))").unwrap_err().contains("number of summaries"));
    assert!(total("all(group(predefined(a, bucket(1,2))) max(inf) each(output(count())))").is_ok());
    assert!(total("all(group(a) max(100) each(max(99) each(output(summary()))))").is_ok());
    assert!(total("all(group(a) max(100) each(max(100) each(output(summary()))))").is_err());
}

#[test]
fn json_becomes_text() {
    let cases = [
        (
            r#"[{"all":{"group":"customer","each":{"output":"sum(price)"}}}]"#,
            "all(group(customer) each(output(sum(price)) ) ) ",
        ),
        (
            r#"[{"all":{"group":{"predefined":["foo",{"bucket":[1,2]},{"bucket":[3,4]}]}}}]"#,
            "all(group(predefined(foo,bucket(1,2) ,bucket(3,4) ) ) ) ",
        ),
        (
            r#"{"all":{"group":"a","max":5,"label":"x y","each":{"output":"count()"}}}"#,
            "all(group(a) max(5) each(output(count()) ) as(\"x y\") ) ",
        ),
    ];
    for (json, text) in cases {
        assert_eq!(json_grouping(json).unwrap(), [text]);
        assert!(parse_grouping(text).is_ok(), "{text}");
    }
    assert_eq!(json_grouping("[]").unwrap().len(), 0);
    for wrong in [
        "",
        "[",
        "{\"a\"}",
        "{\"a\":}",
        "[1 2]",
        "[1]]",
        r#"{"all":{"label":"","each":{}}}"#,
        r#"{"all":{"label":1,"each":{}}}"#,
        r#"{"all":{"label":"x"}}"#,
        r#"{"each":{"label":"x","each":{}}}"#,
    ] {
        assert!(json_grouping(wrong).is_err(), "{wrong}");
    }
    assert!(json_grouping(&"[".repeat(100)).is_err());
}

/// What is wrong with the JSON of a grouping is told in the words of groupings; of a text, where it begins.
#[test]
fn what_is_no_json_is_told_with_its_place() {
    for (json, why, column) in [
        ("", "it ends too early", 1),
        ("[1, ", "it ends too early", 5),
        (r#"{"a":}"#, "a value was expected", 6),
        ("[1 2]", "',' or ']' was expected", 4),
        ("[1]]", "unexpected text after the value", 4),
        (r#"{"a" 1}"#, "':' was expected", 6),
        (r#"{"a":1 "b":2}"#, "',' or '}' was expected", 8),
        ("{a:1}", "the name of a member was expected", 2),
        (r#"["open]"#, "a text is not closed", 2),
        (r#"["open\"#, "a text is not closed", 2),
        (r#"["wrong\u12g4"]"#, "an escape is wrong", 2),
        (r#"["half\ud83d\u12"]"#, "an escape is wrong", 2),
        (&"[".repeat(66), "it is nested more than 64 levels deep", 66),
    ] {
        let rejection = json_grouping(json).unwrap_err();
        assert_eq!(rejection.message, format!("The grouping of 'select' cannot be read: {why}."), "{json}");
        assert_eq!(rejection.span.map(|span| span.column), Some(column), "{json}");
    }
    let deepest = format!("{}{}", "[".repeat(65), "]".repeat(65));
    assert_eq!(json_grouping(&deepest).unwrap(), [""]);
}

/// Escapes that JSON does not have stand for themselves, and values that are no texts are taken as they are written.
#[test]
fn texts_of_groupings_are_read_leniently() {
    let json = r#"["\q\/\'\u00e9\ud83d\ude00\ud83d\ud83d-\b\f\n\r\t", 'it"s', max(a), -1e+5, é]"#;
    let first = "q/'\u{e9}\u{1f600}\u{fffd}\u{fffd}-\u{8}\u{c}\n\r\t";
    assert_eq!(json_grouping(json).unwrap(), [first, "it\"s", "max(a)", "-1e+5", "é"]);
}
