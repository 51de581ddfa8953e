//! Documents in blocks, where their scores are better computed so.
use brooklet_rank::Interval;
use brooklet_rank::block::BLOCK;
use brooklet_segment::{Gaps, Halt};

use super::Run;
use crate::matching::found::ViewMatch;
use crate::nearest::Resolved;
use crate::ranking::spot::Spot;
use crate::resident::partition::View;
use crate::resident::reads::Reads;

impl Run {
    /// Scores the documents of a batch that have no score yet.
    pub(super) fn score_batch(&mut self, end: usize, reads: &mut Reads) -> Result<(), Halt> {
        let suits_blocks = self.ranker.suits_blocks();
        let mut gaps = Gaps::default();
        let mut index = self.next;
        while index < end {
            // Where expressions make many cells a batch takes several steps, and the deadline is looked at in between. No block
            // begins late in a step, so that only one of long documents is too much for it.
            if reads.is_tired() || suits_blocks && !reads.is_fresh() {
                return Err(Halt::Missing);
            }
            if self.scores[index].is_some() {
                index += 1;
                continue;
            }
            let after = if suits_blocks { self.block_end(index, end) } else { index + 1 };
            let scored = if suits_blocks {
                self.score_block(index, after, reads)
            } else {
                self.score(index, reads).map(|score| self.scores[index] = Some(score))
            };
            gaps.note(scored)?;
            index = after;
        }
        gaps.check()
    }

    /// Where the block that begins with a document ends: it is of one view.
    pub(super) fn block_end(&self, index: usize, end: usize) -> usize {
        let last = end.min(index + BLOCK);
        (index..last).find(|at| self.documents[*at].0 != self.documents[index].0).unwrap_or(last)
    }

    /// Scores the documents from one number to another, which are a block.
    pub(super) fn score_block(&mut self, from: usize, to: usize, reads: &mut Reads) -> Result<(), Halt> {
        let mut scores = [0.0; BLOCK];
        let scores = &mut scores[..to - from];
        let Run { ranker, views, matches, resolved, documents, .. } = self;
        let spots = spots(views, matches, resolved, &documents[from..to]);
        ranker.scores(&spots, reads, scores)?;
        self.scores[from..to].iter_mut().zip(scores).for_each(|(known, score)| *known = Some(*score));
        Ok(())
    }

    /// Between which scores the documents from one number to another are, which are a block. Nothing: that is not known.
    pub(super) fn bound_block(
        &mut self,
        from: usize,
        to: usize,
        reads: &mut Reads,
    ) -> Result<Option<Vec<Interval>>, Halt> {
        let Run { ranker, views, matches, resolved, documents, .. } = self;
        let spots = spots(views, matches, resolved, &documents[from..to]);
        let mut bounds = vec![Interval::exactly(0.0); to - from];
        Ok(ranker.bounds_of_block(&spots, reads, &mut bounds)?.then_some(bounds))
    }
}

fn spots<'a>(
    views: &'a [View],
    matches: &'a [ViewMatch],
    resolved: &'a [Resolved],
    documents: &[(u32, u32)],
) -> Vec<Spot<'a>> {
    let spot =
        |(view, ordinal): &(u32, u32)| Spot { views, matches, resolved, view: *view as usize, ordinal: *ordinal };
    documents.iter().map(spot).collect()
}
