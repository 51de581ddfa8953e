//! `termDistance(field,x,y)`: how close the x-th and the y-th ranked term come in a field, in both orders.
//!
//! forward is the smallest distance from (the last word of) an x to a y after it, forwardTermPosition where that x is;
//! reverse the same from y to x. 1000000 if there is none. Both must be in one element, unless the field has an
//! element gap: then an element begins that many positions after the end of the one before it.

use super::call::Call;
use super::field_length::UNKNOWN;
use crate::features::prepared::{Executor, Prepared};
use crate::match_data::{MatchData, Occurrence, Slot};
use brooklet_task::Rejection;

/// Slot and words of a term.
pub type Placed = (Slot, u32);

struct TermDistance {
    terms: Option<(Placed, Placed)>,
    element_gap: Option<u32>,
}

/// Makes `termDistance` ready.
pub fn prepare(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    call.takes(3..=3)?;
    let field = call.environment.index_field(&call.parameters[0])?;
    let placed = |wanted: usize| {
        let ranked = call.environment.query.ranked_terms().nth(wanted)?;
        Some((ranked.slot(field.id)?, ranked.term.words))
    };
    let (x, y) = (placed(call.whole_number(1)?), placed(call.whole_number(2)?));
    let executor = TermDistance { terms: x.zip(y), element_gap: field.element_gap };
    Ok(call.ready(&["forward", "forwardTermPosition", "reverse", "reverseTermPosition"], executor))
}

impl Executor for TermDistance {
    fn execute(&mut self, data: &MatchData, outputs: &mut [f64]) {
        let distances = self.terms.map(|(x, y)| Distances::between(x, y, self.element_gap, data)).unwrap_or_default();
        let Nearest { distance: forward, position: forward_position } = distances.forward;
        let Nearest { distance: reverse, position: reverse_position } = distances.reverse;
        outputs.copy_from_slice(&[forward, forward_position, reverse, reverse_position].map(f64::from));
    }
}

/// The nearest pair of one term before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// From the last word of the first term to the second.
    pub distance: u32,
    /// Of the first word of the first term.
    pub position: u32,
}

impl Default for Nearest {
    fn default() -> Nearest {
        Nearest { distance: UNKNOWN, position: UNKNOWN }
    }
}

/// The nearest pairs of two terms in both orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Distances {
    /// The first term before the second.
    pub forward: Nearest,
    /// The second term before the first.
    pub reverse: Nearest,
}

impl Distances {
    /// Of the terms `x` and `y` in the document of `data`.
    pub fn between(x: Placed, y: Placed, element_gap: Option<u32>, data: &MatchData) -> Distances {
        let (Some(hits_x), Some(hits_y)) = (data.hits(x.0), data.hits(y.0)) else { return Distances::default() };
        Distances {
            forward: nearest(hits_x.occurrences, x.1, hits_y.occurrences, element_gap),
            reverse: nearest(hits_y.occurrences, y.1, hits_x.occurrences, element_gap),
        }
    }
}

/// The nearest pair of an `earlier` (of that many words) before a `later`. Every later one is paired with the last that
/// ends before it: any other pair is longer. Among equals the first is kept.
fn nearest(earlier: &[Occurrence], words: u32, later: &[Occurrence], element_gap: Option<u32>) -> Nearest {
    let end = |occurrence: &Occurrence| u64::from(occurrence.position) + u64::from(words.max(1)) - 1;
    let mut best = Nearest::default();
    let mut next = 0;
    for target in later {
        let place = (target.element, u64::from(target.position));
        while earlier.get(next).is_some_and(|candidate| (candidate.element, end(candidate)) < place) {
            next += 1;
        }
        let Some(before) = earlier[..next].last() else { continue };
        let start = if before.element == target.element {
            0
        } else if let (Some(gap), true) = (element_gap, before.element + 1 == target.element) {
            u64::from(before.element_length) + u64::from(gap)
        } else {
            continue;
        };
        let distance = (start + place.1).saturating_sub(end(before));
        if distance < u64::from(best.distance) {
            best = Nearest { distance: distance as u32, position: before.position };
        }
    }
    best
}
