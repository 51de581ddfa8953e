//! The query tree: what was asked for, with every operator of the language, before it is bound to a schema.
//!
//! The parsers write it and the search binds it. It knows field names only as text: whether a field exists in the
//! searched schemas, and what matching it has, is decided by who binds the tree. Nothing here is folded or stemmed.
use brooklet_text::Tokens;

use crate::annotations::Annotations;

/// The index that is searched when none is named.
pub const DEFAULT_INDEX: &str = "default";

/// The index a field name of the tree means: the empty name is [`DEFAULT_INDEX`].
#[must_use]
pub fn index_of(field: &str) -> &str {
    if field.is_empty() { DEFAULT_INDEX } else { field }
}

/// A range of bytes of the text that was parsed. Parts that come from a parameter have the place of the call naming it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextRange {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset after the last byte.
    pub end: usize,
}

/// One node of the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Its operator, with the children or values of that.
    pub operator: Operator,
    /// What was said about it.
    pub annotations: Annotations,
    /// Where it stands.
    pub place: TextRange,
}

impl From<Operator> for Item {
    fn from(operator: Operator) -> Item {
        Item { operator, annotations: Annotations::default(), place: TextRange::default() }
    }
}

/// What an item matches.
///
/// A field name is as written in the query (`subject`, `people.name`, `mymap{"key"}`); empty means that none was named
/// (see [`index_of`]). Children of [`SameElement`] have names relative to its field, empty for the element itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Operator {
    /// Every document.
    True,
    /// No document.
    False,
    /// Nothing was asked for (an empty user query). A tree that holds it anywhere cannot be answered.
    Null,
    /// Documents that match all of these. Without any: none.
    And(Vec<Item>),
    /// Documents that match one of these at least.
    Or(Vec<Item>),
    /// Documents that match the positive item and none of the others.
    AndNot(AndNot),
    /// Documents that match the first of these; the others only give match data to ranking.
    Rank(Vec<Item>),
    /// Like [`Operator::Or`], with leave to skip documents that would rank low; a scan takes no such leave.
    WeakAnd(WeakAnd),
    /// A word, or a part of one.
    Term(Term),
    /// Values in a range, or equal to a number.
    Number(NumberTerm),
    /// A boolean field's value.
    Boolean(BooleanTerm),
    /// Words that follow each other.
    Phrase(Phrase),
    /// Words close to each other.
    Near(Near),
    /// Conditions met within one element of an array or map.
    SameElement(SameElement),
    /// Different ways to say the same, counted as one term.
    Equiv(Vec<Item>),
    /// Forms of one word, each with how good it is.
    Alternatives(Alternatives),
    /// Parts of an address.
    Uri(Uri),
    /// Whole values that are few edits away.
    Fuzzy(Fuzzy),
    /// Whole values in which a regular expression is found.
    Regex(Regex),
    /// Any value of a list.
    In(In),
    /// Any token of a weighted list; ranking sees the weights.
    WeightedSet(Weighted),
    /// Any token of a weighted list; the raw score is the sum of products of weights.
    DotProduct(Weighted),
    /// Like [`Operator::DotProduct`], with a threshold on the raw score.
    Wand(Wand),
    /// Documents near a point of vector space.
    NearestNeighbor(NearestNeighbor),
    /// Positions in a circle.
    GeoLocation(GeoLocation),
    /// Positions in a rectangle.
    GeoBoundingBox(GeoBoundingBox),
    /// Stored predicates that hold for given attributes.
    Predicate(Predicate),
    /// Matches what its item matches, with a fixed raw score under a label.
    Labeled(Labeled),
}

/// See [`Operator::AndNot`].
#[derive(Clone, Debug, PartialEq)]
pub struct AndNot {
    /// What must match; [`Operator::True`] when only negatives were written.
    pub positive: Box<Item>,
    /// What must not.
    pub negatives: Vec<Item>,
}

/// See [`Operator::WeakAnd`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WeakAnd {
    /// The alternatives.
    pub items: Vec<Item>,
    /// Hits wanted from each node (100 when not given).
    pub target_hits: Option<u32>,
    /// Hits wanted from all nodes together.
    pub total_target_hits: Option<u32>,
}

/// See [`Operator::Term`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The field searched.
    pub field: String,
    /// The text, not folded; for prefixes and the like without the asterisks.
    pub text: String,
    /// The comparison of the text.
    pub kind: TermKind,
}

/// The comparison of the text of a [`Term`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TermKind {
    /// Equals a token of a text. A text that is no token equals none (grammar `raw`, a literal without letters).
    Word,
    /// Equals a whole value: the field is not tokenised.
    Exact,
    /// Begins a token, or a whole value.
    Prefix,
    /// Ends a token.
    Suffix,
    /// Is found anywhere in the text.
    Substring,
}

/// A number as written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Without fraction or exponent, in 64 bits.
    Integer(i64),
    /// Any other.
    Float(f64),
}

