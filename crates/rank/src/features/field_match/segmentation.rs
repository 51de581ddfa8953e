//! The search for the best segmentation.
//!
//! There is one possible segment start per word, and one past the last word. A start that was reached knows the best
//! history that led to it. Again and again the open start of the lowest word is taken, its history is extended by one
//! segment, and the result is offered to the start of the word after that segment; a start that was tried before goes
//! on from its next possible position, and is closed when there is none. The history of the last start reached is the
//! answer. The number of repeated tries is limited, so that the search is quick even in repetitive fields; it is not
//! exhaustive then, and nobody notices.

use super::metrics::Metrics;
use super::places::Places;
use crate::features::field_match::setup::{Setup, WordPair, share};

/// Counts, and where the segments began.
#[derive(Clone, Debug)]
pub struct History {
    /// The counts.
    pub counts: Metrics,
    starts: Vec<usize>,
}

impl History {
    fn new() -> History {
        History { counts: Metrics::start(), starts: Vec::new() }
    }

    fn reset(&mut self) {
        self.counts = Metrics::start();
        self.starts.clear();
    }

    fn copy_from(&mut self, other: &History) {
        self.counts = other.counts;
        self.starts.clone_from(&other.starts);
    }

    /// Sum over neighbouring segments of the distance of their starts, plus one.
    pub fn segment_distance(&mut self) -> f64 {
        self.starts.sort_unstable();
        self.starts.windows(2).map(|pair| pair[1] - pair[0] + 1).sum::<usize>() as f64
    }
}

/// Where a segment may begin: at the word of its index, or later.
#[derive(Clone, Debug)]
struct Start {
    is_reached: bool,
    is_open: bool,
    /// Words at the start that the field does not have.
    skipped: usize,
    /// Position of the last word before this start.
    previous: usize,
    /// Positions up to this semantic distance were tried.
    explored: usize,
    history: History,
}

impl Start {
    fn new() -> Start {
        Start { is_reached: false, is_open: false, skipped: 0, previous: 0, explored: 0, history: History::new() }
    }

    /// Takes `history`, which ended at `previous`, if it is the first or better than what is known.
    fn offer(&mut self, history: &History, previous: usize) {
        if !self.is_reached {
            (self.is_reached, self.is_open, self.skipped, self.explored) = (true, true, 0, 0);
        } else if history.counts.segmentation_score() <= self.history.counts.segmentation_score() {
            return;
        }
        self.previous = previous;
        self.history.copy_from(history);
    }
}

/// The search, with the memory it keeps between documents.
#[derive(Clone, Debug)]
pub struct Segmentation {
    starts: Vec<Start>,
    current: History,
    alternatives: u32,
}

impl Segmentation {
    /// The state for a query of so many words.
    pub fn new(words: usize) -> Segmentation {
        Segmentation { starts: vec![Start::new(); words + 1], current: History::new(), alternatives: 0 }
    }

    /// The best segmentation found for the document in `places`.
    pub fn best(&mut self, setup: &Setup, places: &Places) -> &mut History {
        self.alternatives = 0;
        for start in &mut self.starts {
            start.is_reached = false;
        }
        self.current.reset();
        self.starts[0].offer(&self.current, 0);
        let mut next = Some(0);
        while let Some(start) = next {
            self.current.copy_from(&self.starts[start].history);
            if !self.extend(start, setup, places) {
                self.starts[start].is_open = false;
            }
            next = self.next_open(start, setup.parameters.alternatives_max);
        }
        let last = self.starts.iter().rposition(|start| start.is_reached).unwrap_or(0);
        &mut self.starts[last].history
    }

    /// The open start of the lowest word from `first` on; one that was tried before costs an alternative.
    fn next_open(&mut self, first: usize, alternatives_max: u32) -> Option<usize> {
        for (index, start) in self.starts.iter().enumerate().skip(first) {
            if !start.is_reached || !start.is_open {
                continue;
            }
            if start.explored == 0 {
                return Some(index);
            }
            if self.alternatives < alternatives_max {
                self.alternatives += 1;
                return Some(index);
            }
        }
        None
    }

    /// Lays one segment that begins at `start` onto the field, and offers what comes of it to the start after it.
    /// `false` if there is no further position to begin at.
    fn extend(&mut self, start: usize, setup: &Setup, places: &Places) -> bool {
        let limit = setup.parameters.proximity_limit;
        let mut explored = self.starts[start].explored;
        let mut walk = Walk::new(self.starts[start].previous);
        for index in start + self.starts[start].skipped..setup.words.len() {
            let found = places.nearest(index, walk.at, explored, limit);
            if found.is_none() && walk.word.is_none() && explored > 0 {
                return false;
            }
            if walk.is_in_sequence && found.is_none_or(|nearest| nearest.at != walk.at + 1) {
                self.current.counts.end_sequence(walk.at, places.length());
                walk.is_in_sequence = false;
            }
            match (walk.word, found) {
                (None, None) => self.starts[start].skipped += 1,
                (None, Some(nearest)) => {
                    self.current.counts.segments += 1;
                    self.current.starts.push(nearest.at);
                    self.starts[start].explored = nearest.distance + 1;
                }
                (Some(previous), found) => {
                    // A missing word is one position before the field.
                    let jump = found.map_or(walk.at + 1, |nearest| nearest.at.abs_diff(walk.at));
                    if jump >= limit {
                        self.starts[index].offer(&self.current, walk.at);
                        return true;
                    }
                    if let Some(nearest) = found {
                        let step = WordPair { from: walk.at, to: nearest.at };
                        self.step(setup, index, index == previous + 1, step);
                    }
                }
            }
            explored = usize::from(found.is_some());
            if found.is_some() || places.is_without_positions(index) {
                self.add_match(setup, index, places.length());
            }
            if let Some(nearest) = found {
                if !walk.is_in_sequence {
                    self.current.counts.start_sequence(nearest.at);
                }
                walk = Walk { at: nearest.at, word: Some(index), is_in_sequence: true };
            }
        }
        if walk.is_in_sequence {
            self.current.counts.end_sequence(walk.at, places.length());
        }
        if walk.word.is_some() {
            self.starts[setup.words.len()].offer(&self.current, walk.at);
        }
        walk.word.is_some()
    }

    /// Counts a step to word `index` inside the segment.
    fn step(&mut self, setup: &Setup, index: usize, is_next_word: bool, step: WordPair) {
        let counts = &mut self.current.counts;
        if let Some(pair) = setup.pair(&setup.words[index], step) {
            counts.add_pair(pair);
        }
        if is_next_word && step.to == step.from + 1 {
            counts.continue_sequence();
        } else {
            counts.add_gap(step.from, step.to);
        }
    }

    fn add_match(&mut self, setup: &Setup, index: usize, length: usize) {
        let word = &setup.words[index];
        let weight = share(word.weight, setup.total_weight);
        let significance = share(word.significance, setup.total_significance);
        self.current.counts.add_match(weight, significance, length);
    }
}

/// The state of laying out a segment.
#[derive(Clone, Copy)]
struct Walk {
    /// Position of the last word found.
    at: usize,
    /// That word, `None` before the segment began.
    word: Option<usize>,
    is_in_sequence: bool,
}

impl Walk {
    fn new(at: usize) -> Walk {
        Walk { at, word: None, is_in_sequence: false }
    }
}
