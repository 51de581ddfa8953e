//! Texts: tokens of documents, segments of queries, folding, fuzzy comparison; how they are cut, into chunks, by expressions and
//! for teasers.
use std::hint::black_box;

use brooklet_text::{
    Fuzzy, FuzzyOptions, Languages, Normalizing, Pattern, Stems, Tokens, count_segments, fixed_length, fold, grams,
    segment, sentences,
};

use super::Target;
use crate::corpus;
use crate::host::{Host, services};

/// Work that one expression may cost over one text.
const WORK_MAX: usize = 4 << 20;
/// Longest expression that callers compile.
const PATTERN_BYTES: usize = brooklet_task::limits::PATTERN_BYTES;

pub fn targets() -> Vec<Target> {
    let mut corpus = corpus::members("tokens/ling.jsonl", "text");
    corpus.extend(corpus::members("tokens/segment.jsonl", "text"));
    let stems = corpus::members("tokens/stems.jsonl", "word");
    vec![
        Target::text("text", corpus, |text| {
            for token in Tokens::new(text) {
                let word = &text[token.start..token.end];
                black_box(Normalizing::LowercaseAndFold.apply(word));
                black_box(Normalizing::Lowercase.apply(word));
            }
            black_box(segment(text));
            black_box(Fuzzy::new("lease", FuzzyOptions::default()).matches(text));
            black_box(grams(text, 2));
            black_box(count_segments(text, text.get(1..3).unwrap_or("東")));
        }),
        Target::text("stem", stems, |text| {
            let all: Vec<&str> = Languages::all().collect();
            let languages = Languages::named(&all.join(",")).expect("its own names");
            let mut word = String::new();
            fold(text, &mut word);
            for word in [text, &word] {
                let stems = Stems::new(word, languages);
                assert!(stems.equal(word), "a word has its own stem");
                black_box(stems.iter().map(str::len).sum::<usize>());
            }
        }),
        chunks(),
        pieces(),
        snippets(),
    ]
}

/// An input in two: what stands before its first line break, and what comes after it.
fn two(text: &str) -> (&str, &str) {
    text.split_once('\n').unwrap_or((text, ""))
}

/// Chunks of a length, which the input begins with: in their order they are the text.
fn chunks() -> Target {
    let corpus = [
        "12\nalpha beta. gamma delta epsilon, zeta!",
        "1\n\u{6f22}\u{5b57}\u{3002}\u{1f600}\u{1f600} x\u{308} y",
        "40\n... One. Two!? 3.14 is pi\u{3002}\u{ff1f}",
        "18446744073709551615\na",
        "0\n \t ",
    ];
    Target::text("chunks", corpus.map(Vec::from).to_vec(), |input| {
        let (length, text) = two(input);
        let length = length.parse().unwrap_or(length.len());
        let whole = sentences(text);
        assert_eq!(whole.concat(), text, "sentences are the text");
        assert!(whole.iter().all(|sentence| !sentence.is_empty()));
        let chunks = fixed_length(text, length);
        assert_eq!(chunks.concat(), text, "chunks are the text");
        let most = (length.max(1) as f64 * 1.1).round() + 1.0;
        assert!(
            chunks.iter().all(|chunk| !chunk.is_empty() && chunk.chars().count() as f64 <= most),
            "at most so long"
        );
    })
}

