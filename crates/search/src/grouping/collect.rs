//! Adds the documents of a partition to the groups of every request, view by view, in batches.
use std::rc::Rc;

use brooklet_kernel::sort;
use brooklet_segment::{Halt, gather, read_id};
use brooklet_task::{Rejection, Want};

use super::bound::BoundGrouping;
use super::descent::{Batch, Descent, Row};
use super::groups::{First, Groups};
use super::inputs::{Inputs, at_once};
use super::known::GroupIndex;
use super::planned::PlannedGrouping;
use crate::resident::partition::View;
use crate::resident::reads::Reads;

/// Documents of a batch, between looks at the deadline.
const BATCH: usize = 4_096;

/// Documents that matched, in the order of views and ordinals, with their scores.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    pub(crate) documents: Vec<(u32, u32)>,
    /// None if all have the same one.
    pub(crate) scores: Vec<f64>,
    /// That of all, if there are none of each.
    pub(crate) score: f64,
}

impl Kept {
    /// Those of some documents that were not dropped.
    pub(crate) fn new(documents: &[(u32, u32)], score: impl Fn(usize) -> Option<f64>) -> Kept {
        let mut kept = Kept {
            documents: Vec::with_capacity(documents.len()),
            scores: Vec::with_capacity(documents.len()),
            score: 0.0,
        };
        for (index, document) in documents.iter().enumerate() {
            if let Some(score) = score(index) {
                kept.documents.push(*document);
                kept.scores.push(score);
            }
        }
        kept
    }

    /// All of some documents, with one score.
    pub(crate) fn all(documents: Vec<(u32, u32)>, score: f64) -> Kept {
        Kept { documents, scores: Vec::new(), score }
    }

    fn score_of(&self, index: usize) -> f64 {
        self.scores.get(index).copied().unwrap_or(self.score)
    }
}

/// Adds the documents of one schema to the groups of one request.
pub(crate) struct Collector<'a> {
    pub(crate) planned: &'a PlannedGrouping,
    /// Number of the schema in the plan.
    pub(crate) schema: usize,
    pub(crate) views: &'a [View],
    pub(crate) kept: &'a Kept,
    /// Whether others add to the groups: which documents are the first is not known yet.
    pub(crate) is_part: bool,
}

/// How far it came.
#[derive(Default)]
pub(crate) struct Progress {
    next: usize,
    /// Ids of the first documents, while they are read to find out which are the first.
    ids: Vec<(String, u32)>,
    /// For each document its place in the order of ids, if that matters.
    places: Vec<u32>,
    /// The ids of the first ones.
    first_ids: Vec<Rc<str>>,
    /// What was read of the documents of a batch.
    inputs: Inputs,
    /// For each table the groups that values led to.
    known: Vec<GroupIndex>,
    view: Option<u32>,
}

impl Collector<'_> {
    /// Adds some documents; [`Want::Nothing`] when there are no more.
    pub(crate) fn step(
        &self,
        progress: &mut Progress,
        groups: &mut Groups,
        reads: &mut Reads,
    ) -> Result<Want, Rejection> {
        let Some(bound) = &self.planned.bound[self.schema] else { return Ok(Want::Nothing) };
        match self.some(bound, progress, groups, reads) {
            Ok(true) => Ok(Want::Nothing),
            Ok(false) => {
                reads.relax();
                Ok(Want::Pause)
            }
            Err(Halt::Missing) => Ok(Want::Blocks(reads.take_missing())),
            Err(Halt::Rejected(rejection)) => Err(rejection),
        }
    }

    fn some(
        &self,
        bound: &BoundGrouping,
        progress: &mut Progress,
        groups: &mut Groups,
        reads: &mut Reads,
    ) -> Result<bool, Halt> {
        let documents = &self.kept.documents;
        if self.planned.firsts.is_some() && progress.places.len() < documents.len() {
            self.find_places(progress, reads)?;
            return Ok(false);
        }
        let Some((view, _)) = documents.get(progress.next) else { return Ok(true) };
        let rest = &documents[progress.next..];
        let length = rest.iter().take(BATCH).take_while(|(of, _)| of == view).count();
        let ordinals: Vec<u32> = rest[..length].iter().map(|(_, ordinal)| *ordinal).collect();
        let of_view = &self.views[*view as usize];
        let length = at_once(&bound.inputs, bound.with_ids, of_view, &ordinals);
        let ordinals = &ordinals[..length];
        progress.inputs.load(&bound.inputs, bound.with_ids, (*view, of_view), ordinals, reads)?;
        progress.known.resize_with(self.planned.templates.len(), GroupIndex::default);
        if progress.view.replace(*view) != Some(*view) {
            progress.known.iter_mut().for_each(GroupIndex::forget_words);
        }
        if let Some(most) = self.planned.firsts.filter(|_| self.is_part) {
            self.keep_firsts((bound, most), progress, (*view, ordinals), groups)?;
        }
        let at = progress.next..progress.next + length;
        let places = progress.places.get(at.clone()).unwrap_or_default();
        // In a part all documents come after the first ones, which are added when all parts are known.
        let later = vec![u32::MAX; places.len()];
        let batch = Batch {
            inputs: &progress.inputs,
            ordinals,
            scores: self.kept.scores.get(at.clone()).unwrap_or_default(),
            score: self.kept.score,
            places: if self.is_part { &later } else { places },
            firsts: None,
            schema: self.schema as u32,
            view: *view,
        };
        let rows: Vec<Row<'_>> = (0..length as u32).map(|at| Row { at, group: 0, selection: None }).collect();
        Descent { planned: self.planned, bound, groups, known: &mut progress.known, batch }.enter(0, &rows)?;
        progress.next += length;
        Ok(false)
    }

    /// Keeps the documents of a batch that may be among the first of all parts.
    fn keep_firsts(
        &self,
        (bound, most): (&BoundGrouping, u32),
        progress: &Progress,
        (view, ordinals): (u32, &[u32]),
        groups: &mut Groups,
    ) -> Result<(), Rejection> {
        for (at, ordinal) in ordinals.iter().enumerate() {
            let index = progress.next + at;
            let place = progress.places[index];
            if place >= most {
                continue;
            }
            groups.add_first(First {
                schema: self.schema as u32,
                place: (view, *ordinal),
                id: progress.first_ids[place as usize].clone(),
                score: self.kept.score_of(index),
                values: (0..bound.inputs.len()).map(|input| progress.inputs.value(input, at, None)).collect(),
                fields: Vec::new(),
            })?;
        }
        Ok(())
    }

    /// Reads ids of all documents to find their places in the order of ids, a batch at a time.
    fn find_places(&self, progress: &mut Progress, reads: &mut Reads) -> Result<(), Halt> {
        let first = progress.ids.len();
        let batch = self.kept.documents.iter().enumerate().skip(first).take(BATCH);
        let read = gather(batch, |(index, (view, ordinal))| {
            let segment = &self.views[*view as usize].segment;
            Ok((read_id(&segment.header, *ordinal, &mut reads.segment(segment))?, index as u32))
        })?;
        progress.ids.extend(read);
        if progress.ids.len() == self.kept.documents.len() {
            let mut ids = std::mem::take(&mut progress.ids);
            sort(&mut ids);
            progress.places = vec![0; ids.len()];
            ids.iter().enumerate().for_each(|(place, (_, index))| progress.places[*index as usize] = place as u32);
            let most = self.planned.firsts.map_or(0, |most| most as usize);
            progress.first_ids = ids.into_iter().take(most).map(|(id, _)| Rc::from(id)).collect();
        }
        Ok(())
    }
}
