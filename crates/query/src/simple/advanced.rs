//! The type `adv`: operators are words between the items (`a and (b or c) andnot d`), put together strictly from left to
//! right: none binds tighter than another.
use brooklet_task::limits::QUERY_DEPTH;

use super::term::Reader;
use super::token::Token;
use crate::tree::{AndNot, Item, Near, Operator, WeakAnd};

/// How far apart the items of `near` and `onear` may be where it is not said.
const DISTANCE: u32 = 2;

/// An operator word with its argument.
#[derive(Clone, Copy, PartialEq)]
enum Infix {
    And,
    Or,
    AndNot,
    Rank,
    Equiv,
    Near(u32),
    OrderedNear(u32),
    WeakAnd(Option<u32>),
}

/// What stands so far, and whether it came whole from parentheses: then an operator does not extend it.
struct Composed {
    item: Item,
    closed: bool,
}

/// The item of a text; `None` if nothing is left to search for.
///
/// # Errors
/// A sentence, if an argument of an operator is no number, or what it joins cannot be joined.
pub(super) fn parse(reader: Reader<'_>) -> Result<Option<Item>, String> {
    let item = Advanced { reader, depth: 0 }.items(true)?;
    Ok(item.and_then(|item| collapse(item, true)))
}

struct Advanced<'a> {
    reader: Reader<'a>,
    depth: usize,
}

impl Advanced<'_> {
    /// Items and operators up to the end or, inside parentheses, up to what is neither.
    fn items(&mut self, top: bool) -> Result<Option<Item>, String> {
        let mut so_far: Option<Composed> = None;
        let mut wants_operator = false;
        while self.reader.at < self.reader.tokens.len() {
            self.reader.skip_spaces();
            let start = self.reader.at;
            let (item, closed) = match self.reader.term(None) {
                Some(read) => (read.item, false),
                None => match self.group()? {
                    Some(item) => (item, true),
                    None if top => {
                        self.reader.at += 1;
                        continue;
                    }
                    None => break,
                },
            };
            let infix = if wants_operator { self.infix(&item, start)? } else { None };
            wants_operator = infix.is_none();
            so_far = Some(match (so_far, infix) {
                (None, _) => Composed { item, closed },
                (Some(left), Some(infix)) => Composed { item: open_item(left, infix), closed: false },
                (Some(left), None) => {
                    let closed = left.closed && is_composite(&left.item);
                    Composed { item: join_item(left.item, item)?, closed }
                }
            });
        }
        Ok(so_far.map(|composed| composed.item))
    }

    /// `(…)` with something in it.
    fn group(&mut self) -> Result<Option<Item>, String> {
        let start = self.reader.at;
        if self.depth >= QUERY_DEPTH || !self.reader.opens_group() {
            self.reader.at = start;
            return Ok(None);
        }
        let inside = self.reader.at;
        self.depth += 1;
        let item = self.items(false)?;
        self.depth -= 1;
        let item = item.and_then(|item| collapse(item, false));
        match &item {
            Some(_) => _ = self.reader.skip_mark_loosely(')'),
            None => self.reader.leave_group(start, inside),
        }
        Ok(item)
    }

    /// The operator that an item is, which was read from the token `start` on: a word, whatever is around it.
    fn infix(&mut self, item: &Item, start: usize) -> Result<Option<Infix>, String> {
        let Operator::Term(term) = &item.operator else { return Ok(None) };
        let word = term.text.to_lowercase();
        // As it was written: `OR'` is no operator.
        let is_word =
            |token: &Token| matches!(token, Token::Word(text) | Token::Whole(text) if text.to_lowercase() == word);
        if !self.reader.tokens[start..self.reader.at].iter().any(is_word) {
            return Ok(None);
        }
        Ok(Some(match word.as_str() {
            "and" => Infix::And,
            "or" => Infix::Or,
            "andnot" => Infix::AndNot,
            "rank" => Infix::Rank,
            "equiv" => Infix::Equiv,
            "near" => Infix::Near(self.argument()?.unwrap_or(DISTANCE)),
            "onear" => Infix::OrderedNear(self.argument()?.unwrap_or(DISTANCE)),
            "wand" | "weakand" => Infix::WeakAnd(self.argument()?),
            _ => return Ok(None),
        }))
    }

    /// The number in parentheses behind an operator.
    fn argument(&mut self) -> Result<Option<u32>, String> {
        if !self.reader.skip_mark_loosely('(') {
            return Ok(None);
        }
        let number = match self.reader.peek() {
            Some(Token::Number(digits)) => digits.parse().ok().filter(|number| i32::try_from(*number).is_ok()),
            _ => None,
        };
        let number: u32 = number.ok_or("Expected an integer argument")?;
        self.reader.at += 1;
        if !self.reader.skip_mark_loosely(')') {
            return Err("Expected a right parenthesis following the argument".to_owned());
        }
        Ok((number > 0).then_some(number))
    }
}

