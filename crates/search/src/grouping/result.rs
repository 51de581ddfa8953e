//! The answer of a request: its lists sorted, cut to what is shown, and written as the tree that goes over the wire.
use std::cmp::Ordering;
use std::collections::BTreeMap;

use brooklet_document::json::{encode_base64, print_double};
use brooklet_kernel::score_key;
use brooklet_query::grouping::What;
use brooklet_task::Rejection;

use super::PlannedGrouping;
use super::bind::bind_order;
use super::continuation::{ListPath, Offsets, Seal};
use super::datum::{Datum, End, Key};
use super::groups::{Groups, HeldHit};
use super::inputs::Inputs;
use super::program::{Document, Type};
use super::template::ListTemplate;
use super::zone::Clock;
use crate::render::Tree;

/// What is shown of the lists of groups: for each list of each shown group its groups in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page {
    /// By table of the list and group around it.
    lists: BTreeMap<(usize, u32), Shown>,
    /// The groups that are shown, the root first, each with the path to it.
    pub(crate) groups: Vec<(usize, u32, ListPath)>,
}

/// A window of a list.
#[derive(Clone, Debug, Default)]
struct Shown {
    elements: Vec<u32>,
    offset: usize,
    total: usize,
}

impl Page {
    /// Sorts the lists and cuts out what is shown.
    ///
    /// # Errors
    /// If an order cannot be evaluated.
    pub(crate) fn new(planned: &PlannedGrouping, groups: &Groups) -> Result<Page, Rejection> {
        let mut sorted = Vec::with_capacity(groups.tables.len());
        for table in 0..groups.tables.len() {
            sorted.push(sorted_groups(groups, table, planned.clock)?);
        }
        let mut page = Page::default();
        page.add(planned, groups, &sorted, (0, 0, Vec::new()));
        Ok(page)
    }

    fn add(
        &mut self,
        planned: &PlannedGrouping,
        groups: &Groups,
        sorted: &[BTreeMap<u32, Vec<u32>>],
        (table, group, path): (usize, u32, ListPath),
    ) {
        self.groups.push((table, group, path.clone()));
        let template = &groups.templates[table];
        for (index, list) in template.lists.iter().enumerate().filter(|(_, list)| list.label.is_some()) {
            let mut path = path.clone();
            path.push((template.hits.len() + index) as u32);
            let Some(all) = sorted[list.table].get(&group) else { continue };
            let offset = planned.offsets.of(&path).min(all.len());
            let end = list.max.map_or(all.len(), |max| (offset + max as usize).min(all.len()));
            let elements = all[offset..end].to_vec();
            for (at, group) in elements.iter().enumerate() {
                let mut path = path.clone();
                path.push((offset + at) as u32);
                self.add(planned, groups, sorted, (list.table, *group, path));
            }
            self.lists.insert((list.table, group), Shown { elements, offset, total: all.len() });
        }
    }
}

/// The groups of a table by the group they are in, each list in its order.
fn sorted_groups(groups: &Groups, table: usize, clock: Clock) -> Result<BTreeMap<u32, Vec<u32>>, Rejection> {
    let list = groups.templates.iter().flat_map(|template| &template.lists).find(|list| list.table == table);
    let Some(list) = list.filter(|list| list.label.is_some()) else { return Ok(BTreeMap::new()) };
    let keys = order_keys(groups, list, clock)?;
    let of = &groups.tables[table];
    let compare = |a: &u32, b: &u32| {
        let (a, b) = (*a as usize, *b as usize);
        let by_keys = keys.iter().map(|(values, descending)| {
            let order = values[a].compare(&values[b]);
            if *descending { order.reverse() } else { order }
        });
        by_keys
            .fold(Ordering::Equal, Ordering::then)
            .then_with(|| score_key(of.ranks[b]).cmp(&score_key(of.ranks[a])))
            .then_with(|| of.keys[a].cmp(&of.keys[b]))
    };
    let mut sorted: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    of.parents.iter().enumerate().for_each(|(group, parent)| sorted.entry(*parent).or_default().push(group as u32));
    sorted.values_mut().for_each(|list| list.sort_unstable_by(compare));
    Ok(sorted)
}

type OrderKeys = Vec<(Vec<Datum>, bool)>;

