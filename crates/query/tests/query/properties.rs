//! Trees survive their own text, and no text brings a parser down.

use brooklet_query::annotations::Typed;
use brooklet_query::simple::Grammar;
use brooklet_query::surroundings::UserQuery;
use brooklet_query::tree::{Item, Operator, TextRange};
use brooklet_query::{Form, flatten, parse_sorting, parse_yql, simple, tree_text, yql_text};
use proptest::prelude::*;

use crate::fixture::{RequestParameters, surroundings, user_query};
use crate::processor::is_even;

fn statements() -> Vec<String> {
    texts(&["yql/sample.jsonl", "yql/more.jsonl"], "yql")
}

fn simple_queries() -> Vec<String> {
    texts(&["simple-query/sample.jsonl", "simple-query/more.jsonl"], "query")
}

fn texts(files: &[&str], member: &str) -> Vec<String> {
    let mut texts = Vec::new();
    for file in files {
        let path = format!("{}/../../test-vectors/{file}", env!("CARGO_MANIFEST_DIR"));
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            texts.push(row[member].as_str().unwrap().to_owned());
        }
    }
    texts.sort();
    texts.dedup();
    texts
}

fn given() -> RequestParameters {
    let pairs = [
        ("ui", "foo \"bar baz\" -qux subject:x"),
        ("w", "{a:1, \"b c\":2}"),
        ("l", "1, 2,3"),
        ("p", "x.*"),
        ("t", "Hello World"),
    ];
    RequestParameters(pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect())
}

/// The item without what differs between texts of one tree: places, and whether the default index was named.
fn placeless(mut item: Item) -> Item {
    fn clear(item: &mut Item, in_element: bool) {
        item.place = TextRange::default();
        let field = match &mut item.operator {
            Operator::Term(term) => Some(&mut term.field),
            Operator::Number(number) => Some(&mut number.field),
            Operator::Phrase(phrase) => Some(&mut phrase.field),
            _ => None,
        };
        if let Some(field) = field.filter(|field| field.is_empty() && !in_element) {
            field.push_str("default");
        }
        // What is typed is told by where it stands, which a text of the tree does not keep.
        item.annotations.typed = Typed::No;
        let in_element = in_element || matches!(item.operator, Operator::SameElement(_));
        item.children_mut().into_iter().for_each(|child| clear(child, in_element));
    }
    clear(&mut item, false);
    item
}

fn parse(yql: &str) -> Option<Item> {
    let given = given();
    parse_yql(yql, &surroundings(&given, Some(user_query("foo \"bar baz\" -qux"))))
        .ok()
        .map(|query| placeless(query.item))
}

/// Whether a word of several segments is in a `near`: an input may have it there, as all of its segments, which no
/// statement may write.
fn has_segments_near(item: &Item) -> bool {
    let children = item.children();
    let is_near = matches!(item.operator, Operator::Near(_));
    is_near && children.iter().any(|child| matches!(child.operator, Operator::And(_)))
        || children.into_iter().any(has_segments_near)
}

/// Parses what is printed of a tree, without a user query, so that `userQuery()` is nothing. `None` if the tree has what
/// an input alone may have: a default index that is no field, or segments in a `near`.
fn reparse(text: &str, original: &str, item: &Item) -> Option<Item> {
    let given = RequestParameters::default();
    let statement = format!("select * from mail where {text}");
    match parse_yql(&statement, &surroundings(&given, None)) {
        Ok(query) => Some(placeless(query.item)),
        Err(_) if original.contains("defaultIndex") || has_segments_near(item) => None,
        Err(rejection) => panic!("{original}\n{text}\n{rejection}"),
    }
}

#[test]
fn every_recorded_statement_survives_its_own_text() {
    let mut survived = 0;
    for yql in statements() {
        // A labeled or connected term, a predicate's map of attributes: all are in the vectors.
        let Some(item) = parse(&yql) else { continue };
        let text = yql_text(&item, Form::Exact);
        let Some(again) = reparse(&text, &yql, &item) else { continue };
        assert_eq!(again, item, "{yql}\n{text}\n{}", tree_text(&item));
        survived += 1;
    }
    assert!(survived > 250, "{survived}");
}

