//! Where the words of the query are in one document's field, ready to be searched outwards from a position.
//!
//! *Semantic distance* orders the positions of a field as seen from one of them: first those shortly ahead, then those
//! shortly behind, then farther ahead, then farther behind. It numbers all positions of the field from 0.

use crate::features::field_match::setup::Word;
use crate::match_data::MatchData;

/// The match of one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Match {
    #[default]
    No,
    /// It is not known where.
    WithoutPositions,
    /// At `positions[start..end]`.
    At { start: usize, end: usize },
}

/// The places of all words in one document.
#[derive(Clone, Debug)]
pub struct Places {
    words: Vec<Match>,
    /// Of each word: sorted, distinct, below `length`. Positions of different elements are mixed, as Vespa does.
    positions: Vec<u32>,
    length: usize,
    matches: u32,
    matches_with_positions: u32,
    matched_weight: f64,
    has_empty_field: bool,
}

impl Places {
    /// Room for so many words.
    pub fn new(words: usize) -> Places {
        Places {
            words: vec![Match::No; words],
            positions: Vec::new(),
            length: 0,
            matches: 0,
            matches_with_positions: 0,
            matched_weight: 0.0,
            has_empty_field: false,
        }
    }

    /// Takes over the document in `data`.
    pub fn gather(&mut self, words: &[Word], data: &MatchData) {
        self.positions.clear();
        (self.length, self.matches, self.matches_with_positions) = (0, 0, 0);
        (self.matched_weight, self.has_empty_field) = (0.0, false);
        for (index, word) in words.iter().enumerate() {
            self.words[index] = Match::No;
            let Some(hits) = data.hits(word.slot) else { continue };
            self.matches += 1;
            self.matched_weight += word.weight;
            let Some(longest) = hits.longest_element() else {
                self.words[index] = Match::WithoutPositions;
                continue;
            };
            if self.matches_with_positions == 0 {
                self.length = longest as usize;
            }
            self.matches_with_positions += 1;
            self.has_empty_field |= longest == 0;
            let positions = hits.occurrences.iter().map(|occurrence| occurrence.position.saturating_add(word.offset));
            self.words[index] = self.add(positions);
        }
    }

    fn add(&mut self, positions: impl Iterator<Item = u32>) -> Match {
        let start = self.positions.len();
        let length = self.length;
        self.positions.extend(positions.filter(|position| (*position as usize) < length));
        let added = &mut self.positions[start..];
        if !added.is_sorted() {
            added.sort_unstable();
        }
        let distinct = deduplicate(added);
        self.positions.truncate(start + distinct);
        Match::At { start, end: start + distinct }
    }

    /// Tokens of the field: of the longest element the first word with positions hit.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Words that matched.
    pub fn matches(&self) -> u32 {
        self.matches
    }

    /// Words that matched at known positions.
    pub fn matches_with_positions(&self) -> u32 {
        self.matches_with_positions
    }

    /// Weight of the words that matched.
    pub fn matched_weight(&self) -> f64 {
        self.matched_weight
    }

    /// Whether positions were given for a field without tokens: then they cannot be used.
    pub fn has_empty_field(&self) -> bool {
        self.has_empty_field
    }

    /// Whether the word matched, but not where.
    pub fn is_without_positions(&self, word: usize) -> bool {
        self.words[word] == Match::WithoutPositions
    }

    /// The position of `word` that is semantically nearest to `from` but at least `start` away, and that distance.
    pub fn nearest(&self, word: usize, from: usize, start: usize, limit: usize) -> Option<Nearest> {
        let Match::At { start: first, end } = self.words[word] else { return None };
        let positions = Sorted(&self.positions[first..end]);
        let length = self.length;
        let ahead = limit.min(length.saturating_sub(from));
        let behind = limit.min(from);
        let near = ahead + behind;
        let far_behind = length.saturating_sub(from) + behind;
        let mut found = None;
        if start < ahead {
            found = positions.first_in(from + start, from + ahead).map(|at| Nearest { at, distance: at - from });
        }
        if found.is_none() && start < near {
            let top = from - start.saturating_sub(ahead);
            found = positions.last_in(from - behind, top).map(|at| Nearest { at, distance: ahead + from - 1 - at });
        }
        if found.is_none() && start < far_behind {
            let low = from + start.max(near) - behind;
            found = positions.first_in(low, length).map(|at| Nearest { at, distance: at - from + behind });
        }
        if found.is_none() && start < length {
            let top = length - start.max(far_behind).min(length);
            found = positions.last_in(0, top).map(|at| Nearest { at, distance: length - 1 - at });
        }
        found
    }
}

/// A position found, and how far it is semantically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// The position.
    pub at: usize,
    /// Its semantic distance.
    pub distance: usize,
}

/// Sorted positions.
struct Sorted<'a>(&'a [u32]);

impl Sorted<'_> {
    /// The first in `low..high`.
    fn first_in(&self, low: usize, high: usize) -> Option<usize> {
        let index = self.0.partition_point(|position| (*position as usize) < low);
        self.0.get(index).map(|position| *position as usize).filter(|position| *position < high)
    }

    /// The last in `low..high`.
    fn last_in(&self, low: usize, high: usize) -> Option<usize> {
        let index = self.0.partition_point(|position| (*position as usize) < high);
        self.0[..index].last().map(|position| *position as usize).filter(|position| *position >= low)
    }
}

/// Moves the first of every run of equals to the front; how many there are.
fn deduplicate(sorted: &mut [u32]) -> usize {
    let mut kept = 0;
    for index in 0..sorted.len() {
        if kept == 0 || sorted[index] != sorted[kept - 1] {
            sorted[kept] = sorted[index];
            kept += 1;
        }
    }
    kept
}
