//! Counts while words are laid onto a field.

/// Proximity of one pair of words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairMetrics {
    /// The proximity as the table has it.
    pub unweighted: f64,
    /// The proximity, weighted by the connectedness of the words.
    pub weighted: f64,
}

/// The counts of a segmentation so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Metrics {
    /// Words matched, at most as many as the field has tokens.
    pub matches: u32,
    /// Share of the query's weight matched.
    pub weight: f64,
    /// Share of the query's significance matched.
    pub significance: f64,
    /// Segments begun.
    pub segments: u32,
    /// Jumps inside segments.
    pub gaps: u32,
    /// Tokens jumped over.
    pub gap_length: u64,
    /// Jumps backwards.
    pub out_of_order: u32,
    /// Words of the longest run that is consecutive in query and field.
    pub longest_sequence: u32,
    /// Tokens before the first word.
    pub head: Option<u32>,
    /// Tokens after the last word.
    pub tail: Option<u32>,
    pairs: u32,
    proximity: f64,
    unweighted_proximity: f64,
    current_sequence: u32,
}

impl Metrics {
    /// Nothing matched yet.
    pub fn start() -> Metrics {
        Metrics { longest_sequence: 1, ..Metrics::default() }
    }

    /// A word matched; `weight` and `significance` are its shares of the query's.
    pub fn add_match(&mut self, weight: f64, significance: f64, length: usize) {
        if (self.matches as usize) < length {
            self.matches += 1;
            self.weight += weight;
            self.significance += significance;
        }
    }

    /// Two words of a segment are near each other.
    pub fn add_pair(&mut self, pair: PairMetrics) {
        self.pairs += 1;
        self.proximity += pair.weighted;
        self.unweighted_proximity += pair.unweighted;
    }

    /// The word is right after the one before it, in the query and in the field.
    pub fn continue_sequence(&mut self) {
        self.current_sequence += 1;
    }

    /// The word is elsewhere in the same segment.
    pub fn add_gap(&mut self, from: usize, to: usize) {
        self.gaps += 1;
        if to > from {
            self.gap_length += (to - from - 1) as u64;
        } else {
            self.out_of_order += 1;
            self.gap_length += (from - to) as u64;
        }
    }

    /// A run of consecutive positions begins.
    pub fn start_sequence(&mut self, at: usize) {
        let at = at as u32;
        self.head = Some(self.head.map_or(at, |head| head.min(at)));
        self.current_sequence = 1;
    }

    /// The run ended with the word at `at`.
    pub fn end_sequence(&mut self, at: usize, length: usize) {
        let after = length.saturating_sub(at + 1) as u32;
        self.tail = Some(self.tail.map_or(after, |tail| tail.min(after)));
        self.longest_sequence = self.longest_sequence.max(self.current_sequence);
        self.current_sequence = 0;
    }

    /// Mean proximity of the pairs by connectedness, 0.1 (in 32 bits) without pairs.
    pub fn absolute_proximity(&self) -> f64 {
        if self.pairs == 0 { f64::from(0.1f32) } else { self.proximity / f64::from(self.pairs) }
    }

    /// Mean proximity of the pairs, 1 without pairs.
    pub fn unweighted_proximity(&self) -> f64 {
        if self.pairs == 0 { 1.0 } else { self.unweighted_proximity / f64::from(self.pairs) }
    }

    /// Share of the pairs that are in order, 1 without pairs.
    pub fn orderness(&self) -> f64 {
        if self.pairs == 0 { 1.0 } else { 1.0 - f64::from(self.out_of_order) / f64::from(self.pairs) }
    }

    /// What makes one segmentation better than another.
    pub fn segmentation_score(&self) -> f64 {
        let segments = f64::from(self.segments);
        if self.segments == 0 { 0.0 } else { self.absolute_proximity() / (segments * segments) }
    }
}
