//! The limits of a query, checked once on the finished tree.
use brooklet_task::limits::{QUERY_BYTES, QUERY_DEPTH, QUERY_ENTRIES, QUERY_TERMS};
use brooklet_task::{Code, Rejection};

use crate::tree::{Item, Operator, TextRange, Values};

/// Refuses texts that are longer than a query may be.
pub(crate) fn check_length(what: &str, text: &str) -> Result<(), Rejection> {
    if text.len() <= QUERY_BYTES {
        return Ok(());
    }
    let message = format!("The {what} is {} bytes long; the limit is {QUERY_BYTES}.", text.len());
    Err(Rejection::at(Code::InvalidQueryParameter, message, text, QUERY_BYTES))
}

/// What to say of a query that is nested too deeply.
pub(crate) fn too_deep() -> String {
    format!("The query is nested more than {QUERY_DEPTH} levels deep.")
}

/// What to say of a query with too many terms.
pub(crate) fn too_many_terms() -> String {
    format!("The query has more than {QUERY_TERMS} terms.")
}

/// What to say of a list that is too long.
pub(crate) fn too_many_entries(what: &str) -> String {
    format!("The list of {what} has more than {QUERY_ENTRIES} entries.")
}

/// Why a tree is larger than a query may be, and where that stands which is too much.
pub(crate) struct TooLarge {
    pub(crate) message: String,
    pub(crate) place: TextRange,
}

/// Refuses a tree that is larger than a query may be.
pub(crate) fn check_tree(item: &Item) -> Result<(), TooLarge> {
    let mut terms = 0;
    check_item(item, TextRange::default(), QUERY_DEPTH, &mut terms)
}

/// `within`: where the item stands if it does not say so itself.
fn check_item(item: &Item, within: TextRange, depth: usize, terms: &mut usize) -> Result<(), TooLarge> {
    let place = if item.place == TextRange::default() { within } else { item.place };
    let too_large = |message| TooLarge { message, place };
    let depth = depth.checked_sub(1).ok_or_else(|| too_large(too_deep()))?;
    let children = item.children();
    if children.is_empty() {
        *terms += 1;
        if *terms > QUERY_TERMS {
            return Err(too_large(too_many_terms()));
        }
        return check_entries(&item.operator).map_err(too_large);
    }
    children.into_iter().try_for_each(|child| check_item(child, place, depth, terms))
}

fn check_entries(operator: &Operator) -> Result<(), String> {
    let (what, entries) = match operator {
        Operator::In(list) => match &list.values {
            Values::Integers(values) => ("in", values.len()),
            Values::Texts(values) => ("in", values.len()),
        },
        Operator::WeightedSet(list) => ("weightedSet", list.tokens.len()),
        Operator::DotProduct(list) => ("dotProduct", list.tokens.len()),
        Operator::Wand(wand) => ("wand", wand.weighted.tokens.len()),
        Operator::Alternatives(list) => ("alternatives", list.words.len()),
        Operator::Predicate(list) => ("predicate", list.attributes.len() + list.ranges.len()),
        _ => return Ok(()),
    };
    if entries > QUERY_ENTRIES { Err(too_many_entries(what)) } else { Ok(()) }
}
