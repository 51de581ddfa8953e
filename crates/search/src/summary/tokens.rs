//! `tokens`: the words of a text as queries meet them.
use brooklet_document::Value;
use brooklet_schema::{Field, MatchKind};
use brooklet_segment::column::text::{cut, normalise};

/// The list of a text's words; of several texts a list of lists.
pub(super) fn tokens(value: &Value, field: &Field) -> Value {
    match value {
        Value::String(text) => Value::Array(of_text(text, field)),
        Value::Array(elements) => Value::Array(elements.iter().map(|element| tokens(element, field)).collect()),
        Value::WeightedSet(entries) => Value::Array(entries.iter().map(|(key, _)| tokens(key, field)).collect()),
        other => other.clone(),
    }
}

fn of_text(text: &str, field: &Field) -> Vec<Value> {
    let text = cut(text, field.matching.max_length_bytes);
    let word =
        |word: &str| Value::String(normalise(&brooklet_text::whole_letters(word), field.normalizing()).into_owned());
    match field.matching.kind {
        MatchKind::Word | MatchKind::Exact if text.is_empty() => Vec::new(),
        MatchKind::Word | MatchKind::Exact => vec![word(text)],
        _ => brooklet_text::Tokens::new(text).map(|token| word(&text[token.start..token.end])).collect(),
    }
}
