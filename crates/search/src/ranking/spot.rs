//! The document that is looked at.
use crate::matching::found::ViewMatch;
use crate::nearest::Resolved;
use crate::resident::partition::View;

/// The document looked at.
#[derive(Clone, Copy)]
pub(crate) struct Spot<'a> {
    pub(crate) views: &'a [View],
    pub(crate) matches: &'a [ViewMatch],
    pub(crate) resolved: &'a [Resolved],
    pub(crate) view: usize,
    pub(crate) ordinal: u32,
}

impl Spot<'_> {
    pub(crate) fn at(&self) -> &View {
        &self.views[self.view]
    }
}
