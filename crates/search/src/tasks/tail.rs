//! The tail of a partition, shown: its operations, the newest first, a page at a time.
//!
//! An operation stands in the tail until it is folded, so this is what happened to documents lately and not what they are.
//! The order is that of their times, then of their numbers; the place of an operation in it is a text that says so, by which
//! pages of several shards are put in one order as well.
use std::rc::Rc;

use brooklet_document::json::JsonWriter;
use brooklet_document::shown_id;
use brooklet_document::unread::is_unread;
use brooklet_kernel::sort_by;
use brooklet_segment::{Manifest, Operation, PartitionVersion, StoredOperation};
use brooklet_task::bytes::Writer;
use brooklet_task::{Block, Rejection, Task, Want};

use super::visit::Request;
use super::visited::namespace_of;
use crate::deployed::Deployed;

/// An operation as it is shown.
struct Shown {
    /// Its place in the order.
    place: String,
    id: String,
    /// Its content cluster, where others have the type too.
    cluster: Option<String>,
    time: u64,
    is_put: bool,
    bytes: usize,
}

/// The task: the answer is a page of operations, in the form of a page of documents.
pub(super) struct Tail {
    deployed: Rc<Deployed>,
    version: PartitionVersion,
    request: Request,
    /// Nothing: the manifest was not given yet.
    shown: Option<Vec<Shown>>,
    bytes_read: u64,
}

impl Tail {
    /// Begins; a tail without operations needs nothing.
    pub(super) fn new(deployed: Rc<Deployed>, version: PartitionVersion, request: Request) -> Tail {
        let is_empty = version.partition == 0 || version.operation == 0 || request.excludes_partition(&version.key);
        Tail { deployed, version, request, shown: is_empty.then(Vec::new), bytes_read: 0 }
    }

    /// One operation, unless it is before the page or not selected.
    fn shown_of(&self, number: u64, stored: &[u8]) -> Result<Option<Shown>, Rejection> {
        let (key, request) = (&self.version.key, &self.request);
        let mut decoded = StoredOperation::decode(key, stored)?;
        let (id, time) = (decoded.id().to_owned(), decoded.time);
        // The newest first: what grows is counted down.
        let place = format!("{:016x}{:016x}{id}", !time, !number);
        // Of a schema that is not deployed any more, or of an earlier life of one, nothing is known.
        let Some(schema) = self.deployed.stored_as(&decoded.schema) else { return Ok(None) };
        let is_meant = place > request.after
            && request.includes(&schema.schema)
            && (request.namespace.is_empty() || namespace_of(&id) == request.namespace)
            && request.period.includes(time);
        if !is_meant {
            return Ok(None);
        }
        let (is_put, fields) = match &mut decoded.operation {
            Operation::Put(document) => {
                schema.stored.mark_unread(&mut document.fields);
                document.fields.retain(|(name, _)| !is_unread(name));
                (true, document.fields.as_slice())
            }
            // It has no fields: what is selected by one is none of its kind.
            Operation::Remove(_) => (false, [].as_slice()),
        };
        let selected = request.selects(&id, fields)?;
        let cluster = schema.schema.is_shared.then(|| schema.cluster.clone());
        Ok(selected.then_some(Shown {
            place,
            id: shown_id(&id).into_owned(),
            cluster,
            time,
            is_put,
            bytes: stored.len(),
        }))
    }
}

impl Task for Tail {
    fn wants(&mut self) -> Result<Want, Rejection> {
        // The segments are known, as it were: only operations are wanted, and all of them.
        let manifest = Want::Manifest { layout: self.version.layout, operation: 0 };
        Ok(if self.shown.is_none() { manifest } else { Want::Nothing })
    }

    fn give(&mut self, answer: Block) -> Result<(), Rejection> {
        let manifest = Manifest::read(&self.version.key, answer.bytes())?;
        self.bytes_read = answer.bytes().len() as u64;
        let mut shown = Vec::new();
        for (number, stored) in &manifest.operations {
            shown.extend(self.shown_of(*number, stored)?);
        }
        sort_by(&mut shown, |one, other| one.place.cmp(&other.place));
        self.shown = Some(shown);
        Ok(())
    }

    /// Called before the manifest was given, the page is empty and not the last.
    fn finish(self: Box<Self>) -> Result<Vec<u8>, Rejection> {
        let Tail { request, shown, bytes_read, .. } = *self;
        let (mut page, mut last, mut count) = (Writer::new(), request.after.clone(), 0);
        let mut complete = shown.is_some();
        for operation in shown.unwrap_or_default() {
            if count >= request.documents_max || page.len() >= request.bytes_max {
                complete = false;
                break;
            }
            if count > 0 && !request.is_named {
                page.raw(b",");
            }
            let json = operation.json();
            if request.is_named {
                page.text(&operation.place);
                page.bytes(json.as_bytes());
            } else {
                page.raw(json.as_bytes());
            }
            (last, count) = (operation.place, count + 1);
        }
        let mut writer = Writer::new();
        writer.u8(u8::from(complete));
        writer.text(&last);
        writer.u32(count);
        writer.u64(bytes_read);
        writer.bytes(&page.finish());
        Ok(writer.finish())
    }
}

impl Shown {
    /// `{"put":ID,"timestamp":…,"bytes":…}`, the time in µs since the epoch, if it is known.
    fn json(&self) -> String {
        let mut json = JsonWriter::new();
        json.begin_object();
        json.key(if self.is_put { "put" } else { "remove" });
        json.string(&self.id);
        if let Some(cluster) = &self.cluster {
            json.key("cluster");
            json.string(cluster);
        }
        if self.time > 0 {
            json.key("timestamp");
            json.integer(i64::try_from(self.time).unwrap_or(i64::MAX));
        }
        json.key("bytes");
        json.integer(i64::try_from(self.bytes).unwrap_or(i64::MAX));
        json.end_object();
        json.finish()
    }
}