#[test]
fn segments_in_a_near_are_of_an_input_alone() {
    let near = |words: &str| {
        let yql = format!("select * from mail where {{grammar.composite:\"near\", distance:4}}userInput(\"{words}\")");
        let item = parse(&yql).unwrap();
        let text = yql_text(&item, Form::Exact);
        (reparse(&text, &yql, &item).is_some(), has_segments_near(&item))
    };
    assert_eq!(near("foo bar"), (true, false));
    assert_eq!(near("a.foo bar"), (false, true));
}

/// Conditions that are more than a comparison, each as it may be written.
fn special() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("true".to_owned()),
        Just("false".to_owned()),
        Just("userQuery()".to_owned()),
        Just("unread = true".to_owned()),
        Just("sender in (\"b\", \"a\")".to_owned()),
        Just("nums in (3, -1, 99999999999)".to_owned()),
        Just("({weight: 5}(sender in (\"b\")))".to_owned()),
        Just("sender matches ({weight: 3}\"a.*\\\\d\")".to_owned()),
        Just("nums[2] = 42".to_owned()),
        Just("people contains sameElement(name contains \"x\", !(age > 3))".to_owned()),
        Just("tags contains ({elementFilter: [1, 2]}sameElement(\"a\" and near(\"b\", \"c\")))".to_owned()),
        Just("weightedSet(weights, {\"a\": 1, \"b\": -2})".to_owned()),
        Just("({label: \"d\"}dotProduct(iw, [[11, 1], [3, 2]]))".to_owned()),
        Just("({targetHits: 7, scoreThreshold: 0.1}wand(weights, {}))".to_owned()),
        Just(
            "({targetHits: 3, label: \"n\", distanceThreshold: 2, hnsw.explorationSlack: 0.5}nearestNeighbor(emb, q))"
                .to_owned()
        ),
        Just("geoLocation(location, 63.123456, -10.5, \"3 km\")".to_owned()),
        Just("({label: \"g\"}geoLocation(location, 1, 2, \"-1 m\"))".to_owned()),
        Just("geoBoundingBox(location, -1.5, 2, 3, 4)".to_owned()),
        Just("predicate(pred, {\"0x3\": {\"a\": \"b\"}, \"c\": [\"d\", \"e\"]}, {\"f\": 7})".to_owned()),
        Just("labeled(year = 3, \"l\", 2.5)".to_owned()),
        Just(
            "({defaultIndex: \"subject\", language: \"en\"}userInput(\"a -b \\\"c d\\\" it's year:>3 x!200\"))"
                .to_owned()
        ),
        Just("({grammar: \"any\"}userInput(\"+a b (c d) -e\"))".to_owned()),
        Just("({grammar: \"raw\"}userInput(\"a  b\"))".to_owned()),
    ]
}

/// What may stand after `contains`.
fn leaf() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[a-z]{1,4}",
        Just("hello world".to_owned()),
        Just("a\\\"b'c".to_owned()),
        Just("\\u00e5 é 日本".to_owned()),
        Just("😀".to_owned()),
        Just("...".to_owned()),
    ];
    let annotation = prop_oneof![
        Just(String::new()),
        (0..300i32).prop_map(|weight| format!("{{weight: {weight}}}")),
        Just("{ranked: false, filter: true}".to_owned()),
        Just("{label: \"x\", stem: false, significance: 0.25}".to_owned()),
        Just("{normalizeCase: false, accentDrop: false, usePositionData: false}".to_owned()),
        Just("{implicitTransforms: false}".to_owned()),
        Just("{prefix: true}".to_owned()),
        Just("{id: 5, documentFrequency: {frequency: 3, count: 9}}".to_owned()),
    ];
    let leaf = (annotation, word).prop_map(|(annotation, word)| match annotation.as_str() {
        "" => format!("\"{word}\""),
        _ => format!("({annotation}\"{word}\")"),
    });
    let leaves = (leaf.clone(), leaf.clone());
    (leaves, 0..12u32, any::<bool>()).prop_map(|((first, second), kind, flag)| match kind {
        0 => first,
        1 => format!("phrase({first}, {second})"),
        2 => format!("({{distance: 7}}near({first}, {second}))"),
        3 => format!("({{distance: 4, exclusionDistance: 2}}onear({first}, !{second}))"),
        4 => format!("({{weight: 30}}equiv({}, {}))", whole(&first), whole(&second)),
        5 => "alternatives({\"a\": 1.0, \"b\": 0.5})".to_owned(),
        6 => format!("({{maxEditDistance: 1, prefix: {flag}}}fuzzy(\"abc\"))"),
        7 => format!("({{startAnchor: {flag}}}uri(\"http://a.b/c\"))"),
        8 => format!("text(\"Hello {} World\")", u8::from(flag)),
        9 => format!("near({first}, phrase(\"a\", {second}))"),
        10 => format!("({{nfkc: {flag}}}\"ﬁsh\")"),
        _ => second,
    })
}

