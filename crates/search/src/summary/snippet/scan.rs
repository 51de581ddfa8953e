//! Finds the words of a query in a text.

use brooklet_text::Tokens;

use super::pattern::{Pattern, fold_token};

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

/// Tells every hit, from left to right, with the numbers of the terms it is a hit of; when `tell` says that these do not
/// matter any more, with one of them.
pub(super) fn scan(text: &str, pattern: &Pattern, mut tell: impl FnMut(Hit, &[usize]) -> bool) {
    let mut buffer = String::new();
    let mut terms = Vec::new();
    let mut terms_max = usize::MAX;
    for (number, token) in Tokens::new(text).enumerate() {
        pattern.terms_hit(fold_token(&text[token.start..token.end], &mut buffer), terms_max, &mut terms);
        if !terms.is_empty() && !tell(Hit { start: token.start, end: token.end, token: number }, &terms) {
            terms_max = 1;
        }
    }
}