impl Number {
    /// The value as a double; integers beyond 2⁵³ lose digits.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Integer(value) => value as f64,
            Number::Float(value) => value,
        }
    }
}

/// One end of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// No limit.
    Unbounded,
    /// The number itself is in the range.
    Inclusive(Number),
    /// The number itself is not in the range.
    Exclusive(Number),
}

/// See [`Operator::Number`].
#[derive(Clone, Debug, PartialEq)]
pub struct NumberTerm {
    /// The field searched.
    pub field: String,
    /// What a text field is searched for instead: the number as written, or a range in the form `[1;5]`, `<1;5>`, `>5`.
    pub text: String,
    /// Where the range begins.
    pub low: Bound,
    /// Where the range ends; an equality has the same inclusive number at both ends.
    pub high: Bound,
    /// At most this many documents from the low end (or, negative, from the high end); a scan returns all of them.
    pub hit_limit: Option<i32>,
}

impl NumberTerm {
    /// Whether it is written in digits alone, as a word of a text may be.
    #[must_use]
    pub fn is_word(&self) -> bool {
        self.text.bytes().all(|byte| byte.is_ascii_digit())
    }
}

/// See [`Operator::Boolean`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BooleanTerm {
    /// The field searched.
    pub field: String,
    /// The value it must have.
    pub value: bool,
}

/// See [`Operator::Phrase`].
#[derive(Clone, Debug, PartialEq)]
pub struct Phrase {
    /// The field searched; its items name it too.
    pub field: String,
    /// Terms, segmented phrases, equivalents or alternatives, in order.
    pub items: Vec<Item>,
    /// The literal that was cut into these words, if the phrase was not written as one.
    pub segmented: Option<String>,
}

/// See [`Operator::Near`].
#[derive(Clone, Debug, PartialEq)]
pub struct Near {
    /// Terms, phrases or equivalents that must all be within the distance.
    pub items: Vec<Item>,
    /// What must not be inside or around the window.
    pub negatives: Vec<Item>,
    /// Largest difference between the positions of the first and the last item.
    pub distance: u32,
    /// How far around the window negatives are looked for; (distance + 1) / 2 if not given.
    pub exclusion_distance: Option<u32>,
    /// Whether the items must come in the order written (`onear`).
    pub ordered: bool,
}

/// See [`Operator::SameElement`].
#[derive(Clone, Debug, PartialEq)]
pub struct SameElement {
    /// The array, map or weighted set.
    pub field: String,
    /// The conditions, all of which must hold.
    pub items: Vec<Item>,
    /// The only elements that may match, by number; empty for any.
    pub element_filter: Vec<u32>,
}

/// See [`Operator::Alternatives`].
#[derive(Clone, Debug, PartialEq)]
pub struct Alternatives {
    /// The field searched.
    pub field: String,
    /// The words with their exactness, best first.
    pub words: Vec<(String, f64)>,
}

/// See [`Operator::Uri`].
#[derive(Clone, Debug, PartialEq)]
pub struct Uri {
    /// The field searched.
    pub field: String,
    /// The address as written.
    pub text: String,
    /// Its parts, in order, not folded; the field must hold the words of them one after the other.
    pub words: Vec<String>,
    /// Whether the first part must be the first of the value.
    pub start_anchor: bool,
    /// Whether the last part must be the last of the value.
    pub end_anchor: bool,
}

impl Uri {
    /// The words of the parts as documents have them: `a-b` is two.
    pub fn document_words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().flat_map(|part| Tokens::new(part).map(|token| &part[token.start..token.end]))
    }
}

/// See [`Operator::Fuzzy`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fuzzy {
    /// The field searched.
    pub field: String,
    /// The text values are compared with.
    pub text: String,
    /// Largest number of edits.
    pub max_edit_distance: u32,
    /// Characters at the beginning that must be equal.
    pub prefix_length: u32,
    /// Whether the text may be close to a beginning of the value.
    pub prefix: bool,
}

/// See [`Operator::Regex`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Regex {
    /// The field searched.
    pub field: String,
    /// The expression, as written.
    pub pattern: String,
}

/// See [`Operator::In`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct In {
    /// The field searched.
    pub field: String,
    /// The values.
    pub values: Values,
}

/// The list of an [`In`]: sorted, each value once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// Values of an integer field.
    Integers(Vec<i64>),
    /// Values of a string field.
    Texts(Vec<String>),
}

/// A field and tokens with weights: [`Operator::WeightedSet`], [`Operator::DotProduct`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weighted {
    /// The field searched.
    pub field: String,
    /// The tokens, sorted, each once (the last weight written counts).
    pub tokens: Vec<WeightedToken>,
}

/// A token and its weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightedToken {
    /// The token.
    pub key: Key,
    /// Its weight.
    pub weight: i32,
}

/// A token of a weighted operator.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// A number, from the form `[[11, 1]]`.
    Integer(i64),
    /// A text, from the form `{"a": 1}`.
    Text(String),
}

