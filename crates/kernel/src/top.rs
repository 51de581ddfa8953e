//! Keeping the best of many: a buffer of twice the wanted number, cut by selection when it is full. Nothing is compared
//! with more than a threshold most of the time, which beats a heap, by far for large numbers.

/// Places beside twice the limit, so that small limits do not cut all the time.
const SPARE: usize = 32;

/// Largest buffer reserved before it is needed.
const RESERVED_MAX: usize = 1024;

/// Collects the `limit` greatest entries by their total order. Entries equal in order are interchangeable.
#[derive(Clone, Debug)]
pub struct TopK<T> {
    limit: usize,
    entries: Vec<T>,
    /// Whether `entries[limit - 1]` is the least of `limit` entries that are all among the best so far.
    cut: bool,
}

impl<T: Ord> TopK<T> {
    /// An empty collection of at most `limit` entries.
    pub fn new(limit: usize) -> TopK<T> {
        let reserved = limit.saturating_mul(2).saturating_add(SPARE).min(RESERVED_MAX);
        TopK { limit, entries: Vec::with_capacity(reserved), cut: false }
    }

    /// The wanted number of entries.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// An entry at or below which others are refused: at most the `limit`-th best so far. Raised from time to time, and
    /// by [`TopK::tighten`]; `None` while there is no ground to refuse any.
    #[inline]
    pub fn threshold(&self) -> Option<&T> {
        if self.cut { self.entries.get(self.limit - 1) } else { None }
    }

    /// Adds an entry, unless it is already known not to be among the best.
    #[inline]
    pub fn push(&mut self, entry: T) {
        if self.limit == 0 || self.threshold().is_some_and(|threshold| entry <= *threshold) {
            return;
        }
        self.entries.push(entry);
        if self.entries.len() >= self.limit.saturating_mul(2).saturating_add(SPARE) {
            self.tighten();
        }
    }

    /// Drops all but the best, so that [`TopK::threshold`] is exactly the `limit`-th best if there are so many.
    pub fn tighten(&mut self) {
        if self.limit == 0 || self.entries.len() < self.limit {
            return;
        }
        self.entries.select_nth_unstable_by(self.limit - 1, |a, b| b.cmp(a));
        self.entries.truncate(self.limit);
        self.cut = true;
    }

    /// The best entries, greatest first.
    pub fn into_sorted(mut self) -> Vec<T> {
        self.tighten();
        self.entries.sort_unstable_by(|a, b| b.cmp(a));
        self.entries
    }
}

/// An integer that orders as the score does; NaN is below all, and both zeros are equal.
#[inline]
pub fn score_key(score: f64) -> u64 {
    if score.is_nan() {
        return 0;
    }
    // Adding +0 makes −0 the same as +0.
    let bits = (score + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// The score of a [`score_key`] that is not that of NaN; zeros are positive.
#[inline]
pub fn score_of_key(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}
