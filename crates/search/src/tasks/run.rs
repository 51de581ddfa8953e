//! A plan run over the views of one schema: match, resolve neighbours, rank. What comes out are candidates for the
//! answer, at most as many for each view as the answer can show.
mod blocks;
mod bounded;
mod of_shard;
mod stage_name;
mod summed;

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::rc::Rc;

use brooklet_kernel::{Bitmap, TopK, score_key, score_of_key};
use brooklet_segment::{Gaps, Halt, gather};
use brooklet_task::{Rejection, Want, limits};

use crate::found::group_facts::ShardFacts;
use crate::found::hit_list::Floor;
use crate::grouping::Kept;
use crate::grouping::planned::keeps;
use crate::matching::composite::{Settlement, match_composites};
use crate::matching::found::{Counted, LeafMatch, ViewMatch};
use crate::matching::match_leaf;
use crate::matching::tree::{MatchedView, evaluate, is_below_not};
use crate::matching::walk::Walk;
use crate::nearest::{Resolved, Resolving, order_of_resolving};
use crate::plan::sorting::{BoundKey, SortValue};
use crate::plan::{Plan, SchemaPlan};
use crate::ranking::spot::Spot;
use crate::ranking::{Ranker, group_statistics};
use crate::resident::partition::View;
use crate::resident::reads::Reads;

/// Documents ranked before the deadline is looked at.
const RANK_BATCH: usize = 256;
/// Missing blocks after which matching asks for what it noted, before it looks at more segments.
const MATCH_AHEAD: usize = 64;

/// Work of a leaf, beside what it says itself.
const LEAF_WORK: usize = 32 << 10;
/// Documents of which a scan keeps what it found out about their distance: four megabytes of it.
const BOUNDS_KEPT: usize = 1 << 18;

/// A document that may be shown.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) view: usize,
    pub(crate) ordinal: u32,
    pub(crate) score: f64,
    pub(crate) keys: Vec<SortValue>,
}

enum Stage {
    Match,
    Nearest,
    Sum,
    Rank,
    Bound,
    Rescore,
    Done,
}

/// The run of a plan over one schema's views.
pub(crate) struct Run {
    pub(crate) plan: Rc<SchemaPlan>,
    pub(crate) views: Vec<View>,
    pub(crate) ranker: Ranker,
    keys: Vec<BoundKey>,
    stage: Stage,
    found: Vec<Vec<Option<LeafMatch>>>,
    /// How far the leaves got that are not finished: by view, leaf and target.
    walks: Vec<Vec<Vec<Walk>>>,
    /// How far the composites of the first view are that is not matched.
    settling: Option<Settlement>,
    pub(crate) matches: Vec<ViewMatch>,
    /// Whether all of it is known that does not depend on neighbours.
    has_matched: bool,
    resolving: Option<Resolving>,
    /// Neighbour operators still to be resolved, in this order.
    unresolved: VecDeque<usize>,
    pub(crate) resolved: Vec<Resolved>,
    wanted: usize,
    drop_limit: Option<f64>,
    /// Those that match by view, where their scores may be known sums.
    matching: Vec<Bitmap>,
    documents: Vec<(u32, u32)>,
    scores: Vec<Option<f64>>,
    bounds: Vec<(f64, f64)>,
    order: Vec<u32>,
    next: usize,
    best: Vec<TopK<(u64, Reverse<u32>)>>,
    threshold: TopK<u64>,
    /// Key of the score that hits of other partitions leave no place below.
    floor: Option<u64>,
    /// Whether all documents that matched are kept, and whether their scores are.
    keeps: Option<bool>,
    pub(crate) kept: Kept,
    /// Documents that matched and were not dropped.
    pub(crate) total: u64,
    /// Documents looked at.
    pub(crate) scanned: u64,
    /// Whether all documents become candidates: their order matters beyond what is shown.
    keeps_all: bool,
    /// Documents not looked at, because the run was stopped.
    pub(crate) unseen: u64,
    pub(crate) candidates: Vec<Candidate>,
    /// Of a shard: what it knows of others.
    shared: Option<ShardFacts>,
}

