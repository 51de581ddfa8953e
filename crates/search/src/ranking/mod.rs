//! Ranking, document at a time: fills the match data of a document and lets the profile's programs ask about it.
//!
//! [`binding`] finds out where each feature comes from, [`filling`] makes match data, [`source`] answers a program,
//! [`blocks`] answers it for many documents at once, [`values`] reads columns; [`term_scores`] knows what needs no walk
//! over documents.
mod binding;
mod blocks;
mod bound;
mod counting;
pub(crate) mod document;
mod filling;
pub(crate) mod geodesy;
pub(crate) mod group_statistics;
mod number_column;
mod source;
pub(crate) mod spot;
mod stored;
mod term_scores;
mod values;

use std::rc::Rc;

use brooklet_kernel::sort;
use brooklet_rank::features::{FeatureEnvironment, FeatureRequest, FeatureSet};
use brooklet_rank::match_data::{FieldId, MatchData, NoStatistics, Occurrence, Statistics};
use brooklet_rank::{BlockScratch, FeatureName, Interval, Program, Value};
use brooklet_segment::{Halt, gather};
use brooklet_task::Rejection;

use crate::found::hit::PhaseInputs;
use crate::found::model_runs::{Models, WantedRuns};
use crate::matching::found::ViewMatch;
use crate::plan::SchemaPlan;
use crate::resident::partition::View;
use crate::resident::reads::Reads;
use binding::Binder;
use bound::{Bound, FeatureOrigin, Which};
use counting::Counting;
use source::Source;
use spot::Spot;
use term_scores::TermScores;

pub(crate) use group_statistics::GroupStatistics;
pub(crate) use values::{single_number, single_string, texts_of, vector_tensor};

/// Features that need no more than how often a term occurs and how long the field is.
const COUNTING: [&str; 5] = ["bm25", "matches", "matchCount", "queryTermCount", "term"];

/// Work that making a cell of a tensor is, in bytes looked at.
const CELL_WORK: usize = 8;

/// Rank property: the time ranking goes by, in seconds since 1970.
pub(crate) const NOW: &str = "vespa.now";

/// Which programs of a profile are asked together.
#[derive(Clone, Copy)]
enum List {
    Match,
    Summary,
    PhaseInputs,
}

/// Ranks the documents of one schema for one query.
pub(crate) struct Ranker {
    plan: Rc<SchemaPlan>,
    now: i64,
    kinds: Vec<FeatureOrigin>,
    score: Bound,
    /// The score of the second phase, where that is a later one.
    second: Option<Bound>,
    match_features: Vec<Bound>,
    summary_features: Vec<Bound>,
    /// What the global phase asks.
    inputs: Vec<Bound>,
    /// The features of `set`, in its order.
    requests: Vec<FeatureName>,
    set: FeatureSet,
    statistics: Option<Rc<GroupStatistics>>,
    /// By place in a block; a document on its own is at the first.
    data: Vec<MatchData>,
    models: Models,
    of_blocks: BlockScratch,
    uses_match_data: bool,
    score_uses_match_data: bool,
    counts_only: bool,
    counted: Vec<FieldId>,
    occurrences: Vec<Occurrence>,
    /// Whether blocks of documents were too much for a step.
    scores_alone: bool,
    /// One for each target of each leaf, in order.
    counting: Vec<Counting>,
    /// The score's sums over terms, if it asks nothing else of matching.
    term_scores: Option<TermScores>,
    /// The request that is the score, if it is one.
    sole_request: Option<usize>,
    /// How many documents of each view are ranked.
    expected: Vec<usize>,
}

/// Makes features ready for the plan's query.
fn prepare(plan: &SchemaPlan, names: &[FeatureName], statistics: &dyn Statistics) -> Result<FeatureSet, Rejection> {
    let environment =
        FeatureEnvironment { statistics, ..FeatureEnvironment::new(plan.fields(), &plan.terms, &plan.rank_properties) };
    let requests = names.iter().map(|name| FeatureRequest {
        name: &name.name,
        parameters: &name.parameters,
        output: name.output.as_deref(),
    });
    FeatureSet::prepare(requests, &environment)
}

/// The request of the feature set that a program's value is, if it is no more than that.
fn sole_request(program: &Program, bound: &Bound, kinds: &[FeatureOrigin]) -> Option<usize> {
    let first = bound.kinds.first().filter(|_| program.is_feature())?;
    match &kinds[*first] {
        FeatureOrigin::Match { request, nearest } if nearest.is_empty() => Some(*request),
        _ => None,
    }
}

/// The time ranking goes by, in seconds: the request's own if it gives one.
fn now_of(plan: &SchemaPlan, now: i64) -> i64 {
    let given = plan.rank_properties.values(NOW).last().and_then(|text| text.trim().parse().ok());
    given.unwrap_or(now)
}

