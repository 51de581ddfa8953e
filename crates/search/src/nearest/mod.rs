//! Nearest neighbours, exactly: codes and bounds find the few rows that can be among the nearest, their exact cells decide.
//!
//! With candidates C (documents that the rest of the query lets through), the operator matches the `target_hits`
//! nearest of C within its threshold; of equals the smaller document id is nearer. That is the reference's running
//! heap at its strictest, and does not depend on the order of the scan.
//!
//! 1. Every block of codes with a candidate gives intervals of the internal distance. The `target_hits`-th smallest
//!    upper end so far is a threshold: what has a lower end above it cannot match. Rows without codes (short ones,
//!    int8, double) are measured at once, and so are few candidates: their exact rows are less to read than the codes.
//! 2. The rest is measured exactly, most promising first, until the next lower end is beyond the worst of the nearest.
//!
//! An interval holds what the exact kernel computes, rounding and all (crate `kernel`), so the answer is bit for bit
//! that of measuring every row.
mod few;
mod narrow;
mod point;
mod resolved;
mod rows;

use std::cmp::Reverse;
use std::collections::VecDeque;

use brooklet_kernel::{Among, Bitmap, CodeScan, Codes, TopK, scan_bounds, sort_by, sort_by_key};
use brooklet_segment::column::vector;
use brooklet_segment::column::vector::Vectors;
use brooklet_segment::{BlockSource, Gaps, Halt, Part, gather, read_id};
use brooklet_task::{Rejection, Want, limits};

use crate::found::stages::StageName;
use crate::plan::SchemaPlan;
use crate::resident::partition::View;
use crate::resident::reads::Reads;
use point::{code_metric, column_of, distance_in, distance_of, least, least_nearness, nearness};
use resolved::Measured;
use rows::{RowsOf, documents_of_rows};

pub(crate) use point::{Nearest, Point, distance_bounds, exact_distance};
pub(crate) use resolved::Resolved;

/// Bytes scanned before the deadline is looked at: about a millisecond.
const STEP_BYTES: usize = 6 << 20;
/// Blocks looked for ahead of the scan at most, so that one want brings several.
const AHEAD: usize = 512;
/// Candidates whose exact cells are wanted at once: at least so many, if they are promising, and at most.
const RESCORE_BATCH: std::ops::RangeInclusive<usize> = 16..=64;
/// Operators that match all within their threshold come first: what they let through is what the others choose among.
pub(crate) fn order_of_resolving(plan: &SchemaPlan) -> VecDeque<usize> {
    let competing = (0..plan.nearest.len()).filter(|index| plan.nearest[*index].competes);
    let others = (0..plan.nearest.len()).filter(|index| !plan.nearest[*index].competes);
    others.chain(competing).collect()
}

/// A document that may be among the nearest.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    view: u32,
    ordinal: u32,
    low: f64,
}

/// Resolving one operator over the views of one schema.
pub(crate) struct Resolving {
    nearest: Nearest,
    candidates: Vec<Bitmap>,
    stage: Stage,
    /// Upper ends of the most promising documents.
    best_high: TopK<Reverse<u64>>,
    found: Vec<Candidate>,
    measured: Vec<Measured>,
    nearest_measured: TopK<Reverse<u64>>,
    /// Documents measured since the farthest of the nearest was last determined.
    newly_measured: usize,
    next: usize,
    low: Vec<f64>,
    high: Vec<f64>,
    /// Interval of the document whose rows go on in the next block.
    carried: Option<(f64, f64)>,
    /// Candidates of each view of which something is kept whether they match or not; empty if there are none in any view.
    kept: Vec<Bitmap>,
    /// By view and ordinal: intervals of documents scanned, those that are kept among them. Empty if none are.
    bounds: Vec<Vec<(f64, f64)>>,
    /// Whether [`Resolving::narrow`] left some of the candidates.
    is_narrow: bool,
}

enum Stage {
    Scan { view: usize, block: u32 },
    Measure,
    Ties,
    Done,
}

