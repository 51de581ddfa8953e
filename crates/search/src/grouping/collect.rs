//! Adds the documents of a partition to the groups of every request, view by view, in batches.
use std::rc::Rc;

use brooklet_segment::{Halt, read_id};
use brooklet_task::{Rejection, Want};
use rustc_hash::FxHashMap;

use super::PlannedGrouping;
use super::bind::{BoundFilter, BoundGrouping, BoundList, Classifier};
use super::classify::key_of;
use super::datum::{Datum, Key};
use super::groups::{Groups, HeldHit};
use super::inputs::{From, Inputs, SOURCE_BATCH, Selection};
use super::program::{Document, Node, matched_text};
use super::template::Template;
use crate::partition::View;
use crate::reads::Reads;

/// Documents of a batch, between looks at the deadline.
const BATCH: usize = 4_096;

/// Documents that matched, in the order of views and ordinals, with their scores.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    pub(crate) documents: Vec<(u32, u32)>,
    pub(crate) scores: Vec<f64>,
}

impl Kept {
    /// Those of some documents that were not dropped.
    pub(crate) fn of(documents: &[(u32, u32)], score: impl Fn(usize) -> Option<f64>) -> Kept {
        let kept = documents.iter().enumerate().filter_map(|(index, document)| Some((*document, score(index)?)));
        let (documents, scores) = kept.unzip();
        Kept { documents, scores }
    }
}

/// Adds the documents of one schema to the groups of one request.
pub(crate) struct Collector<'a> {
    pub(crate) planned: &'a PlannedGrouping,
    /// Number of the schema in the plan.
    pub(crate) schema: usize,
    pub(crate) views: &'a [View],
    pub(crate) kept: &'a Kept,
}

/// How far it came.
#[derive(Default)]
pub(crate) struct Progress {
    next: usize,
    /// Ids of the first documents, while they are read to find out which are the first.
    ids: Vec<(String, u32)>,
    /// For each document its place in the order of ids, if that matters.
    places: Vec<u32>,
    /// Groups by the number of a word, of the view that is looked at.
    words: FxHashMap<(usize, u32, u32), u32>,
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
        if self.planned.has_tops && progress.places.len() < documents.len() {
            self.find_places(progress, reads)?;
            return Ok(false);
        }
        let Some((view, _)) = documents.get(progress.next) else { return Ok(true) };
        let from_source = bound.with_ids || bound.inputs.iter().any(|input| matches!(input.from, From::Source(_)));
        let most = if from_source { SOURCE_BATCH } else { BATCH };
        let rest = &documents[progress.next..];
        let length = rest.iter().take(most).take_while(|(of, _)| of == view).count();
        let ordinals: Vec<u32> = rest[..length].iter().map(|(_, ordinal)| *ordinal).collect();
        let of_view = &self.views[*view as usize];
        let inputs = Inputs::load(&bound.inputs, bound.with_ids, of_view, &ordinals, reads)?;
        if progress.view != Some(*view) {
            progress.words.clear();
            progress.view = Some(*view);
        }
        let mut visit = Visit {
            planned: self.planned,
            templates: self.planned.templates.clone(),
            bound,
            groups,
            words: &mut progress.words,
            schema: self.schema as u32,
            view: *view,
        };
        for (at, ordinal) in ordinals.iter().enumerate() {
            let index = progress.next + at;
            let score = self.kept.scores.get(index).copied().unwrap_or(0.0);
            let document = Document { inputs: &inputs, at, score, zone: self.planned.zone, selection: None };
            let spot = Spot { ordinal: *ordinal, place: progress.places.get(index).copied().unwrap_or(0) };
            visit.rank(0, 0, score);
            visit.group(0, 0, &document, spot)?;
        }
        progress.next += length;
        Ok(false)
    }

    /// Reads ids of all documents to find their places in the order of ids, a batch at a time.
    fn find_places(&self, progress: &mut Progress, reads: &mut Reads) -> Result<(), Halt> {
        let first = progress.ids.len();
        let mut read = Vec::new();
        let mut missing = false;
        for (index, (view, ordinal)) in self.kept.documents.iter().enumerate().skip(first).take(BATCH) {
            let segment = &self.views[*view as usize].segment;
            match read_id(&segment.header, *ordinal, &mut reads.of(segment)) {
                Ok(id) => read.push((id, index as u32)),
                Err(Halt::Missing) => missing = true,
                Err(halt) => return Err(halt),
            }
        }
        if missing {
            return Err(Halt::Missing);
        }
        progress.ids.extend(read);
        if progress.ids.len() == self.kept.documents.len() {
            let mut ids = std::mem::take(&mut progress.ids);
            ids.sort_unstable();
            progress.places = vec![0; ids.len()];
            ids.iter().enumerate().for_each(|(place, (_, index))| progress.places[*index as usize] = place as u32);
        }
        Ok(())
    }
}

/// Where a document stands.
#[derive(Clone, Copy)]
struct Spot {
    ordinal: u32,
    place: u32,
}

impl Spot {
    fn is_within(self, top: Option<u32>) -> bool {
        top.is_none_or(|top| self.place < top)
    }
}

/// A document on its way down the levels.
struct Visit<'a> {
    planned: &'a PlannedGrouping,
    templates: Rc<[Template]>,
    bound: &'a BoundGrouping,
    groups: &'a mut Groups,
    words: &'a mut FxHashMap<(usize, u32, u32), u32>,
    schema: u32,
    view: u32,
}

