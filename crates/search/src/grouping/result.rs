//! The answer of a request as it goes over the wire, written of the groups and hits that are shown.
use brooklet_document::json::{encode_base64, print_double};
use brooklet_document::{ValueWriter, shown_id};
use brooklet_kernel::{score_key, sort_by};
use brooklet_query::grouping::GroupValue;

use super::continuation::{ListPath, Offsets, Seal};
use super::datum::{Datum, End, Key};
use super::groups::{Groups, HeldHit};
use super::page::{Page, window};
use super::planned::PlannedGrouping;

/// Sorts the hits of a list, once their ids are known, and leaves those that are needed to show a window.
pub(crate) fn sort_hits(hits: &mut Vec<HeldHit>, kept: Option<usize>) {
    sort_by(hits, |a, b| score_key(b.score).cmp(&score_key(a.score)).then_with(|| a.id.cmp(&b.id)));
    hits.truncate(kept.unwrap_or(usize::MAX));
}

/// The answer of a request.
pub(crate) struct Writing<'a> {
    pub(crate) planned: &'a PlannedGrouping,
    pub(crate) groups: &'a Groups,
    pub(crate) page: Page,
    pub(crate) seal: &'a Seal,
    /// Number of the request.
    pub(crate) number: usize,
}

impl Writing<'_> {
    /// Writes it. `sources` are the names of the clusters hits are of, by schema.
    pub(crate) fn write(&self, sources: &[&str], out: &mut dyn ValueWriter) {
        out.begin_object();
        out.key("id");
        out.string(&format!("group:root:{}", self.number));
        out.key("relevance");
        out.double(1.0);
        out.key("continuation");
        out.begin_object();
        out.key("this");
        out.string(&self.planned.offsets.this(self.number, self.seal));
        out.end_object();
        Walker { of: self, sources, path: Vec::new(), text: String::new() }.contents(0, 0, out);
        out.end_object();
    }

    /// The relevance of a group of a list: its own score, or where it stands if another order was asked for.
    pub(super) fn relevance(&self, (table, list): (usize, usize), group: u32, (at, length): (usize, usize)) -> f64 {
        let list = &self.groups.templates[table].lists[list];
        match list.order.is_empty() {
            true => self.groups.tables[list.table].ranks[group as usize],
            false => (length - at) as f64 / length as f64,
        }
    }
}

/// On the way through what is shown.
struct Walker<'a> {
    of: &'a Writing<'a>,
    sources: &'a [&'a str],
    /// To the list or group that is written.
    path: ListPath,
    /// The id that is written.
    text: String,
}

impl Walker<'_> {
    /// The fields and lists of a group.
    fn contents(&mut self, table: usize, group: u32, out: &mut dyn ValueWriter) {
        let Writing { groups, page, .. } = self.of;
        let (template, of) = (&groups.templates[table], &groups.tables[table]);
        if !template.shown.is_empty() {
            out.key("fields");
            out.begin_object();
            for (label, total) in &template.shown {
                out.key(label);
                let what = &template.totals[*total].what;
                output(&of.totals[*total].result(group as usize, what), what, out);
            }
            out.end_object();
        }
        let has_hits = |list: usize| !of.hits[list][group as usize].hits.is_empty();
        let shown = |list: usize| page.list(template.lists[list].table, group);
        if !(0..template.hits.len()).any(has_hits) && !(0..template.lists.len()).any(|list| shown(list).is_some()) {
            return;
        }
        out.key("children");
        out.begin_array();
        for list in (0..template.hits.len()).filter(|list| has_hits(*list)) {
            self.path.push(list as u32);
            self.hits(table, list, group, out);
            self.path.pop();
        }
        for list in 0..template.lists.len() {
            self.path.push((template.hits.len() + list) as u32);
            self.groups(table, list, group, out);
            self.path.pop();
        }
        out.end_array();
    }

    fn hits(&mut self, table: usize, list: usize, group: u32, out: &mut dyn ValueWriter) {
        let groups = self.of.groups;
        let hits = &groups.tables[table].hits[list][group as usize].hits;
        let list = &groups.templates[table].hits[list];
        let shown = window(hits.len(), list.max, self.of.planned.offsets.start(&self.path));
        self.begin_list("hitlist", &list.label, list.max, (shown.start, hits.len()), out);
        if !shown.is_empty() {
            out.key("children");
            out.begin_array();
            hits[shown].iter().for_each(|hit| self.hit(hit, out));
            out.end_array();
        }
        out.end_object();
    }

    fn groups(&mut self, table: usize, list_at: usize, group: u32, out: &mut dyn ValueWriter) {
        let list = &self.of.groups.templates[table].lists[list_at];
        let (Some(label), Some(shown)) = (&list.label, self.of.page.list(list.table, group)) else { return };
        self.begin_list("grouplist", label, list.max, (shown.offset, shown.total), out);
        if !shown.elements.is_empty() {
            out.key("children");
            out.begin_array();
            let length = shown.elements.len();
            for (at, group) in shown.elements.iter().enumerate() {
                let relevance = self.of.relevance((table, list_at), *group, (at, length));
                self.path.push((shown.offset + at) as u32);
                self.group(list.table, *group, relevance, out);
                self.path.pop();
            }
            out.end_array();
        }
        out.end_object();
    }

    fn group(&mut self, table: usize, group: u32, relevance: f64, out: &mut dyn ValueWriter) {
        out.begin_object();
        out.key("id");
        self.text.clear();
        let shown = name(&self.of.groups.tables[table].keys[group as usize], &mut self.text);
        out.string(&self.text);
        out.key("relevance");
        out.double(relevance);
        match shown {
            Parts::None => {}
            Parts::Value(from) => {
                out.key("value");
                out.string(&self.text[from..]);
            }
            Parts::Limits(from, to) => {
                out.key("limits");
                out.begin_object();
                out.key("from");
                out.string(&self.text[from..to - 1]);
                out.key("to");
                out.string(&self.text[to..]);
                out.end_object();
            }
        }
        self.contents(table, group, out);
        out.end_object();
    }

    fn hit(&self, hit: &HeldHit, out: &mut dyn ValueWriter) {
        out.begin_object();
        out.key("id");
        out.string(&shown_id(hit.id.as_deref().unwrap_or_default()));
        out.key("relevance");
        out.double(hit.score);
        out.key("source");
        out.string(self.sources[hit.schema as usize]);
        if let Some(Some(fields)) = &hit.fields {
            out.key("fields");
            out.fragment(fields);
        }
        out.end_object();
    }

    /// Begins a list with what is told of it, and the continuations before and after its window.
    fn begin_list(
        &self,
        kind: &str,
        label: &str,
        max: Option<u32>,
        (offset, total): (usize, usize),
        out: &mut dyn ValueWriter,
    ) {
        out.begin_object();
        out.key("id");
        out.string(&format!("{kind}:{label}"));
        out.key("relevance");
        out.double(1.0);
        out.key("label");
        out.string(label);
        let Some(max) = max.map(|max| max as usize) else { return };
        let next = (offset + max < total).then_some(("next", offset + max));
        let before = (offset > 0).then_some(("prev", offset.saturating_sub(max)));
        if next.is_none() && before.is_none() {
            return;
        }
        out.key("continuation");
        out.begin_object();
        for (key, offset) in next.into_iter().chain(before) {
            out.key(key);
            out.string(&Offsets::moved_page(&self.path, offset, self.of.number, self.of.seal));
        }
        out.end_object();
    }
}