/// The keys of an order for all groups of a list.
fn order_keys(groups: &Groups, list: &ListTemplate, clock: Clock) -> Result<OrderKeys, Rejection> {
    if list.order.is_empty() {
        return Ok(Vec::new());
    }
    let (template, of) = (&groups.templates[list.table], &groups.tables[list.table]);
    let values: Vec<Vec<Datum>> = of
        .totals
        .iter()
        .zip(&template.totals)
        .map(|(states, total)| states.iter().map(|state| state.result(&total.what)).collect())
        .collect();
    let types: Vec<Type> = values.iter().map(|values| type_of(values)).collect();
    let inputs = Inputs::of_values(values, Vec::new());
    let keys = list.order.iter().map(|order| {
        let program = bind_order(template, &types, &order.by, clock.now)?;
        let of_group = |at: usize| {
            let document = Document { inputs: &inputs, at, score: 0.0, zone: clock.zone, selection: None };
            program.node.value(&document)
        };
        Ok(((0..of.keys.len()).map(of_group).collect(), order.descending))
    });
    keys.collect()
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

/// Where a hit list begins, and what is shown of it.
pub(crate) fn window(hits: usize, max: Option<u32>, offset: usize) -> std::ops::Range<usize> {
    let start = offset.min(hits);
    start..max.map_or(hits, |max| (start + max as usize).min(hits))
}

/// Sorts the hits of a list, once their ids are known, and leaves those that are needed to show a window.
pub(crate) fn settle_hits(hits: &mut Vec<HeldHit>, kept: Option<usize>) {
    hits.sort_by(|a, b| score_key(b.score).cmp(&score_key(a.score)).then_with(|| a.id.cmp(&b.id)));
    hits.truncate(kept.unwrap_or(usize::MAX));
}

/// Writes the answers of a request.
pub(crate) struct Writing<'a> {
    pub(crate) planned: &'a PlannedGrouping,
    pub(crate) groups: &'a Groups,
    pub(crate) page: &'a Page,
    pub(crate) seal: &'a Seal,
    /// Names of the clusters hits are of, by schema.
    pub(crate) sources: &'a [String],
}

impl Writing<'_> {
    /// The root of the answer of the request with this number.
    pub(crate) fn root(&self, number: usize) -> Tree {
        let this = self.planned.offsets.this(number, self.seal);
        let mut members = vec![
            ("id", Tree::Text(format!("group:root:{number}"))),
            ("relevance", Tree::Double(1.0)),
            ("continuation", Tree::object([("this", Tree::Text(this))])),
        ];
        members.extend(self.contents(number, 0, 0, &[]));
        Tree::object(members)
    }

    /// The fields and lists of a group.
    fn contents(&self, number: usize, table: usize, group: u32, path: &[u32]) -> Vec<(&'static str, Tree)> {
        let template = &self.groups.templates[table];
        let mut children = Vec::new();
        for (index, list) in template.hits.iter().enumerate() {
            let mut path = path.to_vec();
            path.push(index as u32);
            let hits = &self.groups.tables[table].hits[index][group as usize].hits;
            if hits.is_empty() {
                continue;
            }
            let shown = window(hits.len(), list.max, self.planned.offsets.of(&path));
            let (offset, total) = (shown.start, hits.len());
            let written = hits[shown].iter().map(|hit| self.hit(hit)).collect();
            let turn = self.turn(number, &path, list.max, offset, total);
            children.push(list_of("hitlist", &list.label, turn, written));
        }
        for (index, list) in template.lists.iter().enumerate() {
            let (Some(label), Some(shown)) = (&list.label, self.page.lists.get(&(list.table, group))) else { continue };
            let mut path = path.to_vec();
            path.push((template.hits.len() + index) as u32);
            let written = shown.elements.iter().enumerate().map(|(at, group)| {
                let mut path = path.clone();
                path.push((shown.offset + at) as u32);
                let relevance = match list.order.is_empty() {
                    true => self.groups.tables[list.table].ranks[*group as usize],
                    false => (shown.elements.len() - at) as f64 / shown.elements.len() as f64,
                };
                self.group(number, list.table, *group, relevance, &path)
            });
            let written = written.collect();
            let turn = self.turn(number, &path, list.max, shown.offset, shown.total);
            children.push(list_of("grouplist", label, turn, written));
        }
        let mut members = Vec::new();
        if !template.shown.is_empty() {
            let fields = template.shown.iter().map(|(label, total)| {
                let state = &self.groups.tables[table].totals[*total][group as usize];
                (label.clone(), output(&state.result(&template.totals[*total].what), &template.totals[*total].what))
            });
            members.push(("fields", Tree::named(fields)));
        }
        if !children.is_empty() {
            members.push(("children", Tree::List(children)));
        }
        members
    }

    fn group(&self, number: usize, table: usize, group: u32, relevance: f64, path: &[u32]) -> Tree {
        let key = &self.groups.tables[table].keys[group as usize];
        let named = name_of(key);
        let mut members =
            vec![("id", Tree::Text(format!("group:{}", named.id))), ("relevance", Tree::Double(relevance))];
        members.extend(named.shown);
        members.extend(self.contents(number, table, group, path));
        Tree::object(members)
    }

    fn hit(&self, hit: &HeldHit) -> Tree {
        let mut members = vec![
            ("id", Tree::from(hit.id.as_deref().unwrap_or_default())),
            ("relevance", Tree::Double(hit.score)),
            ("source", Tree::from(self.sources[hit.schema as usize].as_str())),
        ];
        if let Some(Some(fields)) = &hit.fields {
            members.push(("fields", Tree::Written(fields.to_vec())));
        }
        Tree::object(members)
    }

    /// The continuations before and after a window.
    fn turn(&self, number: usize, path: &[u32], max: Option<u32>, offset: usize, total: usize) -> Option<Tree> {
        let max = max? as usize;
        let moved = |offset: usize| Tree::Text(Offsets::moved(path, offset, number, self.seal));
        let mut members = Vec::new();
        if offset + max < total {
            members.push(("next", moved(offset + max)));
        }
        if offset > 0 {
            members.push(("prev", moved(offset.saturating_sub(max))));
        }
        (!members.is_empty()).then(|| Tree::object(members))
    }
}

