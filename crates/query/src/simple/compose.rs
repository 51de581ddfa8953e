//! Puts the terms of a text together as its grammar says.
use brooklet_task::limits::QUERY_DEPTH;

use super::advanced;
use super::ranked::Ranked;
use super::term::{Read, Reader, word_item, word_kind};
use super::token::{Token, tokenize};
use crate::annotations::Annotations;
use crate::grammar::{Composite, Grammar, Syntax, Tokenization};
use crate::number::parse_expression;
use crate::simple::collect::{collect, except, merge};
use crate::simple::term::number_item;
use crate::surroundings::Surroundings;
use crate::tree::{Item, Operator, Phrase, WeakAnd};

/// Parses a text; `None` if nothing is left to search for.
///
/// # Errors
/// A sentence, if an operator between items (type `adv`) cannot be.
pub(super) fn parse(
    text: &str,
    grammar: Grammar,
    default_index: Option<&str>,
    around: &Surroundings<'_>,
) -> Result<Option<Item>, String> {
    if grammar.tokenization == Tokenization::Linguistics {
        return Ok(Some(process(text, grammar.composite, default_index.unwrap_or(""), around)));
    }
    let tokens = tokenize(text, grammar.syntax, default_index, around);
    let reader = Reader::new(tokens, default_index, around);
    Ok(match (grammar.syntax, grammar.composite) {
        (Syntax::Advanced, _) => return advanced::parse(reader),
        (Syntax::None, Composite::Phrase) => Some(phrase(reader)),
        (Syntax::None, composite) => Some(words(reader, composite)),
        (Syntax::Web, composite) => Composer { groups: false, ..Composer::new(reader, composite) }.web(),
        (Syntax::Simple, Composite::Or) => Composer::new(reader, Composite::Or).any(true),
        (Syntax::Simple, composite) => Composer::new(reader, composite).all(),
    })
}

// Grammars without operators.

/// Words as the linguistics give them, with everything done to them.
fn process(text: &str, composite: Composite, field: &str, around: &Surroundings<'_>) -> Item {
    let kind = word_kind(field, None, around);
    let words = around.linguistics.processed_words(text).into_iter().map(|word| {
        let digits = word.bytes().all(|b| b.is_ascii_digit());
        if let Some(range) = digits.then(|| parse_expression(&word)).flatten() {
            return number_item(range, field, &word);
        }
        let mut item = word_item(field, &word, kind);
        item.annotations.stem = false;
        item.annotations.normalize_case = false;
        item.annotations.accent_drop = false;
        item.annotations.implicit_transforms = false;
        item
    });
    let words: Vec<Item> = words.collect();
    collect(words, composite).unwrap_or_else(|| Item::from(Operator::WeakAnd(WeakAnd::default())))
}

/// Every word and number, whatever is around them.
fn words(reader: Reader<'_>, composite: Composite) -> Item {
    let leaves = leaves(reader, false).into_iter();
    // A near has words only, also of those that are cut into several.
    let items: Vec<Item> = match composite {
        Composite::Near | Composite::OrderedNear => leaves.flatten().collect(),
        _ => leaves.filter_map(|items| collect(items, Composite::And)).collect(),
    };
    collect(items, composite).map_or_else(|| Item::from(Operator::WeakAnd(WeakAnd::default())), merge)
}

/// All words as one phrase.
fn phrase(reader: Reader<'_>) -> Item {
    let field = reader.default_index.unwrap_or("").to_owned();
    let mut items: Vec<Item> = leaves(reader, true).into_iter().flatten().collect();
    if items.len() == 1 {
        return items.remove(0);
    }
    Item::from(Operator::Phrase(Phrase { field, items, segmented: None }))
}

