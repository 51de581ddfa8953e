//! The fields of a hit as markup (`format=xml`), as the reference writes each kind of value (query-api §8).
use std::borrow::Cow;

use brooklet_document::json::encode_base64;
use brooklet_document::{MARK_WORK, NUMBER_WORK, Progress, Value};

use crate::markup::{Markup, double_text, escape, float_text};

/// What stands for marks of a text while it is not escaped yet, and what is written for them.
const MARKS: [(char, &str); 3] = [('\u{2}', "<hi>"), ('\u{3}', "</hi>"), ('\u{1e}', "<sep />")];

/// A byte of a text, in which marks are looked for and written, takes as long as so many that are only copied.
const MARKED_TEXT_WORK: usize = 3;
/// A byte of a raw value takes as long as so many of a text.
const RAW_WORK: usize = 8;

/// Writes a field with its value as far as a step comes. Returns whether all of it is written.
pub(super) fn field(name: &str, value: &Value, progress: &mut Progress, out: &mut Markup) -> bool {
    if !progress.is_begun() {
        out.begin("field", &[("name", name)]);
    }
    let is_whole = match value {
        // Marks in a text of its own are markup; in elements and members they are text.
        Value::String(text) => progress.text(text, MARKED_TEXT_WORK, |piece| out.raw(&mark_text(piece))),
        Value::Raw(bytes) => progress.bytes(bytes, RAW_WORK, |piece| out.text(&encode_base64(piece))),
        value => contents(value, progress, out),
    };
    if is_whole {
        out.end();
    }
    is_whole
}

/// Writes a field with a text.
pub(super) fn text_field(name: &str, text: &str, out: &mut Markup) {
    out.element("field", &[("name", name)], text);
}

/// What stands in the element of a value.
fn contents(value: &Value, progress: &mut Progress, out: &mut Markup) -> bool {
    if let Some(is_whole) = scalar(value, progress, out) {
        return is_whole;
    }
    match value {
        Value::Raw(bytes) => {
            if !progress.is_begun() {
                out.begin("data", &[("length", &bytes.len().to_string()), ("encoding", "hex")]);
            }
            let digits = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02X}")).collect::<String>();
            let is_whole = progress.bytes(bytes, RAW_WORK, |piece| out.text(&digits(piece)));
            if is_whole {
                out.end();
            }
            is_whole
        }
        Value::Position { x, y } => {
            let degrees = |micro: i32| double_text(f64::from(micro) / 1e6);
            out.begin("position", &[("lat", &degrees(*y)), ("lng", &degrees(*x))]);
            out.end();
            true
        }
        Value::Array(elements) => {
            if elements.is_empty() {
                out.text("");
            }
            progress.parts(elements.len(), |progress, at| part(("item", &[]), &elements[at], progress, out))
        }
        Value::WeightedSet(entries) => progress.parts(entries.len(), |progress, at| {
            let (key, weight) = &entries[at];
            part(("item", &[("weight", &weight.to_string())]), key, progress, out)
        }),
        Value::Map(entries) => {
            progress.parts(entries.len(), |progress, at| entry(&entries[at].0, &entries[at].1, progress, out))
        }
        Value::Struct(members) => {
            if members.is_empty() {
                out.empty_line();
            }
            progress.parts(members.len(), |progress, at| {
                part(("struct-field", &[("name", &members[at].0)]), &members[at].1, progress, out)
            })
        }
        _ => true,
    }
}

