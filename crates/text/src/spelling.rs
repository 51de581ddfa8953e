//! Spellings of a word: with accents and without, with the letters that stand for them and without. What the fold of the
//! reference makes equal is equal already; this is about what it keeps apart: `Zurich` and `Zürich` (which it makes
//! `zuerich`), `oeuvre` and `œuvre`, `Dvorak` and `Dvořák`, `ё` and `е`.
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::fold::{fold, lowercase};
use crate::unicode::compositions;

/// Longest word that has other spellings, bytes.
const WORD_BYTES_MAX: usize = 100;
/// Letters from which on a vowel without an accent may stand for one with an accent, and the last letter too.
const LETTERS_MIN: usize = 3;

/// Bytes of a beginning after which so few words are left that more letters do not pay.
const BEGINNING_BYTES: usize = 3;
/// What the marks that letters are combined with begin with, as they are stored: U+0300 to U+036F and a few more.
const MARKS: [u8; 2] = [0xcc, 0xcd];

/// A word as it was written, to be compared with folded words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spelling {
    /// For each letter what may stand for it in a folded word that has lost its other accents.
    places: Vec<Vec<String>>,
}

impl Spelling {
    /// Of a word as it was written. It has none but itself if it is very long.
    #[must_use]
    pub fn of(written: &str) -> Option<Spelling> {
        let mut lower = String::new();
        lowercase(written, &mut lower);
        let letters: Vec<char> = lower.chars().collect();
        let is_short = letters.len() <= LETTERS_MIN;
        let place = |(at, letter): (usize, &char)| {
            let may_have_accent = letters.len() >= LETTERS_MIN && !(is_short && at + 1 == letters.len());
            let others: &[&str] = match letter {
                'ä' => &["ae", "a"],
                'å' => &["aa", "a"],
                'ö' | 'ø' => &["oe", "o"],
                'ü' => &["ue", "u"],
                'a' if may_have_accent => &["a", "ae", "aa"],
                'o' if may_have_accent => &["o", "oe"],
                'u' if may_have_accent => &["u", "ue"],
                _ => {
                    let mut folded = String::new();
                    fold(letter.encode_utf8(&mut [0; 4]), &mut folded);
                    return vec![unaccented(&folded).into_owned()];
                }
            };
            others.iter().map(|other| (*other).to_owned()).collect()
        };
        let places = letters.iter().enumerate().map(place).filter(|place| place.iter().any(|other| !other.is_empty()));
        (lower.len() <= WORD_BYTES_MAX).then(|| Spelling { places: places.collect() })
    }

    /// Whether a folded word is a spelling of it, or begins with one if `begins`.
    #[must_use]
    pub fn is_of(&self, word: &str, begins: bool) -> bool {
        let word = unaccented(word);
        let bytes = if begins { &word.as_bytes()[..word.len().min(WORD_BYTES_MAX)] } else { word.as_bytes() };
        if bytes.len() > WORD_BYTES_MAX {
            return false;
        }
        // A bit for each byte that what is left of the word may begin at.
        let mut ends: u128 = 1;
        for place in &self.places {
            let mut after = 0;
            while ends != 0 {
                let at = ends.trailing_zeros() as usize;
                ends &= ends - 1;
                let fitting = place.iter().filter(|other| bytes[at..].starts_with(other.as_bytes()));
                fitting.for_each(|other| after |= 1 << (at + other.len()));
            }
            ends = after;
            if ends == 0 {
                return false;
            }
        }
        begins || ends >> bytes.len() & 1 == 1
    }

    /// What folded words begin with that may be spellings of it: its first letters, and the same with an accent on one of
    /// them, in one piece or behind it.
    #[must_use]
    pub fn beginnings(&self) -> Vec<Vec<u8>> {
        let mut beginnings = Vec::new();
        let mut plain = String::new();
        for place in &self.places {
            let [only] = &place[..] else {
                // All that may stand there begins with one letter; what comes behind it is not known.
                let letter = place[0].chars().next();
                letter.into_iter().for_each(|letter| add_letter(letter, &mut plain, &mut beginnings));
                break;
            };
            only.chars().for_each(|letter| add_letter(letter, &mut plain, &mut beginnings));
            if plain.len() >= BEGINNING_BYTES {
                break;
            }
        }
        beginnings.push(plain.into_bytes());
        beginnings
    }
}

/// Adds a letter to a beginning, and to `beginnings` those with an accent there.
fn add_letter(letter: char, plain: &mut String, beginnings: &mut Vec<Vec<u8>>) {
    let accented = accents().of(letter).iter().map(|accented| format!("{plain}{accented}").into_bytes());
    beginnings.extend(accented);
    beginnings.extend(MARKS.map(|byte| [plain.as_bytes(), &[byte]].concat()));
    plain.push(letter);
}

