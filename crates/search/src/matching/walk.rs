//! How far the matching of a leaf got in a segment. What looks at every value may take longer than a step should: it
//! rests when the step's work is done, and goes on from here.
use super::text::Word;
use super::{Found, Kept};

/// The way of one target.
#[derive(Default)]
pub(crate) struct Walk {
    /// What it found, if it is at its end.
    pub(super) found: Option<Found>,
    /// The same before it was confined to elements.
    pub(super) unconfined: Option<Found>,
    /// Words of the dictionary that were accepted, and the first block that was not looked at.
    pub(super) words: Vec<Word>,
    pub(super) words_block: u32,
    /// Numbers of strings that were accepted, and the first block that was not looked at.
    pub(super) strings: Vec<i64>,
    pub(super) strings_block: u32,
    /// Documents to be looked at one by one, what was found in them, and the first that was not looked at.
    pub(super) candidates: Option<Vec<u32>>,
    pub(super) kept: Kept,
    pub(super) next: usize,
}
