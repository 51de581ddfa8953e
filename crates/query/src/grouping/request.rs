//! A grouping request ready to be carried out: a tree of groups, with what is output of each.
use super::tree::{Aggregator, Expression, Filter};

/// Numbers that hold where a request says none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Defaults {
    /// Groups of a list; nothing for all.
    pub max_groups: Option<u32>,
    /// Hits of a list; nothing for all.
    pub max_hits: Option<u32>,
    /// How many groups more than shown the reference implementation keeps while it counts; it changes nothing here.
    pub precision_factor: f64,
    /// Most groups and hits a request may lead to; nothing for no limit.
    pub global_max_groups: Option<u64>,
}

impl Default for Defaults {
    fn default() -> Defaults {
        let global_max_groups = Some(brooklet_task::limits::GROUPS as u64);
        Defaults { max_groups: Some(10), max_hits: Some(10), precision_factor: 2.0, global_max_groups }
    }
}

/// One request.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The group of all documents.
    pub root: Group,
    /// Whether documents that do not match are looked at too.
    pub all_documents: bool,
}

/// What is made of the documents of one group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// Values of the group.
    pub outputs: Vec<Output>,
    /// Its hits.
    pub hits: Vec<HitList>,
    /// Its groups.
    pub lists: Vec<GroupList>,
}

/// A value of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Its name.
    pub label: String,
    /// What it is.
    pub what: GroupValue,
    /// Only the first so many documents count.
    pub top: Option<u32>,
}

/// What a value of a group is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupValue {
    /// Number of documents.
    Count,
    /// Number of groups of the list at this index.
    CountGroups(usize),
    /// An aggregate of an expression.
    Aggregate(Aggregator, Expression),
    /// Quantiles of an expression.
    Quantiles(Vec<f64>, Expression),
}

/// Hits of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct HitList {
    /// Its name.
    pub label: String,
    /// Number of those that are shown; nothing for all.
    pub max: Option<u32>,
    /// The summary class; nothing for the request's.
    pub summary: Option<String>,
    /// Only the first so many documents count.
    pub top: Option<u32>,
}

/// Groups of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupList {
    /// Its name. A list without one is not shown, only counted.
    pub label: Option<String>,
    /// What documents are told apart by.
    pub by: Expression,
    /// What documents or elements must fulfil to be in a group.
    pub filter: Option<Filter>,
    /// Number of those that are shown; nothing for all.
    pub max: Option<u32>,
    /// The order of the groups; ties by rank, then by id.
    pub order: Vec<Order>,
    /// What is made of each.
    pub group: Group,
    /// Only the first so many documents count.
    pub top: Option<u32>,
}

/// A key of an order of groups.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// Aggregates, constants, and functions of them.
    pub by: Expression,
    /// Whether the greatest comes first.
    pub descending: bool,
}
