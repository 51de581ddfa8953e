//! What is shown of an answer: its lists sorted, as far as they are shown, and cut.
use std::cmp::Ordering;
use std::collections::BTreeMap;

use brooklet_kernel::score_key;
use brooklet_query::grouping::Order;
use brooklet_task::Rejection;

use super::bind::bind_order;
use super::continuation::ListPath;
use super::datum::Datum;
use super::groups::{Groups, Table};
use super::inputs::Inputs;
use super::planned::PlannedGrouping;
use super::program::{Document, Node};
use super::spec::Type;
use super::template::{ListTemplate, Template};
use super::zone::Clock;

/// What is shown of the lists of groups: for each list of each shown group its groups in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page {
    /// By table of the list and group around it.
    lists: BTreeMap<(usize, u32), Shown>,
}

/// A window of a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    pub(crate) elements: Vec<u32>,
    pub(crate) offset: usize,
    pub(crate) total: usize,
}

impl Page {
    /// Sorts the lists that are shown, and cuts them.
    ///
    /// # Errors
    /// If an order cannot be evaluated.
    pub(crate) fn new(planned: &PlannedGrouping, groups: &Groups) -> Result<Page, Rejection> {
        let mut lists: Vec<Option<Listed<'_>>> = groups.tables.iter().map(|_| None).collect();
        for list in groups.templates.iter().flat_map(|template| &template.lists) {
            if list.label.is_some() {
                lists[list.table] = Some(Listed::new(groups, list, planned.clock)?);
            }
        }
        let mut page = Page::default();
        page.add(planned, groups, &lists, (0, 0), &mut Vec::new());
        Ok(page)
    }

    fn add(
        &mut self,
        planned: &PlannedGrouping,
        groups: &Groups,
        lists: &[Option<Listed<'_>>],
        (table, group): (usize, u32),
        path: &mut ListPath,
    ) {
        let template = &groups.templates[table];
        for (index, list) in template.lists.iter().enumerate() {
            let Some(listed) = &lists[list.table] else { continue };
            path.push((template.hits.len() + index) as u32);
            if let Some(shown) = listed.page_of(group, list.max, planned.offsets.start(path)) {
                for (at, group) in shown.elements.iter().enumerate() {
                    path.push((shown.offset + at) as u32);
                    self.add(planned, groups, lists, (list.table, *group), path);
                    path.pop();
                }
                self.lists.insert((list.table, group), shown);
            }
            path.pop();
        }
    }

    /// What is shown of a list of a group.
    pub(crate) fn list(&self, table: usize, group: u32) -> Option<&Shown> {
        self.lists.get(&(table, group))
    }

    /// Calls `each` with every group that is shown, the root first, and the path to it.
    pub(crate) fn walk(&self, groups: &Groups, each: &mut dyn FnMut(usize, u32, &ListPath)) {
        self.walk_from(groups, (0, 0), &mut Vec::new(), each);
    }

    fn walk_from(
        &self,
        groups: &Groups,
        (table, group): (usize, u32),
        path: &mut ListPath,
        each: &mut dyn FnMut(usize, u32, &ListPath),
    ) {
        each(table, group, path);
        let template = &groups.templates[table];
        for (index, list) in template.lists.iter().enumerate() {
            let Some(shown) = self.list(list.table, group) else { continue };
            for (at, inner) in shown.elements.iter().enumerate() {
                path.extend([(template.hits.len() + index) as u32, (shown.offset + at) as u32]);
                self.walk_from(groups, (list.table, *inner), path, each);
                path.truncate(path.len() - 2);
            }
        }
    }
}

/// The groups of a table with what orders them.
struct Listed<'a> {
    of: &'a Table,
    orders: Vec<OrderBy>,
    /// All groups, those in one group together, and where those of each end.
    groups: Vec<u32>,
    ends: Vec<u32>,
}

/// What groups are ordered by, for each of them.
enum OrderBy {
    /// Ascending.
    Longs(Vec<i64>),
    /// Descending if set.
    Values(Vec<Datum>, bool),
}

