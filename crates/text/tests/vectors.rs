//! The reference implementation's recorded answers, from test-vectors/tokens.

use brooklet_text::{Languages, Stems, Tokens, fold, grams, lowercase, segment};
use serde_json::Value;

/// Recorded cases that are no business of this crate, or not of streaming search.
const SKIPPED: [(&str, &[&str]); 4] = [
    ("stem: streaming search does not stem", &["stem"]),
    ("normalize: a step of indexing; streaming folds by its own table", &["normalize"]),
    ("transform: a step of indexing; streaming folds by its own table", &["transform"]),
    ("grams: compared below", &["grams"]),
];

/// Cases of `tokenize` whose recorded word is more than the word in lower case.
const LOWER_CASE_SKIPPED: [(&str, &[&str]); 3] = [
    ("the recorder stemmed the words", &["ling-036", "ling-042", "ling-060", "ling-063", "ling-066", "ling-069"]),
    ("the recorder removed accents, and decomposed Hangul on the way", &["ling-024", "ling-054", "ling-072"]),
    ("no words", &["ling-015"]),
];

fn cases(file: &str) -> Vec<Value> {
    let path = format!("{}/../../test-vectors/tokens/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the vectors are in the repository");
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

fn text<'a>(case: &'a Value, member: &str) -> &'a str {
    case[member].as_str().expect("a member that is text")
}

fn is_listed(list: &[(&str, &[&str])], name: &str) -> bool {
    list.iter().any(|(_, names)| names.contains(&name))
}

/// Recorded tokens that can be searched: the text, its lower-case form, its offset in UTF-16.
fn searchable(case: &Value) -> Vec<(String, String, u64)> {
    let tokens = case["tokens"].as_array().expect("tokens");
    let of = |token: &Value| {
        let member = |at: usize| token[at].as_str().expect("text").to_owned();
        (member(0), member(1), token[4].as_u64().expect("offset"))
    };
    tokens.iter().filter(|token| token[5] == true).map(of).collect()
}

fn utf16_offset(text: &str, part: &str) -> u64 {
    let bytes = part.as_ptr() as usize - text.as_ptr() as usize;
    text[..bytes].encode_utf16().count() as u64
}

#[test]
fn tokens_of_queries() {
    let mut checked = 0;
    for case in cases("ling.jsonl") {
        if is_listed(&SKIPPED, text(&case, "op")) {
            continue;
        }
        assert_eq!(text(&case, "op"), "tokenize");
        let input = text(&case, "text");
        let expected = searchable(&case);
        let segments = segment(input);
        if expected.is_empty() {
            assert_eq!(segments, [input], "{case}");
        } else {
            let found: Vec<_> = segments.iter().map(|part| (part.to_string(), utf16_offset(input, part))).collect();
            let expected: Vec<_> = expected.iter().map(|(part, _, offset)| (part.clone(), *offset)).collect();
            assert_eq!(found, expected, "{case}");
        }
        checked += 1;
    }
    assert_eq!(checked, 27);
}

#[test]
fn lower_case() {
    let mut checked = 0;
    for case in cases("ling.jsonl") {
        if is_listed(&SKIPPED, text(&case, "op")) || is_listed(&LOWER_CASE_SKIPPED, text(&case, "id")) {
            continue;
        }
        for (part, expected, _) in searchable(&case) {
            let mut lower = String::new();
            lowercase(&part, &mut lower);
            assert_eq!(lower, expected, "{case}");
        }
        checked += 1;
    }
    assert_eq!(checked, 17);
}

#[test]
fn segments_of_queries() {
    let cases = cases("segment.jsonl");
    assert!(cases.len() > 100);
    for case in cases {
        let expected: Vec<_> =
            case["segments"].as_array().expect("segments").iter().map(|part| part.as_str()).collect();
        let found: Vec<_> = segment(text(&case, "text")).into_iter().map(Some).collect();
        assert_eq!(found, expected, "{case}");
    }
}

/// Grams of texts with emoji: the reference implementation cuts halves of them and loses letters, by accident.
const GRAMS_SKIPPED: [&str; 2] = ["gram-024", "gram-025"];

#[test]
fn grams_of_texts() {
    let of_grams = cases("ling.jsonl").into_iter().filter(|case| text(case, "op") == "grams");
    let cases = cases("grams.jsonl").into_iter().filter(|case| !GRAMS_SKIPPED.contains(&text(case, "id")));
    let mut checked = 0;
    for case in of_grams.chain(cases) {
        let (input, size) = (text(&case, "text"), case["n"].as_u64().expect("a size") as usize);
        let words = Tokens::new(input).map(|token| &input[token.start..token.end]);
        let found: Vec<&str> = words.flat_map(|word| grams(word, size)).collect();
        assert_eq!(serde_json::json!(found), case["grams"], "{case}");
        checked += 1;
    }
    assert!(checked > 30);
}

#[test]
fn stems_of_words() {
    let cases = cases("stems.jsonl");
    assert!(cases.len() > 600);
    for case in cases {
        let languages = Languages::named(text(&case, "language")).expect("a known language");
        let (word, stem) = (text(&case, "word"), text(&case, "stem"));
        let found = Stems::new(word, languages);
        let found: Vec<&str> = found.iter().collect();
        // Where a word has two letters that folding may have made of one, ours is the stem of the other spelling.
        if !is_refolded(word, text(&case, "language")) {
            assert_eq!(found, [stem], "{case}");
        }
        let mut folded = String::new();
        fold(word, &mut folded);
        let mut stem = String::new();
        Stems::new(&folded, languages).iter().for_each(|of| fold(of, &mut stem));
        assert_eq!(stem.chars().next(), folded.chars().next(), "folded words and their stems begin alike: {case}");
    }
}

fn is_refolded(word: &str, language: &str) -> bool {
    let letters: &[&str] = match language {
        "german" => &["ae", "oe", "ue"],
        "finnish" => &["ae", "oe"],
        "norwegian" => &["ae", "oe", "aa"],
        _ => &[],
    };
    letters.iter().any(|letters| word.contains(letters))
}
