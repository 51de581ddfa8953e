//! Fewer candidates, where it is known already which documents alone can be among the nearest.
use brooklet_kernel::Bitmap;

use super::{Resolving, Stage};

impl Resolving {
    /// Whether fewer candidates are less work: not once it is under way, nor where something is kept of other documents.
    pub(crate) fn may_narrow(&self) -> bool {
        matches!(self.stage, Stage::Scan { view: 0, block: 0 }) && !self.is_narrow && self.kept.is_empty()
    }

    /// Candidates of all views.
    pub(crate) fn candidates(&self) -> usize {
        self.candidates.iter().map(Bitmap::count).sum()
    }

    /// Leaves those of the candidates that are among these ordinals, by view.
    pub(crate) fn narrow(&mut self, of_views: &[Vec<u32>]) {
        for (candidates, ordinals) in self.candidates.iter_mut().zip(of_views) {
            let mut among = Bitmap::none(candidates.len());
            ordinals.iter().for_each(|ordinal| among.set(*ordinal as usize));
            candidates.and(&among);
        }
        self.is_narrow = true;
    }
}
