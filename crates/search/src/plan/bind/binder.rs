//! What is known while a query is bound to a schema, and what was made of it until now.
use brooklet_query::tree::TextRange;
use brooklet_rank::match_data::QueryTerm;
use brooklet_schema::{Schema, SignificanceModel};
use brooklet_task::Issues;

use crate::deployed::DeployedSchema;
use crate::deployed::analysis::Analysis;
use crate::nearest::Nearest;
use crate::plan::condition::{Labeled, Leaf, Near, SameElement};
use crate::plan::inputs::Inputs;

/// How a word of the query is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// As it was written.
    Exact,
    /// With the variants that the fields find, and so many slips.
    Variants { slips: u8 },
}

pub(crate) struct Binder<'a> {
    pub(crate) deployed: &'a DeployedSchema,
    pub(crate) schema: &'a Schema,
    pub(crate) analysis: &'a Analysis,
    pub(crate) sole: bool,
    pub(crate) ranks_words: bool,
    /// How words are read that are bound.
    pub(crate) reading: Reading,
    pub(crate) inputs: &'a Inputs,
    pub(crate) significance: Option<&'a SignificanceModel>,
    pub(crate) issues: &'a mut Issues,
    /// The field whose elements are looked at: names are those of its parts.
    pub(crate) scope: Option<String>,
    /// Where the item stands that is bound.
    pub(crate) at: TextRange,
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) nearest: Vec<Nearest>,
    pub(crate) near: Vec<Near>,
    pub(crate) same_elements: Vec<SameElement>,
    pub(crate) labeled: Vec<Labeled>,
    pub(crate) terms: Vec<QueryTerm>,
}
