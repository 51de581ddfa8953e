//! Gets and visits of a host.
use brooklet_search::{Get, open_visit};
use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Rejection, Task};
use serde_json::Value;

use super::answer::Answer;
use super::{Host, key_of};

/// What a page of a visit asks for.
#[derive(Clone, Debug)]
pub struct VisitRequest<'a> {
    pub after: &'a str,
    pub types: &'a [&'a str],
    pub namespace: &'a str,
    pub selection: &'a str,
    pub field_set: &'a str,
    pub tensors: &'a str,
    /// 0 JSON, 1 JSON lines, 2 ids, 6 the operations of the tail, 7 each behind its place.
    pub format: u8,
    pub documents_max: u32,
    pub bytes_max: u32,
    /// µs since the epoch.
    pub from: u64,
    pub to: u64,
    pub includes_removes: bool,
}

impl Default for VisitRequest<'_> {
    fn default() -> Self {
        VisitRequest {
            after: "",
            types: &["mail", "note"],
            namespace: "",
            selection: "",
            field_set: "",
            tensors: "",
            format: 0,
            documents_max: 1_000,
            bytes_max: 1 << 20,
            from: 0,
            to: 0,
            includes_removes: false,
        }
    }
}

/// A page of a visit.
#[derive(Debug, PartialEq, Eq)]
pub struct VisitPage {
    pub complete: bool,
    pub last: String,
    pub documents: u32,
    pub body: Vec<u8>,
}

impl VisitPage {
    fn read(result: &[u8]) -> VisitPage {
        let mut reader = Reader::new(result);
        let complete = reader.u8().unwrap() == 1;
        let last = reader.text().unwrap().to_owned();
        let documents = reader.u32().unwrap();
        reader.u64().unwrap();
        let body = reader.bytes().unwrap().to_vec();
        reader.end().unwrap();
        VisitPage { complete, last, documents, body }
    }

    /// The documents of a page in JSON.
    pub fn json(&self) -> Vec<Value> {
        serde_json::from_str(&format!("[{}]", std::str::from_utf8(&self.body).unwrap())).unwrap()
    }
}

impl Host {
    /// Gets a document.
    pub fn get(&self, id: &str) -> Answer {
        self.get_as(id, "", "")
    }

    /// Gets the fields of a field set, with tensors in a format.
    pub fn get_as(&self, id: &str, field_set: &str, tensors: &str) -> Answer {
        self.get_for(id, (field_set, tensors), usize::MAX)
    }

    /// The same, cut after so many steps.
    pub fn get_for(&self, id: &str, (field_set, tensors): (&str, &str), steps: usize) -> Answer {
        let key = key_of(id);
        let mut writer = Writer::new();
        self.place(&key).write(&mut writer);
        for text in ["/document/v1/x", id, field_set, tensors] {
            writer.text(text);
        }
        let mut get =
            Get::open(&self.deployed, self.residency.clone(), self.outlines.clone(), &writer.finish()).unwrap();
        self.drive_for(&key, &mut get, steps).unwrap_or_else(|rejection| panic!("{rejection}"));
        let result = Box::new(get).finish().unwrap();
        let mut reader = Reader::new(&result);
        let status = reader.u16().unwrap();
        Answer::new(status, "application/json", reader.bytes().unwrap(), 0)
    }

    /// A page of a visit of a partition; the rejection if it was refused.
    pub fn visit(&self, key: &str, request: &VisitRequest) -> Result<VisitPage, Rejection> {
        self.visit_for(key, request, usize::MAX)
    }

    /// A page of a visit that is cut after so many steps.
    pub fn visit_for(&self, key: &str, request: &VisitRequest, steps: usize) -> Result<VisitPage, Rejection> {
        let mut writer = Writer::new();
        self.place(key).write(&mut writer);
        writer.u64(1_790_000_000);
        writer.text(request.after);
        writer.varint(request.types.len() as u64);
        request.types.iter().for_each(|name| writer.text(name));
        for text in [request.namespace, request.selection, request.field_set, request.tensors] {
            writer.text(text);
        }
        writer.u8(request.format);
        writer.u32(request.documents_max);
        writer.u32(request.bytes_max);
        writer.u64(request.from);
        writer.u64(request.to);
        writer.u8(u8::from(request.includes_removes));
        let mut visit = open_visit(self.deployed.clone(), self.residency.clone(), &writer.finish())?;
        self.drive_for(key, &mut *visit, steps)?;
        Ok(VisitPage::read(&visit.finish()?))
    }
}