/// The items of every word and number; in a phrase, numbers are words that nothing else is done to.
fn leaves(reader: Reader<'_>, in_phrase: bool) -> Vec<Vec<Item>> {
    let field = reader.default_index.unwrap_or("");
    let kind = word_kind(field, None, reader.around);
    let mut leaves = Vec::new();
    for token in &reader.tokens {
        match token {
            Token::Word(text) => {
                let normalized = reader.around.linguistics.normalize(text);
                let segments = reader.around.linguistics.segment(&normalized);
                leaves.push(segments.iter().map(|segment| word_item(field, segment, kind)).collect());
            }
            Token::Whole(text) => leaves.push(vec![word_item(field, text, kind)]),
            Token::Number(text) if in_phrase => {
                let mut item = word_item(field, text, kind);
                item.annotations.implicit_transforms = false;
                leaves.push(vec![item]);
            }
            Token::Number(text) => {
                leaves.extend(parse_expression(text).map(|range| vec![number_item(range, field, text)]));
            }
            Token::Mark(_) | Token::Space | Token::Noise => {}
        }
    }
    leaves
}

// Grammars with operators.

/// One step through a text.
pub(super) enum Part {
    Required(Item),
    Excluded(Item),
    Plain(Read),
    Group(Item),
    Skipped,
}

pub(super) struct Composer<'a> {
    reader: Reader<'a>,
    composite: Composite,
    /// Whether parentheses without a sign make a group.
    groups: bool,
    depth: usize,
}

