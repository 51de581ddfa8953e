//! Stems of words, by the algorithms of Snowball: words with the same stem are forms of one word, more or less. A stem
//! itself is never shown; it need not be a word.
use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};

use crate::automaton::{Range, Slips};
use crate::forms::{SHORT_STEM, forms, goes_on_with, letters_written};
use crate::typo::Typo;

/// Longest word that is stemmed, bytes. Longer ones are no words of a language: they equal themselves only.
const WORD_BYTES_MAX: usize = 100;

/// The last letters of the endings that English's algorithm takes off or changes: words that end otherwise are their stems.
const ENGLISH_ENDS: [char; 13] = ['s', 'd', 'g', 'y', 'i', 'l', 'r', 'n', 'm', 'e', 'c', 't', '\''];

/// A language: its names, its algorithm, and what to know about it.
struct Language {
    /// In English, and the code of ISO 639-1.
    names: [&'static str; 2],
    algorithm: Algorithm,
    /// Letters that folding writes with two, and which they were. The algorithm knows only the letter.
    unfolded: &'static [(&'static str, &'static str)],
    /// What of a word its forms have in common.
    keeps: Keeps,
}

/// How much of its words' beginnings a language's algorithm leaves as it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keeps {
    /// Nothing that is known.
    Nothing,
    /// The first character.
    First,
    /// The stem but for its last character, and the first character in any case: what English's algorithm writes itself is
    /// no longer (`hope` of `hoping`, `happi` of `happy`), but for `-ble` of `-bility` and the likes of `die` of `dying`.
    Stem,
}

const fn language(name: &'static str, code: &'static str, algorithm: Algorithm) -> Language {
    Language { names: [name, code], algorithm, unfolded: &[], keeps: Keeps::First }
}

static LANGUAGES: [Language; 18] = [
    Language { keeps: Keeps::Nothing, ..language("arabic", "ar", Algorithm::Arabic) },
    Language { unfolded: &[("ae", "æ"), ("oe", "ø"), ("aa", "å")], ..language("danish", "da", Algorithm::Danish) },
    language("dutch", "nl", Algorithm::Dutch),
    Language { keeps: Keeps::Stem, ..language("english", "en", Algorithm::English) },
    Language { unfolded: &[("ae", "ä"), ("oe", "ö")], ..language("finnish", "fi", Algorithm::Finnish) },
    language("french", "fr", Algorithm::French),
    Language {
        unfolded: &[("qu", "qu"), ("aue", "aue"), ("eue", "eue"), ("ae", "ä"), ("oe", "ö"), ("ue", "ü")],
        ..language("german", "de", Algorithm::German)
    },
    language("greek", "el", Algorithm::Greek),
    Language { unfolded: &[("oe", "ö"), ("ue", "ü")], ..language("hungarian", "hu", Algorithm::Hungarian) },
    language("italian", "it", Algorithm::Italian),
    Language {
        unfolded: &[("ae", "æ"), ("oe", "ø"), ("aa", "å")],
        ..language("norwegian", "no", Algorithm::Norwegian)
    },
    language("portuguese", "pt", Algorithm::Portuguese),
    language("romanian", "ro", Algorithm::Romanian),
    language("russian", "ru", Algorithm::Russian),
    language("spanish", "es", Algorithm::Spanish),
    Language { unfolded: &[("ae", "ä"), ("oe", "ö"), ("aa", "å")], ..language("swedish", "sv", Algorithm::Swedish) },
    Language { keeps: Keeps::Nothing, ..language("tamil", "ta", Algorithm::Tamil) },
    Language { unfolded: &[("oe", "ö"), ("ue", "ü")], ..language("turkish", "tr", Algorithm::Turkish) },
];

/// A set of languages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Languages(u32);

impl Languages {
    /// The languages of a list: names in English or codes of ISO 639-1, with commas between them, in any case. `none`
    /// is the empty set.
    ///
    /// # Errors
    /// The name that is of no language here.
    pub fn named(list: &str) -> Result<Languages, &str> {
        let mut languages = Languages::default();
        for name in list.split(',').map(str::trim) {
            let known = |language: &Language| language.names.iter().any(|known| known.eq_ignore_ascii_case(name));
            match LANGUAGES.iter().position(known) {
                Some(number) => languages.0 |= 1 << number,
                None if name.eq_ignore_ascii_case("none") => {}
                None => return Err(name),
            }
        }
        Ok(languages)
    }

