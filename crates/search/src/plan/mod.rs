//! A query bound to one schema: what to match, how to rank, what to show.
pub(crate) mod bind;
pub(crate) mod collapse;
pub(crate) mod collation;
pub(crate) mod compile;
pub(crate) mod condition;
pub(crate) mod inputs;
pub(crate) mod listing;
pub(crate) mod phases;
mod sort_values;
pub(crate) mod sorting;
mod traced;

use std::rc::Rc;

use brooklet_query::tree::Item;
use brooklet_rank::match_data::{FieldInfo, QueryTerms, RankProperties};
use brooklet_task::Issues;
use brooklet_text::Variety;

use crate::asked::period::Period;
use crate::deployed::analysis::Analysis;
use crate::deployed::{DeployedProfile, DeployedSchema};
use crate::found::model_runs::GivenOutputs;
use crate::grouping::planned::PlannedGrouping;
use crate::grouping::{Clock, Seal};
use crate::nearest::Nearest;
use collapse::Collapse;
use condition::{How, Labeled, Leaf, Near, Node, SameElement, Test};
use inputs::Inputs;
use phases::Phases;
use sorting::BoundOrder;

/// A word that a person typed, which no document of the group has, and how many slips were forgiven in it.
#[derive(Clone, Debug)]
pub(crate) struct Forgiven {
    pub(crate) word: String,
    pub(crate) slips: u8,
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
    pub(crate) rank_properties: Rc<RankProperties>,
    /// How words are understood.
    pub(crate) analysis: Rc<Analysis>,
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
    /// Whether hits are written as markup.
    pub(crate) is_markup: bool,
    pub(crate) timing: bool,
    pub(crate) trace_level: i32,
    pub(crate) trace_timestamps: bool,
    /// How that which matched is marked in what hits show.
    pub(crate) marks: crate::summary::Marks,
    /// Whether all features are shown with each hit.
    pub(crate) list_features: bool,
    /// Whether each hit is explained.
    pub(crate) explain: bool,
    /// The document that is explained, hit or not.
    pub(crate) explain_id: Option<String>,
}