/// Where in the id of a group stands what is shown beside it.
pub(super) enum Parts {
    None,
    /// From here on.
    Value(usize),
    /// From the first to before the second, and from there on.
    Limits(usize, usize),
}

/// Writes the id of a group.
pub(super) fn name(key: &Key, out: &mut String) -> Parts {
    use std::fmt::Write;
    out.push_str("group:");
    let kind = match key {
        Key::Null => {
            out.push_str("null");
            return Parts::None;
        }
        Key::Bool(_) => "bool:",
        Key::Long(_) => "long:",
        Key::Double(_) => "double:",
        Key::Text(_) => "string:",
        Key::Raw(_) => "raw:",
        Key::LongBucket(..) => "long_bucket:",
        Key::DoubleBucket(..) => "double_bucket:",
        Key::TextBucket(..) => "string_bucket:",
        Key::RawBucket(..) => "raw_bucket:",
    };
    out.push_str(kind);
    let from = out.len();
    let text = |bytes: &[u8], out: &mut String| out.push_str(&String::from_utf8_lossy(bytes));
    let raw = |bytes: &[u8], out: &mut String| out.push_str(&encode_base64(bytes));
    let mut ends = |write_from: &dyn Fn(&mut String), write_to: &dyn Fn(&mut String)| {
        write_from(out);
        out.push(':');
        let to = out.len();
        write_to(out);
        Parts::Limits(from, to)
    };
    match key {
        Key::LongBucket(from, to) => {
            let long = |number: i64, out: &mut String| {
                let _ = write!(out, "{number}");
            };
            return ends(&|out| long(*from, out), &|out| long(*to, out));
        }
        Key::DoubleBucket(from, to) => {
            return ends(&|out| print_double(from.value(), out), &|out| print_double(to.value(), out));
        }
        Key::TextBucket(from, to) => {
            return ends(&|out| lower(from.as_deref(), &text, out), &|out| upper(to, &text, out));
        }
        Key::RawBucket(from, to) => {
            return ends(&|out| lower(from.as_deref(), &raw, out), &|out| upper(to, &raw, out));
        }
        Key::Null => {}
        Key::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Key::Long(number) => {
            let _ = write!(out, "{number}");
        }
        Key::Double(number) => print_double(number.value(), out),
        Key::Text(bytes) => text(bytes, out),
        Key::Raw(bytes) => raw(bytes, out),
    }
    Parts::Value(from)
}

fn lower(from: Option<&[u8]>, print: &dyn Fn(&[u8], &mut String), out: &mut String) {
    match from {
        Some(from) => print(from, out),
        None => out.push_str("-inf"),
    }
}

fn upper(to: &End<std::rc::Rc<[u8]>>, print: &dyn Fn(&[u8], &mut String), out: &mut String) {
    match to {
        End::At(to) => print(to, out),
        End::Infinite => out.push_str("inf"),
    }
}

/// A value of a group as it is shown.
pub(super) fn output(value: &Datum, what: &GroupValue, out: &mut dyn ValueWriter) {
    match value {
        Datum::Nothing => out.null(),
        Datum::Bool(flag) => out.boolean(*flag),
        Datum::Long(number) => out.integer(*number),
        Datum::Double(number) => out.double(*number),
        Datum::Text(bytes) => out.string(&String::from_utf8_lossy(bytes)),
        Datum::Raw(bytes) => out.string(&encode_base64(bytes)),
        Datum::Several(values) => {
            out.begin_array();
            match what {
                GroupValue::Quantiles(quantiles, _) => {
                    let known = |(_, value): &(&f64, &Datum)| !matches!(value, Datum::Nothing);
                    for (quantile, value) in quantiles.iter().zip(values.iter()).filter(known) {
                        out.begin_object();
                        out.key("quantile");
                        out.double(*quantile);
                        out.key("value");
                        output(value, what, out);
                        out.end_object();
                    }
                }
                _ => values.iter().for_each(|value| output(value, what, out)),
            }
            out.end_array();
        }
    }
}
