//! The JSON body of a request as names and values: objects inside objects become dotted names.
//!
//! Numbers, arrays and some objects are kept as they were written, so that nothing is lost before their meaning is known.

use brooklet_task::limits::JSON_KEYS;
use brooklet_task::{Code, Rejection};

use crate::json::{Read, Reader};

/// Longest name of a parameter, bytes. Names are repeated for every value below them, so they must not be long.
const NAME_BYTES: usize = 1_000;

/// How the value of a parameter is written in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// A text, a number, `true` or `false`.
    Plain,
    /// `null`.
    Null,
    /// An array.
    Array,
    /// An object that is a value.
    Object,
}

/// Flattens a JSON object into names and values, in their order. A name may be there more than once: what that means its
/// caller decides.
///
/// Strings are given decoded, numbers, `true`, `false` and `null` as written. Arrays, the objects `select.where` and
/// `select.grouping`, and objects that are values of features (`input.query(q)`, `ranking.features.query(q)`) are given as
/// their JSON text.
///
/// # Errors
/// With code [`Code::IllegalQuery`] if the text is not a JSON object or exceeds a limit.
pub fn flatten(body: &str) -> Result<Vec<(String, String, Written)>, Rejection> {
    let mut reader = Reader::new(body, Code::IllegalQuery, "Json parse error.: ");
    reader.skip_space();
    if reader.peek() != Some('{') {
        let token: String = body[reader.at..].chars().take_while(|c| !c.is_whitespace()).take(20).collect();
        let token = if token.is_empty() { "null" } else { &token };
        let message = format!("Expected start of object, got '{}'", Rejection::quote(token));
        return Err(Rejection::new(Code::IllegalQuery, message));
    }
    let mut found = Vec::new();
    reader.object("", &mut found)?;
    reader.skip_space();
    if reader.at < body.len() {
        return Err(reader.refuse("Unexpected text after the object"));
    }
    Ok(found)
}

/// Whether an object of this name is a value rather than a group of names.
fn is_value(name: &str) -> bool {
    let is_feature = name.contains('(') && (name.starts_with("ranking.features.") || name.starts_with("rankfeature."));
    name == "select.where" || name == "select.grouping" || name.starts_with("input.") || is_feature
}

type Pairs = Vec<(String, String, Written)>;

/// What of the reader makes pairs of an object.
impl Reader<'_> {
    /// An object whose members become pairs, their names after `prefix`.
    fn object(&mut self, prefix: &str, pairs: &mut Pairs) -> Read<()> {
        self.enter()?;
        self.expect('{')?;
        self.skip_space();
        if self.skip('}') {
            self.leave();
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
            if pairs.len() > JSON_KEYS {
                return Err(self.refuse(&format!("More than {JSON_KEYS} values")));
            }
            self.skip_space();
            if !self.skip(',') {
                self.expect('}')?;
                self.leave();
                return Ok(());
            }
        }
    }

    fn member(&mut self, name: String, pairs: &mut Pairs) -> Read<()> {
        self.skip_space();
        let written = match self.peek() {
            Some('{') => Written::Object,
            Some('[') => Written::Array,
            Some('n') => Written::Null,
            _ => Written::Plain,
        };
        let value = match self.peek() {
            Some('{') if !is_value(&name) => return self.object(&format!("{name}."), pairs),
            Some('"' | '\'') => self.string()?,
            _ => {
                let start = self.at;
                self.value()?;
                self.text[start..self.at].to_owned()
            }
        };
        pairs.push((name, value, written));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use brooklet_task::limits::JSON_DEPTH;

    use super::*;

    fn flat(body: &str) -> Vec<(String, String)> {
        flatten(body).unwrap().into_iter().map(|(name, value, _)| (name, value)).collect()
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
        assert_eq!(flat(r#"{"a":{"b":1},"a.b":2}"#), pairs(&[("a.b", "1"), ("a.b", "2")]));
    }

    #[test]
    fn how_values_are_written_is_known() {
        let body = r#"{"a":"[1]","b":1,"c":true,"d":null,"e":[1],"input":{"query(q)":{}},"f":{"g":[]}}"#;
        let written: Vec<Written> = flatten(body).unwrap().into_iter().map(|(_, _, written)| written).collect();
        use Written::{Array, Null, Object, Plain};
        assert_eq!(written, [Plain, Plain, Plain, Null, Array, Object, Array]);
    }

    #[test]
    fn tensors_and_selects_keep_their_json() {
        let body = r#"{"input":{"query(q)":{"a": 1}},"input.query(r)":{"values":[1]},"select":{"where":{"and":[]},"fields":"x"},"ranking.features":{"query(q)":{"cells":[]}}}"#;
        let expected = [
            ("input.query(q)", "{\"a\": 1}"),
            ("input.query(r)", "{\"values\":[1]}"),
            ("select.where", "{\"and\":[]}"),
            ("select.fields", "x"),
            ("ranking.features.query(q)", "{\"cells\":[]}"),
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
