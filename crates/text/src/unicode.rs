//! What the tokenizers ask of a character outside ASCII. The tables are generated; later versions of Unicode only add
//! letters of scripts that are rarely seen, and as long as documents and queries agree nothing depends on them.

mod compositions;
mod tables;

use compositions::COMPOSITIONS;
use tables::{LIMIT, PAGES, QUERY_WORD, SYMBOL, WIDTH, WORD};

/// Characters that make words in documents: letters, decimal digits, marks of all kinds, and the CJK brackets U+3008 to
/// U+3011.
#[inline]
pub(crate) fn is_word(character: char) -> bool {
    contains(&WORD, character) || is_selector(character)
}

/// Characters that make words in queries: letters, digits and other numbers, marks that do not enclose.
#[inline]
pub(crate) fn is_query_word(character: char) -> bool {
    contains(&QUERY_WORD, character) || is_selector(character)
}

/// Characters that are a word of a query each by itself: emoji and the like.
#[inline]
pub(crate) fn is_symbol(character: char) -> bool {
    contains(&SYMBOL, character)
}

/// The ordinary form of a halfwidth character or fullwidth symbol between U+FF61 and U+FFEE.
#[inline]
pub(crate) fn ordinary_width(character: char) -> Option<char> {
    let at = u32::from(character).checked_sub(0xff61)?;
    WIDTH.get(at as usize).and_then(|form| char::from_u32(u32::from(*form)))
}

/// The character that a letter and the mark after it are together.
pub(crate) fn composition(letter: char, mark: char) -> Option<char> {
    let key = (u16::try_from(letter).ok()?, u16::try_from(mark).ok()?);
    let at = COMPOSITIONS.binary_search_by_key(&key, |(letter, mark, _)| (*letter, *mark)).ok()?;
    char::from_u32(COMPOSITIONS[at].2.into())
}

/// Every letter and mark with what they are together.
#[cfg(test)]
pub(crate) fn compositions() -> impl Iterator<Item = (char, char, char)> {
    let character = |code: u16| char::from_u32(code.into());
    COMPOSITIONS
        .iter()
        .filter_map(move |(letter, mark, whole)| Some((character(*letter)?, character(*mark)?, character(*whole)?)))
}

#[inline]
fn contains(set: &[u8], character: char) -> bool {
    let code = u32::from(character);
    if code >= LIMIT {
        return false;
    }
    let page = &PAGES[usize::from(set[(code >> 8) as usize])];
    page[(code >> 6 & 3) as usize] >> (code & 63) & 1 == 1
}

/// The variation selectors beyond the tables are marks.
fn is_selector(character: char) -> bool {
    matches!(character, '\u{e0100}'..='\u{e01ef}')
}
