//! A feature as a sum over terms: what each counts by how often it occurs, against the length of the field.

use brooklet_kernel::Saturation;
use brooklet_task::Rejection;

use crate::features::properties::{Properties, refuse};
use crate::match_data::{MatchData, Slot};

/// Occurrences and lengths are kept in 16 bits by Vespa.
pub(crate) const COUNT_MAX: u32 = u16::MAX as u32;

/// `bm25` made ready: a sum over terms, in their order, of what each of them counts in a document.
pub struct Bm25 {
    /// The terms.
    pub terms: Vec<Term>,
    pub(crate) scale: Scale,
}

impl Bm25 {
    /// What a term adds that occurs so often in so many tokens: as much as the feature adds for such hits.
    #[must_use]
    #[inline]
    pub fn count_term(&self, term: &Term, occurrences: u32, length: u32) -> f64 {
        self.saturation(term).score(f64::from(occurrences.min(COUNT_MAX)), self.damping(length))
    }

    /// What all terms of a document of this length have in common: a [`Saturation`] takes it.
    #[must_use]
    #[inline]
    pub fn damping(&self, length: u32) -> f64 {
        self.scale.damping(f64::from(length.min(COUNT_MAX)))
    }

    /// How occurrences of a term, 65535 at most, make a score beside the damping of a length: bit by bit
    /// [`Bm25::counted`].
    #[must_use]
    pub fn saturation(&self, term: &Term) -> Saturation {
        self.scale.saturation(term)
    }

    /// What a term adds that hit somewhere.
    #[must_use]
    pub fn somewhere(&self, term: &Term) -> f64 {
        term.idf
    }
}

/// One term in the field.
pub struct Term {
    /// Where its hits are.
    pub slot: Slot,
    pub(crate) idf: f64,
}

/// The score of occurrences and a length.
#[derive(Clone, Copy)]
pub struct Scale {
    k1: f64,
    /// k1·(1 − b).
    fixed: f64,
    /// k1·b / average length.
    per_token: f64,
}

impl Scale {
    /// From the properties `k1`, `b` and `average` (the name of the average length) of a feature.
    pub fn new(properties: &Properties<'_>, average: &str, measured: Option<f64>) -> Result<Scale, Rejection> {
        let k1 = properties.number("k1", 1.2)?;
        let b = properties.number("b", 0.75)?;
        let length = properties.number(average, measured.unwrap_or(100.0))?;
        if k1 < 0.0 || !(0.0..=1.0).contains(&b) || length <= 0.0 {
            return Err(refuse(format!(
                "k1 ({k1}) must not be negative, b ({b}) must be 0 to 1, {average} ({length}) positive"
            )));
        }
        Ok(Scale { k1, fixed: k1 * (1.0 - b), per_token: k1 * b / length })
    }

    /// What a term of inverse document frequency `idf` adds, occurring `frequency` times in `length` tokens.
    pub fn score(&self, term: &Term, frequency: f64, length: f64) -> f64 {
        self.saturation(term).score(frequency, self.damping(length))
    }

    fn saturation(&self, term: &Term) -> Saturation {
        Saturation { scale: term.idf, gain: self.k1 + 1.0 }
    }

    fn damping(&self, length: f64) -> f64 {
        self.fixed + self.per_token * length
    }

    /// What a term adds in a document; 0 if it did not hit.
    pub fn of_document(&self, term: &Term, data: &MatchData) -> f64 {
        let Some(hits) = data.hits(term.slot) else { return 0.0 };
        if !hits.has_positions() || hits.field_length == 0 {
            return term.idf;
        }
        let frequency = hits.occurrences.len().min(COUNT_MAX as usize) as f64;
        self.score(term, frequency, f64::from(hits.field_length.min(COUNT_MAX)))
    }
}
