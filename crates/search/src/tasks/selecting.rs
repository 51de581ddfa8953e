//! Which documents of a partition are searched: those that `streaming.selection` selects, and were last written in the period
//! that is asked for. What depends on the group and the type alone is decided once for all of them; anything else is
//! evaluated on every document, so the answer is exact whatever is asked.
use std::rc::Rc;

use brooklet_document::selection::{Selection, Subject};
use brooklet_document::{DocumentId, Location, shown_id};
use brooklet_kernel::Bitmap;
use brooklet_segment::{Gaps, Halt, read_document, read_id, read_time};

use crate::asked::period::Period;
use crate::resident::partition::View;
use crate::resident::reads::Reads;

/// Documents looked at before the deadline is.
const BATCH: usize = 256;

/// The views of one schema in one partition, being narrowed down to what is selected.
pub(crate) struct Selecting {
    selection: Option<Rc<Selection>>,
    period: Period,
    now: i64,
    /// Views that are narrowed down.
    done: Vec<View>,
    /// Views to be narrowed down, the next one last.
    waiting: Vec<View>,
    /// What is selected of the next view, as far as it was looked at.
    selected: Option<Bitmap>,
    next: usize,
}

impl Selecting {
    /// Begins with the views of documents of one type, in the partition of this key.
    pub(crate) fn new(
        selection: Option<&Rc<Selection>>,
        period: Period,
        key: &str,
        document_type: &str,
        views: Vec<View>,
        now: i64,
    ) -> Selecting {
        let mut selecting = Selecting {
            selection: selection.cloned(),
            period,
            now,
            done: Vec::new(),
            waiting: Vec::new(),
            selected: None,
            next: 0,
        };
        match selecting.of_all(key, document_type) {
            Some(true) if period.is_always() => selecting.done = views,
            Some(false) => {}
            _ => selecting.waiting = views.into_iter().rev().collect(),
        }
        selecting
    }

    /// Whether all documents of a type in a partition are selected, or none; nothing if each must be looked at.
    fn of_all(&self, key: &str, document_type: &str) -> Option<bool> {
        let Some(selection) = &self.selection else { return Some(true) };
        let types = selection.scope().types.as_ref();
        if types.is_some_and(|types| !types.contains(document_type)) {
            return Some(false);
        }
        if !selection.is_of_groups_and_types() {
            return None;
        }
        let location = match key.split_once(':')? {
            ("g", group) => Location::Group(group.to_owned()),
            ("n", number) => Location::Number(number.parse().ok()?),
            _ => Location::None,
        };
        // Its namespace and local part are not looked at.
        let id = DocumentId::new("any", document_type, &location, "any").ok()?;
        selection.selects(&Subject { id: &id, fields: &[], now: self.now }).ok()
    }

    /// Looks at some more documents. True when all were.
    pub(crate) fn step(&mut self, reads: &mut Reads) -> Result<bool, Halt> {
        let Some(view) = self.waiting.last() else { return Ok(true) };
        let batch: Vec<usize> = view.alive.ones().skip_while(|ordinal| *ordinal < self.next).take(BATCH).collect();
        let mut selected = self.selected.clone().unwrap_or_else(|| Bitmap::none(view.alive.len()));
        let mut gaps = Gaps::default();
        for ordinal in &batch {
            if gaps.note(self.selects(view, *ordinal as u32, reads))? == Some(true) {
                selected.set(*ordinal);
            }
        }
        gaps.check()?;
        reads.relax();
        if let [.., last] = batch[..] {
            (self.selected, self.next) = (Some(selected), last + 1);
            return Ok(false);
        }
        let (segment, selected) = (view.segment.clone(), self.selected.take());
        self.waiting.pop();
        self.next = 0;
        if let Some(selected) = selected.filter(|selected| selected.count() > 0) {
            self.done.push(View { segment, alive: Rc::new(selected) });
        }
        Ok(self.waiting.is_empty())
    }

    fn selects(&self, view: &View, ordinal: u32, reads: &mut Reads) -> Result<bool, Halt> {
        let header = &view.segment.header;
        let blocks = &mut reads.segment(&view.segment);
        if !self.period.is_always() && !self.period.includes(read_time(header, ordinal, blocks)?) {
            return Ok(false);
        }
        let Some(selection) = &self.selection else { return Ok(true) };
        let fields = selection.fields();
        let (id, fields) = if fields.is_empty() {
            (read_id(header, ordinal, blocks)?, Vec::new())
        } else {
            let document = read_document(header, ordinal, &|name| fields.contains(name), blocks)?;
            (document.id, document.fields)
        };
        let id = DocumentId::parse(&shown_id(&id))?;
        Ok(selection.selects(&Subject { id: &id, fields: &fields, now: self.now })?)
    }

    /// The views of what is selected.
    pub(crate) fn into_views(self) -> Vec<View> {
        self.done
    }
}
