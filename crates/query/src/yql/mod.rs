//! YQL: a statement becomes a [`Query`].
//!
//! `lex` finds tokens, `parse` (on its `cursor`) makes them a statement whose expressions are [`syntax::Node`]s, `build` (with `leaf`,
//! `call`, `input`) gives their names a meaning. Grouping statements are kept as text.
mod build;
mod call;
mod cursor;
mod input;
mod leaf;
mod lex;
mod list;
mod parse;
pub(crate) mod scope;
pub(crate) mod syntax;

use brooklet_task::{Code, Rejection, Span};

use crate::limited::{check_length, check_tree};
use crate::sorting::{Direction, SortBy, SortFunction, SortKey, Strength};
use crate::statement::{Query, RawGrouping};
use crate::surroundings::Surroundings;
use crate::tree::Item;

pub(crate) use build::Words;
use build::{Builder, field_name};
use parse::Statement;
use scope::{Built, Fault, Scope, fault};
use syntax::{Node, NodeKind};

pub(crate) use list::parse_weighted as weighted_tokens;

/// Hits of a statement that has an offset but no limit.
const HITS_AFTER_OFFSET: u32 = 10;

/// Parses a YQL statement.
///
/// # Errors
/// If it is none, names fields or parameters that do not exist, or is larger than the limits. The message begins with
/// `Could not create query from YQL: ` and the span says where.
pub fn parse_yql(text: &str, around: &Surroundings<'_>) -> Result<Query, Rejection> {
    check_length("YQL statement", text)?;
    let statement = parse::parse(text)?;
    query(text, &statement, around).map_err(|fault| {
        let message = format!("Could not create query from YQL: {}", fault.message);
        let span = fault.place.map(|place| Span::locate(text, place.start));
        Rejection { code: Code::InvalidQueryParameter, message, span }
    })
}

fn query(text: &str, statement: &Statement, around: &Surroundings<'_>) -> Built<Query> {
    around.indexes.choose(&statement.sources);
    let mut builder = Builder::new(*around, Words::Segmented);
    let item = builder.build(&statement.filter)?;
    check_tree(&item).map_err(|large| Fault { message: large.message, place: Some(large.place) })?;
    let limit = statement.limit.as_ref().map(|node| whole_number("limit", node, &builder)).transpose()?;
    let offset = statement.offset.as_ref().map(|node| whole_number("offset", node, &builder)).transpose()?;
    let timeout_ms = statement.timeout.as_ref().map(|node| whole_number("timeout", node, &builder)).transpose()?;
    let (hits, offset) = match (limit, offset) {
        // The limit counts from the first hit of all, not from the offset.
        (Some(limit), offset) => (Some(limit.saturating_sub(offset.unwrap_or(0))), Some(offset.unwrap_or(0))),
        (None, Some(offset)) => (Some(HITS_AFTER_OFFSET), Some(offset)),
        (None, None) => (None, None),
    };
    let order_by =
        statement.order_by.iter().map(|(node, descending)| sort_key(node, *descending)).collect::<Built<_>>()?;
    let grouping = statement.grouping.iter().map(|(annotations, place)| {
        let continuations = continuations(annotations, &builder)?;
        Ok(RawGrouping { text: text[place.start..place.end].to_owned(), continuations, place: *place })
    });
    let grouping = grouping.collect::<Built<_>>()?;
    Ok(Query {
        item,
        sources: statement.sources.clone(),
        fields: statement.fields.clone(),
        order_by,
        hits,
        offset,
        timeout_ms,
        grouping,
    })
}

/// The tree of an expression that was not written as YQL.
pub(crate) fn build_tree(expression: &Node, words: Words, around: Surroundings<'_>) -> Built<Item> {
    let item = Builder::new(around, words).build(expression)?;
    check_tree(&item).map_err(|large| Fault { message: large.message, place: Some(large.place) })?;
    Ok(item)
}

/// A number after `limit`, `offset` or `timeout`.
fn whole_number(what: &str, node: &Node, builder: &Builder<'_>) -> Built<u32> {
    let number = match &node.kind {
        NodeKind::Integer(number) => Some(*number),
        NodeKind::Parameter(name) => builder.parameter(name, node)?.trim().parse().ok(),
        _ => None,
    };
    let number = number.ok_or_else(|| fault(node, format!("'{what}' must be an integer")))?;
    match i32::try_from(number) {
        Ok(number) if number >= 0 => Ok(number.cast_unsigned()),
        Ok(_) => Err(fault(node, format!("'{what}' must be a positive number, not {number}"))),
        Err(_) => Err(fault(node, format!("For input string: \"{number}\": the number is too large."))),
    }
}

fn sort_key(node: &Node, descending: bool) -> Built<SortKey> {
    let by = SortBy::named(field_name(node)?).map_err(|message| fault(node, message))?;
    let scope = Scope::root(node);
    let function = match scope.text("function")? {
        None => None,
        Some("raw") => Some(SortFunction::Raw),
        Some("lowercase") => Some(SortFunction::Lowercase),
        Some("uca") => Some(SortFunction::Uca {
            locale: scope.text("locale")?.map(str::to_owned),
            strength: scope.text("strength")?.map(|name| strength(name, node)).transpose()?,
        }),
        Some(other) => {
            return Err(fault(node, format!("Expected lowercase, raw or uca, got {}.", Rejection::quote(other))));
        }
    };
    let direction = if descending { Direction::Descending } else { Direction::Ascending };
    Ok(SortKey { by, direction: Some(direction), function, missing: None })
}

fn strength(name: &str, node: &Node) -> Built<Strength> {
    let expected = "Expected primary, secondary, tertiary, quaternary or identical, got";
    Strength::named(name).ok_or_else(|| fault(node, format!("{expected} {}.", Rejection::quote(name))))
}

/// The continuations annotated to a grouping.
fn continuations(annotations: &[(String, Node)], builder: &Builder<'_>) -> Built<Vec<String>> {
    let mut texts = Vec::new();
    for (name, value) in annotations {
        let NodeKind::Array(elements) = &value.kind else {
            if name == "continuations" {
                return Err(fault(value, format!("Expected an array of continuations, got {}.", value.value_name())));
            }
            continue;
        };
        if name == "continuations" {
            texts = elements.iter().map(|element| builder.text_of(element)).collect::<Built<_>>()?;
        }
    }
    Ok(texts)
}
