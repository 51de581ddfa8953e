//! Grouping: what is counted and summed over the documents that match.
//!
//! A request becomes [`template`]s, tables of groups; [`bind`] finds their fields in a schema; [`collect`] takes documents
//! view by view and in batches, reads [`columns`] and other [`inputs`], and adds a batch to all groups ([`descent`]), level
//! by level and column by column, evaluating expressions ([`program`]); [`groups`] holds what was added up ([`totals`]) and
//! carries it as bytes that are merged ([`partial`], [`firsts`]); [`page`] sorts and cuts it, [`result`] shows it.
mod bind;
mod classify;
mod collect;
mod columns;
mod continuation;
mod datum;
mod descent;
mod exact_sum;
mod filter;
mod firsts;
mod groups;
mod index;
mod inputs;
mod known;
mod numeric;
mod page;
mod partial;
mod plan;
mod program;
mod result;
mod stage;
mod template;
mod time;
mod total;
mod totals;
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
pub(crate) use result::Writing;
pub(crate) use stage::{Found, Grouping, answers};
pub(crate) use zone::{Clock, unknown, zone_offset};

/// A request of a query, bound to the schemas that are searched.
pub(crate) struct PlannedGrouping {
    pub(crate) templates: Rc<[Template]>,
    /// Whether documents that do not match are looked at too.
    pub(crate) all_documents: bool,
    /// For each schema; nothing where it does not fit.
    pub(crate) bound: Vec<Option<BoundGrouping>>,
    /// Of how many documents something is made that only the first ones count for.
    pub(crate) firsts: Option<u32>,
    /// Whether scores of documents matter.
    pub(crate) with_scores: bool,
    pub(crate) clock: Clock,
    pub(crate) offsets: Offsets,
}

/// Whether requests need the documents of a schema that match, and whether they need their scores.
pub(crate) fn keeps(planned: &[PlannedGrouping], schema: usize) -> Option<bool> {
    let fitting = planned.iter().filter(|planned| planned.bound[schema].is_some());
    fitting.map(|planned| planned.with_scores).reduce(|a, b| a | b)
}

impl PlannedGrouping {
    /// Whether only the first documents come into groups of this table.
    fn is_of_first(&self, table: usize) -> bool {
        let around = |template: &Template| template.lists.iter().find(|list| list.table == table).map(|list| list.top);
        let found = self.templates.iter().enumerate().find_map(|(at, template)| Some((at, around(template)?)));
        found.is_some_and(|(at, top)| top.is_some() || self.is_of_first(at))
    }

    /// How many hits of a list are kept while all are looked at: those shown, and one that tells whether there are more.
    pub(crate) fn kept_hits(&self, max: Option<u32>) -> Option<usize> {
        self.shown_hits(max).map(|shown| shown + 1)
    }

    /// How many hits of a list are shown or come before those that are.
    pub(crate) fn shown_hits(&self, max: Option<u32>) -> Option<usize> {
        max.map(|max| max as usize + self.offsets.largest())
    }
}