impl Run {
    /// The run over the views of the schema with this number in the plan. A hit that comes after the floor is not wanted.
    pub(crate) fn new(plan: &Plan, schema: usize, views: Vec<View>, now: i64, floor: &Floor) -> Result<Run, Rejection> {
        let of = &plan.schemas[schema];
        let list = plan.list(schema);
        let wanted = plan.kept(list);
        let first_phase = of.profile.profile.first_phase.as_ref();
        let profile_limit = first_phase.and_then(|phase| phase.rank_score_drop_limit);
        // Without hits nothing is ranked, and only the request's own limit drops (against a score of 0).
        let keeps = keeps(&plan.grouping, schema);
        let ranks = wanted > 0 || keeps.is_some();
        let drop_limit = plan.rank_score_drop_limit.or(profile_limit.filter(|_| ranks));
        Ok(Run {
            plan: of.clone(),
            ranker: Ranker::new(of, now)?,
            keys: plan.order.keys[schema].clone(),
            floor: floor.score(list).map(score_key),
            stage: Stage::Match,
            found: views.iter().map(|_| vec![None; of.leaves.len()]).collect(),
            walks: views.iter().map(|_| of.leaves.iter().map(|_| Vec::new()).collect()).collect(),
            settling: None,
            matches: Vec::new(),
            has_matched: false,
            resolving: None,
            unresolved: order_of_resolving(of),
            resolved: vec![Resolved::default(); of.nearest.len()],
            wanted,
            drop_limit,
            matching: Vec::new(),
            documents: Vec::new(),
            scores: Vec::new(),
            bounds: Vec::new(),
            order: Vec::new(),
            next: 0,
            best: views.iter().map(|_| TopK::new(wanted)).collect(),
            threshold: TopK::new(wanted),
            keeps,
            kept: Kept::default(),
            total: 0,
            keeps_all: plan.presentation.explain_id.is_some(),
            unseen: 0,
            scanned: views.iter().map(|view| view.alive.count() as u64).sum(),
            candidates: Vec::new(),
            shared: None,
            views,
        })
    }

    /// Works until something is missing, or enough was done; [`Want::Nothing`] when the candidates are there.
    pub(crate) fn step(&mut self, reads: &mut Reads) -> Result<Want, Halt> {
        let stepped = match &self.stage {
            Stage::Match => self.match_leaves(reads),
            Stage::Nearest => return self.resolve(reads),
            Stage::Sum => self.sum(reads),
            Stage::Rank => self.rank(reads),
            Stage::Bound => self.bound(reads),
            Stage::Rescore => self.rescore(reads),
            Stage::Done => return Ok(Want::Nothing),
        };
        stepped.map(|()| Want::Pause)
    }

    fn match_leaves(&mut self, reads: &mut Reads) -> Result<(), Halt> {
        let mut gaps = Gaps::default();
        for ((view, found), walks) in self.views.iter().zip(&mut self.found).zip(&mut self.walks) {
            let leaves = self.plan.leaves.iter().zip(found).zip(walks);
            for ((leaf, found), walks) in leaves.filter(|((_, found), _)| found.is_none()) {
                if reads.is_tired() {
                    return Err(Halt::Missing);
                }
                if let Some(matched) = gaps.note(match_leaf(leaf, view, reads, walks))? {
                    *found = Some(matched);
                }
                reads.work(LEAF_WORK);
                // What the first unfinished leaf was given must stay until it is finished.
                if !gaps.are_there() {
                    reads.relax();
                }
                if reads.missing() > MATCH_AHEAD {
                    return Err(Halt::Missing);
                }
            }
        }
        gaps.check()?;
        if self.matches.is_empty() && self.forgive() {
            return Ok(());
        }
        // Views settled before another was found to miss something stay settled.
        for (view, found) in self.views.iter().zip(&mut self.found).skip(self.matches.len()) {
            let mut leaves: Vec<LeafMatch> = std::mem::take(found).into_iter().flatten().collect();
            match match_composites(&self.plan, view, &mut leaves, &mut self.settling, reads) {
                Ok(settled) => self.matches.push(ViewMatch { leaves, settled, counted: Counted::default() }),
                Err(halt) => {
                    *found = leaves.into_iter().map(Some).collect();
                    return Err(halt);
                }
            }
            reads.relax();
        }
        self.found = Vec::new();
        if self.ranker.wants_statistics() {
            let statistics = group_statistics::count(&self.plan, &self.views, &self.matches, reads)?;
            let statistics = self.statistics_of_all(statistics);
            self.ranker.learn(Rc::new(statistics))?;
        }
        reads.relax();
        reads.residency().count_matched();
        self.has_matched = true;
        self.begin_nearest();
        Ok(())
    }

