//! JSON as the constants of YQL, with their places. Members keep their order; none may come twice.
use brooklet_task::{Code, Rejection};

use crate::json::{Read, Reader};
use crate::tree::TextRange;
use crate::yql::syntax::{Node, NodeKind};

/// Reads a whole text, which `what` names in rejections.
pub(super) fn read(what: &str, text: &str) -> Result<Node, Rejection> {
    let mut reader = Reader::new(text, Code::BadRequest, "");
    let read = value(&mut reader).and_then(|node| {
        reader.skip_space();
        if reader.at < text.len() { Err(reader.refuse("Unexpected text after the value")) } else { Ok(node) }
    });
    read.map_err(|rejection| {
        let place = rejection.span.map_or(String::new(), |span| format!(":L{}:{}", span.line, span.column - 1));
        rejection.within(&format!("Illegal JSON query: {what}{place}"))
    })
}

fn value(reader: &mut Reader<'_>) -> Read<Node> {
    reader.skip_space();
    let start = reader.at;
    let kind = match reader.peek() {
        Some('{') => object(reader)?,
        Some('[') => array(reader)?,
        Some('"' | '\'') => NodeKind::Text(reader.string()?),
        Some('-' | '0'..='9') => number(reader)?,
        _ => match reader.word()? {
            "null" => NodeKind::Null,
            word => NodeKind::Boolean(word == "true"),
        },
    };
    Ok(Node::new(kind, TextRange { start, end: reader.at }))
}

fn number(reader: &mut Reader<'_>) -> Read<NodeKind> {
    let start = reader.at;
    let token = reader.number()?;
    if let Ok(integer) = token.parse() {
        return Ok(NodeKind::Integer(integer));
    }
    let float = token.parse().ok().filter(|value: &f64| value.is_finite());
    float.map(NodeKind::Float).ok_or_else(|| reader.refuse_at(start, "The number is too large"))
}

fn array(reader: &mut Reader<'_>) -> Read<NodeKind> {
    reader.enter()?;
    reader.expect('[')?;
    reader.skip_space();
    let mut elements = Vec::new();
    if !reader.skip(']') {
        loop {
            elements.push(value(reader)?);
            reader.skip_space();
            if !reader.skip(',') {
                reader.expect(']')?;
                break;
            }
        }
    }
    reader.leave();
    Ok(NodeKind::Array(elements))
}

fn object(reader: &mut Reader<'_>) -> Read<NodeKind> {
    reader.enter()?;
    reader.expect('{')?;
    reader.skip_space();
    let mut members = Vec::new();
    let mut names = std::collections::BTreeSet::new();
    if !reader.skip('}') {
        loop {
            reader.skip_space();
            let start = reader.at;
            let name = reader.string()?;
            if !names.insert(name.clone()) {
                return Err(reader.refuse_at(start, &format!("'{}' is given twice", Rejection::quote(&name))));
            }
            reader.expect(':')?;
            members.push((name, value(reader)?));
            reader.skip_space();
            if !reader.skip(',') {
                reader.expect('}')?;
                break;
            }
        }
    }
    reader.leave();
    Ok(NodeKind::Map(members))
}
