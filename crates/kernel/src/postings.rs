//! Postings of a word, and the scores they make: read eight at a time, and added so where most documents have some.

use crate::arch::Selected;
use crate::lanes::{Lanes, Posting};

/// Postings of a group.
pub const POSTINGS: usize = 8;
/// Bytes of a group: a distance and a count of each.
pub const POSTINGS_BYTES: usize = 2 * POSTINGS;

/// Reads a group of pairs `distance count`, a byte each: a number is the one in front of it (for the first of all
/// `before`), the distance and one, wrapping. False, and nothing is read, if a byte has its top bit: it is the first of
/// several.
#[inline(always)]
pub fn short_postings(bytes: &[u8; POSTINGS_BYTES], before: u32, out: &mut [Posting; POSTINGS]) -> bool {
    Selected::short_postings(bytes, before, out)
}

/// Documents that a group of pairs of a byte each reaches over at most.
pub const SCATTERED: usize = 128 * POSTINGS;

/// Puts the counts of a group as [`short_postings`] reads it where their documents are, the first of `counts` being
/// the one behind the last that was read, and tells how many documents it reaches over. Nothing, and nothing is put down,
/// if a byte has its top bit.
#[inline(always)]
pub fn scatter_short(pairs: &[u8; POSTINGS_BYTES], counts: &mut [u8; SCATTERED]) -> Option<u32> {
    if u128::from_le_bytes(*pairs) & u128::from_le_bytes([0x80; 16]) != 0 {
        return None;
    }
    let mut at = 0;
    for [distance, count] in pairs.as_chunks().0 {
        at += usize::from(*distance);
        // Never beyond: the compiler is spared to look.
        counts[at % SCATTERED] = *count;
        at += 1;
    }
    Some(at as u32)
}

/// How often something comes in a document makes a score: `scale · (count · gain / (count + damping))`, the damping
/// being that of the document.
#[derive(Clone, Copy, Debug)]
pub struct Saturation {
    /// What the fraction is multiplied with.
    pub scale: f64,
    /// What the count above the line is multiplied with.
    pub gain: f64,
}

impl Saturation {
    /// The score of one document.
    #[inline(always)]
    pub fn score(&self, count: f64, damping: f64) -> f64 {
        self.scale * (count * self.gain / (count + damping))
    }

    /// Adds the score of each document to its sum, in order; one whose count is 0 adds nothing.
    pub fn add_all(&self, counts: &[u8], dampings: &[f64], sums: &mut [f64]) {
        let (eights, rest) = counts.as_chunks();
        let (dampings_of_eights, dampings_of_rest) = dampings.split_at(dampings.len().min(8 * eights.len()));
        let (sums_of_eights, sums_of_rest) = sums.split_at_mut(sums.len().min(8 * eights.len()));
        let eight = dampings_of_eights.as_chunks().0.iter().zip(sums_of_eights.as_chunks_mut().0);
        for (counts, (dampings, sums)) in eights.iter().zip(eight) {
            self.add_eight::<Selected>(counts, dampings, sums);
        }
        for ((count, damping), sum) in rest.iter().zip(dampings_of_rest).zip(sums_of_rest) {
            if *count > 0 {
                *sum += self.score(f64::from(*count), *damping);
            }
        }
    }

    #[inline(always)]
    fn add_eight<L: Lanes>(&self, counts: &[u8; 8], dampings: &[f64; 8], sums: &mut [f64; 8]) {
        let (scale, gain) = (L::splat_f64(self.scale), L::splat_f64(self.gain));
        let two = dampings.as_chunks().0.iter().zip(sums.as_chunks_mut().0);
        for (counts, (dampings, sums)) in L::widen_u8(counts).into_iter().zip(two) {
            let fraction = L::divide_f64(L::multiply_f64(counts, gain), L::add_f64(counts, L::load_f64(dampings)));
            let added = L::where_positive_f64(L::multiply_f64(scale, fraction), counts);
            L::store_f64(L::add_f64(L::load_f64(sums), added), sums);
        }
    }
}

/// Scores that are compared together.
pub const SCORES: usize = 64;

/// A bit for each score that is greater than `limit`, the first one lowest.
#[must_use]
pub fn above(scores: &[f64; SCORES], limit: f64) -> u64 {
    above_in_lanes::<Selected>(scores, limit)
}

#[inline(always)]
fn above_in_lanes<L: Lanes>(scores: &[f64; SCORES], limit: f64) -> u64 {
    let limit = L::splat_f64(limit);
    let two = scores.as_chunks().0.iter().enumerate();
    two.fold(0, |bits, (place, two)| bits | u64::from(L::greater_f64(L::load_f64(two), limit)) << (2 * place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn scores_are_added_as_one_by_one(
            counts in prop::collection::vec(prop_oneof![Just(0u8), 1u8..20, any::<u8>()], 0..50),
            dampings in prop::collection::vec(prop_oneof![0.0..3.0, any::<f64>()], 50),
            (scale, gain) in (prop_oneof![0.0..3.0, any::<f64>()], 0.0..3.0),
        ) {
            let mut sums: Vec<f64> = (0..50).map(f64::from).collect();
            let mut expected = sums.clone();
            for (ordinal, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                let count = f64::from(*count);
                expected[ordinal] += scale * (count * gain / (count + dampings[ordinal]));
            }
            Saturation { scale, gain }.add_all(&counts, &dampings[..counts.len()], &mut sums[..counts.len()]);
            // All NaN are one: their bits are free.
            let bits = |sums: &[f64]| sums.iter().map(|sum| if sum.is_nan() { 1 } else { sum.to_bits() }).collect::<Vec<_>>();
            prop_assert_eq!(bits(&sums), bits(&expected));
        }

        #[test]
        fn what_is_above_is_seen(low in -3.0..0.0, at in 0..SCORES, odd in prop_oneof![Just(f64::NAN), Just(1.0), Just(0.0), Just(f64::INFINITY)]) {
            let mut scores = [low; SCORES];
            scores[at] = odd;
            prop_assert_eq!(above(&scores, 0.0), u64::from(odd > 0.0) << at);
            prop_assert_eq!(above(&[low; SCORES], low), 0);
        }

        #[test]
        fn groups_are_read_as_one_pair_after_the_other(
            bytes in proptest::array::uniform16(prop_oneof![60 => 0u8..0x80, 1 => 0x80u8..]),
            before in prop_oneof![Just(u32::MAX), 0u32..20_000, any::<u32>()],
        ) {
            let mut number = before;
            let naive = bytes.chunks(2).map(|pair| {
                number = number.wrapping_add(u32::from(pair[0]) + 1);
                [number, u32::from(pair[1])]
            });
            let expected = bytes.iter().all(|byte| *byte < 0x80).then(|| naive.collect::<Vec<_>>());
            let mut out = [[7; 2]; POSTINGS];
            let read = short_postings(&bytes, before, &mut out).then(|| out.to_vec());
            prop_assert_eq!(read, expected.clone());
            // Counts stand where the ordinals say.
            let mut counts = [0; SCATTERED];
            let passed = scatter_short(&bytes, &mut counts);
            prop_assert_eq!(passed, expected.as_ref().map(|all| all[POSTINGS - 1][0].wrapping_sub(before)));
            let place = |ordinal: u32| ordinal.wrapping_sub(before) as usize - 1;
            let mut put = [0; SCATTERED];
            expected.iter().flatten().for_each(|[ordinal, count]| put[place(*ordinal)] = *count as u8);
            prop_assert_eq!(counts, put);
        }
    }
}