    /// Has leaves that no document of the group matches ask what they ask otherwise. Whether there are any.
    fn forgive(&mut self) -> bool {
        if self.knows_slips() {
            return false;
        }
        let has_none = |leaf: usize| {
            let mut of_views = self.found.iter().map(|of_view| &of_view[leaf]);
            of_views.all(|found| found.as_ref().is_none_or(|found| found.documents.is_empty()))
        };
        let leaves = self.plan.leaves.iter().enumerate().filter(|(_, leaf)| !leaf.otherwise.is_empty());
        let unmatched: Vec<usize> = leaves.map(|(number, _)| number).filter(|leaf| has_none(*leaf)).collect();
        for leaf in &unmatched {
            Rc::make_mut(&mut self.plan).forgive(*leaf);
            self.note_slip(*leaf);
            self.found.iter_mut().for_each(|of_view| of_view[*leaf] = None);
            self.walks.iter_mut().for_each(|of_view| of_view[*leaf].clear());
        }
        !unmatched.is_empty()
    }

    /// The documents of a view that match, where an unresolved neighbour operator holds for every document.
    fn matching(&self, view: usize) -> Bitmap {
        let alive = &self.views[view].alive;
        let mut documents = evaluate(&self.plan.root, &self.plan, &self.known_view(view));
        documents.and(alive);
        documents
    }

