//! JSON `select`: a query written as a tree of JSON objects becomes the same [`Query`] that YQL becomes.
//!
//! `read` makes the text nodes, `translate` makes those the expressions YQL has, and YQL's builder gives them their meaning.
mod read;
mod translate;

use brooklet_task::{Code, Rejection, Span};

use crate::grouping::json_grouping;
use crate::limited::check_length;
use crate::statement::{Query, RawGrouping};
use crate::surroundings::Surroundings;
use crate::tree::TextRange;
use crate::yql::syntax::NodeKind;
use crate::yql::{Words, build_tree};

/// The parameters of a query in JSON, each as its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Select<'a> {
    /// `select.where`: what must match.
    pub filter: &'a str,
    /// `select.grouping`: an array of grouping statements.
    pub grouping: Option<&'a str>,
    /// `select.fields`: an array of names.
    pub fields: Option<&'a str>,
}

/// Parses a query in JSON.
///
/// # Errors
/// With code [`Code::BadRequest`] if a text is no JSON, is no query, names fields that do not exist, or is larger than the
/// limits. The message names the parameter and the span says where in it.
pub fn parse_select(select: &Select<'_>, around: &Surroundings<'_>) -> Result<Query, Rejection> {
    check_length("query in select.where", select.filter)?;
    let json = read::read("select.where", select.filter)?;
    let expression = translate::expression(&json);
    let tree = expression.and_then(|expression| build_tree(&expression, Words::AsWritten, *around));
    let item = tree.map_err(|fault| {
        let span = Span::locate(select.filter, fault.place.map_or(0, |place| place.start));
        let place = format!("select.where:L{}:{}", span.line, span.column - 1);
        let message = format!("Illegal JSON query: {place} {}", fault.message);
        Rejection { code: Code::BadRequest, message, span: Some(span) }
    })?;
    let mut query = Query::new(item);
    query.grouping = select.grouping.map_or(Ok(Vec::new()), grouping_of)?;
    query.fields = select.fields.map_or(Ok(Vec::new()), select_fields)?;
    Ok(query)
}

/// The fields of `select.fields`: a JSON array of names; empty for all.
///
/// # Errors
/// If it is no array of texts.
pub fn select_fields(text: &str) -> Result<Vec<String>, Rejection> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    check_length("list in select.fields", text)?;
    let json = read::read("select.fields", text)?;
    let NodeKind::Array(elements) = json.kind else {
        let message = "Could not set 'select.fields': it must be a JSON array of field names";
        return Err(Rejection::at(Code::IllegalQuery, message, text, json.place.start));
    };
    let names = elements.into_iter().enumerate().map(|(index, element)| match element.kind {
        NodeKind::Text(name) => Ok(name),
        _ => {
            let message = format!("Could not set 'select.fields': the element at index {index} is not a string");
            Err(Rejection::at(Code::IllegalQuery, message, text, element.place.start))
        }
    });
    names.collect()
}

/// The statements of `select.grouping`, an array of them in JSON.
fn grouping_of(text: &str) -> Result<Vec<RawGrouping>, Rejection> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let place = TextRange { start: 0, end: text.len() };
    let statement = |text| RawGrouping { text, continuations: Vec::new(), place };
    Ok(json_grouping(text)?.into_iter().map(statement).collect())
}