/// A word without what makes it a part of one.
fn whole(leaf: &str) -> String {
    leaf.replace("{prefix: true}", "{stem: true}")
}

/// Conditions of every kind, as they are written.
fn condition() -> impl Strategy<Value = String> {
    let field =
        prop_oneof![Just("subject"), Just("body"), Just("sender"), Just("folder"), Just("default"), Just("tags")];
    let contains = (field, leaf()).prop_map(|(field, leaf)| format!("{field} contains {leaf}"));
    let number = prop_oneof![
        any::<i32>().prop_map(|n| n.to_string()),
        any::<i64>().prop_map(|n| format!("{n}L")),
        (-1e9..1e9f64).prop_map(|n| format!("{n:?}"))
    ];
    let comparison = (prop_oneof![Just("="), Just("<"), Just(">="), Just(">"), Just("<=")], number.clone())
        .prop_map(|(operator, number)| format!("year {operator} {number}"));
    let range = (number.clone(), number, 0..4u32).prop_map(|(low, high, bounds)| {
        let bounds = ["", "{bounds: \"open\"}", "{bounds: \"leftOpen\", weight: 7}", "{hitLimit: -5, label: \"r\"}"]
            [bounds as usize];
        format!("({bounds}range(score, {low}, {high}))")
    });
    let simple = prop_oneof![4 => contains, 1 => comparison, 1 => range, 3 => special()];
    simple.prop_recursive(4, 24, 3, |inner| {
        let pair = (inner.clone(), inner.clone(), inner, 0..9u32);
        pair.prop_map(|(a, b, c, kind)| match kind {
            0 => format!("({a} and {b})"),
            1 => format!("({a} or {b} or {c})"),
            2 => format!("({a} and !({b}) and !({c}))"),
            3 => format!("!({a})"),
            4 => format!("rank({a}, {b})"),
            // Without target hits, which the weakAnd of an input below it would inherit when it is read again.
            5 => format!("weakAnd({a}, {b})"),
            6 => format!("({{weight: 50, ranked: false}}({a} and ({b} or {c})))"),
            7 => format!("({a} and {b} and !({c}))"),
            _ => format!("labeled({a}, \"x\", 1.5)"),
        })
    })
}

