//! How the words of a query are understood beyond the letters: stems, scripts without spaces, n-grams. Streaming search
//! knows none of it; rank properties ask for it (docs/answers.md), for all fields or for one by its name:
//!
//! * `brooklet.stemming: english` and `brooklet.stemming(title): german, en`: forms of a word are equal;
//! * `brooklet.segmentation: cjk`: words of Han, Kana and Hangul are found inside of runs;
//! * `brooklet.grams: true`: `match: gram` means what it says.
//!
//! All of it is done when a query is asked: what is stored stays as it is.
use brooklet_rank::match_data::RankProperties;
use brooklet_schema::{Field, MatchMode, Normalizing};
use brooklet_task::{Code, Rejection};
use brooklet_text::Languages;

const STEMMING: &str = "brooklet.stemming";
const SEGMENTATION: &str = "brooklet.segmentation";
const GRAMS: &str = "brooklet.grams";

/// What rank properties ask for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Analysis {
    stemming: Setting<Languages>,
    segmentation: Setting<bool>,
    grams: Setting<bool>,
}

/// A setting for all fields, and those of single fields over it.
#[derive(Clone, Debug, Default)]
struct Setting<T> {
    all: T,
    of_fields: Vec<(String, T)>,
}

impl<T: Copy> Setting<T> {
    fn of(&self, field: &str) -> T {
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
    pub(crate) fn of(properties: &RankProperties) -> Result<Analysis, Rejection> {
        let languages = |value: &str| {
            Languages::named(value).map_err(|_| {
                let known: Vec<&str> = Languages::all().collect();
                format!("'none' or languages among {}", known.join(", "))
            })
        };
        let segmentation = |value: &str| match value {
            "cjk" => Ok(true),
            "none" => Ok(false),
            _ => Err("'cjk' or 'none'".to_owned()),
        };
        let grams = |value: &str| match value {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err("'true' or 'false'".to_owned()),
        };
        Ok(Analysis {
            stemming: Setting::read(STEMMING, Languages::default(), properties, languages)?,
            segmentation: Setting::read(SEGMENTATION, false, properties, segmentation)?,
            grams: Setting::read(GRAMS, false, properties, grams)?,
        })
    }

    /// The languages a field's words are stemmed in. Only of folded words it is known what they are.
    pub(crate) fn languages(&self, field: &Field) -> Languages {
        if is_of_words(field) { self.stemming.of(&field.name) } else { Languages::default() }
    }

    /// Whether words of CJK are found inside of a field's runs of letters.
    pub(crate) fn segments(&self, field: &Field) -> bool {
        is_of_words(field) && self.segmentation.of(&field.name)
    }

    /// The size of a field's n-grams, if it has them.
    pub(crate) fn gram_size(&self, field: &Field) -> Option<usize> {
        let is_of_grams = field.matching.mode == MatchMode::Gram && self.grams.of(&field.name);
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
        Analysis::of(&properties.iter().copied().collect())
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
        assert!(!of.stemming.of("a").is_empty() && of.stemming.of("b").is_empty());
        assert!(!of.segmentation.of("a") && of.segmentation.of("b"));
        for (name, value) in [
            ("brooklet.stemming", "klingon"),
            ("brooklet.stemming(a)", ""),
            ("brooklet.segmentation", "true"),
            ("brooklet.grams", "2"),
        ] {
            let message = analysis(&[(name, value)]).unwrap_err().message;
            assert!(message.contains(name) && message.contains(&format!("not '{value}'")), "{message}");
        }
    }
}
