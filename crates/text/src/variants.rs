//! Variants of a word that was asked for: forms with the same stem, other spellings, words that begin with it, words
//! with a slip. Whether a word is one depends on the two words alone, never on what else is stored.
use crate::automaton::{Path, Range, Ranges, Slips, Spellings};
use crate::fold::fold;
use crate::spelling::Spelling;
use crate::stem::{Languages, Stems};
use crate::typo::Typo;

/// Which variants of a word count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Variety {
    /// Forms with the same stem in one of these languages.
    pub languages: Languages,
    /// Words with other accents.
    pub spellings: bool,
    /// Words that begin with it.
    pub beginnings: bool,
    /// Words with so many slips at most.
    pub slips: u8,
}

/// The variants of one word.
pub struct Variants {
    folded: String,
    beginnings: bool,
    slips: usize,
    stems: Stems,
    spelling: Option<Spelling>,
    typo: Option<Typo>,
    /// The slips of each stem.
    stem_typos: Vec<Option<Typo>>,
}

impl Variants {
    /// The variants of a word as it was written.
    #[must_use]
    pub fn new(written: &str, variety: Variety) -> Variants {
        let mut folded = String::new();
        fold(written, &mut folded);
        let stems = Stems::new(&folded, variety.languages);
        let slips = usize::from(variety.slips);
        Variants {
            beginnings: variety.beginnings,
            slips,
            spelling: variety.spellings.then(|| Spelling::parse(written)).flatten(),
            typo: (slips > 0).then(|| Typo::new(&folded, slips)),
            stem_typos: stems.iter().filter(|_| slips > 0).map(|stem| Typo::of_stem(stem, slips)).collect(),
            stems,
            folded,
        }
    }

    /// Whether a folded word is one, or the word itself.
    #[must_use]
    pub fn has(&self, word: &str) -> bool {
        word == self.folded
            || self.beginnings && word.starts_with(&self.folded)
            || self.spelling.as_ref().is_some_and(|spelling| spelling.is_of(word, self.beginnings))
            || self.stems.equal(word)
            || self.typo.as_ref().is_some_and(|typo| typo.is_of(word, self.beginnings))
            || self.stems.nearly_equal(word, &self.stem_typos)
    }

    /// Walks through sorted words, and looks only at those that can be variants.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        let exact = Range { word: self.folded.clone(), begins: self.beginnings };
        let mut ranges = self.stems.ranges();
        ranges.push(exact);
        let spellings = self.spelling.as_ref().map(|spelling| Path::new(Spellings::new(spelling, self.beginnings)));
        let slips = |typo: &Typo| Path::new(Slips::of_word(typo.letters(), self.slips, self.beginnings));
        let mut paths: Vec<Path> = spellings.into_iter().chain(self.typo.as_ref().map(slips)).collect();
        paths.extend(self.stems.near(&self.stem_typos, self.slips).map(Path::new));
        Cursor { ranges: Ranges::new(ranges), paths, bound: String::new() }
    }
}

/// A way through sorted words.
pub struct Cursor {
    ranges: Ranges,
    paths: Vec<Path>,
    bound: String,
}

