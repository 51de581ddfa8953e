//! The JSON body of a request as names and values: objects inside objects become dotted names.
//!
//! The reader is lenient where the reference implementation is: strings may be in single quotes and may hold raw line
//! breaks. It keeps numbers, arrays and some objects as they were written, so that nothing is lost before their meaning is
//! known.
use std::collections::BTreeMap;

use brooklet_task::limits::{JSON_DEPTH, JSON_KEYS, JSON_NUMBER, JSON_STRING};
use brooklet_task::{Code, Rejection};

/// Longest name of a parameter, bytes. Names are repeated for every value below them, so they must not be long.
const NAME_BYTES: usize = 1_000;

/// Flattens a JSON object into names and values, in the order of the names' first appearance; of two values with one name
/// the last counts.
///
/// Strings are given decoded, numbers, `true`, `false` and `null` as written. Arrays, the objects `select.where` and
/// `select.grouping`, and objects directly under `input.` are given as their JSON text.
///
/// # Errors
/// With code [`Code::IllegalQuery`] if the text is not a JSON object or exceeds a limit.
pub fn flatten(body: &str) -> Result<Vec<(String, String)>, Rejection> {
    let mut reader = Reader { text: body, at: 0, depth: 0 };
    reader.skip_space();
    if reader.peek() != Some('{') {
        let token: String = body[reader.at..].chars().take_while(|c| !c.is_whitespace()).take(20).collect();
        let token = if token.is_empty() { "null" } else { &token };
        let message = format!("Expected start of object, got '{}'", Rejection::quote(token));
        return Err(Rejection::new(Code::IllegalQuery, message));
    }
    let mut pairs = Pairs::default();
    reader.object("", &mut pairs)?;
    reader.skip_space();
    if reader.at < body.len() {
        return Err(reader.refuse("Unexpected text after the object"));
    }
    Ok(pairs.list)
}

/// Whether an object of this name is a value rather than a group of names.
fn is_value(name: &str) -> bool {
    name == "select.where" || name == "select.grouping" || name.starts_with("input.")
}

/// The pairs found so far, each name once.
#[derive(Default)]
struct Pairs {
    list: Vec<(String, String)>,
    positions: BTreeMap<String, usize>,
}

