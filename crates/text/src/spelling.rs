//! Spellings of a word: with accents and without, with the letters that stand for them and without. What the fold of the
//! reference makes equal is equal already; this is about what it keeps apart: `Zurich` and `Zürich` (which it makes
//! `zuerich`), `oeuvre` and `œuvre`, `Dvorak` and `Dvořák`, `ё` and `е`.
use std::borrow::Cow;

use crate::accents::{ACCENTED, BASES};
use crate::fold::{fold, lowercase};

/// Longest word that has other spellings, bytes.
const WORD_BYTES_MAX: usize = 100;
/// Letters from which on a vowel without an accent may stand for one with an accent, and the last letter too.
const LETTERS_MIN: usize = 3;

/// A word as it was written, to be compared with folded words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spelling {
    /// For each letter what may stand for it in a folded word that has lost its other accents.
    places: Vec<Vec<String>>,
}

impl Spelling {
    /// Of a word as it was written. It has none but itself if it is very long.
    #[must_use]
    pub fn parse(written: &str) -> Option<Spelling> {
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
                    return vec![without_accents(&folded).into_owned()];
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
        let word = without_accents(word);
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

    /// For each letter what may stand for it: one thing, or several that begin with the same letter and have two at most.
    pub(crate) fn places(&self) -> &[Vec<String>] {
        &self.places
    }
}

/// A folded word without the accents that folding leaves.
#[must_use]
pub fn without_accents(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        return Cow::Borrowed(word);
    }
    let mut out = String::with_capacity(word.len());
    for character in word.chars() {
        match character {
            'œ' => out.push_str("oe"),
            '\u{300}'..='\u{36f}' => {}
            _ => out.push(base(character)),
        }
    }
    Cow::Owned(out)
}

/// The letter without its accent, where it is in [`ACCENTED`].
fn base(letter: char) -> char {
    BASES.binary_search_by_key(&letter, |(accented, _)| *accented).map_or(letter, |at| BASES[at].1)
}

/// Letters that folding leaves their accent, for a letter without one.
pub(crate) fn accents_of(base: char) -> &'static str {
    ACCENTED.binary_search_by_key(&base, |(base, _)| *base).map_or("", |at| ACCENTED[at].1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::unicode::compositions;

    fn finds(written: &str, stored: &str) -> bool {
        let mut folded = String::new();
        fold(stored, &mut folded);
        let spelling = Spelling::parse(written).expect("a short word");
        spelling.is_of(&folded, false)
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

    /// Whether folding leaves a letter as it is.
    fn stays(letter: char) -> bool {
        let mut folded = String::new();
        fold(letter.encode_utf8(&mut [0; 4]), &mut folded);
        folded.chars().eq([letter])
    }

    /// What the tables of accents are: worked out when a process begins, they cost it a fifth of its first answer.
    fn bases() -> BTreeMap<char, char> {
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
        bases
    }

    #[test]
    fn tables_of_accents_are_what_unicode_and_folding_leave() {
        let mut of_base = BTreeMap::<char, String>::new();
        bases().iter().for_each(|(letter, base)| of_base.entry(*base).or_default().push(*letter));
        let lines = of_base.iter().map(|(base, letters)| format!("    ({base:?}, {letters:?}),\n")).collect::<String>();
        assert!(
            ACCENTED.iter().map(|(base, letters)| (*base, (*letters).to_owned())).eq(of_base),
            "the table is to be:\n{lines}"
        );
        assert!(BASES.iter().copied().eq(bases()));
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
        assert_eq!(Spelling::parse(&"a".repeat(101)), None);
        let many = Spelling::parse(&"a".repeat(60)).unwrap();
        assert!(many.is_of(&"a".repeat(90), false) && !many.is_of(&"b".repeat(90), false));
        assert!(!many.is_of(&"a".repeat(130), false) && many.is_of(&"a".repeat(130), true));
    }

    #[test]
    fn beginnings_are_spelled_too() {
        let spelling = Spelling::parse("zur").unwrap();
        assert!(
            spelling.is_of("zuerich", true) && !spelling.is_of("zuerich", false) && !spelling.is_of("zirich", true)
        );
    }
}
