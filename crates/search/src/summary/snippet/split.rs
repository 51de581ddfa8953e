//! Sets the pieces of words that a query looks for apart, so that they are words themselves and get marked alone.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// Put before and after a piece: no part of words, and never written.
pub(super) const UNIT_SEPARATOR: char = '\u{1f}';

/// How far a text was prepared for its pieces to be found.
pub(super) struct Splitting {
    folded: Folded,
}

impl Splitting {
    /// Nothing is set apart without pieces.
    pub(super) fn new(pieces: &[String]) -> Option<Splitting> {
        (!pieces.is_empty()).then(|| Splitting { folded: Folded { text: String::new(), origins: Vec::new(), at: 0 } })
    }

    /// Goes on where it ended last, for as many bytes as there is work left, and returns whether it came to the end.
    pub(super) fn go_on(&mut self, text: &str, work: &mut usize) -> bool {
        self.folded.go_on(text, work)
    }

    /// The text with separators around every piece found in its folded form; nothing if there is none. The leftmost comes
    /// first, and of two that begin at the same place the one that is first in the query; what overlaps a piece set apart
    /// is not looked at.
    pub(super) fn finish(mut self, text: &str, pieces: &[String]) -> Option<String> {
        self.folded.origins.push(text.len());
        let mut out = String::with_capacity(text.len());
        let mut copied = 0;
        for found in Finder::new(&self.folded.text, pieces) {
            let (start, end) = (self.folded.origins[found.start], self.folded.origins[found.end]);
            // A piece may begin or end within the letters that one character becomes when it is folded.
            if start < copied || start == end {
                continue;
            }
            out.push_str(&text[copied..start]);
            out.push(UNIT_SEPARATOR);
            out.extend(text[start..end].chars().filter(|character| is_visible(*character)));
            out.push(UNIT_SEPARATOR);
            copied = end;
        }
        if copied == 0 {
            return None;
        }
        out.push_str(&text[copied..]);
        Some(out)
    }
}

/// Control characters are passed over by the search inside words.
fn is_visible(character: char) -> bool {
    character >= ' ' || matches!(character, '\n' | '\t')
}

/// A folded text that remembers where it comes from.
struct Folded {
    text: String,
    /// For every byte of `text`, and in the end for its end, where the character begins that it was made of.
    origins: Vec<usize>,
    /// The end of what was folded.
    at: usize,
}

impl Folded {
    fn go_on(&mut self, text: &str, work: &mut usize) -> bool {
        while *work > 0 {
            let at = self.at;
            let Some(character) = text[at..].chars().next() else { return true };
            let mut next = at + character.len_utf8();
            if is_visible(character) {
                let mut letter = Cow::Borrowed(&text[at..next]);
                // Marks that are one letter with what is before them.
                for mark in text[next..].chars().take_while(|mark| !mark.is_ascii()) {
                    let whole = brooklet_text::whole_letters(&text[at..next + mark.len_utf8()]);
                    if whole.chars().nth(1).is_some() {
                        break;
                    }
                    (letter, next) = (whole, next + mark.len_utf8());
                }
                brooklet_text::fold(&letter, &mut self.text);
                self.origins.resize(self.text.len(), at);
            }
            *work = work.saturating_sub(next - at);
            self.at = next;
        }
        self.at == text.len()
    }
}

/// Finds pieces from left to right. The next place of every piece is at hand, so that no piece is looked for twice in
/// the same part of the text.
struct Finder<'a> {
    text: &'a str,
    pieces: &'a [String],
    /// Where pieces are found next, with their numbers.
    next: BinaryHeap<Reverse<(usize, usize)>>,
}

impl<'a> Finder<'a> {
    fn new(text: &'a str, pieces: &'a [String]) -> Finder<'a> {
        let mut finder = Finder { text, pieces, next: BinaryHeap::new() };
        (0..pieces.len()).for_each(|number| finder.find(number, 0));
        finder
    }

    fn find(&mut self, number: usize, from: usize) {
        let found = self.text[from..].find(&self.pieces[number]);
        self.next.extend(found.map(|at| Reverse((from + at, number))));
    }
}

impl Iterator for Finder<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let Reverse((start, number)) = *self.next.peek()?;
        let end = start + self.pieces[number].len();
        while let Some(Reverse((at, number))) = self.next.peek().copied() {
            if at >= end {
                break;
            }
            self.next.pop();
            self.find(number, end);
        }
        Some(start..end)
    }
}