    /// The names of all languages, in English.
    pub fn all() -> impl Iterator<Item = &'static str> {
        LANGUAGES.iter().map(|language| language.names[0])
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn each(self) -> impl Iterator<Item = &'static Language> {
        LANGUAGES.iter().enumerate().filter(move |(number, _)| self.0 >> number & 1 == 1).map(|(_, language)| language)
    }
}

/// The stems of a word in some languages, to be compared with those of others.
pub struct Stems {
    word: String,
    stems: Vec<(&'static Language, Stemmer, String)>,
}

impl Stems {
    /// The stems of a folded word (see [`fold`](crate::fold())).
    #[must_use]
    pub fn new(word: &str, languages: Languages) -> Stems {
        let languages = languages.each().filter(|_| word.len() <= WORD_BYTES_MAX);
        let stem = |language: &'static Language| {
            let stemmer = Stemmer::create(language.algorithm);
            let stem = language.stem(&stemmer, word).into_owned();
            (language, stemmer, stem)
        };
        Stems { word: word.to_owned(), stems: languages.map(stem).collect() }
    }

    /// Whether a folded word has the same stem in one of the languages.
    #[must_use]
    pub fn equal(&self, word: &str) -> bool {
        let is_same = |of: &(&Language, Stemmer, String)| {
            let (language, stemmer, stem) = of;
            let rest = word.strip_prefix(stem.as_str()).filter(|_| language.keeps == Keeps::Stem);
            word.starts_with(self.kept(of))
                && rest.is_none_or(|rest| goes_on_with(stem, rest))
                && language.stem(stemmer, word) == *stem
        };
        word == self.word || word.len() <= WORD_BYTES_MAX && self.stems.iter().any(is_same)
    }

    /// Whether a folded word with the same first character has a stem that is, but for slips, the one in one of the
    /// languages. `typos`: those stems.
    pub(crate) fn nearly_equal(&self, word: &str, typos: &[Option<Typo>]) -> bool {
        let is_alike = word.len() <= WORD_BYTES_MAX && word.chars().next() == self.word.chars().next();
        let is_near = |((language, stemmer, _), typo): (&(&Language, Stemmer, String), &Option<Typo>)| {
            typo.as_ref().is_some_and(|typo| typo.is_of(&language.stem(stemmer, word), false))
        };
        is_alike && self.stems.iter().zip(typos).any(is_near)
    }

    /// Where all words stand that may have one of the stems.
    pub(crate) fn ranges(&self) -> Vec<Range> {
        let ranges = |of: &(&Language, Stemmer, String)| {
            let (language, _, stem) = of;
            let is_known = language.keeps == Keeps::Stem && !self.word.starts_with('\'');
            let forms = is_known.then(|| forms(stem)).flatten();
            forms.unwrap_or_else(|| vec![Range::beginning(self.kept(of))])
        };
        self.stems.iter().flat_map(ranges).collect()
    }

    /// Automata that lead to all words which [`Stems::nearly_equal`] holds for.
    pub(crate) fn near(&self, typos: &[Option<Typo>], slips_max: usize) -> impl Iterator<Item = Slips> {
        let first = self.word.chars().next();
        let near = move |((language, ..), typo): (&(&Language, Stemmer, String), &Option<Typo>)| {
            let stem = typo.as_ref()?.letters();
            // What the algorithm leaves of a word may have to do with its first letter alone.
            let is_kept = language.keeps == Keeps::Stem && first != Some('\'');
            let written = if is_kept { letters_written(stem, slips_max) } else { stem.len() };
            Some(Slips::of_stem(stem, slips_max, first, written))
        };
        self.stems.iter().zip(typos).filter_map(near)
    }

    /// What words begin with that may have the stem of a language.
    fn kept<'s>(&'s self, (language, _, stem): &'s (&Language, Stemmer, String)) -> &'s str {
        let first = |text: &'s str| &text[..text.chars().next().map_or(0, char::len_utf8)];
        match language.keeps {
            Keeps::Nothing => "",
            Keeps::First => first(&self.word),
            Keeps::Stem => {
                let written = if stem.ends_with("ble") || stem.chars().count() <= SHORT_STEM { 2 } else { 1 };
                let end = stem.char_indices().rev().nth(written - 1).map_or(0, |(at, _)| at);
                if end == 0 { first(&self.word) } else { &stem[..end] }
            }
        }
    }

    /// The stems, one for each language.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.stems.iter().map(|(_, _, stem)| stem.as_str())
    }
}

