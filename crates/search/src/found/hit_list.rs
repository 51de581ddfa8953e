//! Which hits compete with which for a place in the answer, and which of them are kept until all were heard of.
//!
//! Hits of schemas whose profiles have no later phase compete with one another: any that is not among the first
//! `offset + hits` of them is not shown. Hits of a schema with a later phase have a list of their own, because the phase
//! decides anew among its first hits. A merge of partitions keeps the same hits whatever the order it hears of them in,
//! which is why it is the same merge for one partition and for many.
use std::cmp::Ordering;

use brooklet_kernel::{score_key, sort_by};
use brooklet_task::Rejection;
use brooklet_task::bytes::{Reader, Writer};

use super::hit::{PhaseInputs, Ranked};
use crate::plan::Plan;
use crate::plan::sorting::{SortValue, compare};

impl Plan {
    /// The list of a schema's hits.
    pub(crate) fn list(&self, schema: usize) -> usize {
        if self.schemas[schema].phases.is_empty() { 0 } else { schema + 1 }
    }

    /// How many hits of a list are kept.
    pub(crate) fn kept(&self, list: usize) -> usize {
        let wanted = self.hits + self.offset;
        match list.checked_sub(1) {
            // Without hits there is nothing to decide about.
            Some(schema) if wanted > 0 => self.schemas[schema].phases.kept(wanted),
            _ => wanted,
        }
    }

    /// The order of hits: by their keys, then by score, then by what the last phase made of them, then by document.
    pub(crate) fn compare<C, D>(&self, a: &Ranked<C>, b: &Ranked<D>) -> Ordering {
        self.compare_scores(a, b).then_with(|| (a.later.place, &a.id).cmp(&(b.later.place, &b.id)))
    }

    fn compare_scores<C, D>(&self, a: &Ranked<C>, b: &Ranked<D>) -> Ordering {
        compare(&a.keys, &b.keys, &self.order.descending).then_with(|| score_key(b.score).cmp(&score_key(a.score)))
    }

    /// Sorts hits by list and order, and keeps those that can be shown. Where ids are not known yet, hits tied with the
    /// last of a list are kept too, and if hits are collapsed all of them: which are the best of a value is not known.
    pub(crate) fn keep<Content>(&self, hits: &mut Vec<Ranked<Content>>) {
        sort_by(hits, |a, b| self.list(a.schema).cmp(&self.list(b.schema)).then_with(|| self.compare(a, b)));
        // Later phases change the order, so hits of theirs are collapsed in the end only.
        let is_open = |hit: &Ranked<Content>| self.list(hit.schema) == 0 && !self.collapse.is_empty();
        if hits.iter().any(|hit| is_open(hit) && hit.id.is_none()) {
            return;
        }
        if self.collapse.is_of_parts() {
            self.collapse.leave(hits, self.order.descending.len(), |hit| is_open(hit).then_some(0));
        }
        let mut kept: Vec<Ranked<Content>> = Vec::with_capacity(hits.len().min(self.hits + self.offset));
        let (mut list, mut first) = (None, 0);
        for hit in hits.drain(..) {
            if list != Some(self.list(hit.schema)) {
                (list, first) = (Some(self.list(hit.schema)), kept.len());
            }
            let held = is_open(&hit) && !self.collapse.is_of_parts();
            let full = !held && kept.len() - first >= self.kept(self.list(hit.schema));
            let tied = kept.last().is_some_and(|last| self.compare(last, &hit) == Ordering::Equal);
            if !full || (kept.len() > first && tied) {
                kept.push(hit);
            }
        }
        *hits = kept;
    }

    /// The floor under hits that were kept: a hit that comes after it can be left out wherever it is found.
    pub(crate) fn floor<Content>(&self, kept: &[Ranked<Content>]) -> Floor {
        let mut floor = Floor::default();
        if !self.collapse.is_empty() && !self.collapse.is_of_parts() {
            return floor;
        }
        for of_list in kept.chunk_by(|a, b| self.list(a.schema) == self.list(b.schema)) {
            let list = self.list(of_list[0].schema);
            if of_list.len() >= self.kept(list)
                && let Some(last) = of_list.last()
            {
                let (schema, score) = (last.schema, last.score);
                let (keys, id, later) = (last.keys.clone(), last.id.clone(), PhaseInputs::default());
                floor.0.push(Ranked { schema, keys, score, id, later, content: list });
            }
        }
        floor
    }
}

