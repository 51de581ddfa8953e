//! Rows of `document-json` and `tensor`: what is read, what is stored of it, and every way to render it. Rows of
//! `selection`: what they select.
use std::sync::Arc;

use brooklet_document::encode::encode_fields;
use brooklet_document::json::{
    JsonWriter, Lexer, ReadOptions, Render, TensorFormat, TensorSource, read_fields, read_tensor, render_fields,
    render_tensor,
};
use brooklet_document::selection::{Selection, Subject};
use brooklet_document::{
    DataType, DocumentId, DocumentTypes, Tensor, TensorType, Value, parse_literal, read_operation,
};
use brooklet_task::bytes::Writer;
use brooklet_task::{Code, Rejection};
use serde_json::Value as Json;

use crate::mail;
use crate::row::{self, hexadecimal, needed, outcome, text};

const FORMATS: [&str; 6] = ["long", "short", "hex", "long-value", "short-value", "hex-value"];

fn format_named(name: &str) -> TensorFormat {
    TensorFormat::from_name(name).expect("a known format")
}

/// The fields as they are stored and as they are rendered.
fn fields_text(fields: &[(String, Value)]) -> String {
    let mut stored = Writer::new();
    encode_fields(fields, &mut stored);
    let mut lines = vec![hexadecimal(&stored.finish())];
    lines.extend(FORMATS.map(|name| {
        let mut json = JsonWriter::new();
        render_fields(fields, &Render::document(format_named(name)), &mut json);
        json.finish()
    }));
    lines.join("\n")
}

/// A row of `document-json`: an operation of a feed, or a body of `/document/v1`.
pub(crate) fn operation(row: &Json) -> String {
    outcome(if row.get("rest").is_some() { body(row) } else { feed(row) })
}

fn feed(row: &Json) -> Result<String, Rejection> {
    let operation = text(row, "op_text").map_or_else(|| row["op"].to_string(), str::to_owned);
    let mut json = Lexer::new(&operation, Code::InvalidDocument);
    let operation = read_operation(&mail::Types::new(), &mut json, ReadOptions::default())?;
    let (kind, create, condition) = (operation.kind, operation.create, &operation.condition);
    Ok(format!("{kind:?} {} {create:?} {condition:?}\n{}", operation.id.as_str(), fields_text(&operation.fields)))
}

fn body(row: &Json) -> Result<String, Rejection> {
    let id = DocumentId::parse(needed(row, "id"))?;
    let types = mail::Types::new();
    let types = types.fields_of("mail").expect("the type is there");
    let body = read_fields(types, &id, row["body"].to_string().as_bytes(), ReadOptions::default())?;
    Ok(format!("{:?} {:?}\n{}", body.condition, body.ignored, fields_text(&body.fields)))
}

/// A row of `tensor`: a type, or a value in one of its forms.
pub(crate) fn tensor(row: &Json) -> String {
    if let Some(spec) = text(row, "spec") {
        return outcome(TensorType::parse(spec).map(|parsed| format!("{parsed} {}", parsed.cell.name())));
    }
    outcome(value(row).map(|found| found.map_or_else(|| "nothing".to_owned(), |tensor| tensor_text(&tensor))))
}

fn value(row: &Json) -> Result<Option<Tensor>, Rejection> {
    let tensor_type = text(row, "type").map(TensorType::parse).transpose()?.map(Arc::new);
    let typed = || tensor_type.clone().expect("a value in JSON has a type");
    if let Some(json) = row.get("json") {
        let types = mail::Fields(vec![("x", DataType::Tensor(typed()))]);
        let body = format!("{{\"fields\":{{\"x\":{json}}}}}");
        let id = DocumentId::parse("id:t:t::1")?;
        let fields = read_fields(&types, &id, body.as_bytes(), ReadOptions::default())?.fields;
        return Ok(fields.into_iter().find_map(|(_, value)| match value {
            Value::Tensor(tensor) => Some(tensor),
            _ => None,
        }));
    }
    if let Some(json) = row.get("query_json") {
        let json = json.to_string();
        return read_tensor(&typed(), &mut Lexer::new(&json, Code::BadRequest), TensorSource::Query).map(Some);
    }
    parse_literal(needed(row, "text"), tensor_type.as_ref(), Code::BadRequest).map(Some)
}

fn tensor_text(tensor: &Tensor) -> String {
    let mut lines = vec![row::tensor(tensor)];
    lines.extend(FORMATS.map(|name| {
        let mut json = JsonWriter::new();
        render_tensor(tensor, &Render::document(format_named(name)), &mut json);
        json.finish()
    }));
    lines.join("\n")
}

/// A row of `selection`: what it says of every document, and where it can select any.
pub(crate) fn selection(row: &Json) -> String {
    outcome(Selection::parse(needed(row, "selection"), &mail::Types::new(), Code::InvalidDocument).map(|selection| {
        let documents: Vec<Json> =
            serde_json::from_str(include_str!("../../feeds/selection.json")).expect("a list of documents");
        let lines = documents.iter().map(|document| {
            let text = document.to_string();
            let mut json = Lexer::new(&text, Code::InvalidDocument);
            let operation = read_operation(&mail::Types::new(), &mut json, ReadOptions::default());
            let operation = operation.expect("a document of the mail application");
            let subject = Subject { id: &operation.id, fields: &operation.fields, now: 1_790_000_000 };
            match selection.evaluate(&subject) {
                Ok(outcome) => format!("{} {outcome:?}", operation.id),
                Err(rejection) => format!("{} {}", operation.id, row::refusal(&rejection)),
            }
        });
        let scope = format!("{:?} {:?}", selection.scope(), selection.fields());
        std::iter::once(scope).chain(lines).collect::<Vec<_>>().join("\n")
    }))
}
