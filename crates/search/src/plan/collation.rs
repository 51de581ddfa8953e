//! Texts in the order of a language: the Unicode collation algorithm with the tailorings of CLDR, as keys whose bytes
//! compare as the texts do.
use std::rc::Rc;

use brooklet_query::sorting::Strength as Asked;
use brooklet_schema::SortStrength as Declared;
use brooklet_task::{Code, Rejection};
use icu_collator::options::CollatorOptions;
use icu_collator::{Collator, CollatorBorrowed};
use icu_locale_core::Locale;

pub(crate) use icu_collator::options::Strength;

/// An order of texts.
#[derive(Clone)]
pub(crate) struct Collation {
    collator: Rc<CollatorBorrowed<'static>>,
}

impl std::fmt::Debug for Collation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Collation")
    }
}

impl Collation {
    /// The order of a locale (`sv`, `en_US`, `de-u-co-phonebk`); one that is not known has the order of the root.
    ///
    /// # Errors
    /// If it is no locale.
    pub(crate) fn new(locale: &str, strength: Strength) -> Result<Collation, Rejection> {
        let refuse = |reason: &str| {
            let message = format!("Cannot order by the locale '{}': {reason}", Rejection::quote(locale));
            Rejection::new(Code::InvalidQueryParameter, message)
        };
        let parsed: Locale = locale.replace('_', "-").parse().map_err(|_| refuse("it is not a locale"))?;
        let mut options = CollatorOptions::default();
        options.strength = Some(strength);
        let collator = Collator::try_new((&parsed).into(), options).map_err(|error| refuse(&error.to_string()))?;
        Ok(Collation { collator: Rc::new(collator) })
    }

    /// What a text is compared by.
    pub(crate) fn key(&self, text: &str) -> Vec<u8> {
        let mut key = Vec::with_capacity(text.len() + 4);
        match self.collator.write_sort_key_to(text, &mut key) {
            Ok(()) => key,
        }
    }
}

/// The strength a query asks for.
pub(crate) fn asked_strength(strength: Asked) -> Strength {
    match strength {
        Asked::Primary => Strength::Primary,
        Asked::Secondary => Strength::Secondary,
        Asked::Tertiary => Strength::Tertiary,
        Asked::Quaternary => Strength::Quaternary,
        Asked::Identical => Strength::Identical,
    }
}

/// The strength that a grouping names, in capitals; the first of names that are not known.
pub(crate) fn named_strength(strength: &str) -> Strength {
    match strength {
        "SECONDARY" => Strength::Secondary,
        "TERTIARY" => Strength::Tertiary,
        "QUATERNARY" => Strength::Quaternary,
        "IDENTICAL" => Strength::Identical,
        _ => Strength::Primary,
    }
}

/// The strength a field declares.
pub(crate) fn declared_strength(strength: Declared) -> Strength {
    match strength {
        Declared::Primary => Strength::Primary,
        Declared::Secondary => Strength::Secondary,
        Declared::Tertiary => Strength::Tertiary,
        Declared::Quaternary => Strength::Quaternary,
        Declared::Identical => Strength::Identical,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted<'t>(locale: &str, strength: Strength, texts: &[&'t str]) -> Vec<&'t str> {
        let collation = Collation::new(locale, strength).unwrap();
        let mut texts = texts.to_vec();
        texts.sort_by_key(|text| collation.key(text));
        texts
    }

    #[test]
    fn languages_order_letters_differently() {
        let letters = ["z", "ö", "o", "ä", "å", "a"];
        assert_eq!(sorted("sv", Strength::Tertiary, &letters), ["a", "o", "z", "å", "ä", "ö"]);
        assert_eq!(sorted("de_DE", Strength::Tertiary, &letters), ["a", "å", "ä", "o", "ö", "z"]);
        assert_eq!(sorted("et", Strength::Primary, &["t", "z", "s"]), ["s", "z", "t"]);
    }

    #[test]
    fn strengths_tell_texts_apart() {
        let equal = |strength, one: &str, other: &str| {
            let collation = Collation::new("en_US", strength).unwrap();
            collation.key(one) == collation.key(other)
        };
        assert!(equal(Strength::Primary, "Résumé", "resume") && !equal(Strength::Primary, "resume", "resumes"));
        assert!(equal(Strength::Secondary, "resume", "Resume") && !equal(Strength::Secondary, "résumé", "resume"));
        assert!(!equal(Strength::Tertiary, "resume", "Resume") && equal(Strength::Tertiary, "e\u{301}", "é"));
        assert!(Collation::new("not a locale", Strength::Primary).unwrap_err().message.contains("'not a locale'"));
    }
}
