//! YQL's tokens. Nothing is refused here: what is no token becomes [`Token::Broken`], for the parser to meet in its turn.
use crate::tree::TextRange;

/// A token and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lexeme {
    pub token: Token,
    pub place: TextRange,
}

/// What the parser sees.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// A name or keyword, as written.
    Name(String),
    /// A text, unescaped.
    Text(String),
    /// Digits without a fraction that fit 64 bits, and whether they had the suffix `L`.
    Integer(i64, bool),
    /// Digits with a fraction or exponent.
    Float(f64),
    /// Digits that fit no number.
    HugeNumber,
    /// Punctuation and operators.
    Mark(&'static str),
    /// `all(…)` or `each(…)` as far as the grouping language goes.
    Grouping,
    /// Something that is no token, and why.
    Broken(&'static str),
    /// The end of the text.
    End,
}

/// All tokens of a text; the last is [`Token::End`].
pub(crate) fn lex(text: &str) -> Vec<Lexeme> {
    let mut lexer = Lexer { text, at: 0, unclosed: false };
    let mut lexemes = Vec::new();
    loop {
        lexer.skip_blanks();
        let start = lexer.at;
        let token = lexer.token();
        let end = token == Token::End;
        lexemes.push(Lexeme { token, place: TextRange { start, end: lexer.at } });
        if end {
            return lexemes;
        }
    }
}

/// Longest first, so that `<=` is not read as `<`.
const MARKS: [&str; 22] =
    ["<=", ">=", "!=", "<", ">", "=", "!", "-", "+", "*", "/", "%", "(", ")", "[", "]", "{", "}", ",", ":", ";", "|"];
/// Marks that cannot begin another token, so they need not be sorted in above.
const MORE_MARKS: [&str; 2] = [".", "@"];

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// Whether a comment or grouping was seen that does not end: the text is wrong then, and is not searched again and
    /// again for ends that are not there.
    unclosed: bool,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            let blank = if rest.starts_with([' ', '\t', '\r', '\n']) {
                1
            } else if rest.starts_with("//") || rest.starts_with('#') {
                rest.find(['\n', '\r']).unwrap_or(rest.len())
            } else if rest.starts_with("/*") && !self.unclosed {
                match rest.find("*/") {
                    Some(end) => end + 2,
                    None => {
                        self.unclosed = true;
                        return;
                    }
                }
            } else {
                return;
            };
            self.at += blank;
        }
    }

    fn token(&mut self) -> Token {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Token::End };
        if first.is_ascii_alphabetic() || first == '_' {
            return self.name();
        }
        if let Some(length) = number_length(rest) {
            return self.number(length);
        }
        if first == '"' || first == '\'' {
            return self.string(first);
        }
        for mark in MARKS.iter().chain(&MORE_MARKS) {
            if rest.starts_with(mark) {
                self.at += mark.len();
                return Token::Mark(mark);
            }
        }
        self.at += first.len_utf8();
        Token::Broken("")
    }

    fn name(&mut self) -> Token {
        let rest = self.rest();
        let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-')).unwrap_or(rest.len());
        let name = &rest[..length];
        if !self.unclosed && begins_grouping(rest, name) {
            if let Some(grouping) = grouping_length(rest, name) {
                self.at += grouping;
                return Token::Grouping;
            }
            self.unclosed = true;
        }
        // `order by` is one word with one blank in it.
        if name.eq_ignore_ascii_case("order") && ends_word(rest, "order by") {
            self.at += "order by".len();
            return Token::Name("order by".to_owned());
        }
        self.at += length;
        Token::Name(name.to_owned())
    }

    fn number(&mut self, length: usize) -> Token {
        let digits = &self.rest()[..length];
        self.at += length;
        if digits.contains(['.', 'e', 'E']) {
            return digits.parse().map_or(Token::HugeNumber, Token::Float);
        }
        let long = self.rest().starts_with(['L', 'l']);
        self.at += usize::from(long);
        digits.parse().map_or(Token::HugeNumber, |value| Token::Integer(value, long))
    }

    fn string(&mut self, quote: char) -> Token {
        let mut value = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((offset, c)) = chars.next() {
            if c == quote {
                self.at += offset + 1;
                return Token::Text(value);
            }
            if c != '\\' {
                value.push(c);
                continue;
            }
            let escaped = chars.next().map(|(_, escaped)| escaped);
            let code = |chars: &mut dyn Iterator<Item = (usize, char)>| {
                (0..4).try_fold(0, |code, _| Some(code * 16 + chars.next()?.1.to_digit(16)?))
            };
            match escaped.and_then(simple_escape) {
                Some(c) => value.push(c),
                None if escaped == Some('u') => match code(&mut chars) {
                    Some(unit) => push_unit(&mut value, unit, &mut chars),
                    None => return self.broken_string("Invalid escape in a string."),
                },
                None => return self.broken_string("Invalid escape in a string."),
            }
        }
        self.broken_string("A string is not closed.")
    }

    fn broken_string(&mut self, why: &'static str) -> Token {
        self.at += 1;
        Token::Broken(why)
    }
}