/// A folded word without the accents that folding leaves.
#[must_use]
pub fn unaccented(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        return Cow::Borrowed(word);
    }
    let mut out = String::with_capacity(word.len());
    for character in word.chars() {
        match character {
            'œ' => out.push_str("oe"),
            '\u{300}'..='\u{36f}' => {}
            _ => out.push(accents().base(character)),
        }
    }
    Cow::Owned(out)
}

/// Letters with accents that folding leaves, and which letters they are without.
struct Accents {
    bases: BTreeMap<char, char>,
    of_base: BTreeMap<char, Vec<char>>,
}

impl Accents {
    fn base(&self, letter: char) -> char {
        self.bases.get(&letter).copied().unwrap_or(letter)
    }

    fn of(&self, base: char) -> &[char] {
        self.of_base.get(&base).map_or(&[], Vec::as_slice)
    }
}

/// Letters that are written with a stroke, or otherwise in one piece.
const PIECES: [(char, char); 10] = [
    ('ł', 'l'),
    ('ħ', 'h'),
    ('ŧ', 't'),
    ('ı', 'i'),
    ('ƶ', 'z'),
    ('ɨ', 'i'),
    ('ς', 'σ'),
    ('ё', 'е'),
    ('ѐ', 'е'),
    ('œ', 'o'),
];

fn accents() -> &'static Accents {
    static ACCENTS: OnceLock<Accents> = OnceLock::new();
    ACCENTS.get_or_init(|| {
        let mut bases: BTreeMap<char, char> = PIECES.into();
        let whole: BTreeMap<char, char> = compositions().map(|(letter, _, whole)| (whole, letter)).collect();
        for letter in whole.keys() {
            let mut base = *letter;
            while let Some(below) = whole.get(&base) {
                base = *below;
            }
            // Of other scripts a mark makes another letter: й is not и, が is not か.
            let is_greek = ('\u{370}'..='\u{3ff}').contains(&base);
            if (base.is_ascii_lowercase() || is_greek && base.is_lowercase()) && stays(*letter) {
                bases.insert(*letter, base);
            }
        }
        let mut of_base = BTreeMap::<char, Vec<char>>::new();
        bases.iter().for_each(|(letter, base)| of_base.entry(*base).or_default().push(*letter));
        Accents { bases, of_base }
    })
}

/// Whether folding leaves a letter as it is.
fn stays(letter: char) -> bool {
    let mut folded = String::new();
    fold(letter.encode_utf8(&mut [0; 4]), &mut folded);
    folded.chars().eq([letter])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(written: &str, stored: &str) -> bool {
        let mut folded = String::new();
        fold(stored, &mut folded);
        let spelling = Spelling::of(written).expect("a short word");
        let found = spelling.is_of(&folded, false);
        assert!(!found || spelling.beginnings().iter().any(|beginning| folded.as_bytes().starts_with(beginning)));
        found
    }

    #[test]
    fn spellings_of_a_word_find_each_other() {
        for (one, other) in [
            ("Zurich", "Zürich"),
            ("muller", "MÜLLER"),
            ("oeuvre", "Œuvre"),
            ("Dvorak", "Dvořák"),
            ("Lodz", "Łódź"),
            ("Malmo", "Malmö"),
            ("Tromso", "Tromsø"),
            ("Erdogan", "Erdoğan"),
            ("cafe", "café"),
            ("strasse", "Straße"),
            ("Angstrom", "Ångström"),
            ("Αθηνα", "Αθήνα"),
            ("елка", "ёлка"),
            ("Smorgasbord", "smo\u{308}rga\u{30a}sbord"),
        ] {
            assert!(finds(one, other), "{one} finds {other}");
            assert!(finds(other, one) || other.contains('\u{308}'), "{other} finds {one}");
            assert!(finds(other, other) && finds(one, one));
        }
        assert!(finds("Zuerich", "Zürich"));
    }

    #[test]
    fn other_words_are_no_spellings() {
        for (one, other) in [("does", "dos"), ("to", "toe"), ("война", "воина"), ("か", "が"), ("zurich", "zuri")]
        {
            assert!(!finds(one, other), "{one} does not find {other}");
        }
        assert_eq!(Spelling::of(&"a".repeat(101)), None);
        let many = Spelling::of(&"a".repeat(60)).unwrap();
        assert!(many.is_of(&"a".repeat(90), false) && !many.is_of(&"b".repeat(90), false));
        assert!(!many.is_of(&"a".repeat(130), false) && many.is_of(&"a".repeat(130), true));
    }

    #[test]
    fn beginnings_are_spelled_too() {
        let spelling = Spelling::of("zur").unwrap();
        assert!(
            spelling.is_of("zuerich", true) && !spelling.is_of("zuerich", false) && !spelling.is_of("zirich", true)
        );
    }
}
