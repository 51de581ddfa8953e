//! Visiting: a page of a partition's documents, in the order of their ids.
//!
//! The order is one that folding, compaction and a restart keep, so the id of the last document that was looked at says
//! where the next page begins, and a document nobody touches is seen exactly once however much is written meanwhile.
//! Which partitions a visit goes through, and how pages become an answer, is the host's affair.
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;
use std::sync::Arc;

use brooklet_document::json::{JsonWriter, Render, TensorFormat, write_fields};
use brooklet_document::selection::{Selection, Subject};
use brooklet_document::{Document, DocumentId, Progress, Shard, Value, shown_id};
use brooklet_schema::Schema;
use brooklet_segment::{
    Gaps, Halt, Operation, PartitionVersion, StoredOperation, ordinal_after, read_document, read_id, read_time,
};
use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Block, Code, Rejection, Task, Want};

use super::visited::{namespace_of, read_selection};
use crate::asked::field_set::{FieldChoice, FieldSet};
use crate::asked::period::Period;
use crate::deployed::{Deployed, DeployedSchema};
use crate::resident::loading::Loading;
use crate::resident::partition::View;
use crate::resident::reads::Reads;
use crate::resident::residency::Residency;

/// Documents looked at before the host is asked to look at its deadline.
const STEP_DOCUMENTS: usize = 64;

/// How the documents of a page are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageFormat {
    /// `{"id":…,"fields":{…}}`, with commas in between.
    Json,
    /// `{"put":…,"fields":{…}}`, a line each.
    JsonLines,
    /// The ids alone, as `text` each.
    Ids,
    /// What the tail would store of them, as `text` id and `bytes` operation each; removed documents too.
    Operations,
    /// No documents: the operations that stand in the tail.
    Tail,
}

/// What a visit asks of one partition (docs/abi.md, visit).
pub(super) struct Request {
    pub(super) after: String,
    types: Vec<String>,
    pub(super) namespace: String,
    /// Nothing: all are selected.
    selection: Option<Selection>,
    now_seconds: i64,
    pub(super) field_set: FieldSet,
    render: Render,
    pub(super) format: PageFormat,
    /// Each document stands behind its id, as `text` and `bytes`: for whoever puts pages of shards in one order.
    pub(super) is_named: bool,
    /// The only documents of the partition that are looked at.
    shard: Option<Shard>,
    pub(super) documents_max: u32,
    pub(super) bytes_max: usize,
    /// When documents were last written.
    pub(super) period: Period,
    /// Whether removed documents are shown too.
    includes_removes: bool,
}

impl Request {
    pub(super) fn read(reader: &mut Reader<'_>, deployed: &Deployed) -> Result<Request, Rejection> {
        let now_seconds = i64::try_from(reader.u64()?).unwrap_or(i64::MAX);
        let after = reader.text()?.to_owned();
        let mut types = Vec::new();
        for _ in 0..reader.count(1)? {
            types.push(reader.text()?.to_owned());
        }
        let namespace = reader.text()?.to_owned();
        let selection = read_selection(reader.text()?, deployed)?;
        let field_set = FieldSet::parse(reader.text()?)?;
        // An unknown format is the short one here, never an error (document-v1, query parameters).
        let tensors = TensorFormat::from_name(reader.text()?).unwrap_or(TensorFormat::Short);
        let (format, is_named) = match reader.u8()? {
            0 => (PageFormat::Json, false),
            1 => (PageFormat::JsonLines, false),
            2 => (PageFormat::Ids, false),
            3 => (PageFormat::Operations, false),
            4 => (PageFormat::Json, true),
            5 => (PageFormat::JsonLines, true),
            6 => (PageFormat::Tail, false),
            7 => (PageFormat::Tail, true),
            other => return Err(Rejection::new(Code::BadRequest, format!("Unknown format {other} of a visit"))),
        };
        let (documents_max, bytes_max) = (reader.u32()?, reader.u32()? as usize);
        let period = Period { from: reader.u64()?, to: reader.u64()? };
        let includes_removes = reader.u8()? == 1;
        let shard = (format == PageFormat::Operations).then(|| Shard::read(reader)).transpose()?;
        let render = Render::document(tensors);
        Ok(Request {
            after,
            types,
            namespace,
            selection,
            now_seconds,
            field_set,
            render,
            format,
            is_named,
            shard,
            documents_max,
            bytes_max,
            period,
            includes_removes,
        })
    }

    /// Whether nothing of a partition can be selected.
    pub(super) fn excludes_partition(&self, key: &str) -> bool {
        let locations = self.selection.as_ref().and_then(|selection| selection.scope().locations.as_ref());
        locations.is_some_and(|locations| !locations.iter().any(|location| location.partition_key() == key))
    }

