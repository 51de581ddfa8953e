//! A batch of documents on its way down the levels of a request: into groups, and into those inside, a column of values
//! at a time. A *row* is a document in a group; a document with several values is in several.
use std::borrow::Cow;

use brooklet_query::grouping::HitList;
use brooklet_task::{Code, Rejection, limits};
use brooklet_text::Pattern;

use super::bound::{BoundFilter, BoundGrouping, BoundList, Classifier};
use super::classify::{code_of, key_of};
use super::columns::{Column, Elements, elements_of};
use super::datum::Datum;
use super::groups::{First, Groups, HeldHit};
use super::inputs::{Inputs, Selection};
use super::known::GroupIndex;
use super::planned::PlannedGrouping;
use super::program::{Document, Node, Program, matched_text};
use super::template::classes;
use super::totals::Totals;

/// Rows that go down together at most, and elements of fields that are looked at together.
const ROWS: usize = 16_384;
const SELECTED: usize = 1_024;

/// A document in a group.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    /// Its place in the batch.
    pub(super) at: u32,
    pub(super) group: u32,
    /// The elements of a field that led there, if only these are looked at.
    pub(super) selection: Option<&'a Selection<'a>>,
}

/// Documents of one view.
#[derive(Clone, Copy)]
pub(super) struct Batch<'a> {
    pub(super) inputs: &'a Inputs,
    pub(super) ordinals: &'a [u32],
    /// None if all have the same one.
    pub(super) scores: &'a [f64],
    /// That of all, if there are none of each.
    pub(super) score: f64,
    /// Their places in the order of ids; none if that does not matter.
    pub(super) places: &'a [u32],
    /// Documents whose first ones are added now, when all others were; else nothing.
    pub(super) firsts: Option<&'a [First]>,
    pub(super) schema: u32,
    pub(super) view: u32,
}

/// A batch with what it is added to.
pub(super) struct Descent<'a> {
    pub(super) planned: &'a PlannedGrouping,
    pub(super) bound: &'a BoundGrouping,
    pub(super) groups: &'a mut Groups,
    /// By table.
    pub(super) known: &'a mut [GroupIndex],
    pub(super) batch: Batch<'a>,
}

/// Rows that go into the groups of a list.
#[derive(Default)]
struct Led<'a> {
    rows: Vec<Row<'a>>,
    /// Document, group, and the elements that led there.
    selected: Vec<(u32, u32, Selection<'a>)>,
}

impl<'a> Batch<'a> {
    fn score(&self, row: &Row<'_>) -> f64 {
        self.scores.get(row.at as usize).copied().unwrap_or(self.score)
    }

    /// Rows of documents that are among the first so many. `of_first`: whether no others come here.
    fn within<'r, 's>(&self, top: Option<u32>, of_first: bool, rows: &'r [Row<'s>]) -> Cow<'r, [Row<'s>]> {
        let Some(top) = top else {
            // What all documents count for was added where they were found.
            let was_added = self.firsts.is_some() && !of_first;
            return Cow::Borrowed(if was_added { &[] } else { rows });
        };
        let is_within = |row: &&Row<'_>| self.places.get(row.at as usize).is_none_or(|place| *place < top);
        rows.iter().filter(is_within).copied().collect()
    }
}

