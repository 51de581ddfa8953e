//! `term(n)` and `queryTermCount`: what the query says about its terms, whatever the document.
//!
//! Significance: a document frequency wins, then the `significance` annotation, then what the group's statistics say;
//! without any a term is as significant as can be. From a document frequency:
//! ½ + ½·(ln N − ln f)/ln N with N = 10⁶ and f = frequency·N/count held within 1…N.

use super::call::Call;
use crate::features::environment::FeatureEnvironment;
use crate::features::prepared::{Executor, Prepared};
use crate::match_data::{DocumentFrequency, MatchData, RankedTerm};
use brooklet_task::Rejection;

/// Outputs that do not depend on the document.
struct Constant<const N: usize>([f64; N]);

impl<const N: usize> Executor for Constant<N> {
    fn execute(&mut self, _data: &MatchData, outputs: &mut [f64]) {
        outputs.copy_from_slice(&self.0);
    }
}

/// `term(n)`: the n-th ranked term, all zero if there are not so many.
pub fn prepare(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    call.takes(1..=1)?;
    let wanted = call.whole_number(0)?;
    let mut terms = call.environment.query.ranked_terms();
    let before = wanted.checked_sub(1).and_then(|before| terms.nth(before));
    let values = terms.next().map_or([0.0; 3], |ranked| {
        let connected = connectedness(before.as_ref(), &ranked);
        [connected, significance(&ranked, call.environment), f64::from(ranked.term.weight)]
    });
    Ok(call.ready(&["connectedness", "significance", "weight"], Constant(values)))
}

/// `queryTermCount`: ranked terms; a phrase is one.
pub fn prepare_count(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    call.takes(0..=0)?;
    Ok(call.ready(&["out"], Constant([call.environment.query.ranked_terms().count() as f64])))
}

/// Connectedness of terms that the query says nothing of.
pub const DEFAULT_CONNECTEDNESS: f64 = 0.1;

/// How connected a term is to one before it: as the query says, if it says that of these two.
pub fn connectedness(earlier: Option<&RankedTerm<'_>>, later: &RankedTerm<'_>) -> f64 {
    let known = later.term.connectivity.filter(|(id, _)| earlier.is_some_and(|term| term.term.id == Some(*id)));
    known.map_or(DEFAULT_CONNECTEDNESS, |(_, weight)| weight)
}

/// How much a match of the term tells, ½ (in every document) to 1 (rare), unless the query sets it.
pub fn significance(ranked: &RankedTerm<'_>, environment: &FeatureEnvironment<'_>) -> f64 {
    if let Some(frequency) = ranked.term.document_frequency {
        return significance_of(frequency);
    }
    ranked.term.significance.unwrap_or_else(|| {
        let known = environment.statistics.document_frequency(ranked.index, None);
        significance_of(known.unwrap_or(DocumentFrequency { frequency: 0.0, count: 1.0 }))
    })
}

fn significance_of(documents: DocumentFrequency) -> f64 {
    const SCALE: f64 = 1_000_000.0;
    let scaled = documents.frequency * SCALE / documents.count;
    let frequency = if scaled > 1.0 { scaled.min(SCALE) } else { 1.0 };
    0.5 + 0.5 * (libm::log(SCALE) - libm::log(frequency)) / libm::log(SCALE)
}
