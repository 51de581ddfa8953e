//! A reader of JSON texts, as lenient as the reference implementation's: strings may be in single quotes and may hold raw
//! line breaks. It is given no more depth and length than the limits say, and tells where a text is wrong. What a value
//! is to be is the caller's: pairs of a body, the tree of a query, the text of a grouping.
use brooklet_task::limits::{JSON_DEPTH, JSON_NUMBER, JSON_STRING};
use brooklet_task::{Code, Rejection};

/// A place in a JSON text.
pub(crate) struct Reader<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: usize,
    depth: usize,
    /// The code and the first words of rejections.
    code: Code,
    prefix: &'static str,
}

pub(crate) type Read<T> = Result<T, Rejection>;

/// Which escapes a string may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escapes {
    /// Those of JSON, and of the single quote.
    Json,
    /// Any character: what JSON does not have stands for itself.
    Any,
}

/// What is wrong with a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StringFault {
    /// It is not closed.
    Open,
    /// It is longer than so many bytes.
    Length(usize),
    /// There is no such escape.
    Escape(char),
    /// An escape of a code unit lacks digits.
    CodeUnit,
}

impl std::fmt::Display for StringFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StringFault::Open => f.write_str("A string is not closed"),
            StringFault::Length(bytes_max) => write!(f, "A string is longer than {bytes_max} bytes"),
            StringFault::Escape(c) => write!(f, "Unrecognized escape '\\{}'", Rejection::quote(&c.to_string())),
            StringFault::CodeUnit => f.write_str("Expected four hexadecimal digits after '\\u'"),
        }
    }
}

