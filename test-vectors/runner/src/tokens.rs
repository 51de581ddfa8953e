//! Rows of `tokens`: how a text is cut, classed and folded.
use brooklet_text::{Normalizing, Tokens, class_of, segment};
use serde_json::Value as Json;

use crate::row::needed;

/// A row of `tokens`. All of it is asked of every text, whatever was recorded.
pub(crate) fn tokens(row: &Json) -> String {
    let text = needed(row, "text");
    let tokens: Vec<_> = Tokens::new(text).map(|token| (token.start, token.end)).collect();
    let classes: Vec<_> = text.chars().map(class_of).collect();
    let forms = [Normalizing::None, Normalizing::Lowercase, Normalizing::LowercaseAndFold];
    let forms = forms.map(|form| form.apply(text).into_owned());
    format!("{:?}\n{tokens:?}\n{classes:?}\n{forms:?}", segment(text))
}