/// An expression, and the text it cuts: pieces stand in it one after the other, and whether it is found does not depend on rests.
fn pieces() -> Target {
    let expressions = [
        ",",
        "[,;]\\s*",
        "",
        "x*",
        "aa|a",
        "a+?",
        "\\b",
        "(?i)X",
        "(a|b)*c",
        "((x{1,9}){1,9}){1,9}",
        "\\Qa.b\\E+",
        "[^\u{e9}]\\W$",
    ];
    let texts = ["a,b,,c,,", "a,  b;c", "a\u{f1}b axxb", "baab hi you 1x2X3", "a.b\u{e9}\u{1f600}ABC", ""];
    let corpus = expressions.iter().zip(texts.iter().cycle()).map(|(expression, text)| format!("{expression}\n{text}"));
    Target::text("pieces", corpus.map(String::into_bytes).collect(), |input| {
        let (expression, text) = two(input);
        if expression.len() > PATTERN_BYTES {
            return;
        }
        for cased in [true, false] {
            let Ok(pattern) = Pattern::new(expression, cased) else { continue };
            let found = pattern.is_in(text, &mut WORK_MAX.clone());
            let Ok(pieces) = pattern.pieces(text, &mut WORK_MAX.clone()) else { continue };
            let mut rest = text;
            for piece in &pieces {
                let at = rest.find(piece).expect("a piece stands behind the one before it");
                rest = &rest[at + piece.len()..];
            }
            assert!(pieces.last().is_none_or(|piece| !piece.is_empty()), "no empty piece at the end");
            if cased && found == Some(false) {
                let whole: &[&str] = if text.is_empty() { &[] } else { &[text] };
                assert_eq!(pieces, whole, "what is not found cuts nothing");
            }
        }
    })
    .costs(2)
}

/// A query, and a text that is shown for it: the parts of a teaser stand in the text one after the other, a text with marks is the text.
fn snippets() -> Target {
    let settings = "<config name=\"vespa.config.search.summary.juniperrc\"><length>60</length><min_length>20</min_length>\
                    <surround_max>12</surround_max></config>";
    let services = services(&["doc"]).replace("<documents>", &format!("{settings}<documents>"));
    let field = |name: &str, more: &str| format!("field {name} type string {{ indexing: summary | index\n {more} }}\n");
    let fields = [
        field("plain", "summary: dynamic"),
        field("part", "summary: dynamic\n match: substring"),
        field("bold", "bolding: on"),
    ];
    let schema =
        format!("schema doc {{ document doc {{ {} }} fieldset default {{ fields: plain, bold }} }}", fields.concat());
    let mut host = Host::new(&[("services.xml", &services), ("schemas/doc.sd", &schema)], 16 << 20);
    let texts = corpus::members("tokens/ling.jsonl", "text");
    let mut corpus: Vec<Vec<u8>> = texts.iter().map(|text| [b"lease flat\n", &text[..]].concat()).collect();
    let long =
        "The deposit of the flat is due, the lease of the flat ends; \u{6771}\u{4eac} x\u{b2} \u{1f600}. ".repeat(9);
    for query in ["flat", "\"of the flat\"", "lea* -no", "plain:lease part:eas", "\u{6771}", "due deposit flat lease"] {
        corpus.push(format!("{query}\n{long}").into_bytes());
    }
    Target::text("snippets", corpus, move |input| {
        // Nothing of a text is escaped: its own brackets would be taken for marks.
        let input = input.replace(['<', '>'], "|");
        let (query, text) = two(&input);
        let shown = serde_json::Value::from(text).to_string();
        // A store that comes after the one before, which the caches tell apart.
        host = host.beside();
        let fields = format!("{{\"plain\":{shown},\"part\":{shown},\"bold\":{shown}}}");
        if host.put("id:n:doc:g=a:1", &fields).is_err() {
            return;
        }
        let yql = "select * from doc where rank(true, userQuery(), {defaultIndex:\"part\"}userInput(@query))";
        let answer = host.search(corpus::KEY, &[("yql", yql), ("query", query), ("timeout", "60s")]);
        let fields = &answer.json["root"]["children"][0]["fields"];
        if fields.is_null() {
            return;
        }
        // Separators of annotations are never shown.
        let text = text.replace(['\u{1d}', '\u{1f}'], "");
        for name in ["plain", "part", "bold"] {
            let shown = fields[name].as_str().unwrap_or_default().replace("<hi>", "").replace("</hi>", "");
            let mut rest = &text[..];
            for part in shown.split("<sep />") {
                let at = rest.find(part).unwrap_or_else(|| panic!("{part:?} of {name} does not stand in {rest:?}"));
                rest = &rest[at + part.len()..];
            }
            assert!(name != "bold" || shown == text, "all of the text is shown: {shown:?}");
        }
    })
    .costs(8)
}
