//! The groups of a request while documents are added to them, and those of several parts merged.
use std::rc::Rc;

use brooklet_kernel::{score_key, sort_by_key};
use brooklet_query::grouping::GroupValue;
use brooklet_task::{Code, Rejection, limits};

use super::datum::{Datum, Key};
use super::index::{Index, hash_of};
use super::template::Template;
use super::totals::Totals;

/// Bytes of a group beside what it adds up: its place in the tables and in the index.
const GROUP_BYTES: usize = 112;

/// All groups of a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    /// For each group the one it is in, in the table of the list.
    pub(crate) parents: Vec<u32>,
    pub(crate) keys: Vec<Key>,
    /// The greatest score of its documents.
    pub(crate) ranks: Vec<f64>,
    /// For each total what was added up in every group.
    pub(crate) totals: Vec<Totals>,
    /// For each list of hits the hits of every group.
    pub(crate) hits: Vec<Vec<Held>>,
    index: Index,
}

impl Table {
    /// The group of a text in a group of the table before, if there is one.
    fn of_text(&self, hash: u32, parent: u32, text: &[u8]) -> Option<u32> {
        self.index.find(hash, |group| {
            let (of_parent, key) = (self.parents[group as usize], &self.keys[group as usize]);
            of_parent == parent && matches!(key, Key::Text(of_key) if **of_key == *text)
        })
    }
}

/// The hits of one list that can be shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held {
    pub(crate) hits: Vec<HeldHit>,
    /// How many of them are of views that were finished: those compete by id later.
    finished: usize,
}

/// A hit of a group.
#[derive(Clone, Debug)]
pub(crate) struct HeldHit {
    pub(crate) schema: u32,
    pub(crate) view: u32,
    pub(crate) ordinal: u32,
    pub(crate) score: f64,
    /// Once it was read, or comes from another part.
    pub(crate) id: Option<Rc<str>>,
    /// What it shows, once it was read: nothing inside if it shows no fields.
    pub(crate) fields: Option<Option<Rc<[u8]>>>,
}

/// The groups of a request.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    pub(crate) templates: Rc<[Template]>,
    pub(crate) tables: Vec<Table>,
    /// Of a part: the documents that may be among the first.
    pub(super) firsts: Vec<First>,
    /// Bytes they take, about.
    bytes: usize,
}

impl Groups {
    /// Only the root.
    pub(crate) fn new(templates: Rc<[Template]>) -> Groups {
        let tables = vec![Table::default(); templates.len()];
        let mut groups = Groups { tables, templates, firsts: Vec::new(), bytes: 0 };
        for (table, template) in groups.tables.iter_mut().zip(groups.templates.iter()) {
            table.totals = template.totals.iter().map(|total| Totals::new(&total.what)).collect();
            table.hits = vec![Vec::new(); template.hits.len()];
        }
        groups.push(0, 0, Key::Null);
        groups
    }

    /// The group of this id in a group of the table before, made if there is none.
    pub(crate) fn group(&mut self, table: usize, parent: u32, key: &Key) -> Result<u32, Rejection> {
        let hash = key_hash(parent, key);
        let of = &mut self.tables[table];
        let is_it = |group: u32| of.parents[group as usize] == parent && of.keys[group as usize] == *key;
        if let Some(group) = of.index.find(hash, is_it) {
            return Ok(group);
        }
        self.add(table, hash, parent, key.clone())
    }

    /// The group of a text in a group of the table before, made if there is none.
    pub(super) fn group_of_text(&mut self, table: usize, parent: u32, text: &[u8]) -> Result<u32, Rejection> {
        let hash = text_hash(parent, text);
        match self.tables[table].of_text(hash, parent, text) {
            Some(group) => Ok(group),
            None => self.add(table, hash, parent, Key::Text(Rc::from(text))),
        }
    }

    fn add(&mut self, table: usize, hash: u32, parent: u32, key: Key) -> Result<u32, Rejection> {
        let of = &mut self.tables[table];
        let group = of.keys.len() as u32;
        of.index.insert(hash, group);
        self.push(table, parent, key);
        self.check()?;
        Ok(group)
    }

    fn push(&mut self, table: usize, parent: u32, key: Key) {
        let (of, template) = (&mut self.tables[table], &self.templates[table]);
        self.bytes += GROUP_BYTES + key.heap_bytes() + 64 * template.totals.len() + 32 * template.hits.len();
        of.parents.push(parent);
        of.keys.push(key);
        of.ranks.push(f64::NEG_INFINITY);
        of.totals.iter_mut().for_each(Totals::push);
        of.hits.iter_mut().for_each(|hits| hits.push(Held::default()));
    }

    /// Leaves the first documents of each schema when those of another part were added.
    pub(super) fn trim_firsts(&mut self) {
        let bytes = |firsts: &[First]| firsts.iter().map(First::bytes).sum::<usize>();
        let before = bytes(&self.firsts);
        self.keep_firsts();
        self.bytes -= before - bytes(&self.firsts);
    }

