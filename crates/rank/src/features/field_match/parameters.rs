//! The rank properties of `fieldMatch(field)`, all of the form `fieldMatch(field).name`.

use super::super::properties::{Properties, parse_number};
use crate::features::properties::refuse;
use brooklet_task::Rejection;

/// More attempts than this would let one document take all the time there is.
const ALTERNATIVES_MAX: u32 = 100_000;

/// Proximity of two words by their distance, −10 to 10; Vespa holds it (and the importances) in 32 bits.
const PROXIMITY_TABLE: [f32; 21] = [
    0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.17, 0.24, 0.33, 1.0, 0.71, 0.50, 0.35, 0.25, 0.18, 0.13, 0.09, 0.06,
    0.04, 0.03,
];

/// The settings of one `fieldMatch`.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// A jump of so many positions ends a segment.
    pub proximity_limit: usize,
    /// The number of times a segment start may be tried again.
    pub alternatives_max: u32,
    /// Occurrences of a word beyond these are not counted.
    pub occurrences_max: u32,
    /// Weight of proximity and completeness together.
    pub proximity_completeness_importance: f64,
    /// The part of it that depends on the number of segments.
    pub relatedness_importance: f64,
    /// Weight of earliness.
    pub earliness_importance: f64,
    /// Weight of the closeness of the segments.
    pub segment_proximity_importance: f64,
    /// Weight of the occurrences.
    pub occurrence_importance: f64,
    /// The field's part of completeness.
    pub field_completeness_importance: f64,
    /// Proximity by distance, from −limit to limit.
    pub proximity_table: Vec<f64>,
}

impl Parameters {
    /// The settings `properties` make.
    pub fn from_properties(properties: &Properties<'_>) -> Result<Parameters, Rejection> {
        let importance = |name: &str, default: f32| properties.number(name, f64::from(default));
        let parameters = Parameters {
            proximity_limit: properties.whole_number("proximityLimit", 10)? as usize,
            alternatives_max: properties.whole_number("maxAlternativeSegmentations", 1_000)?,
            occurrences_max: properties.whole_number("maxOccurrences", 100)?,
            proximity_completeness_importance: importance("proximityCompletenessImportance", 0.9)?,
            relatedness_importance: importance("relatednessImportance", 0.9)?,
            earliness_importance: importance("earlinessImportance", 0.05)?,
            segment_proximity_importance: importance("segmentProximityImportance", 0.05)?,
            occurrence_importance: importance("occurrenceImportance", 0.05)?,
            field_completeness_importance: importance("fieldCompletenessImportance", 0.05)?,
            proximity_table: proximity_table(properties)?,
        };
        parameters.check()?;
        Ok(parameters)
    }

    fn check(&self) -> Result<(), Rejection> {
        let (limit, entries) = (self.proximity_limit, self.proximity_table.len());
        if Some(entries) != limit.checked_mul(2).and_then(|double| double.checked_add(1)) {
            let message =
                format!("proximityTable must have 2·proximityLimit+1 values, but for limit {limit} it has {entries}");
            return Err(refuse(message));
        }
        if self.alternatives_max > ALTERNATIVES_MAX {
            return Err(refuse(format!("maxAlternativeSegmentations may be at most {ALTERNATIVES_MAX}")));
        }
        if self.occurrences_max == 0 {
            return Err(refuse("maxOccurrences must be positive"));
        }
        Ok(())
    }

    /// What the weighted sum of the parts is divided by.
    pub fn importance_sum(&self) -> f64 {
        self.proximity_completeness_importance
            + self.earliness_importance
            + self.segment_proximity_importance
            + self.occurrence_importance
    }
}

fn proximity_table(properties: &Properties<'_>) -> Result<Vec<f64>, Rejection> {
    let texts = properties.texts("proximityTable");
    if texts.is_empty() {
        return Ok(PROXIMITY_TABLE.map(f64::from).to_vec());
    }
    let number = |text: &String| parse_number(text.trim()).filter(|proximity| *proximity >= 0.0);
    let table: Option<Vec<f64>> = texts.iter().map(number).collect();
    table.ok_or_else(|| refuse("the values of proximityTable must be numbers that are not negative"))
}
