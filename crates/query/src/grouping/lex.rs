//! Tokens of the grouping language. Whether a blank stands before a token matters: `sum (a)` is not a call.
use crate::tree::TextRange;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'a> {
    Name(&'a str),
    /// Digits as written, with everything that belongs to them.
    Number(&'a str),
    /// A text, unescaped.
    Text(String),
    Mark(char),
    End,
}

#[derive(Clone, Debug)]
pub(super) struct Lexeme<'a> {
    pub token: Token<'a>,
    pub place: TextRange,
    /// Whether a blank stands before it; comments are none.
    pub spaced: bool,
}

/// All tokens of `text`; the last is [`Token::End`]. A character that begins no token is a mark.
#[inline(never)]
pub(super) fn lex(text: &str) -> Vec<Lexeme<'_>> {
    let mut lexemes = Vec::new();
    let (mut at, mut spaced) = (0, false);
    while at < text.len() {
        let rest = &text[at..];
        let first = rest.chars().next().unwrap_or(' ');
        if matches!(first, ' ' | '\n' | '\r' | '\t') {
            (at, spaced) = (at + 1, true);
            continue;
        }
        if let Some(length) = comment(rest) {
            at += length;
            continue;
        }
        let (token, length) = token(rest, first);
        lexemes.push(Lexeme { token, place: TextRange { start: at, end: at + length }, spaced });
        (at, spaced) = (at + length, false);
    }
    lexemes.push(Lexeme { token: Token::End, place: TextRange { start: at, end: at }, spaced });
    lexemes
}

fn comment(rest: &str) -> Option<usize> {
    if rest.starts_with('#') || rest.starts_with("//") {
        return Some(rest.find(['\n', '\r']).unwrap_or(rest.len()));
    }
    rest.strip_prefix("/*").and_then(|inside| inside.find("*/")).map(|end| end + 4)
}

fn token(rest: &str, first: char) -> (Token<'_>, usize) {
    if first.is_ascii_alphabetic() {
        let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '@';
        let length = rest.find(|c| !part(c)).unwrap_or(rest.len());
        return (Token::Name(&rest[..length]), length);
    }
    if first.is_ascii_digit() {
        let length = number_length(rest);
        return (Token::Number(&rest[..length]), length);
    }
    if (first == '"' || first == '\'')
        && let Some(length) = text_length(rest, first as u8)
    {
        return (Token::Text(unescape(&rest[1..length - 1])), length);
    }
    (Token::Mark(first), first.len_utf8())
}

/// The length of a number: of several readings the longest, as the reference implementation takes it.
fn number_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let digits = |from: usize| bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
    let one_of = |at: usize, among: &[u8]| usize::from(bytes.get(at).is_some_and(|byte| among.contains(byte)));
    if bytes[0] == b'0' && one_of(1, b"xX") == 1 {
        let hex = bytes.iter().skip(2).take_while(|byte| byte.is_ascii_hexdigit()).count();
        if hex > 0 {
            return 2 + hex + one_of(2 + hex, b"lL");
        }
    }
    let mut at = digits(0);
    if one_of(at, b"lL") == 1 {
        return at + 1;
    }
    if one_of(at, b".") == 1 {
        at += 1 + digits(at + 1);
    }
    if one_of(at, b"eE") == 1 {
        let sign = one_of(at + 1, b"+-");
        let exponent = digits(at + 1 + sign);
        if exponent > 0 {
            at += 1 + sign + exponent;
        }
    }
    at + one_of(at, b"fFdD")
}

/// The length of a text with its quotes. A quote after a backslash ends it only if no later one does.
fn text_length(rest: &str, quote: u8) -> Option<usize> {
    let mut last = None;
    let bytes = rest.as_bytes();
    for (at, byte) in bytes.iter().enumerate().skip(1) {
        if *byte == quote {
            last = Some(at + 1);
            if bytes[at - 1] != b'\\' {
                break;
            }
        }
    }
    last
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    let mut high: Option<u32> = None;
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('f') => out.push('\u{c}'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('u') => {
                let ahead: String = chars.as_str().chars().take(4).collect();
                match u32::from_str_radix(&ahead, 16) {
                    Ok(unit) if ahead.len() == 4 => {
                        chars.nth(3);
                        high = push_unit(&mut out, unit, high);
                        continue;
                    }
                    _ => out.push('u'),
                }
            }
            Some(other) => out.push(other),
            None => {}
        }
        high = None;
    }
    out
}

/// Adds a UTF-16 unit; two that belong together become one character. Returns the first of a pair to come.
fn push_unit(out: &mut String, unit: u32, high: Option<u32>) -> Option<u32> {
    if let Some(high) = high
        && (0xdc00..0xe000).contains(&unit)
    {
        out.pop();
        let code = 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00);
        out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        return None;
    }
    out.push(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
    (0xd800..0xdc00).contains(&unit).then_some(unit)
}
