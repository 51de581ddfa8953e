//! The caller's fault, said once and in full.
use crate::Code;

/// A place in a text: byte offset, and line and column (both from 1, column in characters) for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Byte offset from the start of the text.
    pub offset: usize,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl Span {
    /// The span of `offset` in `text`; offsets past the end mean the end.
    #[must_use]
    pub fn locate(text: &str, offset: usize) -> Span {
        let mut end = offset.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &text[..end];
        let line = before.matches('\n').count() as u32 + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() as u32 + 1;
        Span { offset: end, line, column }
    }
}

/// Why something was refused: a kind, one sentence of cause with the offending value, and the place if there is one.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejection {
    /// What kind of failure.
    pub code: Code,
    /// The sentence the caller sees. Values from input are cut by [`quote`](Rejection::quote).
    pub message: String,
    /// Where in the text that was refused.
    pub span: Option<Span>,
}

impl Rejection {
    /// A rejection without a place.
    pub fn new(code: Code, message: impl Into<String>) -> Rejection {
        Rejection { code, message: message.into(), span: None }
    }

    /// A rejection at `offset` of `text`.
    pub fn at(code: Code, message: impl Into<String>, text: &str, offset: usize) -> Rejection {
        Rejection { code, message: message.into(), span: Some(Span::locate(text, offset)) }
    }

    /// Stored bytes that are not what was written.
    pub fn corrupt(message: impl Into<String>) -> Rejection {
        Rejection::new(Code::StoreCorrupt, message)
    }

    /// The same rejection with `context: ` in front of its message.
    #[must_use]
    pub fn within(mut self, context: &str) -> Rejection {
        self.message = format!("{context}: {}", self.message);
        self
    }

    /// A value from input as it may be echoed: at most 100 bytes, control characters escaped.
    #[must_use]
    pub fn quote(value: &str) -> String {
        let mut out = String::new();
        for c in value.chars() {
            if out.len() >= 100 {
                out.push('…');
                break;
            }
            if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
        }
        out
    }
}

impl std::fmt::Display for Rejection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Rejection {}
