//! How far the matching of a leaf got in a segment. What looks at every value may take longer than a step should: it
//! rests when the step's work is done, and goes on from here.
use brooklet_rank::match_data::Occurrence;
use brooklet_text::PatternSearch;
use rustc_hash::FxHashMap;

use super::found::{Kept, LeafHits, WeightedHit, Word};

/// The way of one target.
#[derive(Default)]
pub(crate) struct Walk {
    /// What it found, if it is at its end.
    pub(super) found: Option<LeafHits>,
    /// The same before it was confined to elements.
    pub(super) unconfined: Option<LeafHits>,
    /// The words of the dictionary that are asked for, once all are found.
    pub(super) all_words: Option<Vec<Word>>,
    /// Words of the dictionary that were accepted, and the first block that was not looked at.
    pub(super) words: Vec<Word>,
    pub(super) words_block: u32,
    /// How many of the words or tokens that are asked for were looked up.
    pub(super) looked_up: usize,
    /// The weights of tokens by the numbers of their words, and where each stands of those that are a whole value.
    pub(super) weights: FxHashMap<u32, i32>,
    pub(super) weighted: Vec<WeightedHit>,
    /// Numbers of strings that were accepted, and the first that was not looked at, with its block.
    pub(super) strings: Vec<i64>,
    pub(super) strings_block: u32,
    pub(super) strings_next: usize,
    /// Documents to be looked at one by one, what was found in them, and the first that was not looked at.
    pub(super) candidates: Option<Vec<u32>>,
    pub(super) kept: Kept,
    pub(super) next: usize,
    /// What was found in the values of that document which were looked at.
    pub(super) inside: Inside,
    /// The search that may be in the middle of a value.
    pub(super) search: Option<PatternSearch>,
}

/// The way through the values of one document.
#[derive(Default)]
pub(super) struct Inside {
    pub(super) values: usize,
    pub(super) occurrences: Vec<Occurrence>,
    pub(super) length: u32,
}
