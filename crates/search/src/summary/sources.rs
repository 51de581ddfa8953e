//! A summary field of several sources: every value in them is a piece of one text (schema, summary: source).
use std::borrow::Cow;

use brooklet_document::{Document, Value};

/// What stands between pieces until they are shown. No word begins or ends otherwise there.
pub(super) const SEPARATOR: &str = "\u{1e}";

/// The value of a source: a field of the document, or a part of one by its path.
pub(super) fn value_of<'d>(document: &'d Document, source: &str) -> Option<Cow<'d, Value>> {
    let mut names = source.split('.');
    let value = document.field(names.next()?)?;
    let parts: Vec<&str> = names.collect();
    if parts.is_empty() { Some(Cow::Borrowed(value)) } else { part_of(value, &parts).map(Cow::Owned) }
}

/// The field that a source is read from.
pub(super) fn top_of(source: &str) -> &str {
    source.split('.').next().unwrap_or(source)
}

/// The values at the end of a path; of all elements of an array or entries of a map a list.
fn part_of(value: &Value, parts: &[&str]) -> Option<Value> {
    let [name, rest @ ..] = parts else { return Some(value.clone()) };
    let list = |values: Vec<Value>| (!values.is_empty()).then_some(Value::Array(values));
    match value {
        Value::Struct(members) => {
            members.iter().find(|(known, _)| known == name).and_then(|(_, value)| part_of(value, rest))
        }
        Value::Array(elements) => list(elements.iter().filter_map(|element| part_of(element, parts)).collect()),
        Value::Map(entries) => {
            let at = |(key, value)| if *name == "key" { part_of(key, rest) } else { part_of(value, rest) };
            list(entries.iter().map(|(key, value)| (key, value)).filter_map(at).collect())
        }
        _ => None,
    }
}

/// The sources that are parts of the field of this name, without it, if all are: then the field is shown with only these.
pub(super) fn parts_of_field<'s>(name: &str, sources: &'s [String]) -> Option<Vec<Vec<&'s str>>> {
    let part = |source: &'s String| {
        let rest = source.strip_prefix(name)?.strip_prefix('.')?;
        Some(rest.split('.').collect::<Vec<_>>())
    };
    sources.iter().map(part).collect::<Option<Vec<_>>>().filter(|parts| !parts.is_empty())
}

/// A value with only some of its parts.
pub(super) fn with_parts(value: &Value, parts: &[Vec<&str>]) -> Value {
    let below = |name: &str| -> Vec<Vec<&str>> {
        parts.iter().filter(|part| part.first() == Some(&name)).map(|part| part[1..].to_vec()).collect()
    };
    let kept = |value: &Value, below: &[Vec<&str>]| {
        if below.iter().any(Vec::is_empty) { value.clone() } else { with_parts(value, below) }
    };
    match value {
        Value::Array(elements) => Value::Array(elements.iter().map(|element| with_parts(element, parts)).collect()),
        Value::Struct(members) => {
            let chosen = members.iter().filter_map(|(name, value)| {
                let below = below(name);
                (!below.is_empty()).then(|| (name.clone(), kept(value, &below)))
            });
            Value::Struct(chosen.collect())
        }
        Value::Map(entries) => {
            let of_value = below("value");
            let entry = |(key, value): &(Value, Value)| {
                (key.clone(), if of_value.is_empty() { value.clone() } else { kept(value, &of_value) })
            };
            Value::Map(entries.iter().map(entry).collect())
        }
        other => other.clone(),
    }
}

/// The pieces of some values, one after the other; nothing if there are none.
pub(super) fn pieces<'v>(values: impl Iterator<Item = Cow<'v, Value>>, between: &str) -> Option<String> {
    let mut pieces = Vec::new();
    values.for_each(|value| add(&value, &mut pieces));
    (!pieces.is_empty()).then(|| pieces.join(between))
}

fn add(value: &Value, pieces: &mut Vec<String>) {
    match value {
        Value::String(text) if text.is_empty() => {}
        Value::String(text) => pieces.push(text.replace(SEPARATOR, "")),
        Value::Int(number) => pieces.push(number.to_string()),
        Value::Long(number) => pieces.push(number.to_string()),
        Value::Byte(number) => pieces.push(number.to_string()),
        Value::Bool(flag) => pieces.push(flag.to_string()),
        Value::Float(number) => pieces.push(number.to_string()),
        Value::Double(number) => pieces.push(number.to_string()),
        Value::Array(elements) => elements.iter().for_each(|element| add(element, pieces)),
        Value::WeightedSet(entries) => entries.iter().for_each(|(key, _)| add(key, pieces)),
        Value::Map(entries) => entries.iter().for_each(|(key, value)| {
            add(key, pieces);
            add(value, pieces);
        }),
        Value::Struct(fields) => fields.iter().for_each(|(_, value)| add(value, pieces)),
        _ => {}
    }
}