impl<'a> Reader<'a> {
    /// The beginning of `text`, with the code and the first words of rejections.
    pub(crate) fn new(text: &'a str, code: Code, prefix: &'static str) -> Reader<'a> {
        Reader { text, at: 0, depth: 0, code, prefix }
    }

    pub(crate) fn refuse(&self, reason: &str) -> Rejection {
        self.refuse_at(self.at, reason)
    }

    pub(crate) fn refuse_at(&self, at: usize, reason: &str) -> Rejection {
        Rejection::at(self.code, format!("{}{reason}", self.prefix), self.text, at)
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    pub(crate) fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.text.as_bytes().get(self.at) {
            self.at += 1;
        }
    }

    pub(crate) fn skip(&mut self, expected: char) -> bool {
        let found = self.peek() == Some(expected);
        self.at += if found { expected.len_utf8() } else { 0 };
        found
    }

    pub(crate) fn expect(&mut self, expected: char) -> Read<()> {
        self.skip_space();
        if self.skip(expected) {
            return Ok(());
        }
        let got = self.peek().map_or("the end".to_owned(), |c| format!("'{}'", Rejection::quote(&c.to_string())));
        Err(self.refuse(&format!("Expected '{expected}', got {got}")))
    }

    pub(crate) fn enter(&mut self) -> Read<()> {
        self.depth += 1;
        if self.depth > JSON_DEPTH {
            return Err(self.refuse(&format!("Nested more than {JSON_DEPTH} levels deep")));
        }
        Ok(())
    }

    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Passes over any value, checking that it is one.
    pub(crate) fn value(&mut self) -> Read<()> {
        self.skip_space();
        match self.peek() {
            Some('{') => self.sequence('{', '}', |reader| {
                reader.skip_space();
                reader.string()?;
                reader.expect(':')?;
                reader.value()
            }),
            Some('[') => self.sequence('[', ']', Reader::value),
            Some('"' | '\'') => self.string().map(|_| ()),
            Some('-' | '0'..='9') => self.number().map(|_| ()),
            _ => self.word().map(|_| ()),
        }
    }

    fn sequence(&mut self, open: char, close: char, element: impl Fn(&mut Self) -> Read<()>) -> Read<()> {
        self.enter()?;
        self.expect(open)?;
        self.skip_space();
        if self.skip(close) {
            self.leave();
            return Ok(());
        }
        loop {
            element(self)?;
            self.skip_space();
            if !self.skip(',') {
                self.expect(close)?;
                self.leave();
                return Ok(());
            }
        }
    }

    /// `true`, `false` or `null`.
    pub(crate) fn word(&mut self) -> Read<&'a str> {
        let text = self.text;
        let rest = &text[self.at..];
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        if !matches!(&rest[..length], "true" | "false" | "null") {
            let token =
                if length == 0 { self.peek().map(String::from).unwrap_or_default() } else { rest[..length].to_owned() };
            return Err(self.refuse(&format!("Expected a value, got '{}'", Rejection::quote(&token))));
        }
        self.at += length;
        Ok(&rest[..length])
    }

    pub(crate) fn number(&mut self) -> Read<&'a str> {
        let text = self.text;
        let rest = &text[self.at..];
        // Whatever is beside a number as letters are is of its token: what is refused is told whole.
        let length = run_length(rest.as_bytes(), |b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
        let token = &rest[..length];
        if length > JSON_NUMBER || !is_number(token.as_bytes()) {
            return Err(self.refuse(&format!("Expected a number, got '{}'", Rejection::quote(token))));
        }
        self.at += length;
        Ok(token)
    }

    pub(crate) fn string(&mut self) -> Read<String> {
        if !matches!(self.peek(), Some('"' | '\'')) {
            let got = self.peek().map_or("the end".to_owned(), |c| format!("'{}'", Rejection::quote(&c.to_string())));
            return Err(self.refuse(&format!("Expected a string, got {got}")));
        }
        self.read_string(Escapes::Json, JSON_STRING).map_err(|fault| self.refuse(&fault.to_string()))
    }

    /// A string of so many bytes at most; its quote comes next. If something is wrong, this stands where it is.
    pub(crate) fn read_string(&mut self, escapes: Escapes, bytes_max: usize) -> Result<String, StringFault> {
        let quote = if self.text.as_bytes().get(self.at) == Some(&b'\'') { b'\'' } else { b'"' };
        self.at += 1;
        let mut value = String::new();
        loop {
            let rest = &self.text[self.at..];
            let end = memchr::memchr2(quote, b'\\', rest.as_bytes()).ok_or(StringFault::Open)?;
            value.push_str(&rest[..end]);
            if value.len() > bytes_max {
                return Err(StringFault::Length(bytes_max));
            }
            self.at += end + 1;
            if rest.as_bytes()[end] == quote {
                return Ok(value);
            }
            value.push(self.escape(escapes)?);
        }
    }

    /// The character of an escape, after its backslash.
    fn escape(&mut self, escapes: Escapes) -> Result<char, StringFault> {
        let c = self.peek().ok_or(StringFault::Open)?;
        self.at += c.len_utf8();
        Ok(match c {
            '"' | '\'' | '\\' | '/' => c,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.unicode_escape(),
            _ if escapes == Escapes::Any => c,
            _ => return Err(StringFault::Escape(c)),
        })
    }

    /// The character of one `\u` escape, or of two that are a surrogate pair; half of a pair becomes U+FFFD.
    fn unicode_escape(&mut self) -> Result<char, StringFault> {
        let unit = self.code_unit()?;
        if !(0xd800..0xdc00).contains(&unit) {
            return Ok(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let after_first = self.at;
        if self.text[self.at..].starts_with("\\u") {
            self.at += 2;
            let low = self.code_unit()?;
            if (0xdc00..0xe000).contains(&low) {
                let code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = after_first;
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn code_unit(&mut self) -> Result<u32, StringFault> {
        let digits = self.text.get(self.at..self.at + 4).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).ok_or(StringFault::CodeUnit)?;
        self.at += 4;
        Ok(unit)
    }
}

/// Whether a token is a number of JSON.
fn is_number(token: &[u8]) -> bool {
    let digits = |from: usize| run_length(&token[from..], |b| b.is_ascii_digit());
    let mut at = usize::from(token.first() == Some(&b'-'));
    let whole = digits(at);
    if whole == 0 || (whole > 1 && token[at] == b'0') {
        return false;
    }
    at += whole;
    if token.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        if fraction == 0 {
            return false;
        }
        at += 1 + fraction;
    }
    if let Some(b'e' | b'E') = token.get(at) {
        at += 1 + usize::from(matches!(token.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(at);
        if exponent == 0 {
            return false;
        }
        at += exponent;
    }
    at == token.len()
}

/// How many bytes belong, from the first on.
fn run_length(bytes: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|b| !belongs(*b)).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::is_number;
    use proptest::prelude::*;

    /// The same by what a number is made of, part by part.
    fn is_number_by_parts(token: &str) -> bool {
        let unsigned = token.strip_prefix('-').unwrap_or(token);
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            None => (unsigned, None),
        };
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let (whole, fraction) = mantissa.split_once('.').map_or((mantissa, None), |(whole, rest)| (whole, Some(rest)));
        digits(whole)
            && (whole == "0" || !whole.starts_with('0'))
            && fraction.is_none_or(digits)
            && exponent.is_none_or(|exponent| digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)))
    }

    #[test]
    fn numbers_are_those_of_json() {
        for token in ["0", "-0", "10", "0.5", "-12.50", "1e5", "1E+05", "2.5e-3"] {
            assert!(is_number(token.as_bytes()), "{token}");
        }
        for token in ["", "-", "01", "-01", "1.", ".5", "+1", "1e", "1e+", "1.e5", "1e5.0", "--1", "1-", "NaN", "1a"] {
            assert!(!is_number(token.as_bytes()), "{token}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn a_token_is_a_number_if_its_parts_are(token in "[-+.eE0-9]{0,9}", plain in "-?[0-9]{1,3}(\\.[0-9]{0,3})?([eE][-+]?[0-9]{0,2})?") {
            prop_assert_eq!(is_number(token.as_bytes()), is_number_by_parts(&token), "{}", token);
            prop_assert_eq!(is_number(plain.as_bytes()), is_number_by_parts(&plain), "{}", plain);
        }
    }
}
