//! Finds the words of a query in a text.

use brooklet_text::Tokens;

use super::pattern::{Pattern, fold_token};

/// What a hit costs beside its bytes, in bytes looked at: the matches that it is a part of are put together.
const HIT_WORK: usize = 16;

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

/// How far a text was looked through.
#[derive(Debug)]
pub(super) struct Scan {
    /// The end of the last token.
    at: usize,
    /// How many tokens there are before.
    tokens: usize,
    /// How many terms of a hit are told.
    terms_max: usize,
}

impl Scan {
    pub(super) fn new() -> Scan {
        Scan { at: 0, tokens: 0, terms_max: usize::MAX }
    }

    /// Tells every hit, from left to right, with the numbers of the terms it is a hit of; when `tell` says that these do
    /// not matter any more, with one of them. Goes on where it ended last, for as many bytes as there is work left, and
    /// returns whether it came to the end.
    pub(super) fn go_on(
        &mut self,
        text: &str,
        pattern: &Pattern,
        work: &mut usize,
        mut tell: impl FnMut(Hit, &[usize]) -> bool,
    ) -> bool {
        let mut buffer = String::new();
        let mut terms = Vec::new();
        // A token begins anywhere after the end of another.
        let from = self.at;
        let mut tokens = Tokens::new(&text[from..]);
        while *work > 0 {
            let Some(token) = tokens.next() else { return true };
            let (start, end) = (from + token.start, from + token.end);
            *work = work.saturating_sub(end - self.at);
            pattern.terms_hit(fold_token(&text[start..end], &mut buffer), self.terms_max, &mut terms);
            if !terms.is_empty() {
                *work = work.saturating_sub(HIT_WORK);
                if !tell(Hit { start, end, token: self.tokens }, &terms) {
                    self.terms_max = 1;
                }
            }
            (self.at, self.tokens) = (end, self.tokens + 1);
        }
        false
    }
}