    /// Whether documents of a schema are visited.
    pub(super) fn includes(&self, schema: &Schema) -> bool {
        let types = self.selection.as_ref().and_then(|selection| selection.scope().types.as_ref());
        let is_named = self.format == PageFormat::Operations || self.types.iter().any(|of| *of == schema.stored_type());
        is_named && types.is_none_or(|types| types.contains(&schema.name))
    }

    /// Whether the selection looks at the field of that name.
    fn selects_by(&self, name: &str) -> bool {
        self.selection.as_ref().is_some_and(|selection| selection.fields().contains(name))
    }

    /// Whether a document is selected.
    pub(super) fn selects(&self, id: &str, fields: &[(String, Value)]) -> Result<bool, Rejection> {
        let Some(selection) = &self.selection else { return Ok(true) };
        let id = DocumentId::parse(&shown_id(id))?;
        selection.selects(&Subject { id: &id, fields, now: self.now_seconds })
    }

    /// Whether a document needs no more than its id to be selected and shown.
    fn needs_only_id(&self, fields: &FieldChoice) -> bool {
        let selected = self.selection.as_ref().is_none_or(|selection| selection.fields().is_empty());
        self.format != PageFormat::Operations
            && selected
            && (self.format == PageFormat::Ids || matches!(fields, FieldChoice::None))
    }
}

/// A place in one view: the next document of it that is alive.
struct Cursor {
    view: View,
    /// Nothing of removed documents.
    schema: Option<Rc<DeployedSchema>>,
    fields: FieldChoice,
    ordinal: u32,
}

/// A document that is being written to a page.
struct Writing {
    id: String,
    fields: Vec<(String, Value)>,
    progress: Progress,
    /// How long the text of the page was before.
    text_before: usize,
}

/// What was found so far.
struct Page {
    text: JsonWriter,
    /// The document that the text ends with, where it is not whole.
    writing: Option<Writing>,
    ids: Writer,
    documents: u32,
    /// The id of the last document looked at.
    last: String,
    /// Nothing comes after it.
    complete: bool,
}

/// The task: the answer is a page and where the next one begins.
pub(super) struct Visit {
    deployed: Rc<Deployed>,
    /// The partition's.
    key: String,
    request: Request,
    loading: Loading,
    reads: Reads,
    /// Views whose first document is not known yet; then every view with its next document in `heap`.
    cursors: Option<Vec<Cursor>>,
    opened: usize,
    heap: BinaryHeap<Reverse<(String, usize)>>,
    page: Page,
}

impl Visit {
    /// Begins with a request that was read.
    pub(super) fn new(
        deployed: Rc<Deployed>,
        residency: Rc<RefCell<Residency>>,
        place: PartitionVersion,
        request: Request,
    ) -> Visit {
        let mut reads = Reads::new(residency);
        let loading = Loading::begin(&place, &mut reads);
        let page = Page {
            text: JsonWriter::new(),
            writing: None,
            ids: Writer::new(),
            documents: 0,
            last: request.after.clone(),
            // Then not even the manifest is looked at.
            complete: request.excludes_partition(&place.key),
        };
        let key = place.key;
        Visit { deployed, key, request, loading, reads, cursors: None, opened: 0, heap: BinaryHeap::new(), page }
    }

    /// The views of the types that are visited, not opened yet.
    fn cursors(&self) -> Result<Vec<Cursor>, Halt> {
        let partition = self.loading.done().ok_or(Halt::Missing)?;
        let mut cursors = Vec::new();
        for view in &partition.views {
            // A type that is not deployed any more has no documents to show, and neither has an earlier life of one.
            let Some(schema) = self.deployed.stored_as(&view.segment.header.schema) else { continue };
            if !self.request.includes(&schema.schema) {
                continue;
            }
            let fields = self.request.field_set.choice(schema, &self.deployed);
            cursors.push(Cursor { view: view.clone(), schema: Some(schema.clone()), fields, ordinal: 0 });
        }
        if self.request.includes_removes || self.request.format == PageFormat::Operations {
            let removed = partition.removed.iter().cloned();
            cursors.extend(removed.map(|view| Cursor { view, schema: None, fields: FieldChoice::None, ordinal: 0 }));
        }
        Ok(cursors)
    }

    /// Finds the first document of each view. All missing blocks are noted before it halts.
    fn open_cursors(&mut self) -> Result<(), Halt> {
        let mut cursors = match self.cursors.take() {
            Some(cursors) => cursors,
            None => self.cursors()?,
        };
        let mut gaps = Gaps::default();
        // Those that lack a block stay behind those that are open.
        let mut at = self.opened;
        while at < cursors.len() {
            if let Some(first) = gaps.note(self.open_cursor(&mut cursors[at]))? {
                cursors.swap(at, self.opened);
                self.heap.extend(first.map(|id| Reverse((id, self.opened))));
                self.opened += 1;
            }
            at += 1;
        }
        self.cursors = Some(cursors);
        gaps.check()
    }