fn list_of(kind: &str, label: &str, turn: Option<Tree>, children: Vec<Tree>) -> Tree {
    let mut members = vec![
        ("id", Tree::Text(format!("{kind}:{label}"))),
        ("relevance", Tree::Double(1.0)),
        ("label", Tree::from(label)),
    ];
    members.extend(turn.map(|turn| ("continuation", turn)));
    if !children.is_empty() {
        members.push(("children", Tree::List(children)));
    }
    Tree::object(members)
}

/// What is shown of the id of a group.
struct Named {
    id: String,
    shown: Option<(&'static str, Tree)>,
}

fn name_of(key: &Key) -> Named {
    let value =
        |kind: &str, text: String| Named { id: format!("{kind}:{text}"), shown: Some(("value", Tree::Text(text))) };
    let limits = |kind: &str, from: String, to: String| Named {
        id: format!("{kind}:{from}:{to}"),
        shown: Some(("limits", Tree::object([("from", Tree::Text(from)), ("to", Tree::Text(to))]))),
    };
    let double = |value: f64| {
        let mut out = String::new();
        print_double(value, &mut out);
        out
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match key {
        Key::Null => Named { id: "null".to_owned(), shown: None },
        Key::Bool(flag) => value("bool", flag.to_string()),
        Key::Long(number) => value("long", number.to_string()),
        Key::Double(number) => value("double", double(number.value())),
        Key::Text(bytes) => value("string", text(bytes)),
        Key::Raw(bytes) => value("raw", encode_base64(bytes)),
        Key::LongBucket(from, to) => limits("long_bucket", from.to_string(), to.to_string()),
        Key::DoubleBucket(from, to) => limits("double_bucket", double(from.value()), double(to.value())),
        Key::TextBucket(from, to) => limits("string_bucket", lower(from.as_deref(), &text), upper(to, &text)),
        Key::RawBucket(from, to) => {
            limits("raw_bucket", lower(from.as_deref(), &encode_base64), upper(to, &encode_base64))
        }
    }
}

fn lower(from: Option<&[u8]>, print: &dyn Fn(&[u8]) -> String) -> String {
    from.map_or_else(|| "-inf".to_owned(), print)
}

fn upper(to: &End<std::rc::Rc<[u8]>>, print: &dyn Fn(&[u8]) -> String) -> String {
    match to {
        End::At(to) => print(to),
        End::Infinite => "inf".to_owned(),
    }
}

/// A value of a group as it is shown.
fn output(value: &Datum, what: &What) -> Tree {
    match (value, what) {
        (Datum::Several(values), What::Quantiles(quantiles, _)) => Tree::List(
            quantiles
                .iter()
                .zip(values.iter())
                .filter(|(_, value)| !matches!(value, Datum::Nothing))
                .map(|(quantile, value)| {
                    Tree::object([("quantile", Tree::Double(*quantile)), ("value", output(value, &What::Count))])
                })
                .collect(),
        ),
        (Datum::Nothing, _) => Tree::Null,
        (Datum::Bool(flag), _) => Tree::Boolean(*flag),
        (Datum::Long(number), _) => Tree::Integer(*number),
        (Datum::Double(number), _) => Tree::Double(*number),
        (Datum::Text(bytes), _) => Tree::Text(String::from_utf8_lossy(bytes).into_owned()),
        (Datum::Raw(bytes), _) => Tree::Text(encode_base64(bytes)),
        (Datum::Several(values), _) => Tree::List(values.iter().map(|value| output(value, what)).collect()),
    }
}
