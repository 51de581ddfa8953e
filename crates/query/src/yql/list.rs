//! Lists in parameters: `a, "b c", 'd'` for `in`; `{a: 1, "b": 2}` and `[[11, 1], [37, 2]]` for weighted operators.
use brooklet_task::Rejection;
use brooklet_task::limits::QUERY_ENTRIES;

use crate::limited::too_many_entries;
use crate::tree::{Key, WeightedToken};

/// The texts of a list. Quotes are needed only around commas and blanks at an end.
pub(super) fn texts(list: &str) -> Result<Vec<String>, String> {
    let mut reader = Reader { rest: list };
    let mut values = Vec::new();
    while !reader.rest.trim_start().is_empty() {
        let value = match reader.parse_quoted()? {
            Some(quoted) => quoted,
            None => reader.until(&[',']),
        };
        push(&mut values, value.to_owned(), "in")?;
        reader.skip(',');
    }
    Ok(values)
}

/// The integers of a list.
pub(super) fn integers(list: &str) -> Result<Vec<i64>, String> {
    let mut reader = Reader { rest: list };
    let mut values = Vec::new();
    while !reader.rest.trim_start().is_empty() {
        push(&mut values, reader.integer(&[','])?, "in")?;
        reader.skip(',');
    }
    Ok(values)
}

/// The tokens of a map or an array of pairs.
pub(crate) fn parse_weighted(list: &str) -> Result<Vec<WeightedToken>, String> {
    let mut reader = Reader { rest: list };
    if reader.skip('{') {
        return reader.entries('}', |reader| {
            let key = match reader.parse_quoted()? {
                Some(quoted) => quoted,
                None => reader.until(&[':']),
            };
            reader.expect(':')?;
            let weight = reader.integer(&[',', '}'])?;
            Ok(WeightedToken { key: Key::Text(key.to_owned()), weight })
        });
    }
    if reader.skip('[') {
        return reader.entries(']', |reader| {
            reader.expect('[')?;
            let key = reader.integer(&[','])?;
            reader.expect(',')?;
            let weight = reader.integer(&[']'])?;
            reader.expect(']')?;
            Ok(WeightedToken { key: Key::Integer(key), weight })
        });
    }
    Err(format!("Expected a string starting by '[' or '{{', but was '{}'", Rejection::quote(list)))
}

fn push<T>(values: &mut Vec<T>, value: T, what: &str) -> Result<(), String> {
    if values.len() >= QUERY_ENTRIES {
        return Err(too_many_entries(what));
    }
    values.push(value);
    Ok(())
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn skip(&mut self, c: char) -> bool {
        let found = self.rest.trim_start().strip_prefix(c);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    fn expect(&mut self, c: char) -> Result<(), String> {
        if self.skip(c) {
            return Ok(());
        }
        Err(format!("Expected '{c}' but got '{}'", Rejection::quote(self.rest)))
    }

    /// A quoted text, if one is next.
    fn parse_quoted(&mut self) -> Result<Option<&'a str>, String> {
        let Some(quote) = ['\'', '"'].into_iter().find(|quote| self.skip(*quote)) else { return Ok(None) };
        let (value, rest) =
            self.rest.split_once(quote).ok_or_else(|| format!("Expected a closing {quote} in the list"))?;
        self.rest = rest;
        Ok(Some(value))
    }

    /// Everything before one of `ends`, trimmed.
    fn until(&mut self, ends: &[char]) -> &'a str {
        let (value, rest) = self.rest.split_at(self.rest.find(ends).unwrap_or(self.rest.len()));
        self.rest = rest;
        value.trim()
    }

    fn integer<T: std::str::FromStr>(&mut self, ends: &[char]) -> Result<T, String> {
        let text = self.until(ends);
        text.parse().map_err(|_| format!("Expected an integer, but got {}", Rejection::quote(text)))
    }

    fn entries(
        &mut self,
        end: char,
        entry: impl Fn(&mut Self) -> Result<WeightedToken, String>,
    ) -> Result<Vec<WeightedToken>, String> {
        let mut values = Vec::new();
        while !self.skip(end) {
            let value = entry(self)?;
            push(&mut values, value, "weighted tokens")?;
            self.skip(',');
        }
        if self.rest.trim().is_empty() {
            return Ok(values);
        }
        Err(format!("Unexpected '{}' after the list", Rejection::quote(self.rest)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_optional() {
        assert_eq!(texts("a, b,\"c d\", 'e,f'").unwrap(), ["a", "b", "c d", "e,f"]);
        assert_eq!(integers("1, -2,3").unwrap(), [1, -2, 3]);
        let expected = |key: &str, weight| WeightedToken { key: Key::Text(key.into()), weight };
        assert_eq!(parse_weighted("{a:1, \"b:c\":2}").unwrap(), [expected("a", 1), expected("b:c", 2)]);
        assert_eq!(
            parse_weighted(" [[11,1],[37, 2]] ").unwrap()[1],
            WeightedToken { key: Key::Integer(37), weight: 2 }
        );
    }

    #[test]
    fn malformed_lists_are_refused() {
        for wrong in
            ["", "a", "{a}", "{a:1", "{a:x}", "[1,2]", "[[1,2]", "[[1]]", "{'a:1}", "{}x", "[[1,2,3]]", "{a:1.5}"]
        {
            assert!(parse_weighted(wrong).is_err(), "{wrong}");
        }
        assert!(integers("1,a").is_err());
        assert!(texts("'a").is_err());
    }
}