/// Some other text with pieces taken out, doubled or replaced.
fn mutation(texts: Vec<String>) -> impl Strategy<Value = String> {
    let edit =
        (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..4u32, "[ -~é😀\\\\\"'(){}\\[\\];:!*@|]{0,3}");
    (prop::sample::select(texts), prop::collection::vec(edit, 1..5)).prop_map(|(text, edits)| {
        let mut chars: Vec<char> = text.chars().collect();
        for (first, second, kind, piece) in edits {
            let (a, b) = (first.index(chars.len() + 1), second.index(chars.len() + 1));
            let (start, end) = (a.min(b), a.max(b));
            match kind {
                0 => drop(chars.splice(start..end, piece.chars())),
                1 => drop(chars.splice(start..start, piece.chars())),
                2 if end - start < 200 => {
                    let copy: Vec<char> = chars[start..end].to_vec();
                    chars.splice(end..end, copy);
                }
                _ => chars.truncate(end),
            }
        }
        chars.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn trees_survive_their_own_text(text in condition()) {
        let statement = format!("select * from mail where {text}");
        let given = RequestParameters::default();
        let item = placeless(parse_yql(&statement, &surroundings(&given, None)).unwrap().item);
        let printed = yql_text(&item, Form::Exact);
        prop_assert_eq!(reparse(&printed, &text, &item), Some(item), "{}", printed);
    }

    /// What the SDK writes as JSON texts stays what it was, wherever it stands.
    #[test]
    fn any_text_comes_back_from_its_literal(text in ".{1,20}|[\"'\\\\(){}@;|\u{0}-\u{1f}]{1,20}") {
        let literal = serde_json::to_string(&text).unwrap();
        let given = RequestParameters::default();
        let parse = |condition: String| {
            parse_yql(&format!("select * from mail where {condition} and true"), &surroundings(&given, None)).unwrap().item
        };
        let first = |item: Item| match item.operator {
            Operator::And(mut items) if items.len() == 2 => items.remove(0).operator,
            other => other,
        };
        match first(parse(format!("sender contains {literal}"))) {
            Operator::Term(term) => prop_assert_eq!(&term.text, &text),
            other => prop_assert!(false, "{:?}", other),
        }
        match first(parse(format!("({{grammar: \"raw\"}}userInput({literal}))"))) {
            Operator::Term(term) => prop_assert_eq!(&term.text, &text),
            other => prop_assert!(false, "{:?}", other),
        }
        let expected = brooklet_query::tree::Values::Texts(vec![text.clone()]);
        match first(parse(format!("sender in ({literal})"))) {
            Operator::In(list) => prop_assert_eq!(list.values, expected),
            other => prop_assert!(false, "{:?}", other),
        }
        match first(parse(format!("sender matches {literal}"))) {
            Operator::Regex(regex) => prop_assert_eq!(regex.pattern, text),
            other => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn mutated_statements_are_parsed_or_refused(text in mutation(statements())) {
        if let Some(item) = parse(&text) {
            let printed = yql_text(&item, Form::Exact);
            if let Some(again) = reparse(&printed, &text, &item) {
                prop_assert_eq!(again, item, "{}", printed);
            }
        }
    }

    #[test]
    fn mutated_simple_queries_are_parsed(text in mutation(simple_queries()), kind in 0..7usize, index in 0..4usize) {
        let name = ["weakAnd", "all", "any", "web", "phrase", "tokenize", "linguistics"][kind];
        let given = RequestParameters::default();
        let query = UserQuery {
            text: &text,
            grammar: Grammar::named(name).unwrap(),
            filter: (index == 3).then_some("+subject:x -y z"),
            default_index: [None, Some("subject"), Some("sender"), Some("folder")][index],
        };
        let item = simple::parse_user_query(&query, &surroundings(&given, None)).unwrap();
        prop_assert!(!tree_text(&item).is_empty() && !yql_text(&item, Form::Reference).is_empty());
        prop_assert!(item.operator == Operator::Null || !item.holds_null());
    }

    #[test]
    fn every_term_of_groups_within_groups_is_in_the_tree(text in "[(]a [+]?([ab]|[(][+]?[ab][)]?|[(][ab] [ab][)]| |[+-]){0,20}", kind in 0..5usize) {
        let grammar = Grammar::named(["weakAnd", "all", "any", "web", "adv"][kind]).unwrap();
        let given = RequestParameters::default();
        let item = simple::parse(&text, grammar, None, &surroundings(&given, None)).unwrap();
        prop_assert!(!item.holds_null(), "{}", tree_text(&item));
        let letters = |text: &str| text.matches(['a', 'b']).count();
        prop_assert_eq!(letters(&text), letters(&tree_text(&item)), "{}", tree_text(&item));
    }

    #[test]
    fn any_text_is_sorted_or_flattened_or_refused(text in "[-+ a-z(),\\[\\]{}\":0-9.\\\\u']{0,40}") {
        let _ = parse_sorting(&text);
        let _ = flatten(&text);
        if let Ok(pairs) = flatten(&format!("{{\"a\":{text}}}")) {
            prop_assert!(pairs.iter().all(|(name, _, _)| name.starts_with('a')));
        }
    }
}

/// Texts near the limit, built to be slow for parsers that look ahead or back too often.
#[test]
fn a_long_text_is_not_read_once_for_each_of_its_pieces() {
    let pieces = [
        "(",
        "((a",
        "+(",
        "-(",
        "\"",
        "\"a",
        "a:",
        "subject:",
        "subject: ",
        "subject:\"",
        "a_",
        "a.",
        "!",
        "*",
        "'",
        "sender:!",
        "sender:\"!",
        "sender:*)",
        "[1;",
        "<",
        "a \"b",
        "/*",
        "/* ",
        "all(",
        "| all(",
        "{a:",
        "[{",
        "!(",
        "a and ",
        "near(",
        "\\u",
        "-",
        "- ",
        "a!",
        "url:a ",
        "folder:x@@",
        "subject:a ",
        "OR ",
        "{",
        "people:{",
        "people:{name:",
        "1.",
        "1;",
        "-1",
        ")",
        "+",
        "+ ",
        "+\"",
        "+-",
        "(+",
        "(\"",
        "(!",
        "()",
        "\" ",
        "\"!",
        "\"!* ",
        "subject:! ",
        "subject:\" ",
        "people:{!",
        "a (or) ",
        "  -5",
    ];
    let given = RequestParameters::default();
    let around = surroundings(&given, None);
    let parse = |text: &str| {
        for name in ["weakAnd", "any", "web", "adv", "tokenize"] {
            let _ = simple::parse(text, Grammar::named(name).unwrap(), None, &around);
            let _ = simple::parse(text, Grammar::named(name).unwrap(), Some("sender"), &around);
        }
        let _ = parse_yql(text, &around);
        let _ = parse_yql(&format!("select * from mail where {}", &text[..text.len() - text.len() / 12]), &around);
        let _ = parse_sorting(text);
        let _ = flatten(&format!("{{\"a\":{text}"));
    };
    for piece in pieces {
        let [eighth, whole] = [8, 1].map(|part| piece.repeat(65_000 / part / piece.len()));
        assert!(is_even(parse, whole.as_str(), &eighth), "{piece:?} is read many times");
    }
}

#[test]
fn queries_over_the_limits_are_refused() {
    let given = RequestParameters::default();
    let around = surroundings(&given, None);
    let refused = |condition: String, reason: &str| {
        let rejection = parse_yql(&format!("select * from mail where {condition}"), &around).unwrap_err();
        assert!(rejection.message.contains(reason), "{rejection}");
    };
    refused(format!("{}true{}", "(".repeat(101), ")".repeat(101)), "levels deep");
    refused(format!("{}true", "{a:".repeat(101)), "levels deep");
    refused(vec!["year = 1"; 1_025].join(" or "), "terms");
    refused(format!("nums in ({})", vec!["1"; 40_000].join(",")), "bytes long");
    let terms = vec!["x"; 1_025].join(" ");
    refused(format!("userInput(\"{terms}\")"), "terms");
    let list = (0..10_001).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let given = RequestParameters([("l".to_owned(), list), ("t".to_owned(), "x y ".repeat(10_000))].into());
    let around = surroundings(&given, None);
    let rejection = parse_yql("select * from mail where nums in (@l)", &around).unwrap_err();
    assert!(rejection.message.contains("10000 entries"), "{rejection}");
    let inputs = ["({grammar: \"raw\"}userInput(@t))"; 10].join(" or ");
    let rejection = parse_yql(&format!("select * from mail where {inputs}"), &around).unwrap_err();
    assert!(rejection.message.contains("together longer"), "{rejection}");
}
