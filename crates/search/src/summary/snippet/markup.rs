//! Writes what is shown of a text: marks around hits, separators where text is left out, no words cut in two.

use std::ops::Range;

use brooklet_text::{Tokens, is_word};

use brooklet_schema::SnippetSettings;

use super::excerpt::{Excerpt, join_segments};
use super::matches::SnippetMatches;
use super::split::UNIT_SEPARATOR;

/// Stands between the values of a field that was put together of several; never written.
const GROUP_SEPARATOR: char = '\u{1d}';
/// What is set aside for an excerpt, bytes.
const EXCERPT_BYTES: usize = 512;
/// How far an end of a segment is moved to be between words, bytes: the character that reaches this is the last.
const EDGE_BYTES: usize = 64;
/// What a mark costs, in bytes that are looked at.
const MARK_WORK: usize = 16;

/// How that which matched is told from the text around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marks {
    None,
    /// `<hi>`, `</hi>` and `<sep />`, which a document may have itself.
    Elements,
    /// U+0002 before, U+0003 after, U+001E where text is left out: no document has them, so who reads them is never mistaken.
    Controls,
}

impl Marks {
    /// What stands before and after that which matched.
    fn around(self) -> Option<(&'static str, &'static str)> {
        match self {
            Marks::None => None,
            Marks::Elements => Some(("<hi>", "</hi>")),
            Marks::Controls => Some(("\u{2}", "\u{3}")),
        }
    }

    /// What stands where text is left out, or between values that are shown as one text; nothing where nothing is marked.
    pub(crate) fn separator(self) -> Option<&'static str> {
        match self {
            Marks::None => None,
            Marks::Elements => Some("<sep />"),
            Marks::Controls => Some("\u{1e}"),
        }
    }
}

/// How a summary is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Markup {
    marks: Marks,
    separator: &'static str,
}

impl Markup {
    pub(super) fn dynamic(marks: Marks) -> Markup {
        Markup { marks, separator: marks.separator().unwrap_or("...") }
    }

    /// Texts are shown whole.
    pub(super) fn bolding(marks: Marks) -> Markup {
        Markup { marks, separator: "" }
    }

    /// A text in which nothing is marked.
    pub(super) fn plain(self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        append_visible(text, &mut out);
        out
    }

    /// A whole text, of which nothing is written yet.
    pub(super) fn whole(self, text: &str) -> Whole {
        Whole { writer: Writer::new(self, text.len()), hit: 0, at: 0 }
    }

    /// Parts of a text, with their hits.
    pub(super) fn excerpt(self, text: &str, excerpt: Excerpt) -> String {
        let mut writer = Writer::new(self, text.len().min(EXCERPT_BYTES));
        let mut marks = excerpt.marks.into_iter().peekable();
        let mut shown = 0;
        for segment in between_words(text, &excerpt.segments) {
            if segment.start > shown {
                writer.separator();
            }
            let mut at = segment.start;
            while let Some(mark) = marks.next_if(|mark| mark.end <= segment.end) {
                writer.text(&text[at..mark.start]);
                writer.mark(&text[mark.clone()]);
                at = mark.end;
            }
            writer.text(&text[at..segment.end]);
            shown = segment.end;
        }
        if shown < text.len() {
            writer.separator();
        }
        writer.finish()
    }

    /// The beginning of a text: as many whole words, with what precedes them, as the length allows.
    pub(super) fn opening(self, text: &str, settings: &SnippetSettings) -> String {
        let length_max = settings.length as usize;
        if !settings.begins {
            return String::new();
        }
        if text.len() <= length_max {
            return self.plain(text);
        }
        let mut out = String::with_capacity(text.len().min(EXCERPT_BYTES));
        let mut at = 0;
        let ends = Tokens::new(text).map(|token| token.end).chain([text.len()]);
        for end in ends {
            let length = out.len();
            append_visible(&text[at..end], &mut out);
            if out.len() > length_max {
                out.truncate(length);
                out.push_str(self.separator);
                break;
            }
            at = end;
        }
        out
    }
}

/// A whole text with its hits, as far as it is written.
pub(super) struct Whole {
    writer: Writer,
    /// How many hits were looked at.
    hit: usize,
    /// The end of the last that is marked.
    at: usize,
}

