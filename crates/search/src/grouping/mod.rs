//! Grouping: what is counted and summed over the documents that match.
//!
//! A request becomes [`template`]s, tables of groups; [`bind`] finds their fields in a schema; [`collect`] adds documents
//! view by view, reading columns ([`inputs`]) and evaluating expressions ([`program`]); [`groups`] holds what was added
//! up, merges it and carries it as bytes ([`partial`]); [`result`] sorts, cuts and shows it.
mod bind;
mod classify;
mod collect;
mod continuation;
mod datum;
mod exact_sum;
mod groups;
mod inputs;
mod numeric;
mod partial;
mod plan;
mod program;
mod result;
mod stage;
mod template;
mod time;
mod total;
mod walk;
mod zone;

use std::rc::Rc;

use bind::BoundGrouping;
use continuation::Offsets;
use template::Template;

pub(crate) use collect::Kept;
pub(crate) use continuation::Seal;
pub(crate) use groups::Groups;
pub(crate) use plan::plan;
pub(crate) use stage::{Found, Grouping, write};

/// A request of a query, bound to the schemas that are searched.
pub(crate) struct PlannedGrouping {
    pub(crate) templates: Rc<[Template]>,
    /// Whether documents that do not match are looked at too.
    pub(crate) all_documents: bool,
    /// For each schema; nothing where it does not fit.
    pub(crate) bound: Vec<Option<BoundGrouping>>,
    /// Whether only the first documents count for something.
    pub(crate) has_tops: bool,
    /// Whether scores of documents matter.
    pub(crate) with_scores: bool,
    /// Seconds that times are shifted by.
    pub(crate) zone: i64,
    pub(crate) now: i64,
    pub(crate) offsets: Offsets,
}

/// Whether requests need the documents of a schema that match, and whether they need their scores.
pub(crate) fn keeps(planned: &[PlannedGrouping], schema: usize) -> Option<bool> {
    let fitting = planned.iter().filter(|planned| planned.bound[schema].is_some());
    fitting.map(|planned| planned.with_scores).reduce(|a, b| a | b)
}

impl PlannedGrouping {
    /// How many hits of a list are kept while all are looked at: those shown, and one that tells whether there are more.
    pub(crate) fn kept_hits(&self, max: Option<u32>) -> Option<usize> {
        max.map(|max| max as usize + self.offsets.largest() + 1)
    }
}
