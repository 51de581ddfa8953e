//! Rows of `tokens`: how a text is cut, classed and folded, and what the stems and grams of words are.
use brooklet_text::{Languages, Normalizing, Stems, Tokens, class_of, grams, segment};
use serde_json::Value as Json;

use crate::row::needed;

/// A row of `tokens`. All of it is asked of every text, whatever was recorded; of a word with its language, the stems.
pub(crate) fn tokens(row: &Json) -> String {
    if row.get("word").is_some() {
        let languages = Languages::named(needed(row, "language")).expect("a known language");
        return format!("{:?}", Stems::new(needed(row, "word"), languages).iter().collect::<Vec<_>>());
    }
    let text = needed(row, "text");
    let pairs: Vec<&str> = grams(text, 2);
    let tokens: Vec<_> = Tokens::new(text).map(|token| (token.start, token.end)).collect();
    let classes: Vec<_> = text.chars().map(class_of).collect();
    let forms = [Normalizing::None, Normalizing::Lowercase, Normalizing::LowercaseAndFold];
    let forms = forms.map(|form| form.apply(text).into_owned());
    format!("{:?}\n{tokens:?}\n{classes:?}\n{forms:?}\n{pairs:?}", segment(text))
}