impl Cursor {
    /// Of the words from this one on, what no variant stands before; the word itself, if it can be one. Nothing if none
    /// comes any more. Words are asked in their order, and may be left out.
    pub fn bound<'w>(&'w mut self, word: &'w [u8]) -> Option<&'w [u8]> {
        // A word that was cut may end in the middle of a letter. What stands there is compared by others.
        let text = match std::str::from_utf8(word) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&word[..error.valid_up_to()]).unwrap_or_default(),
        };
        let (mut found, mut is_here) = (false, false);
        if let Some((first, holds)) = self.ranges.bound(text) {
            (found, is_here) = (true, holds);
            self.bound.clear();
            self.bound.push_str(first);
        }
        for path in &mut self.paths {
            if is_here {
                break;
            }
            if let Some(bound) = path.bound(text) {
                is_here = bound == text;
                if !found || bound < self.bound.as_str() {
                    self.bound.clear();
                    self.bound.push_str(bound);
                }
                found = true;
            }
        }
        let bound = if is_here || self.bound.as_bytes() < word { word } else { self.bound.as_bytes() };
        found.then_some(bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn variants(written: &str, languages: &str, slips: u8) -> Variants {
        let languages = Languages::named(languages).unwrap();
        Variants::new(written, Variety { languages, spellings: true, beginnings: false, slips })
    }

    #[test]
    fn what_is_no_variant_of_a_kind_may_be_one_of_another() {
        let runs = variants("runs", "en", 0);
        assert!(runs.has("running") && runs.has("runs") && !runs.has("runner") && !runs.has("ruins"));
        assert!(variants("Zürich", "en", 0).has("zurich") && variants("zurich", "en", 0).has("zuerich"));
        assert!(variants("invoces", "en", 1).has("invoice") && !variants("invoces", "none", 1).has("invoice"));
    }

    /// The words of a list that a cursor leads to, and how many it looked at.
    fn found(of: &Variants, words: &[String]) -> (Vec<String>, usize) {
        let (mut cursor, mut at, mut looks) = (of.cursor(), 0, 0);
        let mut found = Vec::new();
        while let Some(word) = words.get(at) {
            let Some(bound) = cursor.bound(word.as_bytes()) else { break };
            looks += 1;
            assert!(bound >= word.as_bytes(), "{word} {bound:?}");
            if bound == word.as_bytes() {
                found.extend(of.has(word).then(|| word.clone()));
                at += 1;
            } else {
                at += words[at..].partition_point(|word| word.as_bytes() < bound);
            }
        }
        (found, looks)
    }

    /// The same by asking of every word.
    fn scanned(of: &Variants, words: &[String]) -> Vec<String> {
        words.iter().filter(|word| of.has(word)).cloned().collect()
    }

    fn sorted(words: impl IntoIterator<Item = String>) -> Vec<String> {
        words.into_iter().collect::<std::collections::BTreeSet<_>>().into_iter().collect()
    }

    #[test]
    fn a_cursor_looks_at_few_words() {
        let letters = ["a", "e", "n", "o", "r", "s", "t", "ü", "é"];
        let mut words = vec![String::new()];
        for _ in 0..5 {
            words.extend(words.clone().iter().flat_map(|word| letters.map(|letter| format!("{word}{letter}"))));
            words = sorted(words);
        }
        assert!(words.len() > 60_000);
        for (written, slips, most) in [("aston", 0, 40), ("sa", 0, 60), ("astones", 0, 40), ("rasto", 1, 3_000)] {
            let of = variants(written, "en", slips);
            let (found, looks) = found(&of, &words);
            assert_eq!(found, scanned(&of, &words), "{written}");
            assert!(!found.is_empty() && looks <= most, "{written}: {looks} looks");
        }
    }

    #[test]
    fn a_letter_for_two_may_stand_where_a_beginning_ends() {
        let of = Variants::new("lo", Variety { spellings: true, beginnings: true, ..Variety::default() });
        let words = sorted(["lœz", "loz", "ło", "la", "łœ"].map(str::to_owned));
        assert_eq!(found(&of, &words).0, ["loz", "lœz", "ło", "łœ"]);
        assert_eq!(scanned(&of, &words).len(), 4);
    }

    #[test]
    fn what_is_hardly_a_word_has_variants_too() {
        let words = ["", "2", "a", "an", "\u{301}", "²", "é", "zürich", "мир", "мира", "о", "ἄλφα", "αλφα", "👋", "東"];
        let words = sorted(words.map(str::to_owned));
        for written in ["", "👋", "мир", "άλφα", "東", "東京", "\u{301}", "²", "2", "\u{301}a", "'", "a'"]
        {
            for (slips, beginnings) in [(0, false), (0, true), (1, false), (2, true)] {
                let languages = Languages::named("en").unwrap();
                let of = Variants::new(written, Variety { languages, spellings: true, beginnings, slips });
                assert_eq!(found(&of, &words).0, scanned(&of, &words), "{written:?} {slips} {beginnings}");
            }
        }
    }

    #[test]
    fn forms_are_found() {
        const ENDS: [&str; 40] = [
            "ation", "ational", "ator", "ency", "ably", "able", "bility", "bly", "ization", "izer", "ivity", "ical",
            "'", "'s", "'s'", "s", "es", "ies", "ied", "ed", "eed", "edly", "eedly", "ing", "ingly", "y", "ly", "li",
            "ful", "fulness", "ness", "e", "l", "al", "er", "ize", "ative", "ment", "ogi", "ate",
        ];
        let letters = ["a", "b", "e", "i", "l", "n", "s", "t", "y"];
        let mut roots = vec![String::new()];
        for _ in 0..3 {
            roots.extend(roots.clone().iter().flat_map(|root| letters.map(|letter| format!("{root}{letter}"))));
            roots = sorted(roots);
        }
        roots.extend(["hop", "relat", "possi", "frequen", "organ", "happ", "activ", "predict"].map(str::to_owned));
        let once = roots.iter().flat_map(|root| ENDS.map(|end| format!("{root}{end}")));
        let mut words: Vec<String> = once.collect();
        words.extend(
            ["dying", "lying", "tying", "skies", "skis", "idly", "sky", "ski", "gently", "ugly", "early", "only"]
                .map(str::to_owned),
        );
        words.extend(
            words
                .clone()
                .iter()
                .flat_map(|word| ["s", "'s", "ing", "ed", "ly", "ness"].map(|end| format!("{word}{end}"))),
        );
        let words = sorted(words.into_iter().chain(roots));
        let stemmer = rust_stemmers::Stemmer::create(rust_stemmers::Algorithm::English);
        let mut of_stem = std::collections::BTreeMap::<String, Vec<String>>::new();
        for word in words.iter().filter(|word| !word.starts_with('\'')) {
            of_stem.entry(stemmer.stem(word).into_owned()).or_default().push(word.clone());
        }
        let mut forms = 0;
        for (stem, words) in &of_stem {
            let written = words.iter().max_by_key(|word| word.len()).expect("a form");
            let languages = Languages::named("en").unwrap();
            let of = Variants::new(written, Variety { languages, ..Variety::default() });
            assert_eq!(found(&of, words).0, *words, "{stem}");
            forms += words.len();
        }
        assert!(forms > 5_000, "{forms}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(3_000), failure_persistence: None, ..ProptestConfig::default() })]
        /// What a cursor leads to are the variants.
        #[test]
        fn a_cursor_leads_to_all_variants(
            written in "[aouzrlsßäöüåœøřł']{1,5}(ing|ies|e?s|ed|y|ble|ability|)",
            stored in prop::collection::vec("[aouzrlsßäöüåœøřł0'\u{308}\u{30c}]{1,6}(ing|ies|e?s|ed|y|ble|ability|)", 1..60),
            languages in prop_oneof![Just("none"), Just("en"), Just("en"), Just("de, en"), Just("sv"), Just("ar")],
            (spellings, beginnings, slips) in (any::<bool>(), any::<bool>(), 0u8..3),
        ) {
            let languages = Languages::named(languages).unwrap();
            let of = Variants::new(&written, Variety { languages, spellings, beginnings, slips });
            let words = sorted(stored.iter().chain([&written]).map(|stored| {
                let mut word = String::new();
                fold(stored, &mut word);
                word
            }));
            prop_assert_eq!(found(&of, &words).0, scanned(&of, &words));
        }

        #[test]
        fn slips_of_stems_are_found(
            written in "(relat|possi|hop|notab|sens|organ)(ion|ing|ational|bility|bly|izer|ation|ed|y|)[a-z]?",
            stored in prop::collection::vec("(relat|rleat|possi|hop|noptab|sens|snse|organ)[a-z]?(ion|ing|ational|bility|bly|izer|ation|ed|y|)(s|ly|)", 1..80),
            slips in 0u8..3,
        ) {
            let of = variants(&written, "en", slips);
            let words = sorted(stored);
            prop_assert_eq!(found(&of, &words).0, scanned(&of, &words));
        }
    }
}