    /// Moves a cursor behind the request's start; the id of the document it stands at.
    fn open_cursor(&mut self, cursor: &mut Cursor) -> Result<Option<String>, Halt> {
        let segment = &cursor.view.segment;
        let mut blocks = self.reads.segment(segment);
        if !self.request.after.is_empty() {
            cursor.ordinal = ordinal_after(&segment.header, &self.request.after, &mut blocks)?;
        }
        match cursor.view.alive.next_set(cursor.ordinal as usize) {
            None => Ok(None),
            Some(ordinal) => {
                cursor.ordinal = ordinal as u32;
                read_id(&segment.header, cursor.ordinal, &mut blocks).map(Some)
            }
        }
    }

    fn is_full(&self) -> bool {
        let bytes = self.page.text.len() + self.page.ids.len();
        self.page.documents >= self.request.documents_max || bytes >= self.request.bytes_max
    }

    /// Looks at one document after the other, until the page is full or enough was done in a row.
    fn turn_pages(&mut self) -> Result<Want, Halt> {
        if self.opened < self.cursors.as_ref().map_or(usize::MAX, Vec::len) {
            self.open_cursors()?;
        }
        for _ in 0..STEP_DOCUMENTS {
            if !self.page.write(&self.request, self.reads.work_left()) || self.reads.is_tired() {
                return Ok(Want::Pause);
            }
            if self.is_full() {
                return Ok(Want::Nothing);
            }
            let Some(Reverse((id, at))) = self.heap.pop() else {
                self.page.complete = true;
                return Ok(Want::Nothing);
            };
            if let Err(halt) = self.visit(&id, at) {
                self.heap.push(Reverse((id, at)));
                return Err(halt);
            }
            if self.page.writing.is_none() {
                self.page.last = id;
            }
        }
        self.reads.relax();
        Ok(Want::Pause)
    }

    /// Shows one document if it is selected, and moves its cursor on. Nothing is changed if a block is missing.
    fn visit(&mut self, id: &str, at: usize) -> Result<(), Halt> {
        let cursors = self.cursors.as_mut().ok_or(Halt::Missing)?;
        let Cursor { view, schema, fields, ordinal } = &mut cursors[at];
        let header = &view.segment.header;
        let mut blocks = self.reads.segment(&view.segment);
        let request = &self.request;
        let removed = header.is_of_removed();
        let mut shown = request.namespace.is_empty() || namespace_of(id) == request.namespace;
        shown &= request.shard.is_none_or(|shard| shard.holds(id));
        shown &= !removed || self.deployed.knew(&header.schema, id, |schema| request.includes(schema))?;
        let is_stored = request.format == PageFormat::Operations;
        let time =
            (shown && (is_stored || !request.period.is_always())).then(|| read_time(header, *ordinal, &mut blocks));
        let needed = shown && !request.needs_only_id(fields);
        let keep = |name: &str| fields.has(name) || request.selects_by(name);
        let document = needed.then(|| match schema {
            // All of it, as it is when it is folded.
            _ if is_stored => read_document(header, *ordinal, &|_| true, &mut blocks),
            Some(schema) => schema.read(header, *ordinal, &keep, &mut blocks),
            None => read_document(header, *ordinal, &keep, &mut blocks),
        });
        let next = view.alive.next_set(*ordinal as usize + 1).map(|ordinal| ordinal as u32);
        let following = next.map(|next| read_id(header, next, &mut blocks));
        // All were asked for before any may halt, so that all blocks come at once.
        let (time, document, following) = (time.transpose()?, document.transpose()?, following.transpose()?);
        shown &= time.is_none_or(|time| request.period.includes(time));
        let mut read = document.map_or_else(Vec::new, |document| document.fields);
        if shown && is_stored {
            self.page.store(
                &self.key,
                id,
                (!removed).then_some(read),
                time.unwrap_or_default(),
                schema_of(&self.deployed, id)?,
            );
        } else if shown && request.selects(id, &read)? {
            read.retain(|(name, _)| fields.has(name));
            if removed { self.page.show_remove(id, request) } else { self.page.show(id, read, request) }
        }
        if let (Some(next), Some(following)) = (next, following) {
            *ordinal = next;
            self.heap.push(Reverse((following, at)));
        }
        Ok(())
    }
}

/// The name that operations on a document have for its schema.
fn schema_of(deployed: &Deployed, id: &str) -> Result<Option<Arc<str>>, Rejection> {
    Ok(deployed.of_stored_id(id)?.map(|of| of.stored.name.as_str().into()))
}