fn simple_escape(c: char) -> Option<char> {
    Some(match c {
        'b' => '\u{8}',
        't' => '\t',
        'n' => '\n',
        'f' => '\u{c}',
        'r' => '\r',
        '"' | '\'' | '\\' | '/' => c,
        _ => return None,
    })
}

/// Adds the character of a UTF-16 unit. A high surrogate takes the `\u` escape after it along; one without its other
/// half becomes U+FFFD.
fn push_unit(value: &mut String, unit: u32, chars: &mut (impl Iterator<Item = (usize, char)> + Clone)) {
    if !(0xd800..0xdc00).contains(&unit) {
        value.push(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
        return;
    }
    let mut ahead = chars.clone();
    let low = (ahead.next().map(|(_, c)| c) == Some('\\') && ahead.next().map(|(_, c)| c) == Some('u'))
        .then(|| (0..4).try_fold(0, |code, _| Some(code * 16 + ahead.next()?.1.to_digit(16)?)))
        .flatten()
        .filter(|low| (0xdc00..0xe000).contains(low));
    match low {
        Some(low) => {
            *chars = ahead;
            let code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
            value.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        None => value.push(char::REPLACEMENT_CHARACTER),
    }
}

/// The length of `-?digits`, with fraction and exponent, that `text` begins with.
fn number_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut at = usize::from(bytes.first() == Some(&b'-'));
    let whole = digits(at);
    at += whole;
    if bytes.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        if whole + fraction == 0 {
            return None;
        }
        at += 1 + fraction;
    } else if whole == 0 {
        return None;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits((at + 1 + sign).min(bytes.len()));
        if exponent > 0 {
            at += 1 + sign + exponent;
        }
    }
    Some(at)
}

fn ends_word(text: &str, word: &str) -> bool {
    let matches = text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    matches && !text[word.len()..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// Whether `name`, at the beginning of `text`, is that of a grouping and has a parenthesis after it.
fn begins_grouping(text: &str, name: &str) -> bool {
    let named = name.eq_ignore_ascii_case("all") || name.eq_ignore_ascii_case("each");
    named && text[name.len()..].trim_start().starts_with('(')
}

/// The length of `all(…)`/`each(…)` with an `as(…)` and `where(…)` after it; brackets of all kinds may close each other,
/// as ranges like `[1, 2>` do.
fn grouping_length(text: &str, name: &str) -> Option<usize> {
    let mut length = bracketed_length(text, name.len())?;
    for word in ["as", "where"] {
        let blanks = text[length..].len() - text[length..].trim_start().len();
        let after = &text[length + blanks..];
        if ends_word(after, word)
            && let Some(more) = bracketed_length(after, word.len())
        {
            length += blanks + more;
        }
    }
    Some(length)
}

/// The length of what begins with `skipped` bytes, blanks, and a `(` with everything up to its end.
fn bracketed_length(text: &str, skipped: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut quoted = false;
    let mut escaped = false;
    for (offset, c) in text[skipped..].char_indices() {
        match c {
            _ if quoted => {
                quoted = escaped || c != '"';
                escaped = !escaped && c == '\\';
            }
            '"' if depth > 0 => quoted = true,
            '(' => depth += 1,
            '[' | '<' if depth > 0 => depth += 1,
            ')' | ']' | '>' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    return Some(skipped + offset + 1);
                }
            }
            _ if depth == 0 && !c.is_ascii_whitespace() => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token> {
        lex(text).into_iter().map(|lexeme| lexeme.token).collect()
    }

    #[test]
    fn numbers_strings_names_and_marks_are_told_apart() {
        assert_eq!(
            tokens("a-b <= -1.5e3 5L \"x\\u00e5\\\"\" 'y' @p # c"),
            vec![
                Token::Name("a-b".into()),
                Token::Mark("<="),
                Token::Float(-1500.0),
                Token::Integer(5, true),
                Token::Text("xå\"".into()),
                Token::Text("y".into()),
                Token::Mark("@"),
                Token::Name("p".into()),
                Token::End,
            ]
        );
    }

    #[test]
    fn surrogate_escapes_join() {
        assert_eq!(tokens(r#""\uD83D\uDE00""#)[0], Token::Text("😀".into()));
        assert_eq!(tokens(r#""\uD83Dx""#)[0], Token::Text("\u{fffd}x".into()));
    }

    #[test]
    fn a_grouping_is_one_token_up_to_its_last_bracket() {
        let text = "all(group(bucket[1, 2>) each(output(count()))) as(x) where(true) ;";
        let lexemes = lex(text);
        assert_eq!(lexemes[0].token, Token::Grouping);
        assert_eq!(&text[lexemes[0].place.end..], " ;");
        assert_eq!(tokens("all contains")[0], Token::Name("all".into()));
        assert_eq!(tokens("all(group(year")[0], Token::Name("all".into()));
    }
}
