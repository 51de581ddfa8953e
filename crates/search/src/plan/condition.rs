//! What must hold of a document: the tree of a query, and its terms as they are asked of columns.
use std::collections::VecDeque;
use std::rc::Rc;

use brooklet_rank::match_data::FieldId;
use brooklet_segment::layout::ColumnSpec;
use brooklet_text::{Pattern, Variety};

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
    /// Index in [`SchemaPlan::near`].
    Near(usize),
    /// Index in [`SchemaPlan::same_elements`].
    SameElement(usize),
    /// Index in [`SchemaPlan::labeled`].
    Labeled(usize),
}

/// Leaves that must match close to each other in one field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Near {
    pub(crate) leaves: Vec<usize>,
    /// Leaves that must not match in or around the window.
    pub(crate) negatives: Vec<usize>,
    /// Largest difference of positions in a window.
    pub(crate) distance: u32,
    /// How far around a window negatives count.
    pub(crate) exclusion_distance: u32,
    /// Whether the leaves must match in their order.
    pub(crate) ordered: bool,
}

/// Conditions that must hold in one element.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SameElement {
    /// The field whose elements these are.
    pub(crate) field: String,
    /// The leaf that stands for the whole.
    pub(crate) leaf: usize,
    pub(crate) condition: Node,
    /// The elements that may match; empty for all.
    pub(crate) filter: Vec<u32>,
}

/// A condition with a label and a raw score.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Labeled {
    pub(crate) label: String,
    pub(crate) score: f64,
    pub(crate) node: Node,
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
    /// It is one of the variants, of the term as it was written.
    Variant(Variety),
    /// It stands in it, and nothing but a run of CJK is cut: at its start, at its end, or both, if that is asked.
    Segment {
        starts: bool,
        ends: bool,
    },
}

/// A word as it is compared: normalised as the field's words are, unless variants of it are meant.
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

/// Words one after the other in one element, of each place one of several.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PhraseTest {
    pub(crate) words: Vec<Vec<WordTest>>,
    /// Whether the first must be the first of its element.
    pub(crate) starts: bool,
    /// Whether the last must be the last of its element.
    pub(crate) ends: bool,
}

/// A question about a whole value as it was written.
#[derive(Clone, Debug)]
pub(crate) enum ValueTest {
    Fuzzy {
        fuzzy: brooklet_text::Fuzzy,
        /// Most words of a value that can be near, if that is known.
        words_max: Option<u32>,
    },
    Pattern(Rc<Pattern>),
}

/// Tokens with weights.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WeightedTest {
    pub(crate) keys: WeightedKeys,
    pub(crate) scoring: Scoring,
}

/// The tokens as a column holds them, sorted, with their weights.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WeightedKeys {
    Words(Vec<(String, i32)>),
    Integers(Vec<(i64, i32)>),
    Floats(Vec<(f64, i32)>),
}

/// What the weights of tokens mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scoring {
    /// Ranking sees them as weights of elements.
    Weights,
    /// The raw score is the sum of products with the elements' weights.
    DotProduct,
    /// The same, and it must be above this; nothing counts if this is not positive.
    Wand(f64),
}

/// Where a position must be, in micro-degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PositionTest {
    /// Within the radius of a point; anywhere without one. Where it is not flat, longitudes are shortened.
    Circle { latitude: i32, longitude: i32, radius: Option<u32>, is_flat: bool },
    /// Between the edges, these included.
    Box { south: i32, west: i32, north: i32, east: i32 },
}

/// The elements of a document a target is confined to.
#[derive(Clone, Debug)]
pub(crate) enum Within {
    /// The one with this number.
    Element(u32),
    /// The entry of a map with this key: how it is found.
    Key(ColumnSpec, KeyTest),
}

/// A key of a map.
#[derive(Clone, Debug)]
pub(crate) enum KeyTest {
    Text(String),
    Number(NumberTest),
}

/// What a leaf asks of one column.
#[derive(Clone, Debug)]
pub(crate) enum Test {
    /// One of the words.
    Words(Vec<WordTest>),
    Phrase(PhraseTest),
    /// About values, not words.
    Value(ValueTest),
    Weighted(WeightedTest),
    Position(PositionTest),
    /// Nothing: what is found is put here when the elements of a [`SameElement`] are known.
    Elements,
    /// The term stands in the text, separators included; its words narrow down where.
    Text {
        words: Vec<WordTest>,
        text: String,
    },
    Number(NumberTest),
}

/// A column a leaf searches.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) field: FieldId,
    pub(crate) spec: ColumnSpec,
    pub(crate) test: Test,
    pub(crate) within: Option<Within>,
}

/// A leaf of the tree: matches if one of its targets does.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    pub(crate) targets: Vec<Target>,
    /// Its number among the query's terms.
    pub(crate) term: usize,
    /// Whether ranking may know where it matched.
    pub(crate) positions: bool,
    /// Whether several targets are of one field: what they find counts as found by one.
    pub(crate) shares_fields: bool,
    /// Whether it is below a `not`.
    pub(crate) negated: bool,
    /// What it asks instead where no document of the group has what it asks, first things first.
    pub(crate) otherwise: VecDeque<Vec<Target>>,
}
