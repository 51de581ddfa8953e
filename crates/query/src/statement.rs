//! A whole query: what must match, and what is said beside that.
use crate::sorting::SortKey;
use crate::tree::{Item, TextRange};

/// A whole statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// What must match.
    pub item: Item,
    /// Schemas and clusters to search, as written; empty for all of them.
    pub sources: Vec<String>,
    /// Fields of the answer, as written; empty for `*`.
    pub fields: Vec<String>,
    /// The order of the hits; empty for relevance.
    pub order_by: Vec<SortKey>,
    /// How many hits: the statement's limit without its offset, never negative.
    pub hits: Option<u32>,
    /// Number of hits to leave out before the first.
    pub offset: Option<u32>,
    /// The time budget, milliseconds.
    pub timeout_ms: Option<u32>,
    /// Groupings, not parsed here.
    pub grouping: Vec<RawGrouping>,
}

impl Query {
    /// A query for `item` with nothing else said.
    #[must_use]
    pub fn new(item: Item) -> Query {
        Query {
            item,
            sources: Vec::new(),
            fields: Vec::new(),
            order_by: Vec::new(),
            hits: None,
            offset: None,
            timeout_ms: None,
            grouping: Vec::new(),
        }
    }
}

/// The text of one grouping statement after a `|`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawGrouping {
    /// `all(…)` or `each(…)` with all that follows it, as written, without the annotation before it.
    pub text: String,
    /// The values of its `continuations` annotation.
    pub continuations: Vec<String>,
    /// Where it stands.
    pub place: TextRange,
}
