//! The answer of a request as markup (query-api §8), of the same groups and hits as its other form.
use brooklet_document::Format;
use brooklet_document::json::encode_base64;
use brooklet_query::grouping::GroupValue;

use super::continuation::{ListPath, Offsets};
use super::datum::Datum;
use super::groups::HeldHit;
use super::page::window;
use super::result::{Parts, Writing, name, output};
use crate::markup::{Markup, double_text};

impl Writing<'_> {
    /// Writes it. `sources` are the names of the clusters hits are of, by schema.
    pub(crate) fn write_markup(&self, sources: &[&str], out: &mut Markup) {
        out.begin("group", &[("relevance", "1.0")]);
        out.begin("id", &[("type", "root")]);
        out.end();
        out.element("continuation", &[("id", "this")], &self.planned.offsets.this(self.number, self.seal));
        Walker { of: self, sources, path: Vec::new() }.contents(0, 0, out);
        out.end();
    }
}

/// On the way through what is shown.
struct Walker<'a> {
    of: &'a Writing<'a>,
    sources: &'a [&'a str],
    /// To the list or group that is written.
    path: ListPath,
}

impl Walker<'_> {
    /// The outputs and lists of a group.
    fn contents(&mut self, table: usize, group: u32, out: &mut Markup) {
        let groups = self.of.groups;
        let (template, of) = (&groups.templates[table], &groups.tables[table]);
        for (label, total) in &template.shown {
            let what = &template.totals[*total].what;
            out.element(
                "output",
                &[("label", label)],
                &output_text(&of.totals[*total].result(group as usize, what), what),
            );
        }
        for list in 0..template.hits.len() {
            if !of.hits[list][group as usize].hits.is_empty() {
                self.path.push(list as u32);
                self.hits(table, list, group, out);
                self.path.pop();
            }
        }
        for list in 0..template.lists.len() {
            self.path.push((template.hits.len() + list) as u32);
            self.groups(table, list, group, out);
            self.path.pop();
        }
    }

    fn hits(&mut self, table: usize, list: usize, group: u32, out: &mut Markup) {
        let groups = self.of.groups;
        let hits = &groups.tables[table].hits[list][group as usize].hits;
        let list = &groups.templates[table].hits[list];
        let shown = window(hits.len(), list.max, self.of.planned.offsets.start(&self.path));
        out.begin("hitlist", &[("label", &list.label)]);
        self.continuations(list.max, (shown.start, hits.len()), out);
        hits[shown].iter().for_each(|hit| self.hit(hit, out));
        out.end();
    }

    fn groups(&mut self, table: usize, list_at: usize, group: u32, out: &mut Markup) {
        let list = &self.of.groups.templates[table].lists[list_at];
        let (Some(label), Some(shown)) = (&list.label, self.of.page.list(list.table, group)) else { return };
        out.begin("grouplist", &[("label", label)]);
        self.continuations(list.max, (shown.offset, shown.total), out);
        let length = shown.elements.len();
        for (at, group) in shown.elements.iter().enumerate() {
            let relevance = self.of.relevance((table, list_at), *group, (at, length));
            self.path.push((shown.offset + at) as u32);
            self.group(list.table, *group, relevance, out);
            self.path.pop();
        }
        out.end();
    }

    fn group(&mut self, table: usize, group: u32, relevance: f64, out: &mut Markup) {
        out.begin("group", &[("relevance", &double_text(relevance))]);
        let mut text = String::new();
        let parts = name(&self.of.groups.tables[table].keys[group as usize], &mut text);
        let kind = text.split(':').nth(1).unwrap_or("null").to_owned();
        match parts {
            Parts::None => {
                out.begin("id", &[("type", &kind)]);
                out.end();
            }
            Parts::Value(from) => out.element("id", &[("type", &kind)], &text[from..]),
            Parts::Limits(from, to) => {
                out.begin("id", &[("type", &kind)]);
                out.element("from", &[], &text[from..to - 1]);
                out.element("to", &[], &text[to..]);
                out.end();
            }
        }
        self.contents(table, group, out);
        out.end();
    }

    fn hit(&self, hit: &HeldHit, out: &mut Markup) {
        let relevancy = double_text(hit.score);
        out.begin("hit", &[("relevancy", &relevancy), ("source", self.sources[hit.schema as usize])]);
        out.element("field", &[("name", "relevancy")], &relevancy);
        if let Some(Some(fields)) = &hit.fields {
            out.put(fields);
        }
        out.end();
    }

    /// The continuations before and after the window of a list.
    fn continuations(&self, max: Option<u32>, (offset, total): (usize, usize), out: &mut Markup) {
        let Some(max) = max.map(|max| max as usize) else { return };
        let next = (offset + max < total).then_some(("next", offset + max));
        let before = (offset > 0).then_some(("prev", offset.saturating_sub(max)));
        for (name, offset) in next.into_iter().chain(before) {
            out.element(
                "continuation",
                &[("id", name)],
                &Offsets::moved_page(&self.path, offset, self.of.number, self.of.seal),
            );
        }
    }
}

/// A value of a group as text; a list of several in JSON.
fn output_text(value: &Datum, what: &GroupValue) -> String {
    match value {
        Datum::Nothing => String::new(),
        Datum::Bool(flag) => flag.to_string(),
        Datum::Long(number) => number.to_string(),
        Datum::Double(number) => double_text(*number),
        Datum::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Datum::Raw(bytes) => encode_base64(bytes),
        Datum::Several(_) => {
            let json = Format::Json.write_with(|json| output(value, what, json));
            String::from_utf8_lossy(&json).into_owned()
        }
    }
}
