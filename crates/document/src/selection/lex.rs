//! Tokens of a selection.
use brooklet_task::{Code, Rejection};

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name or keyword, as written.
    Word(String),
    Int(i64),
    Float(f64),
    Text(String),
    /// An operator or bracket.
    Sign(&'static str),
    /// What stands between `{` and `}` after a path: read on its own terms.
    End,
}

/// Longest first, so that `==` is not read as `=`.
const SIGNS: [&str; 21] =
    ["==", "!=", "<=", ">=", "=~", "()", "=", "<", ">", "+", "-", "*", "/", "%", "(", ")", "[", "]", "{", "}", "."];

/// Reads tokens from front to back, one ahead.
pub(super) struct Lexer<'a> {
    pub(super) text: &'a str,
    /// Where the token that was peeked at begins.
    at: usize,
    /// Where it ends.
    end: usize,
    code: Code,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str, code: Code) -> Lexer<'a> {
        Lexer { text, at: 0, end: 0, code }
    }

    /// Offset of the next token.
    pub(super) fn offset(&mut self) -> usize {
        self.skip_space();
        self.at
    }

    pub(super) fn error(&self, offset: usize, message: &str) -> Rejection {
        let mut rejection = Rejection::at(self.code, message, self.text, offset);
        if let Some(span) = rejection.span {
            let (line, column) = (span.line, span.column);
            let text = Rejection::quote(self.text);
            rejection.message =
                format!("Exception parsing document selector '{text}': {message} at line {line}, column {column}");
        }
        rejection
    }

    /// The next token, which stays the next one until [`Lexer::advance`].
    pub(super) fn peek(&mut self) -> Result<Token, Rejection> {
        self.skip_space();
        let rest = &self.text[self.at..];
        let Some(first) = rest.chars().next() else {
            self.end = self.at;
            return Ok(Token::End);
        };
        if first == '"' || first == '\'' {
            return self.string(first);
        }
        if first.is_ascii_digit() {
            return self.number();
        }
        if first.is_ascii_alphabetic() || first == '_' {
            let length = word_length(rest);
            self.end = self.at + length;
            return Ok(Token::Word(rest[..length].to_owned()));
        }
        match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            Some(sign) => {
                self.end = self.at + sign.len();
                Ok(Token::Sign(sign))
            }
            None if first == '$' => Ok(Token::Sign("$")),
            None => {
                let shown = Rejection::quote(first.encode_utf8(&mut [0; 4]));
                Err(self.error(self.at, &format!("Unexpected character '{shown}'")))
            }
        }
    }

    /// Steps over the token last peeked at.
    pub(super) fn advance(&mut self) {
        self.at = self.end;
    }

    fn skip_space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']).len();
    }

    fn number(&mut self) -> Result<Token, Rejection> {
        let rest = &self.text[self.at..];
        let too_large =
            |text: &str| self.error(self.at, &format!("The number {} is too large", Rejection::quote(text)));
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        if let Some(hexadecimal) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
            let length = hexadecimal.bytes().take_while(u8::is_ascii_hexdigit).count();
            if length == 0 {
                return Err(self.error(self.at, "Expected hexadecimal digits after '0x'"));
            }
            let bits = u64::from_str_radix(&hexadecimal[..length], 16).map_err(|_| too_large(&rest[..length + 2]))?;
            self.end = self.at + 2 + length;
            return Ok(Token::Int(bits as i64));
        }
        let mut length = digits(rest);
        if rest.as_bytes().get(length) != Some(&b'.') {
            let negative = self.text[..self.at].ends_with('-');
            let magnitude: u64 = rest[..length].parse().map_err(|_| too_large(&rest[..length]))?;
            // The least number has no positive counterpart; the parser puts the sign before it.
            if magnitude > i64::MAX as u64 + u64::from(negative) {
                return Err(too_large(&rest[..length]));
            }
            self.end = self.at + length;
            return Ok(Token::Int(magnitude as i64));
        }
        length += 1;
        length += digits(&rest[length..]);
        length += exponent_length(&rest[length..]);
        let value: f64 = rest[..length].parse().unwrap_or(f64::NAN);
        if !value.is_finite() {
            return Err(too_large(&rest[..length]));
        }
        let suffix = rest.as_bytes().get(length).is_some_and(|byte| b"fFdD".contains(byte));
        let suffix = suffix && word_length(&rest[length..]) == 1;
        self.end = self.at + length + usize::from(suffix);
        Ok(Token::Float(value))
    }

    fn string(&mut self, quote: char) -> Result<Token, Rejection> {
        let start = self.at;
        let mut out = String::new();
        let mut chars = self.text[start + 1..].char_indices();
        while let Some((offset, c)) = chars.next() {
            match c {
                c if c == quote => {
                    self.end = start + 1 + offset + 1;
                    return Ok(Token::Text(out));
                }
                '\\' => {
                    let rest = &self.text[start + 1 + offset..];
                    let Some((unescaped, length)) = unescape(rest, quote) else {
                        return Err(self.error(start + 1 + offset, "Illegal escape sequence in a string"));
                    };
                    out.push(unescaped);
                    // All characters of an escape are single bytes.
                    chars.nth(length - 2);
                }
                c => out.push(c),
            }
        }
        Err(self.error(start, "A string has no closing quote"))
    }

    /// The key between braces or the index between brackets, after the opening one: `$name`, a word, digits, a string.
    pub(super) fn subscript(&mut self, close: char) -> Result<Subscript, Rejection> {
        let rest = &self.text[self.at..];
        let variable = rest.strip_prefix('$');
        let length =
            variable.unwrap_or(rest).bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let subscript = if rest.starts_with('"') && close == '}' {
            let Token::Text(text) = self.string('"')? else { return Err(self.error(self.at, "Expected a key")) };
            self.advance();
            Subscript::Key(text)
        } else if length == 0 {
            let what = if close == '}' { "a key; one that is no word is written in double quotes" } else { "an index" };
            return Err(self.error(self.at, &format!("Expected {what}")));
        } else if let Some(variable) = variable {
            self.at += 1 + length;
            Subscript::Variable(variable[..length].to_owned())
        } else {
            self.at += length;
            Subscript::Key(rest[..length].to_owned())
        };
        if !self.text[self.at..].starts_with(close) {
            return Err(self.error(self.at, &format!("Expected '{close}'")));
        }
        self.at += 1;
        Ok(subscript)
    }
}

/// What stands in brackets or braces of a path.
pub(super) enum Subscript {
    Key(String),
    Variable(String),
}

fn word_length(text: &str) -> usize {
    text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count()
}

/// Length of `e+12`, if that is what comes next.
fn exponent_length(text: &str) -> usize {
    let Some(rest) = text.strip_prefix(['e', 'E']) else { return 0 };
    let signed = usize::from(rest.starts_with(['+', '-']));
    let digits = rest[signed..].bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 { 0 } else { 1 + signed + digits }
}

/// The character of the escape that `text` begins with, and its length in bytes.
fn unescape(text: &str, quote: char) -> Option<(char, usize)> {
    let escaped = text.chars().nth(1)?;
    Some(match escaped {
        '\\' => ('\\', 2),
        't' => ('\t', 2),
        'n' => ('\n', 2),
        'f' => ('\u{c}', 2),
        'r' => ('\r', 2),
        '"' | '\'' | '*' | '?' if escaped == quote || escaped == '"' => (escaped, 2),
        'x' => (char::from(u8::from_str_radix(text.get(2..4)?, 16).ok()?), 4),
        _ => return None,
    })
}
