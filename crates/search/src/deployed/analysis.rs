//! How the words of a query are understood beyond the letters: stems, scripts without spaces, n-grams. Streaming search
//! knows none of it; rank properties ask for it (docs/answers.md), for all fields or for one by its name:
//!
//! * `brooklet.stemming: english` and `brooklet.stemming(title): german, en`: forms of a word are equal;
//! * `brooklet.segmentation: cjk`: words of Han, Kana and Hangul are found inside of runs;
//! * `brooklet.grams: true`: `match: gram` means what it says;
//! * `brooklet.accents: ignored`: words are equal that differ by accents alone;
//! * `brooklet.typos: forgiven`: of what a person typed, a word that no document has is looked for with a slip or two;
//! * `brooklet.typing: true`: the last word of what a person typed is the beginning of words.
//!
//! All of it is done when a query is asked: what is stored stays as it is.
use brooklet_query::annotations::Typed;
use brooklet_rank::match_data::RankProperties;
use brooklet_schema::{Field, MatchMode, Normalizing};
use brooklet_task::{Code, Rejection};
use brooklet_text::{Languages, Variety};

const STEMMING: &str = "brooklet.stemming";
const SEGMENTATION: &str = "brooklet.segmentation";
const GRAMS: &str = "brooklet.grams";
const ACCENTS: &str = "brooklet.accents";
const TYPOS: &str = "brooklet.typos";
const TYPING: &str = "brooklet.typing";

/// What rank properties ask for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Analysis {
    stemming: Setting<Languages>,
    segmentation: Setting<bool>,
    grams: Setting<bool>,
    accents: Setting<bool>,
    typos: Setting<bool>,
    typing: Setting<bool>,
}

/// A setting for all fields, and those of single fields over it.
#[derive(Clone, Debug, Default)]
struct Setting<T> {
    all: T,
    of_fields: Vec<(String, T)>,
}

impl<T: Copy> Setting<T> {
    fn value(&self, field: &str) -> T {
        self.of_fields.iter().find(|(name, _)| name == field).map_or(self.all, |(_, value)| *value)
    }

    /// Reads `name` and `name(field)`.
    fn read(
        name: &str,
        all: T,
        properties: &RankProperties,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Setting<T>, Rejection> {
        let mut setting = Setting { all, of_fields: Vec::new() };
        for (rest, values) in properties.beginning(name) {
            let field = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
            let Some(value) = values.last().filter(|_| rest.is_empty() || field.is_some()) else { continue };
            let value = read(value.trim()).map_err(|wanted| {
                let message =
                    format!("Rank property '{name}{rest}' must be {wanted}, not '{}'", Rejection::quote(value));
                Rejection::new(Code::InvalidApplication, message)
            })?;
            match field {
                None => setting.all = value,
                Some(field) => setting.of_fields.push((field.trim().to_owned(), value)),
            }
        }
        Ok(setting)
    }
}

impl Analysis {
    /// Reads rank properties.
    ///
    /// # Errors
    /// If a value means nothing.
    pub(crate) fn from_properties(properties: &RankProperties) -> Result<Analysis, Rejection> {
        let languages = |value: &str| {
            Languages::named(value).map_err(|_| {
                let known: Vec<&str> = Languages::all().collect();
                format!("'none' or languages among {}", known.join(", "))
            })
        };
        let flag = |name, on: &'static str, off: &'static str| {
            Setting::read(name, false, properties, move |value| match value {
                _ if value == on => Ok(true),
                _ if value == off => Ok(false),
                _ => Err(format!("'{on}' or '{off}'")),
            })
        };
        Ok(Analysis {
            stemming: Setting::read(STEMMING, Languages::default(), properties, languages)?,
            segmentation: flag(SEGMENTATION, "cjk", "none")?,
            grams: flag(GRAMS, "true", "false")?,
            accents: flag(ACCENTS, "ignored", "exact")?,
            typos: flag(TYPOS, "forgiven", "exact")?,
            typing: flag(TYPING, "true", "false")?,
        })
    }

    /// Which variants of a word a field finds, but for slips. `stems`: whether the word may be stemmed.
    pub(crate) fn variety(&self, field: &Field, stems: bool, typed: Typed) -> Variety {
        if !is_of_words(field) {
            return Variety::default();
        }
        Variety {
            languages: if stems { self.stemming.value(&field.name) } else { Languages::default() },
            spellings: self.accents.value(&field.name),
            beginnings: typed == Typed::Last && self.typing.value(&field.name),
            slips: 0,
        }
    }

    /// Whether slips are forgiven in a field, in words that a person typed.
    pub(crate) fn forgives(&self, field: &Field) -> bool {
        is_of_words(field) && self.typos.value(&field.name)
    }

    /// Whether words of CJK are found inside of a field's runs of letters.
    pub(crate) fn segments(&self, field: &Field) -> bool {
        is_of_words(field) && self.segmentation.value(&field.name)
    }

    /// The size of a field's n-grams, if it has them.
    pub(crate) fn gram_size(&self, field: &Field) -> Option<usize> {
        let is_of_grams = field.matching.mode == MatchMode::Gram && self.grams.value(&field.name);
        is_of_grams.then_some(field.matching.gram_size.max(1) as usize)
    }
}

/// Whether words of a query are compared with the folded words of a field.
fn is_of_words(field: &Field) -> bool {
    matches!(field.matching.mode, MatchMode::Text | MatchMode::Gram)
        && field.normalizing() == Normalizing::LowercaseAndFold
}

#[cfg(test)]
mod tests {
    use super::*;

    fn analysis(properties: &[(&str, &str)]) -> Result<Analysis, Rejection> {
        Analysis::from_properties(&properties.iter().copied().collect())
    }

    #[test]
    fn settings_of_a_field_win() {
        let of = analysis(&[
            ("brooklet.stemming", "english"),
            ("brooklet.stemming(b)", "none"),
            ("brooklet.stemming.c", "what is not ours"),
            ("brooklet.segmentation(b)", "cjk"),
        ])
        .unwrap();
        assert!(!of.stemming.value("a").is_empty() && of.stemming.value("b").is_empty());
        assert!(!of.segmentation.value("a") && of.segmentation.value("b"));
        for (name, value) in [
            ("brooklet.stemming", "klingon"),
            ("brooklet.stemming(a)", ""),
            ("brooklet.segmentation", "true"),
            ("brooklet.grams", "2"),
            ("brooklet.accents", "none"),
            ("brooklet.typos", "true"),
            ("brooklet.typing(a)", "yes"),
        ] {
            let message = analysis(&[(name, value)]).unwrap_err().message;
            assert!(message.contains(name) && message.contains(&format!("not '{value}'")), "{message}");
        }
    }
}
