//! Variants of a word that was asked for: forms with the same stem, other spellings, words that begin with it, words
//! with a slip. Whether a word is one depends on the two words alone, never on what else is stored.
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
    stems: Stems,
    spelling: Option<Spelling>,
    typo: Option<Typo>,
    /// For each stem.
    stem_typos: Vec<Option<Typo>>,
}

impl Variants {
    /// Of a word as it was written.
    #[must_use]
    pub fn of(written: &str, variety: Variety) -> Variants {
        let mut folded = String::new();
        fold(written, &mut folded);
        let stems = Stems::of(&folded, variety.languages);
        let slips = usize::from(variety.slips);
        Variants {
            beginnings: variety.beginnings,
            spelling: variety.spellings.then(|| Spelling::of(written)).flatten(),
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

    /// What folded words begin with that can be variants: sorted, none the beginning of another.
    #[must_use]
    pub fn beginnings(&self) -> Vec<Vec<u8>> {
        let mut all = match (&self.typo, &self.spelling) {
            (Some(_), _) => return vec![Vec::new()],
            (None, Some(spelling)) => spelling.beginnings(),
            (None, None) => Vec::new(),
        };
        all.push(self.folded.clone().into_bytes());
        all.extend(self.stems.beginnings().map(|beginning| beginning.as_bytes().to_vec()));
        all.sort_unstable();
        let mut beginnings: Vec<Vec<u8>> = Vec::with_capacity(all.len());
        for beginning in all {
            if !beginnings.last().is_some_and(|last| beginning.starts_with(last)) {
                beginnings.push(beginning);
            }
        }
        beginnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn variants(written: &str, languages: &str, slips: u8) -> Variants {
        let languages = Languages::named(languages).unwrap();
        Variants::of(written, Variety { languages, spellings: true, beginnings: false, slips })
    }

    #[test]
    fn what_is_no_variant_of_a_kind_may_be_one_of_another() {
        let runs = variants("runs", "en", 0);
        assert!(runs.has("running") && runs.has("runs") && !runs.has("runner") && !runs.has("ruins"));
        assert!(variants("Zürich", "en", 0).has("zurich") && variants("zurich", "en", 0).has("zuerich"));
        assert!(variants("invoces", "en", 1).has("invoice") && !variants("invoces", "none", 1).has("invoice"));
        assert_eq!(variants("invoces", "en", 1).beginnings(), [b""]);
    }

    #[test]
    fn all_variants_begin_with_one_of_the_beginnings() {
        let of = variants("houses", "en", 0);
        let beginnings = of.beginnings();
        assert!(beginnings.windows(2).all(|pair| pair[0] < pair[1] && !pair[1].starts_with(&pair[0])));
        for word in ["house", "housing", "houses", "ħouses", "hoeuses", "h\u{302}ouses", "houśes"] {
            assert!(of.has(word), "{word}");
            assert!(beginnings.iter().any(|beginning| word.as_bytes().starts_with(beginning)), "{word}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]
        /// A search looks only at words that begin so.
        #[test]
        fn no_variant_begins_otherwise(
            written in "[aouzrlsßäöüåœøřł]{1,4}(ing|ies|e?s|ed|y|)",
            stored in prop::collection::vec("[aouzrlsßäöüåœøřł\u{308}\u{30c}]{1,4}(ing|ies|e?s|ed|y|)", 1..40),
            languages in prop_oneof![Just("none"), Just("en"), Just("de, en"), Just("sv")],
            (spellings, beginnings) in any::<(bool, bool)>(),
        ) {
            let languages = Languages::named(languages).unwrap();
            let of = Variants::of(&written, Variety { languages, spellings, beginnings, slips: 0 });
            let begins = of.beginnings();
            for stored in stored.iter().chain([&written]) {
                let mut word = String::new();
                fold(stored, &mut word);
                let looked_at = begins.iter().any(|beginning| word.as_bytes().starts_with(beginning));
                prop_assert!(looked_at || !of.has(&word), "{written} finds {word}, but looks for {begins:?}");
            }
        }
    }
}
