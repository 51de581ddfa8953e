//! Few candidates of a view, which are measured without a look at their codes.
use brooklet_segment::Part;
use brooklet_segment::column::vector;
use brooklet_segment::column::vector::Vectors;

use super::{Candidate, Resolving};

/// Most candidates of a view that are measured without a look at their codes.
const MEASURED_AT_ONCE: usize = 128;
/// So many times as many bytes of codes as of exact rows make a look at the codes too dear.
const CODES_SHARE: usize = 4;
/// Where one of so many candidates is among the nearest, codes would spare the measuring of few.
const MATCHED_SHARE: usize = 2;

impl Resolving {
    /// Takes all candidates of a view for promising where they are so few that measuring them is less work than a look at
    /// their codes. Whether it is so.
    pub(super) fn takes_all(&mut self, at: usize, vectors: &Vectors<'_>) -> bool {
        let candidates = &self.candidates[at];
        let count = candidates.count();
        if !vectors.one_each() || !self.kept.is_empty() || count > MEASURED_AT_ONCE {
            return false;
        }
        // The last block of a part is as long as its rows: the only one, where a segment is small.
        let bytes = |part: &Part, row: usize| {
            (count.min(part.blocks() as usize) * part.rows_per_block as usize).min(part.rows as usize) * row
        };
        let of_codes = bytes(vectors.part(vector::CODES), 16 + vector::code_stride(vectors.size));
        let of_exact = bytes(vectors.part(vector::EXACT), vector::exact_stride(vectors.cell, vectors.size));
        let most_match = self.nearest.competes && count <= self.nearest.target_hits.saturating_mul(MATCHED_SHARE);
        if !most_match && of_exact * CODES_SHARE > of_codes {
            return false;
        }
        let found = candidates.ones().map(|ordinal| Candidate {
            view: at as u32,
            ordinal: ordinal as u32,
            low: f64::NEG_INFINITY,
        });
        self.found.extend(found);
        true
    }
}