impl Descent<'_> {
    /// Adds rows to their groups in a table, and to those inside.
    pub(super) fn enter(&mut self, table: usize, rows: &[Row<'_>]) -> Result<(), Rejection> {
        self.rank(table, rows);
        let bound = &self.bound.tables[table];
        let template = &self.planned.templates[table];
        let of_first = self.planned.is_of_first(table);
        for (index, (total, program)) in template.totals.iter().zip(&bound.totals).enumerate() {
            let rows = self.batch.within(total.top, of_first, rows);
            self.add(table, index, program.as_ref(), &rows)?;
        }
        for (index, list) in template.hits.iter().enumerate() {
            let max = self.planned.kept_hits(list.max);
            for row in self.batch.within(list.top, of_first, rows).iter() {
                let hit = self.hit(list, row);
                self.groups.add_hit(table, index, row.group, max, hit)?;
            }
        }
        for (list, bound) in template.lists.iter().zip(&bound.lists) {
            // In a list of all documents there may be something of the first ones.
            let rows =
                if list.top.is_none() { Cow::Borrowed(rows) } else { self.batch.within(list.top, of_first, rows) };
            self.list(list.table, bound, &rows)?;
        }
        Ok(())
    }

    fn hit(&self, list: &HitList, row: &Row<'_>) -> HeldHit {
        let Batch { ordinals, schema, view, .. } = self.batch;
        let (ordinal, score) = (ordinals[row.at as usize], self.batch.score(row));
        let Some(first) = self.batch.firsts.map(|firsts| &firsts[row.at as usize]) else {
            return HeldHit { schema, view, ordinal, score, id: None, fields: None };
        };
        let class = classes(&self.planned.templates).iter().position(|class| *class == list.summary);
        let fields = class.and_then(|class| first.fields.get(class).cloned().flatten());
        HeldHit { schema, view, ordinal, score, id: Some(first.id.clone()), fields: Some(fields) }
    }

    /// The rank of a group is the greatest score in it.
    fn rank(&mut self, table: usize, rows: &[Row<'_>]) {
        let (ranks, score) = (&mut self.groups.tables[table].ranks, self.batch.score);
        let mut raise = |group: u32, score: f64| {
            let rank = &mut ranks[group as usize];
            if score > *rank {
                *rank = score;
            }
        };
        match self.batch.scores {
            // Those of one schema that have a rank already have this one.
            [] if self.planned.bound.len() == 1 && score > f64::NEG_INFINITY => {
                ranks.iter_mut().rev().take_while(|rank| **rank == f64::NEG_INFINITY).for_each(|rank| *rank = score);
            }
            [] => rows.iter().for_each(|row| raise(row.group, score)),
            scores => rows.iter().for_each(|row| raise(row.group, scores[row.at as usize])),
        }
    }

    fn document<'d>(&'d self, row: &Row<'d>) -> Document<'d> {
        let score = self.batch.score(row);
        let Row { at, selection, .. } = *row;
        Document { inputs: self.batch.inputs, at: at as usize, score, zone: self.planned.clock.zone, selection }
    }

    /// Adds the values of an expression, or nothing but the documents, to a total.
    fn add(
        &mut self,
        table: usize,
        total: usize,
        program: Option<&Program>,
        rows: &[Row<'_>],
    ) -> Result<(), Rejection> {
        let column = match program.map(|program| &program.node) {
            Some(Node::Input(input)) => Some(self.batch.inputs.column(*input)),
            _ => None,
        };
        // Taken out, as expressions look at all else.
        let none = Totals::Counts(Vec::new());
        let mut totals = std::mem::replace(&mut self.groups.tables[table].totals[total], none);
        let mut more = 0;
        match (program, column) {
            (None, _) => totals.count(rows.iter().map(|row| row.group)),
            (_, Some(Column::Longs(values))) => {
                more += totals.add_longs(rows.iter().map(|row| (row.group, values[row.at as usize])));
            }
            (_, Some(Column::Doubles(values))) => {
                for row in rows {
                    more += totals.add(row.group, &Datum::Double(values[row.at as usize]));
                }
            }
            (Some(program), _) => {
                for row in rows {
                    more += totals.add(row.group, &program.node.value(&self.document(row)));
                }
            }
        }
        self.groups.tables[table].totals[total] = totals;
        self.groups.take(more)
    }

    /// Leads rows into the groups of a list.
    fn list(&mut self, table: usize, list: &BoundList, rows: &[Row<'_>]) -> Result<(), Rejection> {
        let filter = list.filter.as_ref().filter(|_| !list.filter_each);
        let rows: Cow<'_, [Row<'_>]> = match filter {
            None => Cow::Borrowed(rows),
            Some(filter) => {
                let mut passing = Vec::new();
                for row in rows {
                    if passes(filter, &self.document(row))? {
                        passing.push(*row);
                    }
                }
                Cow::Owned(passing)
            }
        };
        let plain = plain_input(&list.by).filter(|_| !list.filter_each && !list.in_step);
        let mut led = Led { rows: Vec::with_capacity(rows.len().min(ROWS)), selected: Vec::new() };
        match plain.map(|input| (input, self.batch.inputs.column(input))) {
            Some((input, Column::Words(words))) => self.by_word(table, input, words, &rows, &mut led)?,
            Some((input, Column::Several { ends, elements: Elements::Words(words) }))
                if rows.iter().all(|row| Selection::of_input(row.selection, input).is_none()) =>
            {
                self.by_words(table, (input, ends, words), &rows, &mut led)?;
            }
            _ => self.by_value(table, list, &rows, &mut led)?,
        }
        self.follow(table, &mut led)
    }

    /// Lets rows go on into their groups.
    fn follow(&mut self, table: usize, led: &mut Led<'_>) -> Result<(), Rejection> {
        if !led.rows.is_empty() {
            self.enter(table, &led.rows)?;
            led.rows.clear();
        }
        let rows: Vec<Row<'_>> = led
            .selected
            .iter()
            .map(|(at, group, selection)| Row { at: *at, group: *group, selection: Some(selection) })
            .collect();
        if !rows.is_empty() {
            self.enter(table, &rows)?;
            led.selected.clear();
        }
        Ok(())
    }

    /// The group of a word that did not lead to one before.
    #[cold]
    fn learn_word(&mut self, table: usize, parent: u32, input: usize, word: u32) -> Result<u32, Rejection> {
        let texts = self.batch.inputs.texts(input);
        let group = self.groups.group_of_text(table, parent, texts.bytes(word))?;
        self.known[table].set_word(parent, word, texts.len(), group);
        Ok(group)
    }

    #[inline]
    fn group_of_word(&mut self, table: usize, parent: u32, input: usize, word: u32) -> Result<u32, Rejection> {
        match self.known[table].of_word(parent, word, self.batch.inputs.texts(input).len()) {
            Some(group) => Ok(group),
            None => self.learn_word(table, parent, input, word),
        }
    }

    /// By the words of a column.
    fn by_word<'s>(
        &mut self,
        table: usize,
        input: usize,
        words: &[u32],
        rows: &[Row<'s>],
        led: &mut Led<'s>,
    ) -> Result<(), Rejection> {
        let length = self.batch.inputs.texts(input).len();
        for row in rows {
            let word = words[row.at as usize];
            let group = match self.known[table].of_word(row.group, word, length) {
                Some(group) => group,
                None => self.learn_word(table, row.group, input, word)?,
            };
            led.rows.push(Row { group, ..*row });
        }
        Ok(())
    }

    /// By the words of a column that has several of every document.
    fn by_words<'s>(
        &mut self,
        table: usize,
        (input, ends, words): (usize, &[u32], &[u32]),
        rows: &[Row<'s>],
        led: &mut Led<'s>,
    ) -> Result<(), Rejection> {
        for row in rows {
            let first = led.rows.len();
            for word in &words[elements_of(ends, row.at as usize)] {
                let group = self.group_of_word(table, row.group, input, *word)?;
                led.rows.push(Row { group, ..*row });
            }
            // A document is once in a group, however often the word stands there.
            if led.rows.len() > first + 1 {
                led.rows[first..].sort_unstable_by_key(|row| row.group);
                let mut kept = first + 1;
                for at in first + 1..led.rows.len() {
                    if led.rows[at].group != led.rows[kept - 1].group {
                        led.rows[kept] = led.rows[at];
                        kept += 1;
                    }
                }
                led.rows.truncate(kept);
            }
            if led.rows.len() >= ROWS {
                self.follow(table, led)?;
            }
        }
        Ok(())
    }

    /// By the values of an expression.
    fn by_value<'s>(
        &mut self,
        table: usize,
        list: &'s BoundList,
        rows: &[Row<'s>],
        led: &mut Led<'s>,
    ) -> Result<(), Rejection> {
        for row in rows {
            match list.by.program().node.value(&self.document(row)) {
                Datum::Several(values) => {
                    self.elements(table, list, &values, row, led)?;
                    if led.rows.len() >= ROWS || led.selected.len() >= SELECTED {
                        self.follow(table, led)?;
                    }
                }
                Datum::Nothing => {}
                value => {
                    let filter = list.filter.as_ref().filter(|_| list.filter_each);
                    if let Some(filter) = filter
                        && !passes(filter, &self.document(row))?
                    {
                        continue;
                    }
                    if let Some(group) = self.group_of(table, row.group, &list.by, &value)? {
                        led.rows.push(Row { group, ..*row });
                    }
                }
            }
        }
        Ok(())
    }

    fn group_of(
        &mut self,
        table: usize,
        parent: u32,
        by: &Classifier,
        value: &Datum,
    ) -> Result<Option<u32>, Rejection> {
        let code = code_of(by, value);
        if let Some(group) = code.and_then(|code| self.known[table].of_code(parent, code)) {
            return Ok(Some(group));
        }
        let Some(key) = key_of(by, value) else { return Ok(None) };
        let group = self.groups.group(table, parent, &key)?;
        if let Some(code) = code {
            self.known[table].set_code(parent, code, group);
        }
        Ok(Some(group))
    }

    /// Leads a row into a group for every distinct value; there only the elements that led to it are seen.
    fn elements<'s>(
        &mut self,
        table: usize,
        list: &'s BoundList,
        values: &[Datum],
        row: &Row<'s>,
        led: &mut Led<'s>,
    ) -> Result<(), Rejection> {
        let along = list.along.as_ref();
        let narrowed = along.and_then(|along| Selection::of_input(row.selection, *along.first()?));
        let element = |at: usize| narrowed.map_or(at as u32, |narrowed| narrowed.elements[at]);
        let select =
            |elements: Vec<u32>| along.map(|along| Selection { inputs: along.clone(), elements, outer: row.selection });
        let filter = list.filter.as_ref().filter(|_| list.filter_each);
        let mut found: Vec<(u32, u32)> = Vec::with_capacity(values.len());
        for (at, value) in values.iter().enumerate() {
            if let Some(filter) = filter {
                let selection = select(vec![element(at)]);
                if !passes(filter, &Document { selection: selection.as_ref(), ..self.document(row) })? {
                    continue;
                }
            }
            let group = self.group_of(table, row.group, &list.by, value)?;
            found.extend(group.map(|group| (group, at as u32)));
        }
        found.sort_unstable();
        for run in found.chunk_by(|(a, _), (b, _)| a == b) {
            let group = run[0].0;
            let selection = || select(run.iter().map(|(_, at)| element(*at as usize)).collect());
            match list.in_step.then(selection).flatten() {
                Some(selection) => led.selected.push((row.at, group, selection)),
                None => led.rows.push(Row { group, ..*row }),
            }
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

/// Whether a document goes on: its filter holds, and could be asked.
fn passes(filter: &BoundFilter, document: &Document<'_>) -> Result<bool, Rejection> {
    Ok(answer(filter, document)? == Some(true))
}

/// Whether a filter holds; of several values one is enough. Nothing if it cannot be asked of this value: then the document
/// is in no group, whatever stands around the filter that failed.
fn answer(filter: &BoundFilter, document: &Document<'_>) -> Result<Option<bool>, Rejection> {
    let any = |node: &Node, holds: &dyn Fn(&Datum) -> bool| node.value(document).elements().iter().any(holds);
    Ok(Some(match filter {
        BoundFilter::And(filters) => return first(filters, false, document),
        BoundFilter::Or(filters) => return first(filters, true, document),
        BoundFilter::Not(filter) => return Ok(answer(filter, document)?.map(|holds| !holds)),
        BoundFilter::IsTrue(of) => match of.node.value(document) {
            Datum::Bool(flag) => flag,
            _ => return Ok(None),
        },
        BoundFilter::Regex(pattern, of) => {
            for value in of.node.value(document).elements() {
                if is_in(pattern, value)? {
                    return Ok(Some(true));
                }
            }
            false
        }
        BoundFilter::Range { low, high, of, with_low, with_high } => any(&of.node, &|value| {
            let value = value.double();
            let above = if *with_low { value >= *low } else { value > *low };
            above && if *with_high { value <= *high } else { value < *high }
        }),
    }))
}

/// The answer of the first filter that says `decisive` or cannot be asked; the opposite if none does.
fn first(filters: &[BoundFilter], decisive: bool, document: &Document<'_>) -> Result<Option<bool>, Rejection> {
    for filter in filters {
        let said = answer(filter, document)?;
        if said != Some(!decisive) {
            return Ok(said);
        }
    }
    Ok(Some(!decisive))
}

fn is_in(pattern: &Pattern, value: &Datum) -> Result<bool, Rejection> {
    let most = limits::PATTERN_STEPS;
    let found = pattern.is_in(&matched_text(value), &mut most.clone());
    let message = || format!("A pattern of a filter takes more than {most} steps over one value");
    found.ok_or_else(|| Rejection::new(Code::BadRequest, message()))
}
