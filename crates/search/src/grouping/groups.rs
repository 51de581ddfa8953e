//! The groups of a request while documents are added to them, and those of several parts merged.
use std::rc::Rc;

use brooklet_kernel::score_key;
use brooklet_query::grouping::What;
use brooklet_task::{Code, Rejection, limits};
use rustc_hash::FxHashMap;

use super::datum::Key;
use super::firsts::First;
use super::template::Template;
use super::total::State;

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
    /// For each total the state of every group.
    pub(crate) totals: Vec<Vec<State>>,
    /// For each list of hits the hits of every group.
    pub(crate) hits: Vec<Vec<Held>>,
    index: FxHashMap<(u32, Key), u32>,
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
            table.totals = vec![Vec::new(); template.totals.len()];
            table.hits = vec![Vec::new(); template.hits.len()];
        }
        groups.push(0, 0, Key::Null);
        groups
    }

    /// The group of this id in a group of the table before, made if there is none.
    pub(crate) fn group(&mut self, table: usize, parent: u32, key: &Key) -> Result<u32, Rejection> {
        let of = &mut self.tables[table];
        let entry = (parent, key.clone());
        if let Some(group) = of.index.get(&entry) {
            return Ok(*group);
        }
        let group = of.keys.len() as u32;
        of.index.insert(entry, group);
        self.push(table, parent, key.clone());
        self.check()?;
        Ok(group)
    }

    fn push(&mut self, table: usize, parent: u32, key: Key) {
        let (of, template) = (&mut self.tables[table], &self.templates[table]);
        self.bytes += GROUP_BYTES + 2 * key.heap_bytes() + 64 * template.totals.len() + 32 * template.hits.len();
        of.parents.push(parent);
        of.keys.push(key);
        of.ranks.push(f64::NEG_INFINITY);
        of.totals.iter_mut().zip(&template.totals).for_each(|(states, total)| states.push(State::new(&total.what)));
        of.hits.iter_mut().for_each(|hits| hits.push(Held::default()));
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

    /// Adds the groups of another part.
    pub(crate) fn merge(&mut self, other: &Groups) -> Result<(), Rejection> {
        if self.templates != other.templates {
            return Err(Rejection::corrupt("groups of another grouping"));
        }
        let mut places: Vec<Vec<u32>> = vec![Vec::new(); self.tables.len()];
        for table in 0..other.tables.len() {
            let above = self.parent_table(table);
            for group in 0..other.tables[table].keys.len() {
                let of = &other.tables[table];
                let to = match above {
                    None => 0,
                    Some(above) => {
                        let parent = places[above][of.parents[group] as usize];
                        self.group(table, parent, &of.keys[group])?
                    }
                };
                places[table].push(to);
                self.merge_group(table, to, of, group)?;
            }
        }
        self.firsts.extend_from_slice(&other.firsts);
        self.take(other.firsts.iter().map(First::bytes).sum())?;
        let before: usize = self.firsts.iter().map(First::bytes).sum();
        self.keep_firsts();
        self.bytes -= before - self.firsts.iter().map(First::bytes).sum::<usize>();
        Ok(())
    }

    /// Adds a document that may be among the first.
    pub(super) fn add_first(&mut self, first: First) -> Result<(), Rejection> {
        self.take(first.bytes())?;
        self.firsts.push(first);
        Ok(())
    }

    fn merge_group(&mut self, table: usize, to: u32, other: &Table, group: usize) -> Result<(), Rejection> {
        let of = &mut self.tables[table];
        let to = to as usize;
        of.ranks[to] = of.ranks[to].max(other.ranks[group]);
        let mut more = 0;
        for (mine, theirs) in of.totals.iter_mut().zip(&other.totals) {
            mine[to].merge(&theirs[group])?;
            more += if let State::Values(values) = &theirs[group] { 8 * values.len() } else { 0 };
        }
        for (mine, theirs) in of.hits.iter_mut().zip(&other.hits) {
            mine[to].hits.extend_from_slice(&theirs[group].hits);
            let fields = |hit: &HeldHit| hit.fields.iter().flatten().map(|fields| fields.len()).sum::<usize>();
            more += theirs[group].hits.iter().map(|hit| size_of::<HeldHit>() + fields(hit)).sum::<usize>();
        }
        self.take(more)
    }

    /// The table of the groups that groups of this one are in.
    pub(crate) fn parent_table(&self, table: usize) -> Option<usize> {
        self.templates.iter().position(|template| template.lists.iter().any(|list| list.table == table))
    }

    /// Sets the counts of groups, when there are no more.
    pub(crate) fn count_groups(&mut self) {
        for table in 0..self.tables.len() {
            for total in 0..self.templates[table].totals.len() {
                let What::CountGroups(list) = self.templates[table].totals[total].what else { continue };
                let of = self.templates[table].lists[list].table;
                let mut counts = vec![0u64; self.tables[table].keys.len()];
                self.tables[of].parents.iter().for_each(|parent| counts[*parent as usize] += 1);
                let states = &mut self.tables[table].totals[total];
                states.iter_mut().zip(counts).for_each(|(state, count)| *state = State::Count(count));
            }
        }
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
        last.sort_by_key(|hit| (std::cmp::Reverse(score_key(hit.score)), hit.ordinal));
        self.hits.truncate(self.finished + max);
        // What comes is of greater ordinals; the order of those that are kept is made anew by the next cut.
    }
}
