//! A strict pull parser for JSON (RFC 8259, nothing more) over one text in memory.
//!
//! The caller asks for what it expects and the lexer moves on: `begin_object`, `next_key`, `string`, … A clone is a
//! cheap look-ahead. Limits of depth and length are kept here; which keys may come, and how often, is the caller's
//! business (see [`UniqueNames`](super::UniqueNames)).
use std::borrow::Cow;

use brooklet_task::limits::{JSON_DEPTH, JSON_NUMBER, JSON_STRING};
use brooklet_task::{Code, Rejection};

use super::number::{NumberToken, scan_number};

type Lexed<T> = Result<T, Rejection>;

/// What the next value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonKind {
    /// `{`
    Object,
    /// `[`
    Array,
    /// A string.
    String,
    /// A number.
    Number,
    /// `true` or `false`.
    Bool,
    /// `null`
    Null,
}

impl JsonKind {
    /// As in "expected a number, but got an object".
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            JsonKind::Object => "an object",
            JsonKind::Array => "an array",
            JsonKind::String => "a string",
            JsonKind::Number => "a number",
            JsonKind::Bool => "a boolean",
            JsonKind::Null => "null",
        }
    }

    /// Whether it has no parts.
    #[must_use]
    pub const fn is_scalar(self) -> bool {
        !matches!(self, JsonKind::Object | JsonKind::Array)
    }
}

/// Reads JSON from front to back.
#[derive(Clone, Debug)]
pub struct Lexer<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    depth: usize,
    /// Nothing of the innermost open object or array was read yet, so no comma is due.
    pub(super) at_first: bool,
    code: Code,
}

const BYTE_ORDER_MARK: char = '\u{feff}';

impl<'a> Lexer<'a> {
    /// Reads `text`; what is wrong with it is told with `code`.
    #[must_use]
    pub fn new(text: &'a str, code: Code) -> Lexer<'a> {
        Lexer { text, at: 0, depth: 0, at_first: true, code }
    }

    /// Reads `bytes`, which must be UTF-8. A byte order mark before it is no part of the text.
    ///
    /// # Errors
    /// If they are not; the message tells the offset.
    pub fn from_bytes(bytes: &'a [u8], code: Code) -> Lexed<Lexer<'a>> {
        match simdutf8::compat::from_utf8(bytes) {
            Ok(text) => Ok(Lexer::new(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text), code)),
            Err(error) => {
                let offset = error.valid_up_to();
                let valid = std::str::from_utf8(&bytes[..offset]).unwrap_or("");
                Err(Rejection::at(code, format!("Invalid UTF-8 at byte {offset}"), valid, offset))
            }
        }
    }

    /// The text that is read.
    #[must_use]
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Offset of the next byte. Right after [`Lexer::kind`] it is that of the next value.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.at
    }

    /// A rejection at `offset`, with line and column in its message.
    #[must_use]
    pub fn error_at(&self, offset: usize, message: &str) -> Rejection {
        let mut rejection = Rejection::at(self.code, message, self.text, offset);
        if let Some(span) = rejection.span {
            rejection.message.push_str(&format!(" (line {}, column {})", span.line, span.column));
        }
        rejection
    }

    /// What the next value is, without reading it.
    ///
    /// # Errors
    /// If no value can begin here.
    #[inline]
    pub fn kind(&mut self) -> Lexed<JsonKind> {
        self.skip_space();
        match self.peek() {
            Some(b'{') => Ok(JsonKind::Object),
            Some(b'[') => Ok(JsonKind::Array),
            Some(b'"') => Ok(JsonKind::String),
            Some(b'-' | b'0'..=b'9') => Ok(JsonKind::Number),
            Some(b't' | b'f') => Ok(JsonKind::Bool),
            Some(b'n') => Ok(JsonKind::Null),
            _ => Err(self.unexpected_token("a value")),
        }
    }

    /// Enters an object; its members follow by [`Lexer::next_key`].
    ///
    /// # Errors
    /// If there is none, or it is nested too deeply.
    pub fn begin_object(&mut self) -> Lexed<()> {
        self.begin(b'{', "an object")
    }

