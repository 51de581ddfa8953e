//! Tokens of the indexing language, which are not those of the schema around it: `.` joins, `-` is part of names.

/// A token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    Newline,
    Name(&'a str),
    /// The raw text between quotes, escapes and all.
    Text(&'a str),
    Number(&'a str),
    Symbol(&'a str),
    End,
}

/// The token `rest` begins with, and its length in bytes.
pub(super) fn scan(rest: &str) -> (Token<'_>, usize) {
    let Some(first) = rest.chars().next() else { return (Token::End, 0) };
    if first == '\n' {
        return (Token::Newline, 1);
    }
    if first == '"' || first == '\'' {
        return match text_length(&rest[1..], first) {
            Some(length) => (Token::Text(&rest[1..=length]), length + 2),
            None => (Token::Symbol(&rest[..1]), 1),
        };
    }
    if first.is_ascii_digit() {
        let length = number_length(rest);
        return (Token::Number(&rest[..length]), length);
    }
    let length = name_length(rest);
    if length > 0 {
        return (Token::Name(&rest[..length]), length);
    }
    let two = ["||", "==", "!=", "<=", ">="].iter().any(|symbol| rest.starts_with(symbol));
    let length = if two { 2 } else { first.len_utf8() };
    (Token::Symbol(&rest[..length]), length)
}

/// Length of a name: letters, digits, `_` and `-`, not beginning with a digit or `-`.
pub(super) fn name_length(rest: &str) -> usize {
    if !rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return 0;
    }
    rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-').unwrap_or(rest.len())
}

/// Length of a number: digits and letters, a dot before a digit, and a sign after an exponent.
fn number_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let hexadecimal = bytes.len() > 1 && bytes[0] == b'0' && bytes[1].eq_ignore_ascii_case(&b'x');
    let mut length = 0;
    while let Some(byte) = bytes.get(length) {
        let digit_follows = bytes.get(length + 1).is_some_and(u8::is_ascii_digit);
        let after_exponent = !hexadecimal && length > 0 && bytes[length - 1].eq_ignore_ascii_case(&b'e');
        let part = byte.is_ascii_alphanumeric()
            || (*byte == b'.' && digit_follows)
            || (matches!(byte, b'+' | b'-') && after_exponent && digit_follows);
        if !part {
            break;
        }
        length += 1;
    }
    length
}

/// Length of a text up to its closing quote, which a backslash protects; nothing if there is none.
fn text_length(rest: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (i, c) in rest.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == quote {
            return Some(i);
        }
    }
    None
}

/// Resolves backslashes: `\t \n \f \r \xHH`, and any other character stands for itself.
pub(super) fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match rest.next() {
            Some('t') => out.push('\t'),
            Some('n') => out.push('\n'),
            Some('f') => out.push('\u{c}'),
            Some('r') => out.push('\r'),
            Some('x') => {
                let code: String = rest.clone().take(2).collect();
                match u8::from_str_radix(&code, 16) {
                    Ok(byte) => {
                        out.push(char::from(byte));
                        rest.nth(1);
                    }
                    Err(_) => out.push('x'),
                }
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}