impl Resolving {
    /// Over these candidates, one bitmap for each view. `kept`: documents of which it is kept how far they are at least and at
    /// most, whether they match or not, likewise; none at all if it is empty.
    pub(crate) fn new(nearest: &Nearest, candidates: Vec<Bitmap>, mut kept: Vec<Bitmap>) -> Resolving {
        if kept.iter().all(Bitmap::is_empty) {
            kept.clear();
        }
        let limit = if nearest.competes { nearest.target_hits } else { usize::MAX };
        Resolving {
            nearest: nearest.clone(),
            bounds: kept.iter().map(|_| Vec::new()).collect(),
            kept,
            candidates,
            stage: Stage::Scan { view: 0, block: 0 },
            best_high: TopK::new(limit),
            found: Vec::new(),
            measured: Vec::new(),
            nearest_measured: TopK::new(limit),
            newly_measured: 0,
            next: 0,
            low: Vec::new(),
            high: Vec::new(),
            carried: None,
            is_narrow: false,
        }
    }

    /// Works until something is missing; [`Want::Nothing`] when [`Resolving::result`] is there.
    pub(crate) fn step(&mut self, views: &[View], reads: &mut Reads) -> Result<Want, Rejection> {
        let stepped = match self.stage {
            Stage::Scan { view, block } => self.scan(views, view, block, reads),
            Stage::Measure => self.measure(views, reads),
            Stage::Ties => self.break_ties(views, reads),
            Stage::Done => return Ok(Want::Nothing),
        };
        match stepped {
            Ok(()) => Ok(Want::Pause),
            Err(Halt::Missing) => Ok(Want::Blocks(reads.take_missing())),
            Err(Halt::Rejected(rejection)) => Err(rejection),
        }
    }