impl<'a> Composer<'a> {
    pub fn new(reader: Reader<'a>, composite: Composite) -> Composer<'a> {
        Composer { reader, composite, groups: true, depth: 0 }
    }

    /// The next part; `None` at the end or, inside parentheses, before what is none.
    pub fn next_part(&mut self, top: bool) -> Option<Part> {
        self.reader.skip_spaces();
        let signed = match self.reader.peek()? {
            Token::Mark(')') if !top => return None,
            Token::Mark('+' | '-') => self.parse_signed(),
            _ => None,
        };
        if signed.is_some() {
            return signed;
        }
        if let Some(read) = self.reader.term(None) {
            return Some(Part::Plain(read));
        }
        if (!top || self.groups)
            && let Some(group) = self.group()
        {
            return Some(Part::Group(group));
        }
        self.reader.at += usize::from(top);
        top.then_some(Part::Skipped)
    }

    /// What is required or excluded; `None` if the text here is to be read as something else.
    fn parse_signed(&mut self) -> Option<Part> {
        let start = self.reader.at;
        if self.reader.vain.signs.contains(&start) {
            return None;
        }
        let required = self.required().map(Part::Required);
        let part = required.or_else(|| {
            self.reader.at = start;
            self.excluded().map(Part::Excluded)
        });
        if part.is_none() {
            self.reader.at = start;
            self.skip_signs();
            self.reader.vain.signs = start..self.reader.at.max(start + 1);
            self.reader.at = start;
        }
        part
    }

    /// Skips the signs in front of what is excluded where one will do.
    fn skip_signs(&mut self) -> bool {
        let plus = self.reader.skip_marks_loosely('+');
        if self.composite == Composite::Or {
            self.reader.skip_marks_loosely('-')
        } else {
            !plus && self.reader.skip_mark('-')
        }
    }

    /// A sign is none if a space follows it.
    fn has_operand(&self) -> bool {
        self.reader.peek().is_some_and(|token| *token != Token::Space)
    }

    /// `+term` or `+(…)`.
    fn required(&mut self) -> Option<Item> {
        if !self.reader.skip_marks_loosely('+') || !self.has_operand() {
            return None;
        }
        self.reader.term(None).map(|read| read.item).or_else(|| self.group())
    }

    /// `-term` or `-(…)`.
    fn excluded(&mut self) -> Option<Item> {
        let any = self.composite == Composite::Or;
        if !self.skip_signs() || !self.has_operand() {
            return None;
        }
        let Some(read) = self.reader.term(None) else {
            return self.group().and_then(|group| self.all_excluded(group));
        };
        // `-5` is a negative number rather than everything but 5, unless a field was named.
        let number = match &read.item.operator {
            Operator::Number(number) => !number.text.starts_with('-') && !read.named && !any,
            _ => false,
        };
        Some(read.item).filter(|_| !number)
    }

    /// Only a document with everything in the parentheses is excluded.
    fn all_excluded(&self, group: Item) -> Option<Item> {
        match group.operator {
            Operator::Or(items) if self.composite == Composite::WeakAnd => collect(items, Composite::WeakAnd),
            Operator::Or(items) => collect(items, Composite::And),
            _ => Some(group),
        }
    }

    /// `(…)`: any of the terms in it.
    fn group(&mut self) -> Option<Item> {
        let start = self.reader.at;
        if self.depth >= QUERY_DEPTH || !self.reader.opens_group() {
            self.reader.at = start;
            return None;
        }
        let inside = self.reader.at;
        self.depth += 1;
        let item = self.any(false);
        self.depth -= 1;
        match &item {
            Some(_) => _ = self.reader.skip_mark_loosely(')'),
            None => self.reader.leave_group(start, inside),
        }
        item
    }

    /// All terms (or the grammar's composite of them) but the excluded ones.
    fn all(&mut self) -> Option<Item> {
        let (mut positives, mut negatives) = (Vec::new(), Vec::new());
        while let Some(part) = self.next_part(true) {
            match part {
                Part::Excluded(item) => negatives.push(item),
                Part::Required(item) | Part::Group(item) => positives.push(item),
                Part::Plain(read) => match read.item.operator {
                    Operator::And(items) if read.segments && self.composite == Composite::WeakAnd => {
                        positives.extend(items);
                    }
                    _ => positives.push(read.item),
                },
                Part::Skipped => {}
            }
        }
        except(self.all_of(positives), negatives).map(merge)
    }

    /// The items under the grammar's composite.
    fn all_of(&self, items: Vec<Item>) -> Option<Item> {
        let mut item = collect(items, self.composite)?;
        if self.composite == Composite::And && matches!(item.operator, Operator::And(_)) {
            // It may be the only item, and all of them have no weight.
            item.annotations = Annotations::default();
        }
        Some(item)
    }

    /// All terms, or of terms with `OR` between them those of one side.
    fn web(&mut self) -> Option<Item> {
        let (mut sides, mut side, mut negatives) = (Vec::new(), Vec::new(), Vec::new());
        while self.reader.at < self.reader.tokens.len() {
            self.reader.skip_spaces();
            match self.next_part(true) {
                Some(Part::Excluded(item)) => negatives.push(item),
                Some(Part::Required(item) | Part::Group(item) | Part::Plain(Read { item, .. })) => {
                    if is_or(&item) && !(side.is_empty() && sides.is_empty()) {
                        sides.extend(self.all_of(std::mem::take(&mut side)));
                    } else {
                        side.push(item);
                    }
                }
                Some(Part::Skipped) | None => {}
            }
        }
        sides.extend(self.all_of(side));
        except(collect(sides, Composite::Or), negatives).map(merge)
    }

    /// Any of the terms; with required ones the others only rank.
    pub fn any(&mut self, top: bool) -> Option<Item> {
        let (mut parts, mut required, mut excluded) =
            (Ranked::new(self.composite == Composite::Or), Vec::new(), Vec::new());
        while let Some(part) = self.next_part(top) {
            match part {
                Part::Required(item) => {
                    required.push(item);
                    parts.mark();
                }
                Part::Excluded(item) => {
                    excluded.push(item);
                    parts.mark();
                }
                Part::Plain(read) => parts.add(read.item),
                Part::Group(item) => parts.add_group(item),
                Part::Skipped => {}
            }
        }
        parts.finish(required, excluded)
    }
}

fn is_or(item: &Item) -> bool {
    matches!(&item.operator, Operator::Term(term) if term.text == "OR")
}
