//! The JSON form of the grouping language: translated into its text word by word, and parsed as that.
use brooklet_task::limits::{GROUPING_BYTES, JSON_DEPTH};
use brooklet_task::{Code, Rejection};

use crate::json::{Escapes, Reader, StringFault};

/// The requests of `select.grouping`: of an array every element, else the value itself, each as text.
///
/// An object becomes `name(value)` for every member, an array its elements with commas, everything else is taken as it
/// is. A `label` in an `all` names every `each` directly in it.
///
/// # Errors
/// If it is not JSON, is nested too deeply, or has a label in the wrong place.
pub fn json_grouping(json: &str) -> Result<Vec<String>, Rejection> {
    let json = Reader::new(json, Code::BadRequest, "The grouping of 'select' cannot be read: ");
    let mut reader = GroupingReader { json };
    let value = reader.value(0)?;
    if reader.peek().is_some() {
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

/// Reads the tree of a grouping, and tells in its words what is wrong.
struct GroupingReader<'a> {
    json: Reader<'a>,
}

impl GroupingReader<'_> {
    fn refuse(&self, why: &str) -> Rejection {
        self.refuse_at(self.json.at, why)
    }

    fn refuse_at(&self, at: usize, why: &str) -> Rejection {
        self.json.refuse_at(at, &format!("{why}."))
    }

    fn peek(&mut self) -> Option<char> {
        self.json.skip_space();
        self.json.peek()
    }

    fn skip(&mut self, mark: char) -> bool {
        self.json.skip_space();
        self.json.skip(mark)
    }

    fn value(&mut self, depth: usize) -> Result<Value, Rejection> {
        if depth > JSON_DEPTH {
            return Err(self.refuse(&format!("it is nested more than {JSON_DEPTH} levels deep")));
        }
        match self.peek() {
            Some('[') => self.list(depth),
            Some('{') => self.members(depth),
            Some('"' | '\'') => Ok(Value::Plain(self.text()?, true)),
            Some(_) => self.word(),
            None => Err(self.refuse("it ends too early")),
        }
    }

    /// What is no text, as it is written: a number, or an expression that nobody put into quotes.
    fn word(&mut self) -> Result<Value, Rejection> {
        let rest = &self.json.text[self.json.at..];
        let end = rest.find([',', ']', '}', ' ', '\n', '\r', '\t', ':', '"', '[', '{']).unwrap_or(rest.len());
        if end == 0 {
            return Err(self.refuse("a value was expected"));
        }
        self.json.at += end;
        Ok(Value::Plain(rest[..end].to_owned(), false))
    }

    fn list(&mut self, depth: usize) -> Result<Value, Rejection> {
        self.json.at += 1;
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
        self.json.at += 1;
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

    /// A text of any length: what the whole may have is checked when it is written.
    fn text(&mut self) -> Result<String, Rejection> {
        let start = self.json.at;
        self.json.read_string(Escapes::Any, usize::MAX).map_err(|fault| {
            let is_escape = matches!(fault, StringFault::Escape(_) | StringFault::CodeUnit);
            self.refuse_at(start, if is_escape { "an escape is wrong" } else { "a text is not closed" })
        })
    }
}
