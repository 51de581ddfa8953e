//! `proximity(field,a,b)` and `reverseProximity(field,a,b)`: the closest pair of two ranked terms.
//!
//! proximity: the smallest distance from an `a` to a `b` behind it in the same element, and where both are; without a
//! pair out and posA are the largest number, posB the smallest.
//! reverseProximity: the smallest distance from a `b` to an `a` not before it. Positions are compared without regard to
//! elements, as the reference does; the first pair is the first `b` with the first `a` at or behind it. Without a pair
//! out and posB are the largest number, posA the smallest.

use super::call::Call;
use crate::features::prepared::{Executor, Prepared};
use crate::match_data::{MatchData, Occurrence, Slot};
use brooklet_task::Rejection;

const OUTPUTS: [&str; 3] = ["out", "posA", "posB"];

struct Proximity(Option<(Slot, Slot)>);

struct ReverseProximity(Option<(Slot, Slot)>);

/// Makes `proximity` ready.
pub fn prepare(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    Ok(call.ready(&OUTPUTS, Proximity(slots(call)?)))
}

/// Makes `reverseProximity` ready.
pub fn prepare_reverse(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    Ok(call.ready(&OUTPUTS, ReverseProximity(slots(call)?)))
}

/// The slots of both terms, if both search the field.
fn slots(call: &Call<'_, '_>) -> Result<Option<(Slot, Slot)>, Rejection> {
    call.takes(3..=3)?;
    let field = call.environment.field(&call.parameters[0])?;
    let (a, b) = (call.whole_number(1)?, call.whole_number(2)?);
    let slot = |number: usize| call.environment.query.ranked_terms().nth(number)?.slot(field.id);
    Ok(slot(a).zip(slot(b)))
}

/// Occurrences of both terms, if both hit.
fn both(data: &MatchData, slots: Option<(Slot, Slot)>) -> Option<(&[Occurrence], &[Occurrence])> {
    let (a, b) = slots?;
    Some((data.hits(a)?.occurrences, data.hits(b)?.occurrences))
}

impl Executor for Proximity {
    fn execute(&mut self, data: &MatchData, outputs: &mut [f64]) {
        let mut best: Option<(u32, u32)> = None;
        if let Some((of_a, of_b)) = both(data, self.0) {
            let (mut a, mut b) = (0, 0);
            while let (Some(first), Some(second)) = (of_a.get(a), of_b.get(b)) {
                if (first.element, first.position) >= (second.element, second.position) {
                    b += 1;
                    continue;
                }
                let distance = |(from, to): (u32, u32)| to - from;
                let pair = (first.position, second.position);
                if first.element == second.element && best.is_none_or(|best| distance(pair) < distance(best)) {
                    best = Some(pair);
                }
                a += 1;
            }
        }
        outputs.copy_from_slice(&match best {
            Some((a, b)) => [f64::from(b - a), f64::from(a), f64::from(b)],
            None => [f64::MAX, f64::MAX, -f64::MAX],
        });
    }
}

impl Executor for ReverseProximity {
    fn execute(&mut self, data: &MatchData, outputs: &mut [f64]) {
        outputs.copy_from_slice(&match reverse(both(data, self.0)) {
            Some((a, b)) => [f64::from(a - b), f64::from(a), f64::from(b)],
            None => [f64::MAX, -f64::MAX, f64::MAX],
        });
    }
}

/// Positions of the closest `a` that is not before its `b`.
fn reverse(hits: Option<(&[Occurrence], &[Occurrence])>) -> Option<(u32, u32)> {
    let (of_a, of_b) = hits?;
    let mut at_b = of_b.first()?.position;
    let mut from_a = of_a.iter().position(|occurrence| occurrence.position >= at_b)?;
    let mut at_a = of_a[from_a].position;
    let mut best: Option<(u32, u32)> = None;
    let mut from_b = 0;
    while let (Some(a), Some(b)) = (of_a.get(from_a), of_b.get(from_b)) {
        if b.position <= at_a {
            at_b = b.position;
            from_b += 1;
        } else {
            keep_closer(&mut best, (at_a, at_b));
            at_a = a.position;
            from_a += 1;
        }
    }
    keep_closer(&mut best, (at_a, at_b));
    best
}

fn keep_closer(best: &mut Option<(u32, u32)>, pair: (u32, u32)) {
    if pair.0 >= pair.1 && best.is_none_or(|(a, b)| pair.0 - pair.1 < a - b) {
        *best = Some(pair);
    }
}
