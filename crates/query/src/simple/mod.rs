//! The simple query language: what people type into a search box.
//!
//! `token` cuts the text, `term` reads one term with its field, sign-free, and `compose` puts the terms together as the
//! [`Grammar`] says. Nothing is an error here but being too large, and operators of the type `adv` (`advanced`) that
//! cannot be: what cannot be understood is skipped.
mod advanced;
mod collect;
mod compose;
mod filter;
mod number;
mod ranked;
mod term;
mod token;

use brooklet_task::{Code, Rejection};

pub use crate::grammar::{Composite, Grammar, Syntax, Tokenization};

use crate::annotations::Typed;
use crate::limited::{check_length, check_tree};
use crate::surroundings::{Surroundings, UserQuery};
use crate::tree::{Item, NumberTerm, Operator, Term};

/// Parses a text of the simple query language. Terms without a field search `default_index`, or an empty name if there is
/// none (see [`crate::tree::index_of`]). If nothing is left to search for, the item is [`Operator::Null`].
///
/// # Errors
/// If the text is larger than the limits.
pub fn parse(
    text: &str,
    grammar: Grammar,
    default_index: Option<&str>,
    around: &Surroundings<'_>,
) -> Result<Item, Rejection> {
    check_length("query", text)?;
    let item = compose(text, grammar, default_index, around)?.unwrap_or_else(|| Item::from(Operator::Null));
    check_item(annotate_origin(item, text), text)
}

/// Parses a request's `query` together with its filter.
///
/// # Errors
/// If the text is larger than the limits.
pub fn parse_user_query(query: &UserQuery<'_>, around: &Surroundings<'_>) -> Result<Item, Rejection> {
    check_length("query", query.text)?;
    let root = compose(query.text, query.grammar, query.default_index, around)?;
    let root = root.map(|root| annotate_origin(root, query.text));
    let Some(filter) = query.filter else {
        return check_item(root.unwrap_or_else(|| Item::from(Operator::Null)), query.text);
    };
    check_length("filter", filter)?;
    let filtered = filter::filter(root, filter, around);
    check_item(filtered.unwrap_or_else(|| Item::from(Operator::Null)), query.text)
}

/// The item of a text; `None` if nothing is left to search for.
fn compose(
    text: &str,
    grammar: Grammar,
    default_index: Option<&str>,
    around: &Surroundings<'_>,
) -> Result<Option<Item>, Rejection> {
    compose::parse(text, grammar, default_index, around).map_err(|message| {
        let message = format!("Could not parse query [{}]: {message}", Rejection::quote(text));
        Rejection::at(Code::IllegalQuery, message, text, 0)
    })
}

/// Adds a request's `recall` to what it asks for: `+term` must match, `-term` must not, and ranking sees neither.
///
/// # Errors
/// If it has other terms, none at all, or is larger than the limits.
pub fn parse_recall(root: Item, recall: &str, around: &Surroundings<'_>) -> Result<Item, Rejection> {
    check_length("recall", recall)?;
    let item = filter::recall(root, recall, around)
        .map_err(|message| Rejection::at(Code::InvalidQueryParameter, message, recall, 0))?;
    check_item(item, recall)
}

/// Marks the words that a person typed, and the last one if the text ends with it. Those of a phrase are as they are.
fn annotate_origin(mut item: Item, text: &str) -> Item {
    fn words<'i>(item: &'i mut Item, found: &mut Vec<&'i mut Item>) {
        match item.operator {
            Operator::Phrase(_) => {}
            Operator::Term(_) | Operator::Number(_) => found.push(item),
            _ => item.children_mut().into_iter().for_each(|child| words(child, found)),
        }
    }
    let ends = text.chars().next_back().is_some_and(brooklet_text::is_word);
    let mut found = Vec::new();
    words(&mut item, &mut found);
    let last = found.len();
    for (number, word) in found.into_iter().enumerate() {
        let written = match &word.operator {
            Operator::Term(Term { text, .. }) | Operator::Number(NumberTerm { text, .. }) => text,
            _ => continue,
        };
        let is_last = ends && number + 1 == last && brooklet_text::compose(text).ends_with(written);
        word.annotations.typed = if is_last { Typed::Last } else { Typed::Word };
    }
    item
}

/// Places of the items are in `text`; terms of a filter have none.
fn check_item(item: Item, text: &str) -> Result<Item, Rejection> {
    check_tree(&item)
        .map_err(|large| Rejection::at(Code::InvalidQueryParameter, large.message, text, large.place.start))?;
    Ok(item)
}
