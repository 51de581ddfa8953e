//! A query bound to one schema: what to match, how to rank, what to show.
use std::collections::VecDeque;
use std::rc::Rc;

use brooklet_query::tree::Item;
use brooklet_rank::match_data::{FieldId, FieldInfo, QueryTerms, RankProperties};
use brooklet_segment::layout::ColumnSpec;
use brooklet_task::Issues;
use brooklet_text::{Pattern, Variety};

use crate::analysis::Analysis;
use crate::collapse::Collapse;
use crate::deployed::{DeployedProfile, DeployedSchema};
use crate::grouping::{Clock, PlannedGrouping, Seal};
use crate::inputs::Inputs;
use crate::model_runs::GivenOutputs;
use crate::period::Period;
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
    /// Within the radius of a point; anywhere without one.
    Circle { latitude: i32, longitude: i32, radius: Option<u32> },
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

/// A word that a person typed, which no document of the group has, and how many slips were forgiven in it.
#[derive(Clone, Debug)]
pub(crate) struct Forgiven {
    pub(crate) word: String,
    pub(crate) slips: u8,
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
#[derive(Clone)]
pub(crate) struct SchemaPlan {
    pub(crate) schema: Rc<DeployedSchema>,
    pub(crate) root: Node,
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) nearest: Vec<Nearest>,
    pub(crate) near: Vec<Near>,
    pub(crate) same_elements: Vec<SameElement>,
    pub(crate) labeled: Vec<Labeled>,
    pub(crate) terms: QueryTerms,
    pub(crate) profile: Rc<DeployedProfile>,
    /// The profile's fields, if the request changes something about them.
    pub(crate) fields: Option<Rc<[FieldInfo]>>,
    pub(crate) inputs: Inputs,
    /// Name of the summary class.
    pub(crate) summary_class: String,
    /// The profile's rank properties and the request's over them.
    pub(crate) rank_properties: RankProperties,
    /// How words are understood.
    pub(crate) analysis: Analysis,
    /// The words that were looked for with slips: known once matching is done.
    pub(crate) forgiven: Vec<Forgiven>,
    /// Phases that decide anew about the best hits.
    pub(crate) phases: Phases,
    /// Outputs of models that the query was given.
    pub(crate) models: Rc<GivenOutputs>,
    /// The query as it was written: what dynamic summaries mark.
    pub(crate) item: Item,
}

impl SchemaPlan {
    /// Takes what a leaf asks otherwise for what it asks; nothing changes if there is no such thing.
    pub(crate) fn forgive(&mut self, leaf: usize) {
        let leaf = &mut self.leaves[leaf];
        let Some(targets) = leaf.otherwise.pop_front() else { return };
        leaf.targets = targets;
        let variants = leaf.targets.iter().filter_map(|target| match &target.test {
            Test::Words(words) => words.iter().find_map(|word| match word.how {
                How::Variant(Variety { slips, .. }) if slips > 0 => Some(Forgiven { word: word.text.clone(), slips }),
                _ => None,
            }),
            _ => None,
        });
        self.forgiven.extend(variants.take(1));
    }

    /// What is known of fields, by their numbers.
    pub(crate) fn fields(&self) -> &[FieldInfo] {
        self.fields.as_deref().unwrap_or(&self.profile.fields)
    }
}

/// What is asked for, over all schemas.
pub(crate) struct Plan {
    pub(crate) schemas: Vec<Rc<SchemaPlan>>,
    /// Outputs of models that the query was given.
    pub(crate) models: Rc<GivenOutputs>,
    pub(crate) hits: usize,
    pub(crate) offset: usize,
    /// The order that was asked for, if it is not that of relevance.
    pub(crate) order: BoundOrder,
    /// What hits are collapsed by. The values stand behind the keys of the order.
    pub(crate) collapse: Collapse,
    /// What is made of all documents that match.
    pub(crate) grouping: Vec<PlannedGrouping>,
    /// What continuations of groupings are sealed with.
    pub(crate) seal: Seal,
    /// The time zone of groupings, if the host must be asked how far ahead of UTC it is.
    pub(crate) zone: Option<String>,
    /// Soft errors found while binding.
    pub(crate) issues: Issues,
    /// When the documents that it is about were last written.
    pub(crate) period: Period,
    /// Fields named by the query; empty for all of the summary class.
    pub(crate) fields: Vec<String>,
    pub(crate) rank_score_drop_limit: Option<f64>,
    pub(crate) presentation: Presentation,
    pub(crate) timeout_ms: u32,
    /// After how many milliseconds the search ends with what it has, if the request takes partial results.
    pub(crate) soft_timeout_ms: Option<f64>,
    /// What a trace tells of the request: from which level on, and what.
    pub(crate) traced: Vec<(i32, String)>,
}

impl Plan {
    /// Sets how many seconds the time zone is ahead of UTC.
    pub(crate) fn set_zone(&mut self, offset: i64) {
        self.zone = None;
        self.grouping.iter_mut().for_each(|planned| planned.clock.zone = offset);
    }

    /// Whether hits of a schema are decided about once those of all partitions are known.
    pub(crate) fn has_global_phase(&self) -> bool {
        self.schemas.iter().any(|of| of.phases.global.is_some())
    }

    /// What time it is for the query.
    pub(crate) fn clock(&self, now: i64) -> Clock {
        self.grouping.first().map_or(Clock { now, zone: 0 }, |planned| planned.clock)
    }
}

/// How the answer is shown.
#[derive(Clone, Debug)]
pub(crate) struct Presentation {
    pub(crate) tensors: brooklet_document::json::TensorFormat,
    pub(crate) json_maps: bool,
    pub(crate) json_wsets: bool,
    pub(crate) timing: bool,
    pub(crate) trace_level: i32,
    pub(crate) trace_timestamps: bool,
    pub(crate) bolding: bool,
    /// Whether all features are shown with each hit.
    pub(crate) list_features: bool,
    /// Whether each hit is explained.
    pub(crate) explain: bool,
    /// The document that is explained, hit or not.
    pub(crate) explain_id: Option<String>,
}