impl<'a> Listed<'a> {
    fn new(groups: &'a Groups, list: &ListTemplate, clock: Clock) -> Result<Listed<'a>, Rejection> {
        let (template, of) = (&groups.templates[list.table], &groups.tables[list.table]);
        let orders =
            list.order.iter().map(|order| OrderBy::new(template, of, order, clock)).collect::<Result<_, _>>()?;
        let around = groups.parent_table(list.table).map_or(1, |above| groups.tables[above].keys.len());
        let mut ends = vec![0u32; around];
        of.parents.iter().for_each(|parent| ends[*parent as usize] += 1);
        let mut end = 0;
        for count in &mut ends {
            end += *count;
            *count = end;
        }
        let mut next = ends.clone();
        let mut sorted = vec![0; of.keys.len()];
        for (group, parent) in of.parents.iter().enumerate().rev() {
            next[*parent as usize] -= 1;
            sorted[next[*parent as usize] as usize] = group as u32;
        }
        Ok(Listed { of, orders, groups: sorted, ends })
    }

    /// The window of the list in a group, if that has any groups.
    fn page_of(&self, group: u32, max: Option<u32>, offset: usize) -> Option<Shown> {
        let group = group as usize;
        let start = if group == 0 { 0 } else { self.ends[group - 1] };
        let all = &self.groups[start as usize..self.ends[group] as usize];
        if all.is_empty() {
            return None;
        }
        let window = window(all.len(), max, offset);
        // What they are ordered by first, if that is a whole number, stands beside them.
        let first = |group: u32| match self.orders.first() {
            Some(OrderBy::Longs(values)) => values[group as usize],
            _ => 0,
        };
        let mut elements: Vec<(i64, u32)> = all.iter().map(|group| (first(*group), *group)).collect();
        let compare = |a: &(i64, u32), b: &(i64, u32)| a.0.cmp(&b.0).then_with(|| self.compare(a.1, b.1));
        // Those after the window need no order.
        if window.end < elements.len() && window.end > 0 {
            elements.select_nth_unstable_by(window.end - 1, compare);
        }
        elements.truncate(window.end);
        elements.sort_unstable_by(compare);
        let elements = elements.drain(window.start..).map(|(_, group)| group).collect();
        Some(Shown { elements, offset: window.start, total: all.len() })
    }

    /// The order of two groups: no two are equal, as they have different ids.
    fn compare(&self, a: u32, b: u32) -> Ordering {
        let (a, b) = (a as usize, b as usize);
        for order in &self.orders {
            let order = match order {
                OrderBy::Longs(values) => values[a].cmp(&values[b]),
                OrderBy::Values(values, false) => values[a].compare(&values[b]),
                OrderBy::Values(values, true) => values[b].compare(&values[a]),
            };
            if order.is_ne() {
                return order;
            }
        }
        let ranks = score_key(self.of.ranks[b]).cmp(&score_key(self.of.ranks[a]));
        ranks.then_with(|| self.of.keys[a].cmp(&self.of.keys[b]))
    }
}

impl OrderBy {
    fn new(template: &Template, of: &Table, order: &Order, clock: Clock) -> Result<OrderBy, Rejection> {
        let used = template.totals_of(&order.by);
        let results = |total: usize| -> Vec<Datum> {
            let what = &template.totals[total].what;
            (0..of.keys.len()).map(|group| of.totals[total].result(group, what)).collect()
        };
        // What the order does not ask for is not made.
        let values: Vec<Vec<Datum>> = (0..template.totals.len())
            .map(|total| if used.contains(&total) { results(total) } else { Vec::new() })
            .collect();
        let types: Vec<Type> = values.iter().map(|values| type_of(values)).collect();
        let program = bind_order(template, &types, &order.by, clock.now)?;
        if let Node::Input(total) = program.node
            && let Some(mut longs) = of.totals[total].longs()
        {
            if order.descending {
                // That turns the order of all whole numbers around.
                longs.iter_mut().for_each(|value| *value = !*value);
            }
            return Ok(OrderBy::Longs(longs));
        }
        let inputs = Inputs::of_values(values, Vec::new());
        let of_group = |at: usize| {
            let document = Document { inputs: &inputs, at, score: 0.0, zone: clock.zone, selection: None };
            program.node.value(&document)
        };
        Ok(OrderBy::Values((0..of.keys.len()).map(of_group).collect(), order.descending))
    }
}

/// The type that holds all values.
fn type_of(values: &[Datum]) -> Type {
    let of = |value: &Datum| match value {
        Datum::Double(_) => Type::Double,
        Datum::Text(_) => Type::Text,
        Datum::Raw(_) => Type::Raw,
        Datum::Several(_) => Type::Double,
        _ => Type::Long,
    };
    let types = || values.iter().map(of);
    types().find(|of| *of != Type::Long).unwrap_or(Type::Long)
}

/// Where a list begins and ends that has so many elements.
pub(crate) fn window(length: usize, max: Option<u32>, offset: usize) -> std::ops::Range<usize> {
    let start = offset.min(length);
    start..max.map_or(length, |max| (start + max as usize).min(length))
}