/// See [`Operator::Wand`].
#[derive(Clone, Debug, PartialEq)]
pub struct Wand {
    /// The field and the tokens.
    pub weighted: Weighted,
    /// Hits wanted from each node.
    pub target_hits: Option<u32>,
    /// Hits wanted from all nodes together.
    pub total_target_hits: Option<u32>,
    /// What the raw score must exceed (0 if not given).
    pub score_threshold: Option<f64>,
    /// How much faster than exact the threshold may grow; of no effect in a scan.
    pub threshold_boost_factor: Option<f64>,
}

/// See [`Operator::NearestNeighbor`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NearestNeighbor {
    /// The tensor field searched.
    pub field: String,
    /// The query tensor's name: `q` for `query(q)`.
    pub query_tensor: String,
    /// Hits wanted from each node.
    pub target_hits: Option<u32>,
    /// Hits wanted from all nodes together.
    pub total_target_hits: Option<u32>,
    /// The least a node's share of the total may be (100 if not given).
    pub min_target_hits: Option<u32>,
    /// Largest distance that matches.
    pub distance_threshold: Option<f64>,
    /// Whether an index may be used; a scan is exact.
    pub approximate: Option<bool>,
    /// `hnsw.` annotations by name without the prefix; of no effect in a scan.
    pub hnsw: Vec<(String, f64)>,
}

/// See [`Operator::GeoLocation`]. Positions are compared in millionths of a degree, as they are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeoLocation {
    /// The position field searched.
    pub field: String,
    /// Latitude of the centre.
    pub latitude_microdegrees: i32,
    /// Longitude of the centre.
    pub longitude_microdegrees: i32,
    /// The radius along a great circle; `None` for no limit.
    pub radius_microdegrees: Option<u32>,
    /// Whether a degree of longitude is as long as one of latitude wherever the centre is (`pos.xy`).
    pub is_flat: bool,
}

/// See [`Operator::GeoBoundingBox`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeoBoundingBox {
    /// The position field searched.
    pub field: String,
    /// Least latitude.
    pub south_microdegrees: i32,
    /// Longitude of the western edge.
    pub west_microdegrees: i32,
    /// Largest latitude.
    pub north_microdegrees: i32,
    /// Longitude of the eastern edge.
    pub east_microdegrees: i32,
}

/// See [`Operator::Predicate`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Predicate {
    /// The predicate field searched.
    pub field: String,
    /// Attribute names and values, with the subqueries they belong to (a bit each, all bits for all).
    pub attributes: Vec<(String, String, u64)>,
    /// Attribute names and numbers, with their subqueries.
    pub ranges: Vec<(String, i64, u64)>,
}

/// See [`Operator::Labeled`].
#[derive(Clone, Debug, PartialEq)]
pub struct Labeled {
    /// What must match.
    pub item: Box<Item>,
    /// The label ranking asks for.
    pub label: String,
    /// The raw score of a match.
    pub score: f64,
}

impl Item {
    /// Whether [`Operator::Null`] is anywhere in the item, so that nothing can answer it.
    #[must_use]
    pub fn holds_null(&self) -> bool {
        self.operator == Operator::Null || self.children().into_iter().any(Item::holds_null)
    }

    /// The items directly below this one, in order; the positive one first, negatives last.
    #[must_use]
    pub fn children(&self) -> Vec<&Item> {
        match &self.operator {
            Operator::And(items) | Operator::Or(items) | Operator::Rank(items) | Operator::Equiv(items) => {
                items.iter().collect()
            }
            Operator::AndNot(not) => std::iter::once(&*not.positive).chain(&not.negatives).collect(),
            Operator::WeakAnd(weak) => weak.items.iter().collect(),
            Operator::Phrase(phrase) => phrase.items.iter().collect(),
            Operator::Near(near) => near.items.iter().chain(&near.negatives).collect(),
            Operator::SameElement(same) => same.items.iter().collect(),
            Operator::Labeled(labeled) => vec![&*labeled.item],
            _ => Vec::new(),
        }
    }

    /// The same as [`Item::children`], for changing them.
    pub fn children_mut(&mut self) -> Vec<&mut Item> {
        match &mut self.operator {
            Operator::And(items) | Operator::Or(items) | Operator::Rank(items) | Operator::Equiv(items) => {
                items.iter_mut().collect()
            }
            Operator::AndNot(not) => std::iter::once(&mut *not.positive).chain(&mut not.negatives).collect(),
            Operator::WeakAnd(weak) => weak.items.iter_mut().collect(),
            Operator::Phrase(phrase) => phrase.items.iter_mut().collect(),
            Operator::Near(near) => near.items.iter_mut().chain(&mut near.negatives).collect(),
            Operator::SameElement(same) => same.items.iter_mut().collect(),
            Operator::Labeled(labeled) => vec![&mut *labeled.item],
            _ => Vec::new(),
        }
    }
}
