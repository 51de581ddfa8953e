//! A query bound to one schema: what to match, how to rank, what to show.
use std::rc::Rc;

use brooklet_query::tree::Item;
use brooklet_rank::match_data::{FieldId, QueryTerms, RankProperties};
use brooklet_segment::layout::ColumnSpec;
use brooklet_task::Issues;

use crate::deployed::{DeployedProfile, DeployedSchema};
use crate::inputs::Inputs;
use crate::phases::Phases;
use crate::sorting::BoundOrder;

/// What must match, with leaves by number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    True,
    False,
    And(Vec<Node>),
    Or(Vec<Node>),
    /// The first without the others.
    AndNot(Box<Node>, Vec<Node>),
    /// Only the first decides.
    Rank(Box<Node>, Vec<Node>),
    /// Index in [`SchemaPlan::leaves`].
    Leaf(usize),
    /// Index in [`SchemaPlan::nearest`].
    Nearest(usize),
}

/// How a word of a term meets a word of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Equals,
    Prefix,
    Suffix,
    Substring,
    /// A token of the whole value ends with it.
    TokenSuffix,
    /// It stands in the whole value, once that is folded.
    ValueSubstring,
}

/// A word as it is compared: normalised as the field's words are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WordTest {
    pub(crate) text: String,
    pub(crate) how: How,
}

/// A range of numbers, both ends included.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NumberTest {
    Integers { low: i64, high: i64 },
    Floats { low: f64, high: f64 },
    AnyOf(Vec<i64>),
}

/// What a leaf asks of one column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Test {
    /// One of the words.
    Words(Vec<WordTest>),
    /// All of them, one after the other in one element.
    Phrase(Vec<WordTest>),
    /// The term stands in the text, separators included; its words narrow down where.
    Text {
        words: Vec<WordTest>,
        text: String,
    },
    Number(NumberTest),
}

/// A column a leaf searches.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Target {
    pub(crate) field: FieldId,
    pub(crate) spec: ColumnSpec,
    pub(crate) test: Test,
}

/// A leaf of the tree: matches if one of its targets does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Leaf {
    pub(crate) targets: Vec<Target>,
    /// Its number among the query's terms.
    pub(crate) term: usize,
    /// Whether ranking may know where it matched.
    pub(crate) positions: bool,
}

/// A nearest-neighbour operator.
#[derive(Clone, Debug)]
pub(crate) struct Nearest {
    pub(crate) field: String,
    pub(crate) spec: ColumnSpec,
    pub(crate) target_hits: usize,
    pub(crate) label: Option<String>,
    /// Whether it competes: an unranked operator, or one below a `not`, matches everything within the threshold.
    pub(crate) competes: bool,
    pub(crate) point: Rc<crate::nearest::Point>,
    /// Largest internal distance that matches.
    pub(crate) threshold: f64,
}

/// A query for one schema.
pub(crate) struct SchemaPlan {
    pub(crate) schema: Rc<DeployedSchema>,
    pub(crate) root: Node,
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) nearest: Vec<Nearest>,
    pub(crate) terms: QueryTerms,
    pub(crate) profile: Rc<DeployedProfile>,
    pub(crate) inputs: Inputs,
    /// Name of the summary class.
    pub(crate) summary_class: String,
    /// The profile's rank properties and the request's over them.
    pub(crate) rank_properties: RankProperties,
    /// Phases that decide anew about the best hits.
    pub(crate) phases: Phases,
    /// The query as it was written: what dynamic summaries mark.
    pub(crate) item: Item,
}

/// What is asked for, over all schemas.
pub(crate) struct Plan {
    pub(crate) schemas: Vec<Rc<SchemaPlan>>,
    pub(crate) hits: usize,
    pub(crate) offset: usize,
    /// The order that was asked for, if it is not that of relevance.
    pub(crate) order: BoundOrder,
    /// Soft errors found while binding.
    pub(crate) issues: Issues,
    /// Fields named by the query; empty for all of the summary class.
    pub(crate) fields: Vec<String>,
    pub(crate) rank_score_drop_limit: Option<f64>,
    pub(crate) presentation: Presentation,
    pub(crate) timeout_ms: u32,
}

/// How the answer is shown.
#[derive(Clone, Debug)]
pub(crate) struct Presentation {
    pub(crate) tensors: brooklet_document::json::TensorFormat,
    pub(crate) json_maps: bool,
    pub(crate) json_wsets: bool,
    pub(crate) timing: bool,
    pub(crate) trace_level: i32,
    pub(crate) bolding: bool,
}
