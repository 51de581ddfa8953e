//! Case and accents. The table is the reference implementation's: the first rule that fits a character wins, characters
//! are taken one by one, and nothing is composed (whoever compares does that before, [`crate::whole_letters`]), decomposed
//! or stripped. A result is not folded again (ẞ becomes ß, and
//! ß becomes ss).

use crate::unicode::ordinary_width;
use std::borrow::Cow;

/// How the text of a field, and the words of queries for it, are made alike.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Normalizing {
    /// Not at all: `match: cased`.
    None,
    /// [`lowercase`]: `match: word` and `exact`.
    Lowercase,
    /// [`fold`]: all other text.
    LowercaseAndFold,
}

impl Normalizing {
    /// Appends the normalised text.
    pub fn append(self, text: &str, out: &mut String) {
        match self {
            Normalizing::None => out.push_str(text),
            Normalizing::Lowercase => lowercase(text, out),
            Normalizing::LowercaseAndFold => fold(text, out),
        }
    }

    /// The normalised text, borrowed if it is what it was.
    pub fn apply(self, text: &str) -> Cow<'_, str> {
        let changes = |byte: u8| !byte.is_ascii() || byte.is_ascii_uppercase();
        if self == Normalizing::None || !text.bytes().any(changes) {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        self.append(text, &mut out);
        Cow::Owned(out)
    }
}

/// Appends the text in lower case and ordinary width, without accents where the table has a rule for them.
pub fn fold(text: &str, out: &mut String) {
    each_character(text, out, |character, out| match expansion(character) {
        Some(letters) => out.push_str(letters),
        None => out.push(base_letter(character).unwrap_or_else(|| lower(character))),
    });
}

/// Appends the text in lower case and ordinary width.
pub fn lowercase(text: &str, out: &mut String) {
    each_character(text, out, |character, out| out.push(lower(character)));
}

/// Runs of ASCII are copied and lowered as a whole; the other characters are given to `append`.
#[inline]
fn each_character(text: &str, out: &mut String, append: impl Fn(char, &mut String)) {
    let mut rest = text;
    while !rest.is_empty() {
        let ascii = rest.bytes().position(|byte| !byte.is_ascii()).unwrap_or(rest.len());
        let start = out.len();
        out.push_str(&rest[..ascii]);
        out[start..].make_ascii_lowercase();
        rest = &rest[ascii..];
        let mut characters = rest.chars();
        while let Some(character) = characters.clone().next().filter(|character| !character.is_ascii()) {
            append(character, out);
            characters.next();
        }
        rest = characters.as_str();
    }
}

/// Characters that become two letters, or become one whatever their case.
fn expansion(character: char) -> Option<&'static str> {
    Some(match character {
        'ß' => "ss",
        'Ä' | 'ä' | 'Æ' | 'æ' => "ae",
        'Å' | 'å' => "aa",
        'Ö' | 'ö' | 'Ø' | 'ø' => "oe",
        'Ü' | 'ü' => "ue",
        'Ð' | 'ð' => "d",
        'Þ' | 'þ' => "th",
        'Ĳ' | 'ĳ' => "ij",
        'Ŀ' | 'ŀ' => "l",
        'ŉ' => "n",
        'ſ' => "s",
        '\u{01c7}'..='\u{01c9}' => "lj",
        '\u{01ca}'..='\u{01cc}' => "nj",
        '\u{01f1}'..='\u{01f3}' => "dz",
        _ => return None,
    })
}

/// Letters that lose an accent, and raised letters.
fn base_letter(character: char) -> Option<char> {
    Some(match character {
        'À'..='Ã' | 'à'..='ã' | 'Ă' | 'ă' | '\u{1ea0}'..='\u{1eb7}' => 'a',
        'Ç' | 'ç' => 'c',
        'Đ' | 'đ' => 'd',
        'È'..='Ë' | 'è'..='ë' | '\u{1eb8}'..='\u{1ec7}' => 'e',
        'Ì'..='Ï' | 'ì'..='ï' | 'Ĩ' | 'ĩ' | '\u{1ec8}'..='\u{1ecb}' => 'i',
        'Ñ' | 'ñ' => 'n',
        'Ò'..='Õ' | 'ò'..='õ' | 'Ơ' | 'ơ' | '\u{1ecc}'..='\u{1ee3}' => 'o',
        'Ù'..='Û' | 'ù'..='û' | 'Ư' | 'ư' | '\u{1ee4}'..='\u{1ef1}' => 'u',
        'Ý' | 'ý' | 'ÿ' | 'Ÿ' | '\u{1ef2}'..='\u{1ef9}' => 'y',
        '\u{02b0}' => 'h',
        '\u{02b1}' => '\u{0266}',
        '\u{02b2}' => 'j',
        '\u{02b3}' => 'r',
        '\u{02b4}' => '\u{0279}',
        '\u{02b5}' => '\u{027b}',
        '\u{02b6}' => '\u{0281}',
        '\u{02b7}' => 'w',
        '\u{02b8}' => 'y',
        '\u{02e0}' => '\u{0263}',
        '\u{02e1}' => 'l',
        '\u{02e2}' => 's',
        '\u{02e3}' => 'x',
        '\u{02e4}' => '\u{0295}',
        _ => return None,
    })
}

/// Ordinary width, else simple lower case: always one character.
pub(crate) fn lower(character: char) -> char {
    match character {
        '\u{ff01}'..='\u{ff5e}' => ascii_form(character).to_ascii_lowercase(),
        '\u{ff61}'..='\u{ffee}' => ordinary_width(character).unwrap_or(character),
        // Its full lower case is two characters, its simple one is not.
        'İ' => 'i',
        _ => character.to_lowercase().next().unwrap_or(character),
    }
}

/// The ASCII character a fullwidth form stands for.
fn ascii_form(fullwidth: char) -> char {
    char::from_u32(u32::from(fullwidth) - 0xfee0).unwrap_or(fullwidth)
}