impl Pairs {
    fn set(&mut self, name: String, value: String) {
        match self.positions.get(&name) {
            Some(&position) => self.list[position].1 = value,
            None => {
                self.positions.insert(name.clone(), self.list.len());
                self.list.push((name, value));
            }
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

type Read<T> = Result<T, Rejection>;

impl<'a> Reader<'a> {
    fn refuse(&self, reason: &str) -> Rejection {
        Rejection::at(Code::IllegalQuery, format!("Json parse error.: {reason}"), self.text, self.at)
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn skip_space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn skip(&mut self, expected: char) -> bool {
        let found = self.peek() == Some(expected);
        self.at += if found { expected.len_utf8() } else { 0 };
        found
    }

    fn expect(&mut self, expected: char) -> Read<()> {
        self.skip_space();
        if self.skip(expected) {
            return Ok(());
        }
        let got = self.peek().map_or("the end".to_owned(), |c| format!("'{}'", Rejection::quote(&c.to_string())));
        Err(self.refuse(&format!("Expected '{expected}', got {got}")))
    }

    fn enter(&mut self) -> Read<()> {
        self.depth += 1;
        if self.depth > JSON_DEPTH {
            return Err(self.refuse(&format!("Nested more than {JSON_DEPTH} levels deep")));
        }
        Ok(())
    }

    /// An object whose members become pairs, their names after `prefix`.
    fn object(&mut self, prefix: &str, pairs: &mut Pairs) -> Read<()> {
        self.enter()?;
        self.expect('{')?;
        self.skip_space();
        if self.skip('}') {
            self.depth -= 1;
            return Ok(());
        }
        loop {
            self.skip_space();
            let name = format!("{prefix}{}", self.string()?);
            if name.len() > NAME_BYTES {
                return Err(self.refuse(&format!("A name is longer than {NAME_BYTES} bytes")));
            }
            self.expect(':')?;
            self.member(name, pairs)?;
            if pairs.list.len() > JSON_KEYS {
                return Err(self.refuse(&format!("More than {JSON_KEYS} values")));
            }
            self.skip_space();
            if !self.skip(',') {
                self.expect('}')?;
                self.depth -= 1;
                return Ok(());
            }
        }
    }

    fn member(&mut self, name: String, pairs: &mut Pairs) -> Read<()> {
        self.skip_space();
        let value = match self.peek() {
            Some('{') if !is_value(&name) => return self.object(&format!("{name}."), pairs),
            Some('"' | '\'') => self.string()?,
            _ => {
                let start = self.at;
                self.value()?;
                self.text[start..self.at].to_owned()
            }
        };
        pairs.set(name, value);
        Ok(())
    }

    /// Passes over any value, checking that it is one.
    fn value(&mut self) -> Read<()> {
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
            Some('-' | '0'..='9') => self.number(),
            _ => self.word(),
        }
    }

    fn sequence(&mut self, open: char, close: char, element: impl Fn(&mut Self) -> Read<()>) -> Read<()> {
        self.enter()?;
        self.expect(open)?;
        self.skip_space();
        if self.skip(close) {
            self.depth -= 1;
            return Ok(());
        }
        loop {
            element(self)?;
            self.skip_space();
            if !self.skip(',') {
                self.expect(close)?;
                self.depth -= 1;
                return Ok(());
            }
        }
    }

    fn word(&mut self) -> Read<()> {
        let rest = &self.text[self.at..];
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        if !matches!(&rest[..length], "true" | "false" | "null") {
            let token =
                if length == 0 { self.peek().map(String::from).unwrap_or_default() } else { rest[..length].to_owned() };
            return Err(self.refuse(&format!("Expected a value, got '{}'", Rejection::quote(&token))));
        }
        self.at += length;
        Ok(())
    }

    fn number(&mut self) -> Read<()> {
        let rest = &self.text[self.at..];
        let length =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))).unwrap_or(rest.len());
        let token = &rest[..length];
        if length > JSON_NUMBER || !is_number(token) {
            return Err(self.refuse(&format!("Expected a number, got '{}'", Rejection::quote(token))));
        }
        self.at += length;
        Ok(())
    }

    fn string(&mut self) -> Read<String> {
        let Some(quote @ ('"' | '\'')) = self.peek() else {
            let got = self.peek().map_or("the end".to_owned(), |c| format!("'{}'", Rejection::quote(&c.to_string())));
            return Err(self.refuse(&format!("Expected a string, got {got}")));
        };
        self.at += 1;
        let mut value = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(end) = rest.find([quote, '\\']) else { return Err(self.refuse("A string is not closed")) };
            value.push_str(&rest[..end]);
            if value.len() > JSON_STRING {
                return Err(self.refuse(&format!("A string is longer than {JSON_STRING} bytes")));
            }
            self.at += end + 1;
            if rest[end..].starts_with(quote) {
                return Ok(value);
            }
            value.push(self.escape()?);
        }
    }

    /// The character of an escape, after its backslash.
    fn escape(&mut self) -> Read<char> {
        let Some(c) = self.peek() else { return Err(self.refuse("A string is not closed")) };
        self.at += c.len_utf8();
        Ok(match c {
            '"' | '\'' | '\\' | '/' => c,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.unicode_escape(),
            _ => return Err(self.refuse(&format!("Unrecognized escape '\\{}'", Rejection::quote(&c.to_string())))),
        })
    }

    /// The character of one `\u` escape, or of two that are a surrogate pair; half of a pair becomes U+FFFD.
    fn unicode_escape(&mut self) -> Read<char> {
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

    fn code_unit(&mut self) -> Read<u32> {
        let digits = self.text.get(self.at..self.at + 4).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let unit = unit.ok_or_else(|| self.refuse("Expected four hexadecimal digits after '\\u'"))?;
        self.at += 4;
        Ok(unit)
    }
}

