//! The postings that were read last, for what asks for the same words next.
use std::rc::Rc;

use super::postings::Postings;
use crate::resident::partition::ResidentSegment;

/// Postings, and of which words of a segment they are.
pub(crate) struct LastPostings {
    segment: Rc<ResidentSegment>,
    first_block: u32,
    words: Vec<(u32, u32)>,
    postings: Rc<Postings>,
}

impl LastPostings {
    /// `first_block`: where the postings of the column begin. `words`: their numbers, and how often each counts.
    pub(super) fn new(
        segment: &Rc<ResidentSegment>,
        first_block: u32,
        words: impl Iterator<Item = (u32, u32)>,
        postings: &Rc<Postings>,
    ) -> LastPostings {
        LastPostings { segment: segment.clone(), first_block, words: words.collect(), postings: postings.clone() }
    }

    /// The postings, if they are of these words.
    pub(super) fn get(
        &self,
        segment: &Rc<ResidentSegment>,
        first_block: u32,
        words: impl Iterator<Item = (u32, u32)>,
    ) -> Option<Rc<Postings>> {
        let is_same = Rc::ptr_eq(&self.segment, segment)
            && self.first_block == first_block
            && self.words.iter().copied().eq(words);
        is_same.then(|| self.postings.clone())
    }
}