impl Language {
    fn stem<'w>(&self, stemmer: &Stemmer, word: &'w str) -> Cow<'w, str> {
        if self.keeps == Keeps::Stem && !word.ends_with(ENGLISH_ENDS) && !word.starts_with('\'') {
            return word.into();
        }
        let foldings = self.unfolded.iter().any(|(folded, _)| word.contains(folded));
        if foldings { stemmer.stem(&self.unfold(word)).into_owned().into() } else { stemmer.stem(word) }
    }

    /// The word with the letters that folding wrote with two.
    fn unfold(&self, word: &str) -> String {
        let mut out = String::with_capacity(word.len());
        let mut rest = word;
        while let Some(first) = rest.chars().next() {
            let (length, letters) = match self.unfolded.iter().find(|(folded, _)| rest.starts_with(folded)) {
                Some((folded, letter)) => (folded.len(), *letter),
                None => (first.len_utf8(), &rest[..first.len_utf8()]),
            };
            out.push_str(letters);
            rest = &rest[length..];
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn equal(languages: &str, one: &str, other: &str) -> bool {
        Stems::new(one, Languages::named(languages).unwrap()).equal(other)
    }

    #[test]
    fn languages_are_named() {
        assert_eq!(Languages::named("en"), Languages::named("English"));
        assert_eq!(Languages::named("none"), Ok(Languages::default()));
        assert_eq!(Languages::named("de, EN").map(|both| both.each().count()), Ok(2));
        assert_eq!(Languages::named("en,klingon"), Err("klingon"));
        assert_eq!(Languages::named(""), Err(""));
        assert_eq!(Languages::all().count(), LANGUAGES.len());
    }

    #[test]
    fn forms_of_a_word_are_equal() {
        assert!(equal("en", "running", "runs"));
        assert!(equal("en", "dying", "die"));
        assert!(!equal("en", "running", "runner"));
        assert!(!equal("none", "running", "runs"));
        // Folded: Häuser and Haus, Größe and groß.
        assert!(equal("de", "haeuser", "haus"));
        assert!(equal("de", "groesse", "gross"));
        assert!(!equal("de", "quelle", "kuelle"));
        assert!(equal("en,de", "haeuser", "haus") && equal("en,de", "runs", "run"));
        assert!(equal("de", "abenteuer", "abenteuern") && equal("de", "neue", "neuen"));
        assert!(equal("sv", "baatarna", "baat"));
        assert!(equal("ru", "книги", "книга"));
    }

    #[test]
    fn forms_begin_with_what_a_language_keeps() {
        const ROOTS: [&str; 22] = [
            "relat", "possi", "hop", "d", "sk", "organ", "t", "happ", "cri", "abil", "rational", "luxuri", "nota",
            "sta", "sensi", "credi", "agree", "fl", "y", "depend", "ow", "gentl",
        ];
        const ENDS: [&str; 32] = [
            "", "s", "es", "ies", "ied", "ed", "ing", "ying", "ie", "y", "e", "ate", "ation", "ational", "izer",
            "ization", "ize", "bility", "ble", "bly", "fulness", "ful", "ousness", "iveness", "ive", "iviti", "ement",
            "ent", "ency", "ence", "ically", "ist",
        ];
        let english = Languages::named("en").unwrap();
        let stemmer = Stemmer::create(Algorithm::English);
        let words: Vec<String> = ROOTS
            .iter()
            .flat_map(|root| ENDS.iter().flat_map(move |end| ["", "s", "ly"].map(|last| format!("{root}{end}{last}"))))
            .collect();
        for word in &words {
            let stems = Stems::new(word, english);
            let same = words.iter().filter(|other| stemmer.stem(other) == stemmer.stem(word));
            same.for_each(|other| assert!(stems.equal(other), "{word} {other}"));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(20_000), failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn english_words_that_end_otherwise_are_their_stems(word in "[a-zé0-9']{0,12}", end in "(|able|ness|ation|ful|y)[a-zé0-9]?") {
            let (word, stemmer) = (word + &end, Stemmer::create(Algorithm::English));
            let english = LANGUAGES.iter().find(|language| language.keeps == Keeps::Stem).expect("English");
            prop_assert_eq!(english.stem(&stemmer, &word), stemmer.stem(&word));
        }
    }

    #[test]
    fn very_long_words_equal_themselves_only() {
        let long = "b".repeat(WORD_BYTES_MAX) + "ing";
        assert!(equal("en", &long, &long));
        assert!(!equal("en", &long, &long[..WORD_BYTES_MAX]));
    }
}