/// Whether a token is a number of JSON.
fn is_number(token: &str) -> bool {
    let unsigned = token.strip_prefix('-').unwrap_or(token);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').map_or((mantissa, None), |(whole, rest)| (whole, Some(rest)));
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|exponent| digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(body: &str) -> Vec<(String, String)> {
        flatten(body).unwrap()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    #[test]
    fn objects_become_dotted_names_and_values_keep_their_text() {
        let body = r#"{"yql": "a \"b\" \u00e5\ud83d\ude00", "ranking": {"profile": "x", "a.b": 1.50e1}, "hits": 007 }"#;
        assert!(flatten(body).unwrap_err().message.contains("007"));
        let body = body.replace("007", "7");
        let expected = [("yql", "a \"b\" å😀"), ("ranking.profile", "x"), ("ranking.a.b", "1.50e1"), ("hits", "7")];
        assert_eq!(flat(&body), pairs(&expected));
        assert_eq!(
            flat(r#"{"a":null,"b":true,"c":[1, {"x": 2}]}"#),
            pairs(&[("a", "null"), ("b", "true"), ("c", "[1, {\"x\": 2}]")])
        );
        assert_eq!(flat("{}"), pairs(&[]));
        assert_eq!(flat(r#"{"a":{"b":1},"a.b":2}"#), pairs(&[("a.b", "2")]));
    }

    #[test]
    fn tensors_and_selects_keep_their_json() {
        let body = r#"{"input":{"query(q)":{"a": 1}},"input.query(r)":{"values":[1]},"select":{"where":{"and":[]},"fields":"x"},"ranking.features":{"query(q)":{"cells":[]}}}"#;
        let expected = [
            ("input.query(q)", "{\"a\": 1}"),
            ("input.query(r)", "{\"values\":[1]}"),
            ("select.where", "{\"and\":[]}"),
            ("select.fields", "x"),
            ("ranking.features.query(q).cells", "[]"),
        ];
        assert_eq!(flat(body), pairs(&expected));
    }

    #[test]
    fn single_quotes_and_raw_line_breaks_are_accepted() {
        assert_eq!(flat("{'yql': 'a \"b\"\n\tc'}"), pairs(&[("yql", "a \"b\"\n\tc")]));
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for (body, got) in [("", "null"), ("[1]", "[1]"), ("x y", "x"), ("  ", "null")] {
            let rejection = flatten(body).unwrap_err();
            assert_eq!(rejection.message, format!("Expected start of object, got '{got}'"));
            assert_eq!(rejection.code, Code::IllegalQuery);
        }
        for body in [
            "{",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "{\"a\":1}x",
            "{\"a\":\"x}",
            "{\"a\":nul}",
            "{\"a\":[1}",
            "{\"a\":\"\\x\"}",
            "{\"a\":-}",
        ] {
            let rejection = flatten(body).unwrap_err();
            assert!(rejection.message.starts_with("Json parse error.: "), "{body}: {rejection}");
            assert!(rejection.span.is_some());
        }
    }

    #[test]
    fn limits_hold() {
        let deep = format!("{}1{}", "{\"a\":".repeat(JSON_DEPTH + 1), "}".repeat(JSON_DEPTH + 1));
        assert!(flatten(&deep).unwrap_err().message.contains("levels deep"));
        let arrays = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(flatten(&arrays).unwrap_err().message.contains("levels deep"));
        let many: Vec<String> = (0..=JSON_KEYS).map(|n| format!("\"k{n}\":0")).collect();
        assert!(flatten(&format!("{{{}}}", many.join(","))).unwrap_err().message.contains("values"));
        let long = format!("{{\"{}\":1}}", "n".repeat(NAME_BYTES + 1));
        assert!(flatten(&long).unwrap_err().message.contains("name"));
    }
}