/// For each list that is full, the last of its hits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Floor(Vec<Ranked<usize>>);

impl Floor {
    fn last(&self, list: usize) -> Option<&Ranked<usize>> {
        self.0.iter().find(|last| last.content == list)
    }

    /// The score below which a hit of a list is not wanted; nothing if other keys decide.
    pub(crate) fn score(&self, list: usize) -> Option<f64> {
        self.last(list).filter(|last| last.keys.is_empty()).map(|last| last.score)
    }

    /// Whether a hit may be among those kept. One whose document is not known yet is, if it ties.
    pub(crate) fn admits<Content>(&self, plan: &Plan, hit: &Ranked<Content>) -> bool {
        let Some(last) = self.last(plan.list(hit.schema)) else { return true };
        let order = plan.compare_scores(hit, last);
        let order = if hit.id.is_some() { order.then_with(|| hit.id.cmp(&last.id)) } else { order };
        order != Ordering::Greater
    }

    /// This floor, and for lists that it says nothing of the other one's: whatever was found above that is above it.
    pub(crate) fn or(mut self, other: &Floor) -> Floor {
        let known = |last: &&Ranked<usize>| self.last(last.content).is_none();
        let more: Vec<Ranked<usize>> = other.0.iter().filter(known).cloned().collect();
        self.0.extend(more);
        self
    }

    /// Reads a floor; without bytes there is none.
    pub(crate) fn read_optional(bytes: &[u8]) -> Result<Floor, Rejection> {
        if bytes.is_empty() {
            return Ok(Floor::default());
        }
        let mut reader = Reader::new(bytes);
        let floor = Floor::read(&mut reader)?;
        reader.end()?;
        Ok(floor)
    }

    /// Writes it: a count, and for each list its number, keys, score and document.
    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.varint(self.0.len() as u64);
        for last in &self.0 {
            writer.varint(last.content as u64);
            write_ranked(last, writer);
        }
    }

    /// Reads what [`Floor::write`] wrote.
    fn read(reader: &mut Reader) -> Result<Floor, Rejection> {
        let mut floor = Floor::default();
        for _ in 0..reader.count(4)? {
            let content = reader.varint()? as usize;
            let Ranked { schema, keys, score, id, later, .. } = read_ranked(reader)?;
            floor.0.push(Ranked { schema, keys, score, id, later, content });
        }
        Ok(floor)
    }
}

const FIRST: u8 = 0;
const NUMBER: u8 = 1;
const INTEGER: u8 = 2;
const TEXT: u8 = 3;
const LAST: u8 = 4;

/// Writes what decides about a hit whose document is known.
pub(crate) fn write_ranked<Content>(hit: &Ranked<Content>, writer: &mut Writer) {
    writer.varint(hit.schema as u64);
    writer.varint(hit.keys.len() as u64);
    for key in &hit.keys {
        match key {
            SortValue::First => writer.u8(FIRST),
            SortValue::Number(number) => {
                writer.u8(NUMBER);
                writer.f64(*number);
            }
            SortValue::Integer(integer) => {
                writer.u8(INTEGER);
                writer.u64(*integer as u64);
            }
            SortValue::Text(text) => {
                writer.u8(TEXT);
                writer.bytes(text);
            }
            SortValue::Last => writer.u8(LAST),
        }
    }
    writer.f64(hit.score);
    writer.text(hit.id.as_deref().unwrap_or_default());
}

/// Reads what [`write_ranked`] wrote.
pub(crate) fn read_ranked(reader: &mut Reader) -> Result<Ranked<()>, Rejection> {
    let schema = reader.varint()? as usize;
    let mut keys = Vec::new();
    for _ in 0..reader.count(1)? {
        keys.push(match reader.u8()? {
            FIRST => SortValue::First,
            NUMBER => SortValue::Number(reader.f64()?),
            INTEGER => SortValue::Integer(reader.u64()? as i64),
            TEXT => SortValue::Text(reader.bytes()?.to_vec()),
            LAST => SortValue::Last,
            other => return Err(Rejection::corrupt(format!("a sort value of kind {other}"))),
        });
    }
    let (score, id) = (reader.f64()?, reader.text()?.to_owned());
    Ok(Ranked { schema, keys, score, id: Some(id), later: PhaseInputs::default(), content: () })
}
