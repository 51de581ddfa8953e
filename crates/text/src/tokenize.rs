//! Tokens of a document's text: maximal runs of word characters. Everything else separates; nothing is normalised.

use crate::unicode;

/// Which ASCII characters make words: letters and digits.
static ASCII_WORD: [bool; 128] = {
    let mut table = [false; 128];
    let mut code = 0;
    while code < 128 {
        table[code] = (code as u8).is_ascii_alphanumeric();
        code += 1;
    }
    table
};

/// Whether a character makes words in documents.
#[inline]
pub fn is_word(character: char) -> bool {
    if character.is_ascii() { ASCII_WORD[character as usize] } else { unicode::is_word(character) }
}

/// A token's place in the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    /// Byte of the first character.
    pub start: usize,
    /// Byte after the last character.
    pub end: usize,
}

/// The tokens of a text, from left to right. Their ordinal is their position in matching.
#[derive(Clone, Debug)]
pub struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    /// The tokens of a text.
    pub fn new(text: &'a str) -> Tokens<'a> {
        Tokens { text, at: 0 }
    }

    /// Length in bytes of the character at `self.at` and whether it makes words; `None` at the end.
    #[inline]
    fn step(&self) -> Option<(usize, bool)> {
        let byte = *self.text.as_bytes().get(self.at)?;
        if let Some(word) = ASCII_WORD.get(usize::from(byte)) {
            return Some((1, *word));
        }
        let character = self.text[self.at..].chars().next()?;
        Some((character.len_utf8(), unicode::is_word(character)))
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        loop {
            match self.step()? {
                (_, true) => break,
                (length, false) => self.at += length,
            }
        }
        let start = self.at;
        while let Some((length, true)) = self.step() {
            self.at += length;
        }
        Some(Token { start, end: self.at })
    }
}