impl Whole {
    /// Writes on, as far as there is work left. Returns whether it came to the end.
    pub(super) fn go_on(&mut self, text: &str, found: &SnippetMatches, work: &mut usize) -> bool {
        while let Some(hit) = found.hits.get(self.hit) {
            if *work == 0 {
                return false;
            }
            *work = work.saturating_sub(MARK_WORK);
            if found.counts(self.hit) {
                self.writer.text(&text[self.at..hit.start]);
                self.writer.mark(&text[hit.start..hit.end]);
                self.at = hit.end;
            }
            self.hit += 1;
        }
        self.writer.text(&text[self.at..]);
        true
    }

    pub(super) fn finish(self) -> String {
        self.writer.finish()
    }
}

/// White space stays, and nothing is escaped: only the separators that were put in to keep words apart go.
fn append_visible(text: &str, out: &mut String) {
    text.split([UNIT_SEPARATOR, GROUP_SEPARATOR]).for_each(|part| out.push_str(part));
}

/// Writes a summary piece by piece. Marks that touch become one.
struct Writer {
    markup: Markup,
    out: String,
    /// Whether the last mark is not closed yet.
    open: bool,
}

impl Writer {
    fn new(markup: Markup, bytes: usize) -> Writer {
        Writer { markup, out: String::with_capacity(bytes), open: false }
    }

    fn text(&mut self, text: &str) {
        let end = self.out.len();
        append_visible(text, &mut self.out);
        if self.open && self.out.len() > end {
            self.out.insert_str(end, self.end());
            self.open = false;
        }
    }

    fn mark(&mut self, text: &str) {
        if let Some((start, _)) = self.markup.marks.around().filter(|_| !self.open) {
            self.out.push_str(start);
            self.open = true;
        }
        append_visible(text, &mut self.out);
    }

    fn separator(&mut self) {
        self.close();
        self.out.push_str(self.markup.separator);
    }

    fn close(&mut self) {
        if std::mem::take(&mut self.open) {
            self.out.push_str(self.end());
        }
    }

    fn end(&self) -> &'static str {
        self.markup.marks.around().map_or("", |(_, end)| end)
    }

    fn finish(mut self) -> String {
        self.close();
        self.out
    }
}

/// The segments with their ends moved so that no word is cut and no white space is at a cut. A segment never grows
/// over the next one; they become one then.
fn between_words(text: &str, segments: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut moved: Vec<Range<usize>> = Vec::with_capacity(segments.len());
    for (number, segment) in segments.iter().enumerate() {
        let shown = moved.last().map_or(0, |last| last.end);
        let limit = segments.get(number + 1).map_or(text.len(), |next| next.start);
        let start = if segment.start > shown { start_of_words(text, segment.start).max(shown) } else { shown };
        let end = if segment.end < limit { end_of_words(text, segment.end, limit) } else { limit };
        moved.push(start..end);
    }
    join_segments(moved)
}

/// The beginning of the word at a place, or of the next word if there is none.
fn start_of_words(text: &str, at: usize) -> usize {
    let at = text.floor_char_boundary(at);
    if text[at..].starts_with(is_word) {
        at - length_while(text[..at].chars().rev(), is_word)
    } else {
        at + length_while(text[at..].chars(), |character| !is_word(character))
    }
}

/// The end of the word at a place, or of the one before it if no word goes on there.
fn end_of_words(text: &str, at: usize, limit: usize) -> usize {
    let at = text.floor_char_boundary(at);
    if text[at..].starts_with(is_word) && text[..at].ends_with(is_word) {
        at + length_while(text[at..text.floor_char_boundary(limit)].chars(), is_word)
    } else {
        at - length_while(text[..at].chars().rev(), |character| !is_word(character))
    }
}

/// The bytes of the first characters for which something is true, as far as an edge may be moved.
fn length_while(characters: impl Iterator<Item = char>, holds: impl Fn(char) -> bool) -> usize {
    let mut length = 0;
    for character in characters {
        if length >= EDGE_BYTES || !holds(character) {
            break;
        }
        length += character.len_utf8();
    }
    length
}
