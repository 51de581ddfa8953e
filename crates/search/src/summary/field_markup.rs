//! The fields of a hit as markup (`format=xml`), as the reference writes each kind of value (query-api §8).
use brooklet_document::Value;
use brooklet_document::json::encode_base64;

use crate::markup::{Markup, double_text, escape, float_text};

/// What stands for marks of a text while it is not escaped yet, and what is written for them.
const MARKS: [(char, &str); 3] = [('\u{2}', "<hi>"), ('\u{3}', "</hi>"), ('\u{1e}', "<sep />")];

/// Writes a field with its value.
pub(super) fn field(name: &str, value: &Value, out: &mut Markup) {
    begin(name, out);
    content(value, out);
    out.end();
}

/// Begins the element of a field.
pub(super) fn begin(name: &str, out: &mut Markup) {
    out.begin("field", &[("name", name)]);
}

/// Writes the value of a field into its element, or a piece of a long one.
pub(super) fn content(value: &Value, out: &mut Markup) {
    match value {
        // Marks in a text of its own are markup; in elements and members they are text.
        Value::String(text) => out.raw(&mark_text(text)),
        Value::Raw(bytes) => out.text(&encode_base64(bytes)),
        value => contents(value, out),
    }
}

/// Writes a field with a text.
pub(super) fn text_field(name: &str, text: &str, out: &mut Markup) {
    out.element("field", &[("name", name)], text);
}

fn contents(value: &Value, out: &mut Markup) {
    if let Some(text) = scalar(value) {
        return out.text(&text);
    }
    match value {
        Value::Raw(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            out.element("data", &[("length", &bytes.len().to_string()), ("encoding", "hex")], &digits);
        }
        Value::Position { x, y } => {
            let degrees = |micro: i32| double_text(f64::from(micro) / 1e6);
            out.begin("position", &[("lat", &degrees(*y)), ("lng", &degrees(*x))]);
            out.end();
        }
        Value::Array(elements) => {
            for element in elements {
                out.begin("item", &[]);
                contents(element, out);
                out.end();
            }
            if elements.is_empty() {
                out.text("");
            }
        }
        Value::WeightedSet(entries) => {
            for (key, weight) in entries {
                out.element("item", &[("weight", &weight.to_string())], &scalar(key).unwrap_or_default());
            }
        }
        Value::Map(entries) => entries.iter().for_each(|(key, value)| entry(key, value, out)),
        Value::Struct(members) => {
            for (name, value) in members {
                out.begin("struct-field", &[("name", name)]);
                contents(value, out);
                out.end();
            }
            if members.is_empty() {
                out.empty_line();
            }
        }
        _ => {}
    }
}

/// An entry of a map, on one line if its value is plain.
fn entry(key: &Value, value: &Value, out: &mut Markup) {
    out.begin("item", &[]);
    out.raw(&format!("<key>{}</key><value>", escape(&scalar(key).unwrap_or_default())));
    match scalar(value) {
        Some(text) => out.text(&text),
        None => {
            contents(value, out);
            out.line_in_text();
        }
    }
    out.raw("</value>");
    out.end();
}

/// The text of a value that is no collection; marks in it are text.
fn scalar(value: &Value) -> Option<String> {
    Some(match value {
        Value::String(text) => MARKS.iter().fold(text.clone(), |text, (mark, written)| text.replace(*mark, written)),
        Value::Byte(number) => number.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Long(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Float(number) => float_text(*number),
        Value::Double(number) => double_text(*number),
        Value::Tensor(tensor) => tensor.to_string(),
        _ => return None,
    })
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
