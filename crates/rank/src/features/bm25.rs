//! `bm25(field)` and `bm25(field: field, label: label)`: how often the terms occur, against the field's length.
//!
//! score = Σ over terms that search the field of idf · tf·(k1+1) / (tf + k1·(1 − b + b·length/average), with k1 = 1.2,
//! b = 0.75 and average = 100 unless `bm25(field).k1`, `.b` and `.averageFieldLength` say otherwise. tf counts the
//! occurrences and length the tokens of all elements, both up to 65535. A hit without occurrences counts as one
//! occurrence in a field of average length, that is as idf.
//!
//! A word that is searched with its variants (stems, other accents, what it begins) is two terms: one of all of them,
//! which counts 0.7 of what it would, and one of the exact word, 0.3. Where only the exact word occurs it is as one term.
//!
//! idf = ln(1 + (N − n + ½)/(n + ½)) from a document frequency (n of N); without one, the significance set by the
//! query; without that n = N = 1, so that every term has idf 0.28768207.

use super::call::Call;
use super::properties::Properties;
use crate::features::environment::FeatureEnvironment;
use crate::features::prepared::{Executor, Prepared};
use crate::features::properties::refuse;
use crate::features::term_sum::{Bm25, Scale, Term};
use crate::match_data::{DocumentFrequency, FieldId, FieldInfo, MatchData, RankedTerm};
use brooklet_task::Rejection;

/// How much of a word's score is that of its variants; the rest is that of the exact word.
const SHARE_OF_VARIANTS: f64 = 0.7;

/// Makes `bm25` ready.
pub fn prepare(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    call.takes(1..=2)?;
    let (field_name, label) = arguments(call.parameters)?;
    let field = call.environment.index_field(field_name)?;
    let scale = scale_of(field, call.environment)?;
    let wanted = |ranked: &RankedTerm<'_>| label.is_none_or(|label| ranked.term.label.as_deref() == Some(label));
    let terms = terms_of(field, call.environment).filter(|(ranked, _)| wanted(ranked)).map(|(_, term)| term);
    Ok(call.ready(&["score"], Bm25 { terms: terms.collect(), scale }))
}

/// The scale of `bm25(field)`.
pub fn scale_of(field: &FieldInfo, environment: &FeatureEnvironment<'_>) -> Result<Scale, Rejection> {
    let properties = Properties::new(environment, format!("bm25({})", field.name));
    Scale::new(&properties, "averageFieldLength", environment.statistics.average_field_length(field.id))
}

/// The ranked terms that search a field.
pub fn terms_of<'a>(
    field: &FieldInfo,
    environment: &FeatureEnvironment<'a>,
) -> impl Iterator<Item = (RankedTerm<'a>, Term)> {
    let (id, environment) = (field.id, *environment);
    environment.terms_of_field(id).flat_map(move |(ranked, slot)| {
        let idf = |of: &RankedTerm<'_>| inverse_document_frequency(of, id, &environment);
        let exact = environment.query.exact(&ranked);
        let exact = exact.and_then(|exact| Some((exact.slot(id)?, idf(&exact))));
        let share = if exact.is_some() { SHARE_OF_VARIANTS } else { 1.0 };
        let whole = Term { slot, idf: share * idf(&ranked) };
        let exact = exact.map(|(slot, idf)| Term { slot, idf: (1.0 - SHARE_OF_VARIANTS) * idf });
        [Some(whole), exact].into_iter().flatten().map(move |term| (ranked, term))
    })
}

/// `f`, or `field: f` and `label: l` in either order.
fn arguments(parameters: &[String]) -> Result<(&str, Option<&str>), Rejection> {
    if let [field] = parameters
        && !field.contains(':')
    {
        return Ok((field, None));
    }
    let (mut field, mut label) = (None, None);
    for parameter in parameters {
        match parameter.split_once(':').map(|(key, value)| (key.trim(), value.trim())) {
            Some(("field", value)) if field.is_none() => field = Some(value),
            Some(("label", value)) if label.is_none() => label = Some(value),
            _ => {
                return Err(refuse(format!(
                    "expected 'field: name' or 'label: name', got '{}'",
                    Rejection::quote(parameter)
                )));
            }
        }
    }
    field.map(|field| (field, label)).ok_or_else(|| refuse("no 'field: name' among the parameters"))
}

fn inverse_document_frequency(ranked: &RankedTerm<'_>, field: FieldId, environment: &FeatureEnvironment<'_>) -> f64 {
    if let Some(documents) = ranked.term.document_frequency {
        return idf(documents);
    }
    ranked.term.significance.unwrap_or_else(|| {
        let known = environment.statistics.document_frequency(ranked.index, Some(field));
        idf(known.unwrap_or(DocumentFrequency { frequency: 1.0, count: 1.0 }))
    })
}

fn idf(documents: DocumentFrequency) -> f64 {
    // Written as comparisons so that NaN becomes 1.
    let count = if documents.count > 1.0 { documents.count } else { 1.0 };
    let frequency = if documents.frequency > 1.0 { documents.frequency.min(count) } else { 1.0 };
    libm::log(1.0 + (count - frequency + 0.5) / (frequency + 0.5))
}

impl Executor for Bm25 {
    fn execute(&mut self, data: &MatchData, outputs: &mut [f64]) {
        outputs[0] =
            self.terms.iter().map(|term| self.scale.of_document(term, data)).fold(0.0, |sum, score| sum + score);
    }

    fn bm25(&self) -> Option<&Bm25> {
        Some(self)
    }
}