    /// Notes bytes that are taken.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), Rejection> {
        self.bytes += bytes;
        if bytes > 0 { self.check() } else { Ok(()) }
    }

    fn check(&self) -> Result<(), Rejection> {
        if self.bytes <= limits::GROUPS_BYTES {
            return Ok(());
        }
        let groups: usize = self.tables.iter().map(|table| table.keys.len()).sum();
        let message = format!(
            "The grouping takes more than {} MiB of memory ({groups} groups so far). \
             Group by something that has fewer values, or narrow the query down.",
            limits::GROUPS_BYTES >> 20
        );
        Err(Rejection::new(Code::BadRequest, message))
    }

    /// Adds a hit to a list of which `max` are shown. Hits of a view come together, in the order of their ids.
    pub(crate) fn add_hit(
        &mut self,
        table: usize,
        list: usize,
        group: u32,
        max: Option<usize>,
        hit: HeldHit,
    ) -> Result<(), Rejection> {
        let held = &mut self.tables[table].hits[list][group as usize];
        let before = held.hits.len();
        held.push(hit, max);
        let more = held.hits.len().saturating_sub(before);
        self.take(more * size_of::<HeldHit>())
    }

    /// Adds a document that may be among the first.
    pub(super) fn add_first(&mut self, first: First) -> Result<(), Rejection> {
        self.take(first.bytes())?;
        self.firsts.push(first);
        Ok(())
    }

    /// The table of the groups that groups of this one are in.
    pub(crate) fn parent_table(&self, table: usize) -> Option<usize> {
        self.templates.iter().position(|template| template.lists.iter().any(|list| list.table == table))
    }

    /// Settles totals to which nothing was added, when nothing will be.
    pub(crate) fn settle(&mut self) {
        self.tables.iter_mut().flat_map(|table| &mut table.totals).for_each(Totals::settle);
    }

    /// Sets the counts of groups, when there are no more.
    pub(crate) fn count_groups(&mut self) {
        for table in 0..self.tables.len() {
            for total in 0..self.templates[table].totals.len() {
                let GroupValue::CountGroups(list) = self.templates[table].totals[total].what else { continue };
                let of = self.templates[table].lists[list].table;
                let mut counts = vec![0u64; self.tables[table].keys.len()];
                self.tables[of].parents.iter().for_each(|parent| counts[*parent as usize] += 1);
                self.tables[table].totals[total].set_counts(counts);
            }
        }
    }
}

fn key_hash(parent: u32, key: &Key) -> u32 {
    match key {
        Key::Text(text) => text_hash(parent, text),
        key => hash_of(&(parent, key)),
    }
}

fn text_hash(parent: u32, text: &[u8]) -> u32 {
    hash_of(&(parent, text))
}

impl HeldHit {
    /// Bytes it takes, about.
    pub(super) fn bytes(&self) -> usize {
        size_of::<HeldHit>() + self.fields.iter().flatten().map(|fields| fields.len()).sum::<usize>()
    }
}

impl Held {
    fn push(&mut self, hit: HeldHit, max: Option<usize>) {
        let same = |last: &HeldHit| (last.schema, last.view) == (hit.schema, hit.view);
        if !self.hits.last().is_some_and(same) {
            self.cut(max);
            self.finished = self.hits.len();
        }
        self.hits.push(hit);
        if max.is_some_and(|max| self.hits.len() - self.finished > 2 * max + 16) {
            self.cut(max);
        }
    }

    /// Leaves the best hits of the last view; in it ids and ordinals have one order.
    fn cut(&mut self, max: Option<usize>) {
        let Some(max) = max.filter(|max| self.hits.len() - self.finished > *max) else { return };
        let last = &mut self.hits[self.finished..];
        sort_by_key(last, |hit| (std::cmp::Reverse(score_key(hit.score)), hit.ordinal));
        self.hits.truncate(self.finished + max);
        // What comes is of greater ordinals; the order of those that are kept is made anew by the next cut.
    }
}

/// A document that may be among the first.
#[derive(Clone, Debug)]
pub(crate) struct First {
    pub(crate) schema: u32,
    /// Where it was found; of no meaning elsewhere.
    pub(crate) place: (u32, u32),
    pub(crate) id: Rc<str>,
    pub(crate) score: f64,
    /// The inputs of the request, in order.
    pub(crate) values: Vec<Datum>,
    /// What it shows by each class of [`classes`], once that was read.
    pub(crate) fields: Vec<Option<Rc<[u8]>>>,
}

impl First {
    /// Bytes it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        let values: usize = self.values.iter().map(Datum::heap_bytes).sum();
        let fields: usize = self.fields.iter().flatten().map(|fields| fields.len()).sum();
        size_of::<First>() + self.id.len() + self.values.len() * size_of::<Datum>() + values + fields
    }
}
