//! The JSON form of the grouping language: translated into its text word by word, and parsed as that.
use brooklet_task::limits::{GROUPING_BYTES, JSON_DEPTH};
use brooklet_task::{Code, Rejection};

/// The requests of `select.grouping`: of an array every element, else the value itself, each as text.
///
/// An object becomes `name(value)` for every member, an array its elements with commas, everything else is taken as it
/// is. A `label` in an `all` names every `each` directly in it.
///
/// # Errors
/// If it is not JSON, is nested too deeply, or has a label in the wrong place.
pub fn json_grouping(json: &str) -> Result<Vec<String>, Rejection> {
    let mut reader = Reader { json, at: 0 };
    let value = reader.value(0)?;
    reader.blanks();
    if reader.at < json.len() {
        return Err(reader.refuse("unexpected text after the value"));
    }
    let values = if let Value::List(values) = value { values } else { vec![value] };
    values.iter().map(|value| text_of(value).map_err(|why| reader.refuse(&why))).collect()
}

enum Value {
    /// A text, number or literal.
    Plain(String, bool),
    List(Vec<Value>),
    Members(Vec<(String, Value)>),
}

fn text_of(value: &Value) -> Result<String, String> {
    let mut out = String::new();
    write(value, "", &mut out)?;
    if out.len() <= GROUPING_BYTES { Ok(out) } else { Err(format!("its text is longer than {GROUPING_BYTES} bytes")) }
}

/// Writes the value of the member `name`.
fn write(value: &Value, name: &str, out: &mut String) -> Result<(), String> {
    match value {
        Value::Plain(text, _) => out.push_str(text),
        Value::List(values) => {
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(value, name, out)?;
            }
        }
        Value::Members(members) => {
            let label = label_of(members, name)?;
            for (member, value) in members.iter().filter(|(member, _)| member != "label") {
                out.push_str(member);
                out.push('(');
                write(value, member, out)?;
                out.push_str(") ");
                if let (Some(label), "each") = (label, member.as_str()) {
                    let escaped = label.replace('\\', "\\\\").replace('"', "\\\"");
                    out.push_str(&format!("as(\"{escaped}\") "));
                }
            }
        }
    }
    Ok(())
}

fn label_of<'a>(members: &'a [(String, Value)], name: &str) -> Result<Option<&'a str>, String> {
    let Some((_, label)) = members.iter().find(|(member, _)| member == "label") else { return Ok(None) };
    let Value::Plain(label, true) = label else { return Err("a label must be a text".to_owned()) };
    if label.trim().is_empty() {
        return Err("a label may not be blank".to_owned());
    }
    if name != "all" || !members.iter().any(|(member, _)| member == "each") {
        return Err("a label stands in an 'all' that has an 'each'".to_owned());
    }
    Ok(Some(label))
}

struct Reader<'a> {
    json: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn refuse(&self, why: &str) -> Rejection {
        let message = format!("The grouping of 'select' cannot be read: {why}.");
        Rejection::at(Code::BadRequest, message, self.json, self.at)
    }

    fn blanks(&mut self) {
        let rest = &self.json[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\n', '\r', '\t']).len();
    }

    fn peek(&mut self) -> Option<char> {
        self.blanks();
        self.json[self.at..].chars().next()
    }

    fn skip(&mut self, mark: char) -> bool {
        let found = self.peek() == Some(mark);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: usize) -> Result<Value, Rejection> {
        if depth > JSON_DEPTH {
            return Err(self.refuse(&format!("it is nested more than {JSON_DEPTH} levels deep")));
        }
        match self.peek() {
            Some('[') => self.list(depth),
            Some('{') => self.members(depth),
            Some('"' | '\'') => Ok(Value::Plain(self.text()?, true)),
            Some(_) => {
                let rest = &self.json[self.at..];
                let end = rest.find([',', ']', '}', ' ', '\n', '\r', '\t', ':', '"', '[', '{']).unwrap_or(rest.len());
                if end == 0 {
                    return Err(self.refuse("a value was expected"));
                }
                self.at += end;
                Ok(Value::Plain(rest[..end].to_owned(), false))
            }
            None => Err(self.refuse("it ends too early")),
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, Rejection> {
        self.at += 1;
        let mut values = Vec::new();
        if self.skip(']') {
            return Ok(Value::List(values));
        }
        loop {
            values.push(self.value(depth + 1)?);
            if self.skip(']') {
                return Ok(Value::List(values));
            }
            if !self.skip(',') {
                return Err(self.refuse("',' or ']' was expected"));
            }
        }
    }

    fn members(&mut self, depth: usize) -> Result<Value, Rejection> {
        self.at += 1;
        let mut members = Vec::new();
        if self.skip('}') {
            return Ok(Value::Members(members));
        }
        loop {
            if !matches!(self.peek(), Some('"' | '\'')) {
                return Err(self.refuse("the name of a member was expected"));
            }
            let name = self.text()?;
            if !self.skip(':') {
                return Err(self.refuse("':' was expected"));
            }
            members.push((name, self.value(depth + 1)?));
            if self.skip('}') {
                return Ok(Value::Members(members));
            }
            if !self.skip(',') {
                return Err(self.refuse("',' or '}' was expected"));
            }
        }
    }

    fn text(&mut self) -> Result<String, Rejection> {
        let rest = &self.json[self.at..];
        let mut out = String::new();
        let mut chars = rest.char_indices();
        let quote = chars.next().map_or('"', |(_, quote)| quote);
        while let Some((offset, c)) = chars.next() {
            if c == quote {
                self.at += offset + 1;
                return Ok(out);
            }
            if c != '\\' {
                out.push(c);
                continue;
            }
            match chars.next().map(|(_, escaped)| escaped) {
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some('t') => out.push('\t'),
                Some('b') => out.push('\u{8}'),
                Some('f') => out.push('\u{c}'),
                Some('u') => out.push(self.unit(&mut chars)?),
                Some(other) => out.push(other),
                None => break,
            }
        }
        Err(self.refuse("a text is not closed"))
    }

    /// The character of a `\u` escape, or of two that belong together.
    fn unit(&self, chars: &mut std::str::CharIndices<'_>) -> Result<char, Rejection> {
        let mut read = || (0..4).try_fold(0u32, |unit, _| Some(unit * 16 + chars.next()?.1.to_digit(16)?));
        let high = read().ok_or_else(|| self.refuse("an escape is wrong"))?;
        if !(0xd800..0xdc00).contains(&high) {
            return Ok(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let mut ahead = chars.clone();
        if ahead.next().map(|(_, c)| c) == Some('\\') && ahead.next().map(|(_, c)| c) == Some('u') {
            let low = (0..4).try_fold(0u32, |unit, _| Some(unit * 16 + ahead.next()?.1.to_digit(16)?));
            if let Some(low) = low.filter(|low| (0xdc00..0xe000).contains(low)) {
                *chars = ahead;
                let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }
}
