//! Letters and marks that are one character together: what Unicode's form C makes of a text that was typed or copied with
//! its marks apart. Texts are compared in that form. Wide forms of ASCII in what a person typed become ASCII too, so that
//! numbers are numbers; other compatible forms (ligatures) are left as they are.
use std::borrow::Cow;

use crate::unicode::composition;

const HANGUL_LEAD: std::ops::Range<u32> = 0x1100..0x1113;
const HANGUL_VOWEL: std::ops::Range<u32> = 0x1161..0x1176;
const HANGUL_TAIL: std::ops::Range<u32> = 0x11a8..0x11c3;
const HANGUL_SYLLABLE: std::ops::Range<u32> = 0xac00..0xd7a4;
const TAILS: u32 = 28;
const VOWELS: u32 = 21;

/// The text with every letter and the marks after it as one character, where there is one, and wide ASCII as ASCII.
#[must_use]
pub fn compose(text: &str) -> Cow<'_, str> {
    join(text, narrow)
}

/// The text with every letter and the marks after it as one character, where there is one: how texts are compared.
#[must_use]
pub fn whole_letters(text: &str) -> Cow<'_, str> {
    // No mark that is together with a letter begins with another byte.
    let may_begin_mark = |byte| matches!(byte, 0xcc | 0xcd | 0xd9 | 0xe0 | 0xe1 | 0xe3);
    if text.is_ascii() || !text.bytes().any(may_begin_mark) {
        return Cow::Borrowed(text);
    }
    join(text, |character| character)
}

fn join(text: &str, form: fn(char) -> char) -> Cow<'_, str> {
    let apart = |(first, second)| form(first) != first || together(first, second).is_some();
    if !text.chars().zip(text.chars().skip(1).chain(Some(' '))).any(apart) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut held: Option<char> = None;
    for character in text.chars().map(form) {
        held = match held {
            None => Some(character),
            Some(first) => Some(together(first, character).unwrap_or_else(|| {
                out.push(first);
                character
            })),
        };
    }
    out.extend(held);
    Cow::Owned(out)
}

/// The ASCII form of a wide form.
fn narrow(character: char) -> char {
    match character {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(character) - 0xfee0).unwrap_or(character),
        _ => character,
    }
}

fn together(first: char, second: char) -> Option<char> {
    // Others are together with nothing, and are most letters of most scripts.
    if !matches!(second, '\u{300}'..='\u{345}' | '\u{653}'..='\u{1b35}' | '\u{3099}' | '\u{309a}') {
        return None;
    }
    composition(first, second).or_else(|| hangul(u32::from(first), u32::from(second)))
}

/// Syllables of Hangul are computed, not listed.
fn hangul(first: u32, second: u32) -> Option<char> {
    if HANGUL_LEAD.contains(&first) && HANGUL_VOWEL.contains(&second) {
        let syllable = (first - HANGUL_LEAD.start) * VOWELS + (second - HANGUL_VOWEL.start);
        return char::from_u32(HANGUL_SYLLABLE.start + syllable * TAILS);
    }
    let open = HANGUL_SYLLABLE.contains(&first) && (first - HANGUL_SYLLABLE.start).is_multiple_of(TAILS);
    if open && HANGUL_TAIL.contains(&second) {
        return char::from_u32(first + second - HANGUL_TAIL.start + 1);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unicode::compositions;

    #[test]
    fn letters_and_marks_become_one() {
        let cases = [
            ("e\u{301}", "é"),
            ("Cafe\u{301} noir", "Café noir"),
            ("e\u{323}\u{302}", "ệ"),
            ("\u{1112}\u{1161}\u{11ab}\u{1100}", "한\u{1100}"),
            ("x\u{301}", "x\u{301}"),
            ("\u{301}e", "\u{301}e"),
            ("é", "é"),
            ("ａＢ：２", "aB:2"),
            ("ａ", "a"),
            ("", ""),
        ];
        for (apart, together) in cases {
            assert_eq!(compose(apart), together);
        }
        assert_eq!(whole_letters("e\u{301}Ａ"), "éＡ");
        for (letter, mark, whole) in compositions() {
            assert_eq!(whole_letters(&format!("{letter}{mark}")), whole.to_string());
        }
        assert_eq!(whole_letters("\u{1112}\u{1161}\u{11ab}"), "한");
        assert!(matches!(compose("plain"), Cow::Borrowed(_)));
    }
}
