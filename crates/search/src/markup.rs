//! Markup (`format=xml`) as it is written from first to last: elements on lines of their own, texts without white space
//! around them. A piece may be written before it is known how deep it stands.
use std::borrow::Cow;

use brooklet_document::json::{print_double, print_float};

/// Stands in a piece for a line feed and blanks; the depth of the line follows. No text has it.
const LINE: u8 = 1;
/// Added to a depth in a piece, so that it is no control character.
const DEPTH: u8 = 0x40;
/// Deeper lines begin no further to the right.
const DEPTH_MAX: usize = 10;

/// What an open element has in it so far.
#[derive(Clone, Copy, PartialEq)]
enum Content {
    Nothing,
    Text,
    Elements,
}

/// A text of markup that is being written.
pub(crate) struct Markup {
    out: Vec<u8>,
    open: Vec<(&'static str, Content)>,
    /// Whether it is a piece.
    is_piece: bool,
}

impl Markup {
    /// A document with its first line.
    pub(crate) fn document(charset: &str) -> Markup {
        let out = format!("<?xml version=\"1.0\" encoding=\"{charset}\" ?>").into_bytes();
        Markup { out, open: Vec::new(), is_piece: false }
    }

    /// A piece of a document, to be put into it where it is known how deep.
    pub(crate) fn piece() -> Markup {
        Markup { out: Vec::new(), open: Vec::new(), is_piece: true }
    }

    /// Opens an element.
    pub(crate) fn begin(&mut self, name: &'static str, attributes: &[(&str, &str)]) {
        self.contains(Content::Elements);
        self.line();
        self.out.push(b'<');
        self.out.extend(name.as_bytes());
        for (name, value) in attributes {
            self.out.extend(format!(" {name}=\"{}\"", escape(value).replace('"', "&quot;")).as_bytes());
        }
        self.open.push((name, Content::Nothing));
    }

    /// Closes the element that was opened last.
    pub(crate) fn end(&mut self) {
        let Some((name, content)) = self.open.pop() else { return };
        match content {
            Content::Nothing => return self.out.extend(b"/>"),
            Content::Text => {}
            Content::Elements => self.line(),
        }
        self.out.extend(format!("</{name}>").as_bytes());
    }

    /// An element with a text in it.
    pub(crate) fn element(&mut self, name: &'static str, attributes: &[(&str, &str)], text: &str) {
        self.begin(name, attributes);
        self.text(text);
        self.end();
    }

    /// A text in the open element, escaped; also an empty one is a text.
    pub(crate) fn text(&mut self, text: &str) {
        self.contains(Content::Text);
        self.out.extend(escape(text).as_bytes());
    }

    /// A text that is markup itself.
    pub(crate) fn raw(&mut self, markup: &str) {
        self.contains(Content::Text);
        self.out.extend(markup.as_bytes());
    }

    /// A new line before the end of an element that has nothing in it.
    pub(crate) fn empty_line(&mut self) {
        self.contains(Content::Elements);
    }

    /// A new line as deep as the open element, in the midst of its text.
    pub(crate) fn line_in_text(&mut self) {
        let depth = self.open.len().saturating_sub(1);
        self.line_at(depth);
    }

    /// The elements of a piece, in the open element.
    pub(crate) fn put(&mut self, piece: &[u8]) {
        if piece.is_empty() {
            return;
        }
        self.contains(Content::Elements);
        let mut bytes = piece.iter().copied();
        while let Some(byte) = bytes.next() {
            if byte == LINE {
                let depth = bytes.next().unwrap_or(DEPTH).saturating_sub(DEPTH);
                self.line_at(self.open.len() + usize::from(depth));
            } else {
                self.out.push(byte);
            }
        }
    }

    /// What was written; a document ends with a line feed.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        if !self.is_piece {
            self.out.push(b'\n');
        }
        self.out
    }

    /// Ends the tag of the open element, once it has something in it. After a text it has text until it ends.
    fn contains(&mut self, more: Content) {
        let Some((_, content)) = self.open.last_mut() else { return };
        match *content {
            Content::Nothing => {
                self.out.push(b'>');
                *content = more;
            }
            Content::Elements if more == Content::Text => *content = Content::Text,
            _ => {}
        }
    }

    fn line(&mut self) {
        self.line_at(self.open.len());
    }

    fn line_at(&mut self, depth: usize) {
        if self.is_piece {
            self.out.extend([LINE, DEPTH + depth.min(DEPTH_MAX) as u8]);
        } else {
            self.out.push(b'\n');
            self.out.extend(std::iter::repeat_n(b' ', 2 * depth.min(DEPTH_MAX)));
        }
    }
}

/// A double as it is written.
pub(crate) fn double_text(number: f64) -> String {
    let mut text = String::new();
    match () {
        () if number.is_nan() => text.push_str("NaN"),
        () if number == f64::INFINITY => text.push_str("Infinity"),
        () if number == f64::NEG_INFINITY => text.push_str("-Infinity"),
        () => print_double(number, &mut text),
    }
    text
}

/// A float likewise.
pub(crate) fn float_text(number: f32) -> String {
    let mut text = String::new();
    if !number.is_finite() {
        return double_text(number.into());
    }
    print_float(number, &mut text);
    text
}

/// A text as it stands between tags: what no markup can have is the replacement character.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| !matches!(c, '&' | '<' | '>') && (c >= ' ' || matches!(c, '\t' | '\n' | '\r'));
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\u{1f}' => {}
            c if is_plain(c) => out.push(c),
            _ => out.push(char::REPLACEMENT_CHARACTER),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_stand_on_lines_and_texts_do_not() {
        let mut piece = Markup::piece();
        piece.element("b", &[("n", "a\"<")], "x & y");
        piece.begin("c", &[]);
        piece.element("d", &[], "");
        piece.end();
        let piece = piece.finish();
        let mut document = Markup::document("utf-8");
        document.begin("a", &[]);
        document.put(&piece);
        document.begin("e", &[]);
        document.end();
        document.end();
        let text = String::from_utf8(document.finish()).unwrap();
        let expected = "<?xml version=\"1.0\" encoding=\"utf-8\" ?>\n<a>\n  <b n=\"a&quot;&lt;\">x &amp; y</b>\n  <c>\n    <d></d>\n  </c>\n  <e/>\n</a>\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn what_no_markup_can_have_is_replaced() {
        assert_eq!(escape("a\u{1}b\tc\u{1f}d"), "a\u{fffd}b\tcd");
    }
}
