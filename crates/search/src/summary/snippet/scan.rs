//! Finds the words of a query in a text.

use brooklet_text::Tokens;

use super::pattern::{Pattern, folded};

/// A token of the text that is a word of the query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hit {
    /// Its first byte.
    pub start: usize,
    /// The byte after it.
    pub end: usize,
    /// How many tokens are before it.
    pub token: usize,
}

/// Tells every hit, from left to right, with the numbers of the terms it is a hit of.
pub(super) fn scan(text: &str, pattern: &Pattern, mut tell: impl FnMut(Hit, &[usize])) {
    let mut buffer = String::new();
    let mut terms = Vec::new();
    for (number, token) in Tokens::new(text).enumerate() {
        pattern.terms_hit(folded(&text[token.start..token.end], &mut buffer), &mut terms);
        if !terms.is_empty() {
            tell(Hit { start: token.start, end: token.end, token: number }, &terms);
        }
    }
}
