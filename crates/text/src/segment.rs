//! Words of a query's literal, as the container finds them before it asks the content: `"new york"` has two, which then
//! make a phrase.

use crate::unicode::{is_query_word, is_symbol, is_word};

/// What a character is to the query tokenizer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CharacterKind {
    Word,
    Symbol,
    Other,
}

fn kind(character: char) -> CharacterKind {
    if character.is_ascii() {
        return if character.is_ascii_alphanumeric() { CharacterKind::Word } else { CharacterKind::Other };
    }
    if is_query_word(character) {
        CharacterKind::Word
    } else if is_symbol(character) {
        CharacterKind::Symbol
    } else {
        CharacterKind::Other
    }
}

/// The words of a literal: maximal runs of letters, numbers and marks, and every symbol by itself. A literal without any
/// is its own only word, so the result is never empty.
pub fn segment(literal: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, character) in literal.char_indices() {
        let kind = kind(character);
        if kind == CharacterKind::Word {
            start.get_or_insert(at);
            continue;
        }
        words.extend(start.take().map(|start| &literal[start..at]));
        if kind == CharacterKind::Symbol {
            words.push(&literal[at..at + character.len_utf8()]);
        }
    }
    words.extend(start.map(|start| &literal[start..]));
    if words.is_empty() {
        words.push(literal);
    }
    words
}

/// What a character is in the simple query language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Part of a word.
    Letter,
    /// Part of a word, and of a number.
    Digit,
    /// A word of its own.
    Symbol,
    /// Between words.
    Other,
}

/// The class of a character of a query.
pub fn class_of(character: char) -> Class {
    match kind(character) {
        // Numbers that are no digits, as ² and Ⅷ, are in words of literals only.
        CharacterKind::Word if character.is_numeric() && !character.is_ascii() && !is_word(character) => Class::Other,
        CharacterKind::Word if character.is_numeric() => Class::Digit,
        CharacterKind::Word => Class::Letter,
        CharacterKind::Symbol => Class::Symbol,
        CharacterKind::Other => Class::Other,
    }
}