    /// The next key of the object, whose value must be read next, or nothing: then the object is left.
    ///
    /// # Errors
    /// If there is neither a member nor the end of the object.
    pub fn next_key(&mut self) -> Lexed<Option<Cow<'a, str>>> {
        if !self.next_part(b'}', "',' or '}'")? {
            return Ok(None);
        }
        self.skip_space();
        if self.peek() != Some(b'"') {
            return Err(self.unexpected_token("double-quote to start field name"));
        }
        let key = self.string()?;
        self.skip_space();
        if self.peek() != Some(b':') {
            return Err(self.unexpected_token("':'"));
        }
        self.at += 1;
        Ok(Some(key))
    }

    /// Enters an array; its elements follow by [`Lexer::next_element`].
    ///
    /// # Errors
    /// If there is none, or it is nested too deeply.
    pub fn begin_array(&mut self) -> Lexed<()> {
        self.begin(b'[', "an array")
    }

    /// Whether the array has another element, which must be read next; if not, the array is left.
    ///
    /// # Errors
    /// If there is neither an element nor the end of the array.
    #[inline]
    pub fn next_element(&mut self) -> Lexed<bool> {
        self.next_part(b']', "',' or ']'")
    }

    /// A string.
    ///
    /// # Errors
    /// If there is none, it is broken, or longer than the limit.
    pub fn string(&mut self) -> Lexed<Cow<'a, str>> {
        self.expect(JsonKind::String)?;
        let start = self.at + 1;
        let end = start + plain_length(&self.text.as_bytes()[start..]);
        let string = if self.text.as_bytes().get(end) == Some(&b'"') {
            self.at = end + 1;
            Cow::Borrowed(&self.text[start..end])
        } else {
            Cow::Owned(self.string_with_escapes(start)?)
        };
        if string.len() > JSON_STRING {
            let message = format!("A string of {} bytes is longer than the limit of {JSON_STRING}", string.len());
            return Err(Rejection { code: Code::TooLarge, ..self.error_at(start - 1, &message) });
        }
        self.at_first = false;
        Ok(string)
    }

    /// The text of a number.
    ///
    /// # Errors
    /// If there is none, it is malformed, or longer than the limit.
    pub fn number(&mut self) -> Lexed<&'a str> {
        self.expect(JsonKind::Number)?;
        let token = self.scan()?;
        Ok(token.text)
    }

    /// A number as the nearest float64; one that is too large is infinite.
    ///
    /// # Errors
    /// If there is none, it is malformed, or longer than the limit.
    #[inline]
    pub fn double(&mut self) -> Lexed<f64> {
        self.expect(JsonKind::Number)?;
        let token = self.scan()?;
        Ok(token.value())
    }

    /// `true` or `false`.
    ///
    /// # Errors
    /// If there is neither.
    pub fn boolean(&mut self) -> Lexed<bool> {
        self.expect(JsonKind::Bool)?;
        let value = self.peek() == Some(b't');
        self.word(if value { "true" } else { "false" })?;
        Ok(value)
    }

    /// `null`.
    ///
    /// # Errors
    /// If there is something else.
    pub fn null(&mut self) -> Lexed<()> {
        self.expect(JsonKind::Null)?;
        self.word("null")
    }

    /// The text of a string, number, boolean or null, as Java's readers take scalars.
    ///
    /// # Errors
    /// If there is an object or array, or the scalar is broken.
    pub fn scalar_text(&mut self) -> Lexed<Cow<'a, str>> {
        match self.kind()? {
            JsonKind::String => self.string(),
            JsonKind::Number => self.number().map(Cow::Borrowed),
            JsonKind::Bool => Ok(Cow::Borrowed(if self.boolean()? { "true" } else { "false" })),
            JsonKind::Null => self.null().map(|()| Cow::Borrowed("null")),
            composite => Err(self.error_at(self.at, &format!("Expected to be scalar value, got {}", composite.noun()))),
        }
    }

    /// Passes over the next value, checking it, and returns its text.
    ///
    /// # Errors
    /// If it is broken or beyond a limit.
    pub fn skip_value(&mut self) -> Lexed<&'a str> {
        let kind = self.kind()?;
        let start = self.at;
        match kind {
            JsonKind::Object => {
                self.begin_object()?;
                while self.next_key()?.is_some() {
                    self.skip_value()?;
                }
            }
            JsonKind::Array => {
                self.begin_array()?;
                while self.next_element()? {
                    self.skip_value()?;
                }
            }
            JsonKind::String => drop(self.string()?),
            JsonKind::Number => drop(self.number()?),
            JsonKind::Bool => drop(self.boolean()?),
            JsonKind::Null => self.null()?,
        }
        Ok(&self.text[start..self.at])
    }

    /// Whether only space is left.
    pub fn at_end(&mut self) -> bool {
        self.skip_space();
        self.at == self.text.len()
    }

    /// Requires that nothing but space is left.
    ///
    /// # Errors
    /// If there is more.
    pub fn end(&mut self) -> Lexed<()> {
        if self.at_end() { Ok(()) } else { Err(self.unexpected_token("the end of the text")) }
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    #[inline]
    fn expect(&mut self, kind: JsonKind) -> Lexed<()> {
        match self.kind()? {
            found if found == kind => Ok(()),
            found => Err(self.error_at(self.at, &format!("Expected {}, but got {}", kind.noun(), found.noun()))),
        }
    }

    fn begin(&mut self, open: u8, what: &str) -> Lexed<()> {
        let found = self.kind()?;
        if self.peek() != Some(open) {
            return Err(self.error_at(self.at, &format!("Expected {what}, but got {}", found.noun())));
        }
        if self.depth == JSON_DEPTH {
            return Err(self.error_at(self.at, &format!("JSON is nested more than {JSON_DEPTH} levels deep")));
        }
        self.at += 1;
        self.depth += 1;
        self.at_first = true;
        Ok(())
    }

    /// Moves to the next part of the innermost object or array, or out of it at `close`.
    #[inline]
    fn next_part(&mut self, close: u8, expected: &str) -> Lexed<bool> {
        self.skip_space();
        let first = std::mem::replace(&mut self.at_first, false);
        match self.peek() {
            Some(byte) if byte == close => {
                self.at += 1;
                self.depth -= 1;
                Ok(false)
            }
            Some(b',') if !first => {
                self.at += 1;
                Ok(true)
            }
            Some(_) if first => Ok(true),
            _ => Err(self.unexpected_token(expected)),
        }
    }

    #[inline]
    fn scan(&mut self) -> Lexed<NumberToken<'a>> {
        match scan_number(&self.text[self.at..]) {
            Some(token) if token.text.len() <= JSON_NUMBER => {
                self.at += token.text.len();
                self.at_first = false;
                Ok(token)
            }
            Some(_) => Err(self.error_at(self.at, &format!("A number has more than {JSON_NUMBER} characters"))),
            None => Err(self.error_at(self.at, "Malformed number")),
        }
    }

    fn word(&mut self, word: &str) -> Lexed<()> {
        let rest = &self.text[self.at..];
        let length = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
        if &rest[..length] != word {
            return Err(self.error_at(self.at, &format!("Unrecognized token '{}'", Rejection::quote(&rest[..length]))));
        }
        self.at += length;
        self.at_first = false;
        Ok(())
    }

    fn unexpected_token(&self, expected: &str) -> Rejection {
        match self.text[self.at..].chars().next() {
            None => self.error_at(self.at, &format!("Unexpected end of JSON: was expecting {expected}")),
            Some(c) => {
                let shown = Rejection::quote(c.encode_utf8(&mut [0; 4]));
                let message =
                    format!("Unexpected character ('{shown}' (code {})): was expecting {expected}", u32::from(c));
                self.error_at(self.at, &message)
            }
        }
    }

    /// The slow way through a string whose content begins at `start`.
    fn string_with_escapes(&mut self, start: usize) -> Lexed<String> {
        let bytes = self.text.as_bytes();
        let mut out = String::new();
        let mut at = start;
        loop {
            let plain = plain_length(&bytes[at..]);
            out.push_str(&self.text[at..at + plain]);
            at += plain;
            match bytes.get(at) {
                Some(b'"') => {
                    self.at = at + 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    let (c, length) = self.escape(at)?;
                    out.push(c);
                    at += length;
                }
                Some(_) => return Err(self.error_at(at, "Illegal unescaped control character in a string")),
                None => return Err(self.error_at(start - 1, "Unexpected end of JSON: a string has no closing quote")),
            }
        }
    }

    /// The character that the escape at `at` stands for, and the length of the escape.
    fn escape(&self, at: usize) -> Lexed<(char, usize)> {
        let c = match self.text.as_bytes().get(at + 1) {
            Some(&c @ (b'"' | b'\\' | b'/')) => char::from(c),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(at),
            _ => return Err(self.error_at(at, "Unrecognized character escape in a string")),
        };
        Ok((c, 2))
    }

    fn unicode_escape(&self, at: usize) -> Lexed<(char, usize)> {
        let unit = self.code_unit(at)?;
        if let Some(c) = char::from_u32(unit) {
            return Ok((c, 6));
        }
        let lone = || self.error_at(at, &format!("Lone surrogate \\u{unit:04x} in a string"));
        if unit >= 0xdc00 || !self.text[at + 6..].starts_with("\\u") {
            return Err(lone());
        }
        let low = self.code_unit(at + 6)?.checked_sub(0xdc00).filter(|low| *low < 0x400).ok_or_else(lone)?;
        let code = 0x1_0000 + ((unit - 0xd800) << 10) + low;
        Ok((char::from_u32(code).ok_or_else(lone)?, 12))
    }

    /// The four hexadecimal digits of the escape at `at`.
    fn code_unit(&self, at: usize) -> Lexed<u32> {
        let digits = self.text.as_bytes().get(at + 2..at + 6);
        let value = digits.and_then(|digits| {
            digits.iter().try_fold(0, |value, &digit| Some(value << 4 | char::from(digit).to_digit(16)?))
        });
        value.ok_or_else(|| self.error_at(at, "Expected four hexadecimal digits after \\u"))
    }
}

/// The first place from `at` on where no space is. Mostly it is there at once.
#[inline]
pub(super) fn after_space(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(|byte| *byte <= b' ' && matches!(byte, b' ' | b'\n' | b'\r' | b'\t')) {
        at += 1;
    }
    at
}

/// Bytes up to the next quote, backslash or control character, eight at a time.
pub(super) fn plain_length(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    // The lowest byte that is zero after `word ^ pattern` gets its high bit set; higher ones may be false alarms, which
    // the loop below sorts out.
    let zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    let (chunks, _) = bytes.as_chunks::<8>();
    let mut at = 0;
    for chunk in chunks {
        let word = u64::from_le_bytes(*chunk);
        let control = word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
        if zero(word ^ (ONES * u64::from(b'"'))) | zero(word ^ (ONES * u64::from(b'\\'))) | control != 0 {
            break;
        }
        at += 8;
    }
    let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
    at + bytes[at..].iter().position(special).unwrap_or(bytes.len() - at)
}

#[cfg(test)]
mod tests;