impl Ranker {
    /// Makes the plan's programs ready.
    pub(crate) fn new(plan: &Rc<SchemaPlan>, now: i64) -> Result<Ranker, Rejection> {
        let (profile, now) = (&plan.profile, now_of(plan, now));
        let mut binder = Binder { plan, now, kinds: Vec::new(), names: Vec::new(), requests: Vec::new() };
        let limited = plan.phases.second.is_some();
        let score = binder.bind(if limited { Which::First } else { Which::Score })?;
        let score_uses_match_data = !binder.requests.is_empty();
        let second = limited.then(|| binder.bind(Which::Score)).transpose()?;
        let asked = profile.global.as_ref().filter(|_| plan.phases.global.is_some());
        let inputs = (0..asked.map_or(0, |global| global.inputs.len())).map(|index| binder.bind(Which::Input(index)));
        let inputs = inputs.collect::<Result<_, _>>()?;
        let match_features = (0..profile.match_features.len()).map(|index| binder.bind(Which::MatchFeature(index)));
        let match_features = match_features.collect::<Result<_, _>>()?;
        let summary_features =
            (0..profile.summary_features.len()).map(|index| binder.bind(Which::SummaryFeature(index)));
        let summary_features = summary_features.collect::<Result<_, _>>()?;
        let set = prepare(plan, &binder.requests, &NoStatistics)?;
        let counted: Vec<FieldId> = set.counted_attributes().collect();
        Ok(Ranker {
            term_scores: TermScores::new(&binder.kinds, &score, &set),
            sole_request: sole_request(score.which.program(profile), &score, &binder.kinds),
            expected: Vec::new(),
            uses_match_data: !binder.requests.is_empty(),
            statistics: None,
            counts_only: binder.requests.iter().all(|name| COUNTING.contains(&name.name.as_str())),
            kinds: binder.kinds,
            requests: binder.requests,
            data: vec![MatchData::new(&plan.terms)],
            of_blocks: BlockScratch::default(),
            models: Models::new(&plan.models),
            plan: plan.clone(),
            now,
            score_uses_match_data,
            score,
            second,
            match_features,
            summary_features,
            inputs,
            set,
            counted,
            occurrences: Vec::new(),
            scores_alone: false,
            counting: vec![Counting::default(); plan.leaves.iter().map(|leaf| leaf.targets.len()).sum()],
        })
    }

    /// Whether the group's statistics are asked for.
    pub(crate) fn wants_statistics(&self) -> bool {
        group_statistics::is_asked(&self.plan.rank_properties) && !self.requests.is_empty()
    }

    /// Takes the group's statistics into account from now on.
    pub(crate) fn learn(&mut self, statistics: Rc<GroupStatistics>) -> Result<(), Rejection> {
        self.set = prepare(&self.plan, &self.requests, &*statistics)?;
        self.statistics = Some(statistics);
        self.term_scores.iter_mut().for_each(TermScores::forget);
        Ok(())
    }

    /// What another ranker of the same run has learned.
    pub(crate) fn learn_from(&mut self, other: &Ranker) -> Result<(), Rejection> {
        match &other.statistics {
            Some(statistics) if self.statistics.is_none() => self.learn(statistics.clone()),
            _ => Ok(()),
        }
    }

    /// So many documents of each view are about to be scored.
    pub(crate) fn expect(&mut self, documents: Vec<usize>) {
        self.expected = documents;
    }

    /// Whether the score is no more than a sum over terms.
    pub(crate) fn knows_sums(&self) -> bool {
        self.term_scores.is_some() && self.sole_request.is_some()
    }

    /// Makes the sums over terms ready that the score is made of. All missing blocks are noted before it halts.
    pub(crate) fn sum_up(&mut self, views: &[View], matches: &[ViewMatch], reads: &mut Reads) -> Result<(), Halt> {
        match &mut self.term_scores {
            Some(sums) => sums.sum_up((views, matches), &self.expected, (&self.plan, &self.set), reads),
            None => Ok(()),
        }
    }

    /// The scores of a view's documents by ordinal, where the score is no more than a sum that is known.
    pub(crate) fn sums_of(&self, view: usize) -> Option<&[f64]> {
        self.term_scores.as_ref()?.of_view(self.sole_request?, view)
    }

    /// Makes ready what the score asks of matching. Whether its sums over terms are known: the document is not looked at
    /// then.
    fn ready(&mut self, spot: Spot<'_>, reads: &mut Reads) -> Result<bool, Halt> {
        let summed = self.is_summed(spot.view);
        if !summed && self.score_uses_match_data {
            self.fill(0, spot, reads)?;
        }
        Ok(summed)
    }

    /// Whether the score's sums over terms are known in a view.
    fn is_summed(&self, view: usize) -> bool {
        self.term_scores.as_ref().is_some_and(|sums| sums.knows(view))
    }

