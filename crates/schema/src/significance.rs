//! Significance models: in how many documents of some corpus a word stands, by language, from files of the package.
//!
//! services.xml names the files (`container/search/significance/model@path`), a rank profile uses them with
//! `significance { use-model: true }`. A file is JSON: `{"version": …, "id": …, "description": …, "languages": {"en":
//! {"description": …, "document-count": 1000, "document-frequencies": {"and": 500}}}}`; a key of `languages` may be
//! several tags with commas between them. Of several models of a language the last one counts. Source: Vespa's
//! documentation, significance model.
use std::collections::BTreeMap;
use std::sync::Arc;

use brooklet_document::json::Lexer;
use brooklet_kernel::sort_by;
use brooklet_task::limits::SIGNIFICANCE_MODEL_BYTES;
use brooklet_task::{Code, Rejection};

use crate::package::Package;
use crate::place::SourcePlace;

/// The tag of a language that is not known.
const UNKNOWN: &str = "un";
/// The tag of the language that is assumed where none is given.
const ENGLISH: &str = "en";

/// Document frequencies of the words of one language.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignificanceModel {
    /// Documents of the corpus.
    pub documents: u64,
    /// Words in order, each with the number of documents it stands in.
    words: Vec<(Box<str>, u64)>,
}

impl SignificanceModel {
    /// In how many documents a word stands, in lower case; 1 for a word that is not in the model.
    #[must_use]
    pub fn frequency(&self, word: &str) -> u64 {
        let found = self.words.binary_search_by(|(known, _)| (**known).cmp(word));
        found.map_or(1, |at| self.words[at].1)
    }
}

/// The models of an application, by the tag of their language.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignificanceModels(BTreeMap<String, Arc<SignificanceModel>>);

impl SignificanceModels {
    /// The model for a query in the language that was given, or in one that was not: then English is assumed, and any
    /// language is better than none of these two.
    ///
    /// # Errors
    /// If there is no such model.
    #[inline(never)]
    pub fn model(&self, language: Option<&str>) -> Result<&Arc<SignificanceModel>, Rejection> {
        let missing =
            |what: String| Rejection::new(Code::IllegalQuery, format!("No significance model available for {what}"));
        let tag = language.map(tag_of);
        match tag.as_deref() {
            Some(tag) if tag != UNKNOWN => {
                self.0.get(tag).ok_or_else(|| missing(format!("set language {}", Rejection::quote(tag))))
            }
            given => {
                let order = if given.is_some() { [UNKNOWN, ENGLISH] } else { [ENGLISH, UNKNOWN] };
                let found = order.iter().find_map(|tag| self.0.get(*tag));
                found.ok_or_else(|| missing("unknown or english language".to_owned()))
            }
        }
    }
}

