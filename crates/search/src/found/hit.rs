//! A hit on its way into the answer: what decides about it, and where its document stands.
use brooklet_rank::Value;

use crate::plan::sorting::SortValue;

/// A hit with what decides about it.
#[derive(Clone, Debug)]
pub(crate) struct Ranked<Content> {
    /// Number of its schema in the plan.
    pub(crate) schema: usize,
    /// What it is sorted by, if not by its score.
    pub(crate) keys: Vec<SortValue>,
    /// The score that it was found with; after later phases, theirs.
    pub(crate) score: f64,
    /// Its document, once it was read; it breaks the ties.
    pub(crate) id: Option<String>,
    /// What later phases know of it.
    pub(crate) later: PhaseInputs,
    /// What else is known of it.
    pub(crate) content: Content,
}

/// What later phases know of a hit.
#[derive(Clone, Debug, Default)]
pub(crate) struct PhaseInputs {
    /// Its score in the second phase, if that is limited to the best.
    pub(crate) second: f64,
    /// What the global phase asks about its document.
    pub(crate) inputs: Vec<Value>,
    /// Its place, from 1 on, among the hits that the last phase did not look at again; 0 for those that it did, and before it.
    pub(crate) place: u32,
}

/// Where a hit was found, in the run of its schema.
#[derive(Clone)]
pub(crate) struct HitLocation {
    pub(crate) view: usize,
    pub(crate) ordinal: u32,
}
