//! A summary field of several sources: every value in them is a piece of one text (schema, summary: source).
use brooklet_document::Value;

/// What stands between pieces until they are shown. No word begins or ends otherwise there.
pub(super) const SEPARATOR: &str = "\u{1e}";

/// The pieces of some values, one after the other; nothing if there are none.
pub(super) fn pieces<'v>(values: impl Iterator<Item = &'v Value>, between: &str) -> Option<String> {
    let mut pieces = Vec::new();
    values.for_each(|value| add(value, &mut pieces));
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
