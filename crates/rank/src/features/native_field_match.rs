//! `nativeFieldMatch` and `nativeFieldMatch(field,…)`: early and many occurrences in index fields.
//!
//! Σ over terms i of sig·w·Σ over the fields j it searches of (fw/maxTable)·(imp·first[⌊pos·(T−1)/(max(6,len)−1)⌋] +
//! (1−imp)·count[⌊num·(T−1)/max(6,len)⌋]), divided by Σ sig·w·Σ fw. pos is the first position, num the occurrences, len
//! the tokens of the longest element hit (or `averageFieldLength`), T the table's size, 6 `minFieldLength`, imp
//! `firstOccurrenceImportance` ½, maxTable what the tables reach together. Terms and fields of weight 0 and filter
//! fields do not take part; no term that does: 0.

use super::call::Call;
use super::properties::Properties;
use super::table::{FieldProperties, Table, field_weight, normalizer};
use super::term::significance;
use crate::features::environment::FeatureEnvironment;
use crate::features::prepared::{Executor, Prepared};
use crate::match_data::{FieldInfo, FieldKind, MatchData, Slot, TermHits};
use brooklet_task::Rejection;

const NAME: &str = "nativeFieldMatch";

/// The tables and the weight of one field.
struct Field {
    first_occurrence: Table,
    occurrence_count: Table,
    first_importance: f64,
    average_length: Option<u64>,
    /// Field weight / maxTable.
    scale: f64,
}

/// One term in one field.
struct Part {
    slot: Slot,
    field: usize,
    /// Significance · term weight.
    term_scale: f64,
}

/// The executor, which `nativeRank` has as well.
pub struct NativeFieldMatch {
    fields: Vec<Field>,
    parts: Vec<Part>,
    length_min: u64,
    divisor: f64,
}

/// Makes `nativeFieldMatch` ready.
pub fn prepare(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    let fields = call.fields(FieldKind::Index)?;
    Ok(call.ready(&["score"], NativeFieldMatch::new(&fields, call.environment)?))
}

impl NativeFieldMatch {
    /// The executor over `fields` only.
    pub fn new(fields: &[&FieldInfo], environment: &FeatureEnvironment<'_>) -> Result<NativeFieldMatch, Rejection> {
        let general = Properties::new(environment, NAME.to_owned());
        let mut executor = NativeFieldMatch {
            fields: Vec::new(),
            parts: Vec::new(),
            length_min: u64::from(general.whole_number("minFieldLength", 6)?),
            divisor: 0.0,
        };
        let mut considered = Vec::new();
        for field in fields.iter().filter(|field| environment.may_be_hit(field.id)) {
            let prepared = Field::new(environment, field)?;
            if field_weight(field) > 0.0 && !field.is_filter {
                considered.push(*field);
                executor.fields.push(prepared);
            }
        }
        for ranked in environment.query.ranked_terms().filter(|ranked| ranked.term.weight != 0) {
            let term_scale = significance(&ranked, environment) * f64::from(ranked.term.weight);
            for (index, field) in considered.iter().enumerate() {
                if let Some(slot) = ranked.slot(field.id) {
                    executor.divisor += term_scale * field_weight(field);
                    executor.parts.push(Part { slot, field: index, term_scale });
                }
            }
        }
        Ok(executor)
    }

    /// The feature's value.
    pub fn score(&self, data: &MatchData) -> f64 {
        let mut score = 0.0;
        for part in &self.parts {
            if let Some(hits) = data.hits(part.slot) {
                score += part.term_scale * self.fields[part.field].boost(&hits, self.length_min);
            }
        }
        if self.divisor > 0.0 { score / self.divisor } else { score }
    }
}

impl Executor for NativeFieldMatch {
    fn execute(&mut self, data: &MatchData, outputs: &mut [f64]) {
        outputs[0] = self.score(data);
    }
}

impl Field {
    fn new(environment: &FeatureEnvironment<'_>, field: &FieldInfo) -> Result<Field, Rejection> {
        let properties = FieldProperties::new(environment, NAME, field);
        let first_occurrence = properties.table("firstOccurrenceTable")?;
        let occurrence_count = properties.table("occurrenceCountTable")?;
        let first_importance = properties.number("firstOccurrenceImportance")?.unwrap_or(0.5);
        let largest = first_occurrence.max() * first_importance + occurrence_count.max() * (1.0 - first_importance);
        Ok(Field {
            scale: field_weight(field) / normalizer(environment, largest)?,
            average_length: properties.own_number("averageFieldLength")?.map(|length| length.max(0.0) as u64),
            first_occurrence,
            occurrence_count,
            first_importance,
        })
    }

    fn boost(&self, hits: &TermHits<'_>, length_min: u64) -> f64 {
        let (Some(first), Some(longest)) = (hits.occurrences.first(), hits.longest_element()) else { return 0.0 };
        let length = self.average_length.unwrap_or(u64::from(longest)).max(length_min);
        let early = self.first_occurrence.get_part(u64::from(first.position), length.saturating_sub(1));
        let many = self.occurrence_count.get_part(hits.occurrences.len() as u64, length);
        (early * self.first_importance + many * (1.0 - self.first_importance)) * self.scale
    }
}