/// The language of a tag such as `en-US`.
fn tag_of(tag: &str) -> String {
    tag.split(['-', '_']).next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Reads the models that services.xml names.
///
/// # Errors
/// If a file is missing, packed, too long, or no model.
pub(crate) fn read(named: &[(String, SourcePlace)], package: &Package<'_>) -> Result<SignificanceModels, Rejection> {
    let mut models = SignificanceModels::default();
    for (path, place) in named {
        let shown = Rejection::quote(path);
        let key = path.strip_prefix("./").unwrap_or(path);
        if key.ends_with(".zst") {
            return Err(place.unsupported_here(format!("{shown}: a significance model packed by zstandard")));
        }
        let Some(content) = package.files.get(key) else {
            return Err(place.reject(format!("there is no file {shown}")));
        };
        if content.len() > SIGNIFICANCE_MODEL_BYTES {
            let message = format!("{shown}: a significance model may have {SIGNIFICANCE_MODEL_BYTES} bytes");
            return Err(place.reject(message));
        }
        let read = Lexer::from_bytes(content, Code::InvalidApplication).and_then(|mut json| {
            languages(&mut json, &mut models)?;
            json.end()
        });
        read.map_err(|rejection| match rejection.span {
            Some(span) => place.reject(format!("{path}:{}:{}: {}", span.line, span.column, rejection.message)),
            None => place.reject(format!("{path}: {}", rejection.message)),
        })?;
    }
    Ok(models)
}

fn languages(json: &mut Lexer<'_>, models: &mut SignificanceModels) -> Result<(), Rejection> {
    let mut is_model = false;
    json.begin_object()?;
    while let Some(key) = json.next_key()? {
        if key != "languages" {
            json.skip_value()?;
            continue;
        }
        is_model = true;
        json.begin_object()?;
        while let Some(tags) = json.next_key()? {
            let tags: Vec<String> = tags.split(',').map(tag_of).collect();
            let model = Arc::new(model(json)?);
            models.0.extend(tags.into_iter().map(|tag| (tag, model.clone())));
        }
    }
    if is_model { Ok(()) } else { Err(json.error_at(json.offset(), "a significance model has languages")) }
}

fn model(json: &mut Lexer<'_>) -> Result<SignificanceModel, Rejection> {
    let mut model = SignificanceModel::default();
    let (mut has_count, mut has_words) = (false, false);
    json.begin_object()?;
    while let Some(key) = json.next_key()? {
        match &*key {
            "document-count" => {
                model.documents = count(json)?;
                has_count = true;
            }
            "document-frequencies" => {
                json.begin_object()?;
                while let Some(word) = json.next_key()? {
                    let word: Box<str> = word.into();
                    model.words.push((word, count(json)?));
                }
                has_words = true;
            }
            _ => {
                json.skip_value()?;
            }
        }
    }
    if !has_count || !has_words {
        return Err(json.error_at(json.offset(), "a language has document-count and document-frequencies"));
    }
    // Stable, and from behind: of a word given twice the last frequency counts.
    model.words.reverse();
    sort_by(&mut model.words, |(a, _), (b, _)| a.cmp(b));
    model.words.dedup_by(|(a, _), (b, _)| a == b);
    model.words.shrink_to_fit();
    Ok(model)
}

fn count(json: &mut Lexer<'_>) -> Result<u64, Rejection> {
    let at = json.offset();
    json.number()?.parse().map_err(|_| json.error_at(at, "a number of documents is a whole number, not negative"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use brooklet_task::Span;

    fn read_model(content: &str) -> Result<SignificanceModels, Rejection> {
        let files = [("models/m.json".to_owned(), content.as_bytes().to_vec())];
        let package = Package::sort(&files).expect("a package");
        let place = SourcePlace { file: "services.xml".into(), span: Span { offset: 0, line: 3, column: 5 } };
        read(&[("models/m.json".to_owned(), place)], &package)
    }

    const TWO: &str = r#"{"version": "1.0", "id": "x", "languages": {
        "en,NO": {"document-count": 1000, "document-frequencies": {"and": 500, "car": 3, "and": 501}},
        "un": {"description": "rest", "document-count": 7, "document-frequencies": {}}}}"#;

    #[test]
    fn words_are_found_by_language() {
        let models = read_model(TWO).expect("two models");
        let english = models.model(Some("en-GB")).expect("a model");
        assert_eq!((english.documents, english.frequency("and"), english.frequency("dog")), (1000, 501, 1));
        assert_eq!(models.model(Some("no")).expect("a model"), english);
        assert_eq!(models.model(None).expect("a model"), english);
        assert_eq!(models.model(Some("un")).expect("a model").documents, 7);
        let refused = models.model(Some("de")).expect_err("no model");
        assert_eq!(refused.message, "No significance model available for set language de");
    }

    #[test]
    fn without_a_language_any_of_two_will_do() {
        let only = |tag: &str| {
            let model = r#"{"document-count": 2, "document-frequencies": {"a": 2}}"#;
            read_model(&format!(r#"{{"languages": {{"{tag}": {model}}}}}"#)).expect("a model")
        };
        assert!(
            only("un").model(None).is_ok()
                && only("en").model(Some("un")).is_ok()
                && only("un").model(Some("en")).is_err()
        );
        let refused = only("de").model(None).expect_err("no model");
        assert_eq!(refused.message, "No significance model available for unknown or english language");
    }

    #[test]
    fn what_is_no_model_is_refused_with_its_place() {
        for (content, message) in [
            ("{}", "models/m.json:1:3: a significance model has languages"),
            (
                r#"{"languages": {"en": {"document-count": 3}}}"#,
                "a language has document-count and document-frequencies",
            ),
            (
                r#"{"languages": {"en": {"document-count": -3, "document-frequencies": {}}}}"#,
                "models/m.json:1:40: a number of documents is a whole number, not negative",
            ),
            ("[", "models/m.json:1:1"),
        ] {
            let refused = read_model(content).expect_err("no model").message;
            assert!(refused.contains(message), "{content}: {refused}");
            assert!(refused.starts_with("services.xml:3:5: "), "{refused}");
        }
    }
}