    fn known_view(&self, view: usize) -> MatchedView<'_> {
        MatchedView {
            unresolved: &self.unresolved,
            resolved: &self.resolved,
            matches: &self.matches[view],
            view,
            alive: &self.views[view].alive,
        }
    }

    fn begin_nearest(&mut self) {
        let Some(index) = self.unresolved.front().copied() else {
            self.begin_ranking();
            return;
        };
        let nearest = &self.plan.nearest[index];
        let below_not = !nearest.competes && is_below_not(&self.plan.root, &self.plan, index);
        let candidates = (0..self.views.len()).map(|view| {
            // Below a `not` the other operators must not narrow it down: what it matches is taken away.
            if below_not { (*self.views[view].alive).clone() } else { self.matching(view) }
        });
        let candidates: Vec<Bitmap> = candidates.collect();
        let documents: usize = candidates.iter().map(Bitmap::len).sum();
        let scores = self.bounds_scores() && self.ranker.nearest_of_score().contains(&index);
        let kept = if scores && documents <= BOUNDS_KEPT { self.matching_without(index) } else { Vec::new() };
        self.resolving = Some(Resolving::new(nearest, candidates, kept));
        self.stage = Stage::Nearest;
    }

    fn resolve(&mut self, reads: &mut Reads) -> Result<Want, Halt> {
        self.narrow_to_agreed(reads)?;
        let Some(resolving) = &mut self.resolving else { return Ok(Want::Pause) };
        let want = resolving.step(&self.views, reads)?;
        if resolving.is_done() {
            self.agree_on_nearest(reads)?;
            if let (Some(resolving), Some(index)) = (self.resolving.take(), self.unresolved.pop_front()) {
                self.resolved[index] = Resolved::new(resolving.result(), self.views.len());
            }
            reads.relax();
            self.begin_nearest();
            // What was resolved before, and had to wait for ids, wants nothing more; the run does.
            return Ok(Want::Pause);
        }
        Ok(want)
    }

    fn begin_ranking(&mut self) {
        // Hits would not be right.
        if self.lacks_facts() {
            self.stage = Stage::Done;
            return;
        }
        let matching: Vec<Bitmap> = (0..self.views.len()).map(|view| self.matching(view)).collect();
        self.ranker.expect(matching.iter().map(Bitmap::count).collect());
        if Counted::is_needed(&self.plan) {
            let counted = (0..self.views.len()).map(|view| Counted::new(&self.plan, &self.known_view(view)));
            let counted: Vec<Counted> = counted.collect();
            self.matches.iter_mut().zip(counted).for_each(|(matches, counted)| matches.counted = counted);
        }
        if self.sums_scores() {
            self.matching = matching;
            self.stage = Stage::Sum;
            return;
        }
        for (view, matching) in matching.iter().enumerate() {
            self.list(view, matching);
        }
        // Groups that need no scores may still need to know which documents were dropped.
        let scored = self.keeps.is_some_and(|with_scores| with_scores || self.drop_limit.is_some());
        if self.wanted == 0 && !scored {
            let dropped = self.drop_limit.is_some_and(|limit| 0.0 <= limit);
            self.total = if dropped { 0 } else { self.documents.len() as u64 };
            self.kept.documents = std::mem::take(&mut self.documents);
            self.stage = Stage::Done;
            return;
        }
        if !self.has_one_score() {
            self.scores = vec![None; self.documents.len()];
        }
        self.stage = if self.is_bounded() { Stage::Bound } else { Stage::Rank };
    }

    /// Takes the documents of a view among those to be ranked.
    fn list(&mut self, view: usize, matching: &Bitmap) {
        self.documents.reserve(matching.count());
        matching.ones().for_each(|ordinal| self.documents.push((view as u32, ordinal as u32)));
    }

    fn spot(&self, index: usize) -> Spot<'_> {
        let (view, ordinal) = self.documents[index];
        Spot { views: &self.views, matches: &self.matches, resolved: &self.resolved, view: view as usize, ordinal }
    }

    fn score(&mut self, index: usize, reads: &mut Reads) -> Result<f64, Halt> {
        let (view, ordinal) = self.documents[index];
        let Run { ranker, views, matches, resolved, .. } = self;
        ranker.score(Spot { views, matches, resolved, view: view as usize, ordinal }, reads)
    }

    /// Scores documents in order, all of them.
    fn rank(&mut self, reads: &mut Reads) -> Result<(), Halt> {
        if self.has_one_score() {
            let score = self.score(0, reads)?;
            let mut kept = std::mem::take(&mut self.documents);
            if !self.is_kept(score) {
                kept.clear();
            }
            self.total = kept.len() as u64;
            self.finish();
            self.kept = Kept::all(kept, score);
            return Ok(());
        }
        self.ranker.sum_up(&self.views, &self.matches, reads)?;
        let end = (self.next + RANK_BATCH).min(self.documents.len());
        self.score_batch(end, reads)?;
        if self.keys.is_empty() {
            (self.next..end).for_each(|index| self.admit(index, Vec::new()));
            self.rank_until(end, reads);
            return Ok(());
        }
        // Nothing is admitted before all of the batch can be: a batch that halts is begun again.
        let sort_values = gather(self.next..end, |index| self.sort_values(index, reads))?;
        for (index, values) in (self.next..end).zip(sort_values) {
            self.admit(index, values);
        }
        self.rank_until(end, reads);
        Ok(())
    }

    /// Ends a batch.
    fn rank_until(&mut self, end: usize, reads: &mut Reads) {
        self.next = end;
        reads.relax();
        if end == self.documents.len() {
            self.finish();
        }
    }

    /// The score of a document that is not dropped.
    fn kept_score(&self, index: usize) -> Option<f64> {
        self.scores.get(index).copied().flatten().filter(|score| self.is_kept(*score))
    }

    fn is_kept(&self, score: f64) -> bool {
        self.drop_limit.is_none_or(|limit| score > limit)
    }

    /// Whether no hits are shown, and all documents have one score.
    fn has_one_score(&self) -> bool {
        self.wanted == 0 && self.ranker.is_constant() && !self.documents.is_empty()
    }

    /// Takes a scored document: counts it, and keeps it if it can be shown.
    fn admit(&mut self, index: usize, sort_values: Vec<SortValue>) {
        let Some(score) = self.kept_score(index) else { return };
        self.total += 1;
        let (view, ordinal) = self.documents[index];
        if self.keys.is_empty() && !self.keeps_all {
            if self.floor.is_none_or(|floor| score_key(score) >= floor) {
                self.best[view as usize].push((score_key(score), Reverse(ordinal)));
            }
            self.threshold.push(score_key(score));
        } else {
            self.candidates.push(Candidate { view: view as usize, ordinal, score, keys: sort_values });
        }
    }

    /// What a scored document is ordered by, beside its score; nothing if it is dropped.
    fn sort_values(&self, index: usize, reads: &mut Reads) -> Result<Vec<SortValue>, Halt> {
        let Some(score) = self.kept_score(index).filter(|_| !self.keys.is_empty()) else { return Ok(Vec::new()) };
        let spot = self.spot(index);
        let segment = &spot.views[spot.view].segment;
        let id = brooklet_segment::read_id(&segment.header, spot.ordinal, &mut reads.segment(segment))?;
        let schema = &self.plan.schema;
        self.keys.iter().map(|key| key.value(spot, schema, score, &id, reads)).collect()
    }

    /// Ends before all is done: what was decided about so far is all there is. Documents that matched, or could have,
    /// and were not decided about count as not looked at.
    pub(crate) fn stop(&mut self) {
        let undecided = match self.stage {
            Stage::Match | Stage::Nearest => self.scanned,
            Stage::Sum => self.matching.iter().map(|matching| matching.count() as u64).sum(),
            Stage::Rank => (self.documents.len() - self.next) as u64,
            Stage::Bound => self.documents.len() as u64,
            Stage::Rescore => (self.order.len() - self.next) as u64,
            Stage::Done => return,
        };
        self.unseen = undecided.min(self.scanned);
        self.scanned -= self.unseen;
        self.finish();
    }

    /// Ranks once more what matched, by what is known now that was not before.
    pub(crate) fn rank_again(&mut self) {
        // It was stopped before it knew what matches.
        if !self.has_matched || !self.unresolved.is_empty() {
            return;
        }
        self.best = self.views.iter().map(|_| TopK::new(self.wanted)).collect();
        self.threshold = TopK::new(self.wanted);
        (self.candidates, self.kept, self.order) = (Vec::new(), Kept::default(), Vec::new());
        (self.total, self.next) = (0, 0);
        self.scanned += std::mem::take(&mut self.unseen);
        self.begin_ranking();
    }

    /// Gives the run another ranker, which knows of the group what the one before knew.
    pub(crate) fn renew_ranker(&mut self, now: i64) -> Result<(), Rejection> {
        let mut ranker = Ranker::new(&self.plan, now)?;
        ranker.learn_from(&self.ranker)?;
        self.ranker = ranker;
        Ok(())
    }

    /// Hits with this score or less are dropped.
    pub(crate) fn drop_limit(&self) -> Option<f64> {
        self.drop_limit
    }

    fn finish(&mut self) {
        for (view, best) in std::mem::take(&mut self.best).into_iter().enumerate() {
            for (key, Reverse(ordinal)) in best.into_sorted() {
                let score = score_of_key(key);
                self.candidates.push(Candidate { view, ordinal, score, keys: Vec::new() });
            }
        }
        if self.keeps.is_some() {
            self.kept = Kept::new(&self.documents, |index| self.kept_score(index));
        }
        (self.documents, self.scores, self.bounds) = Default::default();
        self.stage = Stage::Done;
    }
}

const _: () = assert!(limits::HITS_OF_PROFILE + limits::OFFSET_OF_PROFILE < 1 << 16);