/// An element with a value in it.
fn part(
    (name, attributes): (&'static str, &[(&str, &str)]),
    value: &Value,
    progress: &mut Progress,
    out: &mut Markup,
) -> bool {
    if !progress.is_begun() {
        out.begin(name, attributes);
        progress.work(MARK_WORK);
    }
    let is_whole = contents(value, progress, out);
    if is_whole {
        out.end();
    }
    is_whole
}

/// An entry of a map, on one line if its value is plain.
fn entry(key: &Value, value: &Value, progress: &mut Progress, out: &mut Markup) -> bool {
    progress.parts(2, |progress, number| {
        if number == 0 {
            if !progress.is_begun() {
                out.begin("item", &[]);
                out.raw("<key>");
                progress.work(MARK_WORK);
            }
            let is_whole = scalar(key, progress, out).unwrap_or(true);
            if is_whole {
                out.raw("</key><value>");
            }
            return is_whole;
        }
        let is_plain = scalar(value, progress, out);
        let is_whole = is_plain.unwrap_or_else(|| contents(value, progress, out));
        if is_whole {
            if is_plain.is_none() {
                out.line_in_text();
            }
            out.raw("</value>");
            out.end();
        }
        is_whole
    })
}

/// Writes a value that is no collection as text, in which marks are text, too; nothing if it is one. Returns whether all of it is
/// written.
fn scalar(value: &Value, progress: &mut Progress, out: &mut Markup) -> Option<bool> {
    let text = match value {
        Value::String(text) => return Some(progress.text(text, MARKED_TEXT_WORK, |piece| out.text(&unmarked(piece)))),
        Value::Tensor(tensor) => {
            let mut text = String::new();
            let is_whole = tensor.print(progress, &mut text);
            out.text(&text);
            return Some(is_whole);
        }
        Value::Byte(number) => number.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Long(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Float(number) => float_text(*number),
        Value::Double(number) => double_text(*number),
        _ => return None,
    };
    out.text(&text);
    progress.work(2 * NUMBER_WORK);
    Some(true)
}

/// A text whose marks are text.
fn unmarked(text: &str) -> Cow<'_, str> {
    let is_mark = |c: char| MARKS.iter().any(|(mark, _)| *mark == c);
    if !text.contains(is_mark) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(MARKS.iter().fold(text.to_owned(), |text, (mark, written)| text.replace(*mark, written)))
}

/// A text with its marks as markup, and all else escaped.
fn mark_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c| MARKS.iter().any(|(mark, _)| *mark == c)) {
        out.push_str(&escape(&rest[..at]));
        let mark = rest[at..].chars().next().unwrap_or_default();
        out.extend(MARKS.iter().filter(|(known, _)| *known == mark).map(|(_, written)| *written));
        rest = &rest[at + mark.len_utf8()..];
    }
    out.push_str(&escape(rest));
    out
}

#[cfg(test)]
mod tests {
    use brooklet_document::parse_literal;
    use brooklet_task::Code;

    use super::*;

    /// What a field is written as, with so much work in each step, and in how many.
    fn written(value: &Value, work: usize) -> (Vec<u8>, usize) {
        let (mut out, mut progress, mut steps) = (Markup::piece(), Progress::default(), 0);
        for name in ["first", "second"] {
            loop {
                progress.may_do(work);
                steps += 1;
                if field(name, value, &mut progress, &mut out) {
                    break;
                }
            }
        }
        (out.finish(), steps)
    }

    #[test]
    fn pieces_are_what_is_written_at_once() {
        let text = |number: usize| Value::String(format!("<{number} å\u{2}日本\u{3}😀&"));
        let person = |number: usize| Value::Struct(vec![("name".to_owned(), text(number))]);
        let raw = Value::Raw((0..100_000u32).map(|number| (number * 7919) as u8).collect());
        let tensor = |text: &str| Value::Tensor(parse_literal(text, None, Code::BadRequest).unwrap());
        let cells: Vec<String> = (0..90).map(|number| format!("'{number}<':[{number}.5,2.0]")).collect();
        for value in [
            Value::String("<å\u{2}日本\u{3}😀& ".repeat(20_000)),
            Value::String(String::new()),
            Value::Array(Vec::new()),
            Value::Struct(Vec::new()),
            Value::Array((0..300).map(text).collect()),
            Value::Array((0..300).map(person).collect()),
            Value::Array(vec![raw.clone(), Value::Position { x: 1, y: 2 }]),
            Value::WeightedSet((0..300).map(|number| (text(number), number as i32)).collect()),
            Value::Map((0..300).map(|number| (text(number), Value::Array(vec![person(number)]))).collect()),
            Value::Map(vec![(Value::String("<k>".repeat(20_000)), Value::String("å&".repeat(20_000)))]),
            Value::Map(vec![(Value::Int(1), tensor(&format!("tensor(k{{}},x[2]):{{{}}}", cells.join(","))))]),
            tensor(&format!("tensor(k{{}},x[2]):{{{}}}", cells.join(","))),
            raw,
        ] {
            let (at_once, _) = written(&value, usize::MAX);
            for work in [1, 100, 5_000] {
                let (in_pieces, steps) = written(&value, work);
                assert!(in_pieces == at_once, "{work}: {}", String::from_utf8_lossy(&in_pieces[..100]));
                assert!(steps > at_once.len() / 100_000, "{steps}");
            }
        }
    }
}