/// What an operator makes of the items before it: the same operator is extended, any other is a new one around all of them.
#[inline(never)]
fn open_item(left: Composed, infix: Infix) -> Item {
    if !left.closed && is_of(&left.item.operator, infix) {
        return left.item;
    }
    let near = |items, distance, ordered| {
        Operator::Near(Near { items, negatives: Vec::new(), distance, exclusion_distance: None, ordered })
    };
    let items = vec![left.item];
    Item::from(match infix {
        Infix::And => Operator::And(items),
        Infix::Or => Operator::Or(items),
        Infix::AndNot => {
            let [positive] = <[Item; 1]>::try_from(items).unwrap_or_else(|_| [Item::from(Operator::True)]);
            Operator::AndNot(AndNot { positive: Box::new(positive), negatives: Vec::new() })
        }
        Infix::Rank => Operator::Rank(items),
        Infix::Equiv => Operator::Equiv(items),
        Infix::Near(distance) => near(items, distance, false),
        Infix::OrderedNear(distance) => near(items, distance, true),
        Infix::WeakAnd(target_hits) => Operator::WeakAnd(WeakAnd { items, target_hits, ..WeakAnd::default() }),
    })
}

/// Whether an item beside it goes into this one.
fn is_composite(item: &Item) -> bool {
    let plain = matches!(item.operator, Operator::And(_) | Operator::Or(_) | Operator::Rank(_) | Operator::Equiv(_));
    plain || matches!(item.operator, Operator::Near(_) | Operator::WeakAnd(_) | Operator::AndNot(_))
}

fn is_of(operator: &Operator, infix: Infix) -> bool {
    match (operator, infix) {
        (Operator::And(_), Infix::And)
        | (Operator::Or(_), Infix::Or)
        | (Operator::AndNot(_), Infix::AndNot)
        | (Operator::Rank(_), Infix::Rank)
        | (Operator::Equiv(_), Infix::Equiv) => true,
        (Operator::Near(near), Infix::Near(distance)) => !near.ordered && near.distance == distance,
        (Operator::Near(near), Infix::OrderedNear(distance)) => near.ordered && near.distance == distance,
        (Operator::WeakAnd(weak), Infix::WeakAnd(target_hits)) => weak.target_hits == target_hits,
        _ => false,
    }
}

/// Adds an item to the composite before it, or joins two that are none.
fn join_item(mut left: Item, item: Item) -> Result<Item, String> {
    let is_word = matches!(item.operator, Operator::Term(_) | Operator::Number(_) | Operator::Phrase(_));
    match &mut left.operator {
        Operator::Equiv(_) if !is_word => {
            return Err("Could not add an item to an equiv that is neither a word, a number nor a phrase".to_owned());
        }
        Operator::And(items) | Operator::Or(items) | Operator::Rank(items) | Operator::Equiv(items) => items.push(item),
        Operator::Near(near) => near.items.push(item),
        Operator::WeakAnd(weak) => weak.items.push(item),
        Operator::AndNot(not) => not.negatives.push(item),
        Operator::Phrase(phrase) if is_word && phrase.segmented.is_none() => match item.operator {
            Operator::Phrase(more) if more.segmented.is_none() => phrase.items.extend(more.items),
            _ => phrase.items.push(item),
        },
        _ => left = Item::from(Operator::And(vec![left, item])),
    }
    Ok(left)
}

/// The item without composites that have one item or none; `deep`: also below it.
fn collapse(mut item: Item, deep: bool) -> Option<Item> {
    let below = |items: &mut Vec<Item>| {
        let kept = std::mem::take(items).into_iter();
        items.extend(kept.filter_map(|child| if deep { collapse(child, true) } else { Some(child) }));
    };
    match &mut item.operator {
        Operator::And(items) | Operator::Or(items) | Operator::Rank(items) | Operator::Equiv(items) => {
            below(items);
            if items.len() < 2 { items.pop() } else { Some(item) }
        }
        Operator::Near(Near { items, .. }) | Operator::WeakAnd(WeakAnd { items, .. }) => {
            below(items);
            if items.len() < 2 { items.pop() } else { Some(item) }
        }
        Operator::AndNot(not) => {
            below(&mut not.negatives);
            if not.negatives.is_empty() { Some(*not.positive.clone()) } else { Some(item) }
        }
        _ => Some(item),
    }
}
