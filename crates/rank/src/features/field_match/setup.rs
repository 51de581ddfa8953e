//! What is known of a field and a query before the first document is matched.

use brooklet_task::Rejection;

use crate::features::call::Call;
use crate::features::field_match::metrics::PairMetrics;
use crate::features::field_match::parameters::Parameters;
use crate::features::term::{DEFAULT_CONNECTEDNESS, connectedness, significance};
use crate::match_data::{FieldId, Slot};

/// A word of the query that searches the field.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    /// The number of its term, which is a phrase if `offset` is not 0.
    pub(crate) slot: Slot,
    /// Place in the phrase.
    pub(crate) offset: u32,
    pub(crate) weight: f64,
    pub(crate) significance: f64,
    pub(crate) connectedness: f64,
}

/// The setup of the feature: all that is the same for all documents.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) parameters: Parameters,
    pub(crate) words: Vec<Word>,
    /// Weight and significance of all words of the query, whichever field they search.
    pub(crate) total_weight: f64,
    pub(crate) total_significance: f64,
}

impl Setup {
    pub(crate) fn new(call: &Call<'_, '_>, field: FieldId) -> Result<Setup, Rejection> {
        let properties = call.properties();
        let mut setup = Setup {
            parameters: Parameters::from_properties(&properties)?,
            words: Vec::new(),
            total_weight: 0.0,
            total_significance: 0.0,
        };
        let mut before = None;
        for ranked in call.environment.query.ranked_terms() {
            let connected = connectedness(before.as_ref(), &ranked);
            before = Some(ranked);
            let (weight, significance) = (f64::from(ranked.term.weight), significance(&ranked, call.environment));
            let slot = ranked.slot(field);
            let words = if slot.is_some() { ranked.term.words.max(1) } else { 1 };
            setup.total_weight += weight * f64::from(words);
            setup.total_significance += significance * f64::from(words);
            let Some(slot) = slot else { continue };
            for offset in 0..words {
                let connectedness = if offset == 0 { connected } else { DEFAULT_CONNECTEDNESS };
                setup.words.push(Word { slot, offset, weight, significance, connectedness });
            }
        }
        setup.total_weight = properties.number("totalTermWeight", setup.total_weight)?;
        setup.total_significance = properties.number("totalTermSignificance", setup.total_significance)?;
        Ok(setup)
    }
}

/// The part of a whole, 0 if the whole is not positive.
pub(crate) fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// One step from a word to the next in the same segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordPair {
    /// Position of the earlier word.
    pub(crate) from: usize,
    /// Position of the later word.
    pub(crate) to: usize,
}

impl Setup {
    /// How near the step's ends are, as the proximity table has it; `None` beyond the limit.
    pub(crate) fn pair(&self, word: &Word, step: WordPair) -> Option<PairMetrics> {
        // Neighbours are at distance 0; the same position and the position before share -1 and below.
        let distance = step.to as i64 - step.from as i64 - 1;
        let distance = if distance < 0 { distance + 1 } else { distance };
        let index = usize::try_from(distance + self.parameters.proximity_limit as i64).ok()?;
        let proximity = *self.parameters.proximity_table.get(index)?;
        let exponent = word.connectedness / DEFAULT_CONNECTEDNESS;
        // A power of one is the number itself: the usual case is not computed.
        let powered = if exponent == 1.0 { proximity } else { libm::pow(proximity, exponent) };
        Some(PairMetrics { unweighted: proximity, weighted: powered * word.connectedness.max(DEFAULT_CONNECTEDNESS) })
    }
}