impl Page {
    /// Adds what the tail of the partition of this key would store: a document, or that it was removed.
    fn store(
        &mut self,
        key: &str,
        id: &str,
        fields: Option<Vec<(String, Value)>>,
        time: u64,
        schema: Option<Arc<str>>,
    ) {
        // Of a schema that was removed: it is gone.
        let Some(schema) = schema else { return };
        self.documents += 1;
        let operation = match fields {
            Some(fields) => Operation::Put(Document { id: id.to_owned(), fields }),
            None => Operation::Remove(id.to_owned()),
        };
        self.ids.text(id);
        self.ids.bytes(&StoredOperation { schema, time, operation }.encode(key));
    }

    /// Begins to show a document.
    fn show(&mut self, id: &str, fields: Vec<(String, Value)>, request: &Request) {
        let key = match request.format {
            PageFormat::Json => "id",
            PageFormat::JsonLines => "put",
            PageFormat::Ids | PageFormat::Operations | PageFormat::Tail => {
                self.documents += 1;
                return self.ids.text(id);
            }
        };
        let text_before = self.text.len();
        self.text.begin_object();
        self.text.key(key);
        self.text.string(&shown_id(id));
        self.text.key("fields");
        self.writing = Some(Writing { id: id.to_owned(), fields, progress: Progress::default(), text_before });
    }

    /// Goes on with the document that is being written. Returns whether it is whole.
    fn write(&mut self, request: &Request, work: &mut usize) -> bool {
        let Some(Writing { fields, progress, .. }) = &mut self.writing else { return true };
        progress.may_do(*work);
        let is_whole = write_fields(fields, &request.render, progress, &mut self.text);
        *work = progress.work_left();
        if is_whole && let Some(Writing { id, .. }) = self.writing.take() {
            self.text.end_object();
            self.documents += 1;
            self.end_shown(&id, request);
            self.last = id;
        }
        is_whole
    }

    /// Ends the page where it is: what is not whole is left for the next one, unless nothing else was shown. Then each page would
    /// end at the same document.
    fn end(&mut self, request: &Request) {
        if self.documents == 0 {
            let mut work = usize::MAX;
            self.write(request, &mut work);
        }
        if let Some(Writing { text_before, .. }) = self.writing.take() {
            self.text.cut(text_before);
        }
    }

    /// Ends what is shown of a document.
    fn end_shown(&mut self, id: &str, request: &Request) {
        if request.format == PageFormat::JsonLines {
            self.text.end_line();
        }
        if request.is_named {
            let text = std::mem::replace(&mut self.text, JsonWriter::new());
            self.ids.text(id);
            self.ids.bytes(text.finish().as_bytes());
        }
    }

    /// Says that a document was removed.
    fn show_remove(&mut self, id: &str, request: &Request) {
        self.documents += 1;
        if request.format == PageFormat::Ids {
            return self.ids.text(id);
        }
        self.text.begin_object();
        self.text.key("remove");
        self.text.string(&shown_id(id));
        self.text.end_object();
        self.end_shown(id, request);
    }
}

impl Task for Visit {
    fn wants(&mut self) -> Result<Want, Rejection> {
        if self.page.complete {
            return Ok(Want::Nothing);
        }
        if self.loading.done().is_none() {
            let want = self.loading.step(&self.deployed, &mut self.reads)?;
            if want != Want::Nothing {
                return Ok(want);
            }
        }
        self.reads.begin_step();
        match self.turn_pages() {
            Ok(want) => Ok(want),
            Err(Halt::Missing) => Ok(Want::Blocks(self.reads.take_missing())),
            Err(Halt::Rejected(rejection)) => Err(rejection),
        }
    }

    fn give(&mut self, answer: Block) -> Result<(), Rejection> {
        if self.loading.wants_manifest() {
            return self.loading.give(&self.deployed, answer.bytes());
        }
        self.reads.give(answer)
    }

    /// Called early, the page ends earlier.
    fn finish(self: Box<Self>) -> Result<Vec<u8>, Rejection> {
        let Visit { deployed, mut page, request, loading, mut reads, .. } = *self;
        page.end(&request);
        loading.keep(&deployed, &mut reads);
        let mut writer = Writer::new();
        writer.u8(u8::from(page.complete));
        writer.text(&page.last);
        writer.u32(page.documents);
        writer.u64(reads.bytes_read);
        match request.format {
            PageFormat::Ids | PageFormat::Operations => writer.bytes(&page.ids.finish()),
            _ if request.is_named => writer.bytes(&page.ids.finish()),
            _ => writer.bytes(page.text.finish().as_bytes()),
        }
        Ok(writer.finish())
    }
}