    /// Whether [`Resolving::result`] is there.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.stage, Stage::Done)
    }

    /// What is under way, as it is told.
    pub(crate) fn stage_name(&self) -> StageName {
        if matches!(self.stage, Stage::Scan { .. }) { StageName::Scan } else { StageName::Exact }
    }

    /// How far the documents are that match (a smaller number is nearer), with their views and ordinals.
    pub(crate) fn nearest_found(&self) -> Vec<(u64, u32, u32)> {
        self.measured.iter().map(|of| (nearness(of.distance).0, of.view, of.ordinal)).collect()
    }

    /// Leaves the documents for whose distance, view and ordinal `stays` holds.
    pub(crate) fn leave(&mut self, stays: impl Fn(u64, u32, u32) -> bool) {
        self.measured.retain(|of| stays(nearness(of.distance).0, of.view, of.ordinal));
    }

    /// The documents that match, by view and ordinal, with their distances; and what was kept of the others.
    pub(crate) fn result(self) -> (Vec<Measured>, Vec<Vec<(f64, f64)>>) {
        let mut measured = self.measured;
        sort_by_key(&mut measured, |document| (document.view, document.ordinal));
        (measured, self.bounds)
    }

    /// Whether a distance (or a lower end of one) can still match.
    fn promising(&self, low: f64) -> bool {
        self.within(low) && self.best_high.threshold().is_none_or(|worst| nearness(low) >= *worst)
    }

    /// Whether a distance is within the threshold; one that is not a number is within no threshold but infinity.
    fn within(&self, distance: f64) -> bool {
        distance <= self.nearest.threshold || self.nearest.threshold == f64::INFINITY
    }

    fn scan(&mut self, views: &[View], mut at: usize, mut block: u32, reads: &mut Reads) -> Result<(), Halt> {
        let mut budget = STEP_BYTES;
        while at < views.len() {
            let view = &views[at];
            let Some(vectors) = column_of(view, &self.nearest.spec)? else {
                at += 1;
                continue;
            };
            let coded = vectors.coded() && self.nearest.point.code.is_some();
            let part = vectors.part(if coded { vector::CODES } else { vector::EXACT });
            if coded && block == 0 && self.takes_all(at, &vectors) {
                at += 1;
                continue;
            }
            let row_bytes = if coded {
                16 + vector::code_stride(vectors.size)
            } else {
                vector::exact_stride(vectors.cell, vectors.size)
            };
            let block_bytes = row_bytes * part.rows_per_block as usize;
            while block < part.blocks() {
                if budget == 0 {
                    self.stage = Stage::Scan { view: at, block };
                    return Ok(());
                }
                let scanned = if coded {
                    self.scan_codes(view, at, &vectors, block, reads)
                } else {
                    self.scan_exact(view, at, &vectors, block, reads)
                };
                if let Err(halt) = scanned {
                    self.stage = Stage::Scan { view: at, block };
                    look_ahead(view, part, block, (limits::WANT_BYTES / block_bytes.max(1)).clamp(1, AHEAD), reads);
                    return Err(halt);
                }
                reads.release(&view.segment, part.first_block + block);
                block += 1;
                budget = budget.saturating_sub(block_bytes);
            }
            at += 1;
            block = 0;
        }
        self.begin_measuring();
        Ok(())
    }

    /// Joins the interval of a document's rows in this block with those of its rows in the block before; nothing while
    /// more of its rows are to come.
    fn whole(&mut self, document: &RowsOf, low: f64, high: f64) -> Option<(f64, f64)> {
        let before = self.carried.take().filter(|_| document.continued);
        let (low, high) = before.map_or((low, high), |(a, b)| (least(a, low), least(b, high)));
        if document.open {
            self.carried = Some((low, high));
            return None;
        }
        Some((low, high))
    }

    fn scan_codes(
        &mut self,
        view: &View,
        at: usize,
        vectors: &Vectors<'_>,
        index: u32,
        reads: &mut Reads,
    ) -> Result<(), Halt> {
        let point = self.nearest.point.clone();
        let metric = code_metric(point.scale.metric());
        let (true, Some(metric), Some(code)) = (vectors.one_each(), metric, &point.code) else {
            return self.scan_codes_of_several(view, at, vectors, index, reads);
        };
        let part = vectors.part(vector::CODES);
        let (first, rows) = part.span_of(index);
        if self.candidates[at].next_set(first as usize).is_none_or(|next| next >= (first + rows) as usize) {
            return Ok(());
        }
        let block = reads.segment(&view.segment).block(part.first_block + index)?;
        let codes = vectors.codes(rows, block.bytes())?;
        self.make_room(at, view);
        let candidates = std::mem::take(&mut self.candidates[at]);
        let kept = std::mem::take(&mut self.kept);
        let among = Among { candidates: &candidates, kept: kept.get(at), first: first as usize };
        CodeScan::new(metric, code).each(&codes, among, point.code_limit(self.farthest()), |row, low, high| {
            let ordinal = first + row as u32;
            let (low, high) = point.internal(low, high);
            self.keep(at, ordinal, (low, high));
            if self.promising(low) {
                self.best_high.push(least_nearness(high));
                self.found.push(Candidate { view: at as u32, ordinal, low });
            }
            point.code_limit(self.farthest())
        });
        self.candidates[at] = candidates;
        self.kept = kept;
        Ok(())
    }

    /// Makes room for what is kept of a view.
    fn make_room(&mut self, at: usize, view: &View) {
        if let Some(bounds) = self.bounds.get_mut(at) {
            bounds.resize(view.segment.header.documents as usize, (f64::NAN, f64::NAN));
        }
    }

    /// Keeps how far a document is, if that is kept of any.
    #[inline]
    fn keep(&mut self, at: usize, ordinal: u32, interval: (f64, f64)) {
        if let Some(place) = self.bounds.get_mut(at).and_then(|of_view| of_view.get_mut(ordinal as usize)) {
            *place = interval;
        }
    }

    /// The largest internal distance that can still match; all of them if it is infinite or no number.
    fn farthest(&self) -> f64 {
        let worst = self.best_high.threshold().map_or(f64::INFINITY, |worst| distance_of(*worst));
        if worst < self.nearest.threshold { worst } else { self.nearest.threshold }
    }

    /// The same where a document has several rows or none, which may stand in several blocks.
    fn scan_codes_of_several(
        &mut self,
        view: &View,
        at: usize,
        vectors: &Vectors<'_>,
        index: u32,
        reads: &mut Reads,
    ) -> Result<(), Halt> {
        let part = vectors.part(vector::CODES);
        let (first, rows) = part.span_of(index);
        let documents = documents_of_rows(&self.candidates[at], view, vectors, first..first + rows, reads)?;
        if documents.is_empty() {
            return Ok(());
        }
        let block = reads.segment(&view.segment).block(part.first_block + index)?;
        let codes = vectors.codes(rows, block.bytes())?;
        self.bound(&codes, rows as usize);
        self.make_room(at, view);
        for document in documents {
            let (mut low, mut high) = (f64::INFINITY, f64::INFINITY);
            for row in document.rows.clone() {
                let index = (row - first) as usize;
                let (row_low, row_high) = self.nearest.point.internal(self.low[index], self.high[index]);
                low = least(low, row_low);
                high = least(high, row_high);
            }
            let Some((low, high)) = self.whole(&document, low, high) else { continue };
            self.keep(at, document.ordinal, (low, high));
            if self.promising(low) {
                self.best_high.push(least_nearness(high));
                self.found.push(Candidate { view: at as u32, ordinal: document.ordinal, low });
            }
        }
        Ok(())
    }

    fn bound(&mut self, codes: &Codes<'_>, rows: usize) {
        self.low.resize(rows, 0.0);
        self.high.resize(rows, 0.0);
        let metric = code_metric(self.nearest.point.scale.metric());
        match (metric, &self.nearest.point.code) {
            (Some(metric), Some(code)) => scan_bounds(metric, code, codes, &mut self.low, &mut self.high),
            _ => {
                self.low.fill(f64::NEG_INFINITY);
                self.high.fill(f64::INFINITY);
            }
        }
    }

    fn scan_exact(
        &mut self,
        view: &View,
        at: usize,
        vectors: &Vectors<'_>,
        index: u32,
        reads: &mut Reads,
    ) -> Result<(), Halt> {
        let part = vectors.part(vector::EXACT);
        let (first, rows) = part.span_of(index);
        let documents = documents_of_rows(&self.candidates[at], view, vectors, first..first + rows, reads)?;
        if documents.is_empty() {
            return Ok(());
        }
        let block = reads.segment(&view.segment).block(part.first_block + index)?;
        for document in documents {
            // From NaN, which any number replaces: a document whose distances are all NaN is at NaN, not at infinity.
            let mut distance = f64::NAN;
            for row in document.rows.clone() {
                let cells = vectors.exact(row - first, block.bytes())?;
                distance = least(distance, self.nearest.point.distance(vectors.cell, cells)?);
            }
            let Some((distance, _)) = self.whole(&document, distance, distance) else { continue };
            if self.promising(distance) {
                self.best_high.push(nearness(distance));
                self.measured.push(Measured { view: at as u32, ordinal: document.ordinal, distance });
            }
        }
        Ok(())
    }

    fn begin_measuring(&mut self) {
        self.best_high.tighten();
        let mut found = std::mem::take(&mut self.found);
        found.retain(|candidate| self.promising(candidate.low));
        found.sort_unstable_by_key(|candidate| (Reverse(nearness(candidate.low)), candidate.view, candidate.ordinal));
        self.found = found;
        let known = self.measured.iter().map(|measured| nearness(measured.distance)).collect::<Vec<_>>();
        known.into_iter().for_each(|key| self.nearest_measured.push(key));
        self.nearest_measured.tighten();
        self.stage = Stage::Measure;
    }

    /// Measures in order, each time until none that is left can be among the nearest. Where cells are missing, those of the
    /// next ones that are promising by now are asked for with them.
    fn measure(&mut self, views: &[View], reads: &mut Reads) -> Result<(), Halt> {
        let batch = self.nearest_measured.limit().saturating_mul(2);
        let batch = batch.clamp(*RESCORE_BATCH.start(), *RESCORE_BATCH.end());
        let end = (self.next + batch).min(self.found.len());
        let mut gaps = Gaps::default();
        let worst = |nearest: &TopK<Reverse<u64>>| nearest.threshold().copied();
        // Neighbours are mostly of one view, whose column is looked for once.
        let mut column: Option<(u32, Option<Vectors<'_>>)> = None;
        for at in self.next..end {
            let candidate = self.found[at];
            if worst(&self.nearest_measured).is_some_and(|worst| nearness(candidate.low) < worst) {
                break;
            }
            let view = &views[candidate.view as usize];
            if column.as_ref().is_none_or(|(of, _)| *of != candidate.view) {
                column = Some((candidate.view, column_of(view, &self.nearest.spec)?));
            }
            let measured = match &column {
                Some((_, Some(vectors))) => {
                    gaps.note(distance_in(view, vectors, &self.nearest, candidate.ordinal, reads))?
                }
                _ => None,
            };
            // From the first that is missing on, all is done once more when it is there.
            if !gaps.are_there() {
                self.next = at + 1;
                if let Some(distance) = measured.flatten().filter(|distance| self.within(*distance)) {
                    self.take_measured(candidate, distance);
                }
            }
        }
        gaps.check()?;
        let worst = worst(&self.nearest_measured);
        let promising = |next: &Candidate| worst.is_none_or(|worst| nearness(next.low) >= worst);
        if !self.found.get(self.next).is_some_and(promising) {
            self.nearest_measured.tighten();
            self.drop_far();
        }
        Ok(())
    }

    /// Takes a document within the threshold whose distance is known.
    fn take_measured(&mut self, Candidate { view, ordinal, .. }: Candidate, distance: f64) {
        self.measured.push(Measured { view, ordinal, distance });
        self.nearest_measured.push(nearness(distance));
        self.newly_measured += 1;
        // A selection among the nearest, which is not done for every one of many.
        if self.newly_measured.saturating_mul(8) >= self.nearest_measured.limit() {
            self.nearest_measured.tighten();
            self.newly_measured = 0;
        }
    }

    /// Leaves the nearest, and those as far as the last of them.
    fn drop_far(&mut self) {
        if let Some(worst) = self.nearest_measured.threshold().copied() {
            self.measured.retain(|measured| nearness(measured.distance) >= worst);
        }
        let limit = if self.nearest.competes { self.nearest.target_hits } else { usize::MAX };
        self.stage = if self.measured.len() > limit { Stage::Ties } else { Stage::Done };
    }

    /// Of the documents as far as the last one, those with the smallest ids stay.
    fn break_ties(&mut self, views: &[View], reads: &mut Reads) -> Result<(), Halt> {
        let Some(worst) = self.nearest_measured.threshold().copied() else {
            self.stage = Stage::Done;
            return Ok(());
        };
        let (mut sure, tied): (Vec<Measured>, Vec<Measured>) =
            self.measured.iter().partition(|measured| nearness(measured.distance) > worst);
        let mut named = gather(tied, |measured| {
            let segment = &views[measured.view as usize].segment;
            Ok((read_id(&segment.header, measured.ordinal, &mut reads.segment(segment))?, measured))
        })?;
        sort_by(&mut named, |a, b| a.0.cmp(&b.0));
        let places = self.nearest.target_hits.saturating_sub(sure.len());
        sure.extend(named.into_iter().take(places).map(|(_, measured)| measured));
        self.measured = sure;
        self.stage = Stage::Done;
        Ok(())
    }
}
/// Notes the next blocks as missing too, if they are.
fn look_ahead(view: &View, part: &Part, block: u32, blocks: usize, reads: &mut Reads) {
    for next in block + 1..(block + blocks as u32).min(part.blocks()) {
        if reads.segment(&view.segment).block(part.first_block + next).is_ok() {
            reads.release(&view.segment, part.first_block + next);
        }
    }
}