    /// The score of a document: NaN and infinities are −∞.
    pub(crate) fn score(&mut self, spot: Spot<'_>, reads: &mut Reads) -> Result<f64, Halt> {
        let summed = self.ready(spot, reads)?;
        if let (true, Some(request), Some(sums)) = (summed, self.sole_request, &self.term_scores) {
            let score = sums.score(request, spot.view, spot.ordinal);
            return Ok(if score.is_finite() { score } else { f64::NEG_INFINITY });
        }
        let (score, halted) = {
            let Ranker { plan, now, kinds, score, set, data, models, term_scores, .. } = self;
            let mut source = Source {
                plan,
                now: *now,
                kinds,
                bound: &score.kinds,
                types: score.which.program(&plan.profile).features(),
                set,
                data: &data[0],
                models,
                sums: term_scores.as_ref().filter(|_| summed),
                spot,
                reads,
                halted: None,
            };
            (score.which.program(&plan.profile).score(&mut source, &mut score.scratch), source.halted)
        };
        reads.work(CELL_WORK * self.score.scratch.cells());
        if let Some(halt) = halted {
            return Err(halt);
        }
        let score = score?;
        Ok(if score.is_finite() { score } else { f64::NEG_INFINITY })
    }

    /// Whether the score asks nothing of a document: all have the same.
    pub(crate) fn is_constant(&self) -> bool {
        self.score.kinds.is_empty() && !self.score_uses_match_data
    }

    /// Bounds of the score when distances are known by their bounds only; nothing if there are none.
    pub(crate) fn bounds(&mut self, spot: Spot<'_>, reads: &mut Reads) -> Result<Option<Interval>, Halt> {
        let summed = self.ready(spot, reads)?;
        let Ranker { plan, now, kinds, score, set, data, models, term_scores, .. } = self;
        let mut source = Source {
            plan,
            now: *now,
            kinds,
            bound: &score.kinds,
            types: score.which.program(&plan.profile).features(),
            set,
            data: &data[0],
            models,
            sums: term_scores.as_ref().filter(|_| summed),
            spot,
            reads,
            halted: None,
        };
        let interval = score.which.program(&plan.profile).interval(&mut source, &mut score.scratch);
        match source.halted {
            Some(halt) => Err(halt),
            None => Ok(interval),
        }
    }

    /// The runs of models that were lacking since this was last asked.
    pub(crate) fn take_wanted(&mut self) -> Result<WantedRuns, Rejection> {
        self.models.take_wanted()
    }

    /// Which nearest-neighbour items the score depends on.
    pub(crate) fn nearest_of_score(&self) -> Vec<usize> {
        let kinds = self.score.kinds.iter().map(|kind| &self.kinds[*kind]);
        let mut items: Vec<usize> = kinds
            .flat_map(|kind| match kind {
                FeatureOrigin::Closeness { items, .. } => items.clone(),
                _ => Vec::new(),
            })
            .collect();
        sort(&mut items);
        items.dedup();
        items
    }

    /// What later phases want to know of a hit.
    pub(crate) fn later(&mut self, spot: Spot<'_>, reads: &mut Reads) -> Result<PhaseInputs, Halt> {
        let mut inputs = self.list_values(List::PhaseInputs, spot, reads)?;
        let second = match self.second {
            None => 0.0,
            Some(_) => match inputs.remove(0) {
                Value::Number(second) if second.is_finite() => second,
                _ => f64::NEG_INFINITY,
            },
        };
        Ok(PhaseInputs { second, inputs, place: 0 })
    }

    /// Texts of the profile's match-features.
    pub(crate) fn match_feature_names(&self) -> Vec<&str> {
        self.plan.profile.match_features.iter().map(|(text, _)| text.as_str()).collect()
    }

    /// Values of the profile's match-features.
    pub(crate) fn match_features(&mut self, spot: Spot<'_>, reads: &mut Reads) -> Result<Vec<Value>, Halt> {
        self.list_values(List::Match, spot, reads)
    }

    /// Values of the profile's summary-features.
    pub(crate) fn summary_features(&mut self, spot: Spot<'_>, reads: &mut Reads) -> Result<Vec<Value>, Halt> {
        self.list_values(List::Summary, spot, reads)
    }

    fn list_values(&mut self, list: List, spot: Spot<'_>, reads: &mut Reads) -> Result<Vec<Value>, Halt> {
        if self.uses_match_data {
            self.fill(0, spot, reads)?;
        }
        let Ranker { plan, now, kinds, second, inputs, match_features, summary_features, set, data, models, .. } = self;
        let listed: Vec<&mut Bound> = match list {
            List::Match => match_features.iter_mut().collect(),
            List::Summary => summary_features.iter_mut().collect(),
            List::PhaseInputs => second.iter_mut().chain(inputs).collect(),
        };
        gather(listed, |bound| {
            let mut source = Source {
                plan,
                now: *now,
                kinds,
                bound: &bound.kinds,
                types: bound.which.program(&plan.profile).features(),
                set,
                data: &data[0],
                models,
                sums: None,
                spot,
                reads,
                halted: None,
            };
            let value = bound.which.program(&plan.profile).evaluate(&mut source, &mut bound.scratch);
            match source.halted {
                None => Ok(value?),
                Some(halt) => Err(halt),
            }
        })
    }
}
