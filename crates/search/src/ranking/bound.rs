//! A program of a profile with where its features come from.
use brooklet_rank::features::age::Freshness;
use brooklet_rank::{Program, Scratch, Value};
use brooklet_segment::layout::ColumnSpec;

use super::document::feature::DocumentFeature;
use super::number_column::NumberColumn;
use crate::deployed::DeployedProfile;

/// Which program of a profile.
#[derive(Clone, Copy)]
pub(crate) enum Which {
    Score,
    /// The score of the first phase, where the second is a later one.
    First,
    MatchFeature(usize),
    SummaryFeature(usize),
    /// What the global phase asks.
    Input(usize),
}

impl Which {
    pub(crate) fn program(self, profile: &DeployedProfile) -> &Program {
        match self {
            Which::Score => &profile.score,
            Which::First => profile.first.as_ref().unwrap_or(&profile.score),
            Which::MatchFeature(index) => &profile.match_features[index].1,
            Which::SummaryFeature(index) => &profile.summary_features[index].1,
            Which::Input(index) => profile.global.as_ref().map_or(&profile.score, |global| &global.inputs[index].1),
        }
    }
}

/// A program with where its features come from.
pub(crate) struct Bound {
    pub(crate) which: Which,
    pub(crate) kinds: Vec<usize>,
    pub(crate) scratch: Scratch,
}

/// Where a feature's value comes from.
pub(crate) enum FeatureOrigin {
    /// The feature set.
    Match { request: usize, nearest: Vec<usize> },
    /// The query.
    Given(Value),
    /// A numeric attribute.
    Number(NumberColumn),
    /// How many values an attribute has.
    Count(ColumnSpec),
    /// The value at a place of an array attribute.
    Element(ColumnSpec, usize),
    /// A string attribute.
    Text(ColumnSpec),
    /// A tensor attribute.
    Tensor { field: String, spec: Option<ColumnSpec> },
    /// Best closeness of nearest-neighbour items, or the distance that belongs to it.
    Closeness { items: Vec<usize>, as_distance: bool },
    /// Sum of the raw scores of items that matched.
    RawScore(RawScores),
    /// The number of an element of a weighted set attribute: its weight, whether it is there, or itself.
    Key { spec: ColumnSpec, key: String, output: KeyOutput },
    /// The value of a field that no column holds.
    Stored(Stored),
    /// A feature of the document's values.
    Document(Box<dyn DocumentFeature>),
    /// Seconds since an attribute.
    Age(NumberColumn),
    /// How fresh that is.
    Freshness { time: NumberColumn, freshness: Freshness, logscale: bool },
}

/// Items that give raw scores.
pub(crate) struct RawScores {
    /// Nearest-neighbour operators.
    pub(crate) nearest: Vec<usize>,
    /// Targets of weighted operators: leaf, and place among its targets.
    pub(crate) targets: Vec<(usize, usize)>,
    /// Labeled conditions.
    pub(crate) labeled: Vec<usize>,
}

/// What is asked of a key of a weighted set.
#[derive(Clone, Copy)]
pub(crate) enum KeyOutput {
    Value,
    Weight,
    Contains,
}

impl KeyOutput {
    /// The output of this name.
    pub(crate) fn named(name: Option<&str>) -> KeyOutput {
        match name {
            Some("weight") => KeyOutput::Weight,
            Some("contains") => KeyOutput::Contains,
            _ => KeyOutput::Value,
        }
    }
}

/// A field, and what is asked of it.
pub(crate) struct Stored {
    pub(crate) field: String,
    pub(crate) asked: AttributeFeature,
}

pub(crate) enum AttributeFeature {
    /// The number it is if it is not set.
    Value(f64),
    Count,
    Element(usize),
    Key(String, KeyOutput),
    /// Seconds up to now.
    Age {
        now: i64,
    },
    /// How fresh that is.
    Freshness {
        now: i64,
        freshness: Freshness,
        logscale: bool,
    },
}
