//! Cuts the text of a ranking expression into tokens. Numbers and words overlap in this language (`1a` is a word,
//! `1e5` a number): the longest reading wins, and a number before a word of the same length.
use brooklet_task::{Code, Rejection};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name: letters, digits, `_`, `@`, and `$` but first.
    Word,
    /// Digits only, or with a suffix that the language refuses later.
    Integer,
    /// A number with a point or an exponent.
    Float,
    /// A text in quotes.
    Text,
    /// An operator or punctuation.
    Symbol(&'static str),
    /// The end, after the last token.
    End,
}

/// A token and its place in the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    /// What it is.
    pub(super) kind: TokenKind,
    /// Byte offset of its first byte.
    pub(super) start: usize,
    /// Byte offset after its last byte.
    pub(super) end: usize,
}

/// Longer ones first.
const SYMBOLS: &[&str] = &[
    "<=", "==", "~=", ">=", "!=", "&&", "||", "(", ")", "[", "]", "{", "}", "+", "-", "/", "*", "%", "^", ".", "$",
    ",", ":", "<", ">", "!",
];

/// The tokens of `text`, and one of kind [`TokenKind::End`] after them.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, Rejection> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b' ' | b'\n' | b'\r' | b'\t' => {
                at += 1;
                continue;
            }
            b'#' => {
                at += bytes[at..].iter().take_while(|byte| !matches!(byte, b'\n' | b'\r')).count();
                continue;
            }
            b'"' | b'\'' => end_of_text(text, at)?,
            byte if is_word(byte) && byte != b'$' => {
                let (kind, length) = word_or_number(&bytes[at..]);
                tokens.push(Token { kind, start: at, end: at + length });
                at += length;
                continue;
            }
            _ => {
                let symbol = SYMBOLS.iter().find(|symbol| bytes[at..].starts_with(symbol.as_bytes()));
                let symbol = symbol.ok_or_else(|| unexpected_sign(text, at))?;
                tokens.push(Token { kind: TokenKind::Symbol(symbol), start: at, end: at + symbol.len() });
                at += symbol.len();
                continue;
            }
        };
        tokens.push(Token { kind: TokenKind::Text, start: at, end });
        at = end;
    }
    tokens.push(Token { kind: TokenKind::End, start: bytes.len(), end: bytes.len() });
    Ok(tokens)
}

fn unexpected_sign(text: &str, at: usize) -> Rejection {
    let character = text[at..].chars().next().unwrap_or(' ').to_string();
    let message = format!("'{}' is not part of a ranking expression", Rejection::quote(&character));
    Rejection::at(Code::InvalidApplication, message, text, at)
}

/// Whether the byte can stand in a word.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'@' | b'$')
}

/// The end of the quoted text that starts at `start`.
fn end_of_text(text: &str, start: usize) -> Result<usize, Rejection> {
    let bytes = text.as_bytes();
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == bytes[start] => return Ok(at + 1),
            _ => at += 1,
        }
    }
    Err(Rejection::at(Code::InvalidApplication, "a text without its closing quote", text, start))
}

/// Kind and length of what begins with a letter, digit, `_` or `@`.
fn word_or_number(bytes: &[u8]) -> (TokenKind, usize) {
    let word = run(bytes, 0, is_word);
    let digits = run(bytes, 0, |byte| byte.is_ascii_digit());
    if digits == 0 {
        return (TokenKind::Word, word);
    }
    let float = float_length(bytes, digits);
    if float > digits && float >= word {
        return (TokenKind::Float, float);
    }
    let suffixed = digits + usize::from(matches!(bytes.get(digits), Some(b'l' | b'L')));
    let hexadecimal = match bytes {
        [b'0', b'x' | b'X', ..] => 2 + run(bytes, 2, |byte| byte.is_ascii_hexdigit()),
        _ => 0,
    };
    let is_integer = suffixed.max(if hexadecimal > 2 { hexadecimal } else { 0 }) >= word;
    (if is_integer { TokenKind::Integer } else { TokenKind::Word }, word)
}

/// Length of the number with point, exponent or float suffix that starts with `digits` digits.
fn float_length(bytes: &[u8], digits: usize) -> usize {
    let mut length = digits;
    if bytes.get(length) == Some(&b'.') {
        length += 1;
        length += run(bytes, length, |byte| byte.is_ascii_digit());
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let exponent = run(bytes, length + 1 + sign, |byte| byte.is_ascii_digit());
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    length + usize::from(matches!(bytes.get(length), Some(b'f' | b'F' | b'd' | b'D')))
}

fn run(bytes: &[u8], from: usize, belongs: impl Fn(u8) -> bool) -> usize {
    bytes.get(from..).unwrap_or_default().iter().take_while(|byte| belongs(**byte)).count()
}

/// The text a quoted token stands for.
pub(super) fn unquote(token: &str) -> Option<String> {
    let mut text = String::new();
    let mut characters = token.get(1..token.len().checked_sub(1)?)?.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        text.push(match characters.next()? {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'f' => '\u{c}',
            'x' => char::from((characters.next()?.to_digit(16)? * 16 + characters.next()?.to_digit(16)?) as u8),
            quoted @ ('"' | '\'' | '\\') => quoted,
            _ => return None,
        });
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(TokenKind, &str)> {
        let tokens = tokens(text).unwrap();
        tokens.iter().filter(|t| t.kind != TokenKind::End).map(|t| (t.kind, &text[t.start..t.end])).collect()
    }

    #[test]
    fn the_longest_reading_wins() {
        use TokenKind::{Float, Integer, Symbol, Word};
        assert_eq!(
            kinds("1a 1e5x 1e5 1.5f 5. 0x 1l"),
            [
                (Word, "1a"),
                (Word, "1e5x"),
                (Float, "1e5"),
                (Float, "1.5f"),
                (Float, "5."),
                (Word, "0x"),
                (Integer, "1l"),
            ]
        );
        assert_eq!(
            kinds("0x1F 08 a.5"),
            [(Integer, "0x1F"), (Integer, "08"), (Word, "a"), (Symbol("."), "."), (Integer, "5")]
        );
        assert_eq!(
            kinds("a<=b # c\n!d"),
            [(Word, "a"), (Symbol("<="), "<="), (Word, "b"), (Symbol("!"), "!"), (Word, "d")]
        );
    }

    #[test]
    fn texts_are_unquoted() {
        assert_eq!(unquote(r#""a\"b\\\x41\n""#).as_deref(), Some("a\"b\\A\n"));
        assert_eq!(unquote(r"'it\'s'").as_deref(), Some("it's"));
        assert_eq!(unquote(r#""\q""#), None);
        assert!(
            tokens("\"abc").is_err() && tokens("'abc\\'").is_err() && tokens("a = b").is_err() && tokens("ä").is_err()
        );
    }
}
