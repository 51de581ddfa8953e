//! A grouping request of a query, bound to the schemas that are searched.
use std::rc::Rc;

use super::bound::BoundGrouping;
use super::continuation::Offsets;
use super::template::Template;
use super::zone::Clock;

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
    pub(crate) fn is_of_first(&self, table: usize) -> bool {
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