impl Visit<'_> {
    fn rank(&mut self, table: usize, group: u32, score: f64) {
        let rank = &mut self.groups.tables[table].ranks[group as usize];
        *rank = rank.max(score);
    }

    /// Adds the document to a group, and to those in it.
    fn group(&mut self, table: usize, group: u32, document: &Document<'_>, spot: Spot) -> Result<(), Rejection> {
        let templates = self.templates.clone();
        let (template, bound) = (&templates[table], &self.bound.tables[table]);
        for (index, (total, program)) in template.totals.iter().zip(&bound.totals).enumerate() {
            if !spot.is_within(total.top) {
                continue;
            }
            let value = program.as_ref().map_or(Datum::Bool(true), |program| program.node.value(document));
            let more = self.groups.tables[table].totals[index][group as usize].add(&value);
            self.groups.take(more)?;
        }
        for (index, list) in template.hits.iter().enumerate().filter(|(_, list)| spot.is_within(list.top)) {
            let max = self.planned.kept_hits(list.max);
            let hit = HeldHit {
                schema: self.schema,
                view: self.view,
                ordinal: spot.ordinal,
                score: document.score,
                id: None,
                fields: None,
            };
            self.groups.add_hit(table, index, group, max, hit)?;
        }
        for (list, bound) in template.lists.iter().zip(&bound.lists).filter(|(list, _)| spot.is_within(list.top)) {
            self.list(list.table, group, bound, document, spot)?;
        }
        Ok(())
    }

    /// Adds the document to the groups of a list.
    fn list(
        &mut self,
        table: usize,
        parent: u32,
        list: &BoundList,
        document: &Document<'_>,
        spot: Spot,
    ) -> Result<(), Rejection> {
        if let Some(filter) = list.filter.as_ref().filter(|_| !list.filter_each)
            && !passes(filter, document)
        {
            return Ok(());
        }
        let word = plain_input(&list.by).and_then(|input| Some(document.inputs.words(input)?[document.at]));
        let cached = word.map(|word| (table, parent, word));
        if let Some(group) = cached.and_then(|entry| self.words.get(&entry)).copied() {
            self.rank(table, group, document.score);
            return self.group(table, group, document, spot);
        }
        match list.by.program().node.value(document) {
            Datum::Several(values) => self.elements(table, parent, list, &values, document, spot),
            Datum::Nothing => Ok(()),
            value => {
                if list.filter_each && !list.filter.as_ref().is_none_or(|filter| passes(filter, document)) {
                    return Ok(());
                }
                let Some(key) = key_of(&list.by, &value) else { return Ok(()) };
                let group = self.groups.group(table, parent, &key)?;
                cached.map(|entry| self.words.insert(entry, group));
                self.rank(table, group, document.score);
                self.group(table, group, document, spot)
            }
        }
    }

    /// Adds the document to a group for every distinct value; in it only the elements that led there are seen.
    fn elements(
        &mut self,
        table: usize,
        parent: u32,
        list: &BoundList,
        values: &[Datum],
        document: &Document<'_>,
        spot: Spot,
    ) -> Result<(), Rejection> {
        let along = list.along.as_ref();
        let narrowed = along.and_then(|along| Selection::of(document.selection, *along.first()?));
        let element = |at: usize| narrowed.map_or(at as u32, |narrowed| narrowed.elements[at]);
        let select = |elements: Vec<u32>| {
            along.map(|along| Selection { inputs: along.clone(), elements, outer: document.selection })
        };
        let mut keys: Vec<(Key, u32)> = Vec::with_capacity(values.len());
        for (at, value) in values.iter().enumerate() {
            if list.filter_each
                && let Some(filter) = &list.filter
            {
                let selection = select(vec![element(at)]);
                if !passes(filter, &Document { selection: selection.as_ref(), ..*document }) {
                    continue;
                }
            }
            keys.extend(key_of(&list.by, value).map(|key| (key, at as u32)));
        }
        keys.sort_unstable();
        for run in keys.chunk_by(|(a, _), (b, _)| a == b) {
            let group = self.groups.group(table, parent, &run[0].0)?;
            self.rank(table, group, document.score);
            if !list.in_step {
                self.group(table, group, document, spot)?;
                continue;
            }
            let selection = select(run.iter().map(|(_, at)| element(*at as usize)).collect());
            self.group(table, group, &Document { selection: selection.as_ref(), ..*document }, spot)?;
        }
        Ok(())
    }
}

/// The input that is all of an expression, if it is one.
fn plain_input(by: &Classifier) -> Option<usize> {
    match by {
        Classifier::Value(program) => match program.node {
            Node::Input(input) => Some(input),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a filter holds; of several values one is enough.
fn passes(filter: &BoundFilter, document: &Document<'_>) -> bool {
    let any = |node: &Node, holds: &dyn Fn(&Datum) -> bool| node.value(document).elements().iter().any(holds);
    match filter {
        BoundFilter::And(filters) => filters.iter().all(|filter| passes(filter, document)),
        BoundFilter::Or(filters) => filters.iter().any(|filter| passes(filter, document)),
        BoundFilter::Not(filter) => !passes(filter, document),
        BoundFilter::IsTrue(of) => any(&of.node, &|value| value.double() != 0.0),
        BoundFilter::Regex(pattern, of) => any(&of.node, &|value| pattern.is_match(&matched_text(value))),
        BoundFilter::Range { low, high, of, with_low, with_high } => any(&of.node, &|value| {
            let value = value.double();
            let above = if *with_low { value >= *low } else { value > *low };
            above && if *with_high { value <= *high } else { value < *high }
        }),
    }
}
