//! Documents: ids, JSON, tensors, and their stored form.
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;

use brooklet_document::encode::{decode_fields, encode_fields};
use brooklet_document::json::{
    FieldTypes, Lexer, ReadOptions, Render, TensorFormat, TensorSource, read_query_tensor, read_tensor, render_fields,
};
use brooklet_document::selection::{Outcome, Selection, Subject};
use brooklet_document::{
    DataType, Document, DocumentId, DocumentTypes, Format, TensorType, Value, parse_literal, read_operation,
};
use brooklet_feed::{Bounds, Load, Mutate, OperationRequest, encode, split};
use brooklet_schema::{Application, Schema};
use brooklet_segment::{Operation, PartitionVersion, StoredOperation};
use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Code, Rejection, Task, Want};

use super::Target;
use crate::corpus;

const TENSOR_TYPES: [&str; 5] =
    ["tensor(x[3])", "tensor<float>(k{},x[2])", "tensor(k{})", "tensor<int8>(a{},b{})", "tensor<bfloat16>(x[2],y[2])"];

pub fn targets() -> Vec<Target> {
    vec![
        id(),
        json(),
        operation(),
        feed(),
        tensor_type(),
        tensor_literal(),
        tensor_json(),
        stored_fields(),
        encode_request(),
        selection(),
        update(),
    ]
}

fn id() -> Target {
    let corpus = ["id:ns:mail:g=alice:1", "id:ns:mail:n=17:a:b", "id:a:b::", "id:ns:mail:g=ü %2F:x/y?z#"];
    Target::text("document-id", corpus.map(Vec::from).to_vec(), |text| {
        if let Ok(id) = DocumentId::parse(text) {
            let again = DocumentId::parse(id.as_str()).expect("an id that was read is an id");
            assert_eq!(again, id);
            black_box(id.partition_key());
        }
    })
}

fn json() -> Target {
    let application = corpus::mail();
    Target::new("document-json", corpus::bodies(), move |body| {
        let request =
            OperationRequest { kind: 1, id: "id:ns:mail:g=a:1", create: None, condition: "", body, embeddings: &[] };
        let _ = black_box(encode(&application, &request, 0));
    })
}

struct Fields(Arc<Schema>);

impl FieldTypes for Fields {
    fn data_type(&self, field: &str) -> Option<&DataType> {
        self.0.document_field_type(field)
    }

    fn names(&self) -> Vec<&str> {
        self.0.fields.iter().map(|field| field.name.as_str()).collect()
    }
}

impl DocumentTypes for Fields {
    fn fields_of(&self, document_type: &str) -> Option<&dyn FieldTypes> {
        (document_type == "mail").then_some(self)
    }

    fn names(&self) -> Vec<&str> {
        vec!["mail"]
    }
}

/// A chunk of a feed: what is split from it stands in it, and whatever it is, loading it answers for each operation.
fn feed() -> Target {
    let application = corpus::mail();
    let operations = corpus::members("document-json/feed.jsonl", "op");
    let chunks = operations.chunks(3).map(|some| some.join(&b"\n"[..])).collect();
    Target::new("feed-chunk", chunks, move |chunk| {
        let Ok(split_chunk) = split(chunk) else { return };
        let mut reader = Reader::new(&split_chunk);
        assert!(reader.u32().expect("bytes looked at") as usize <= chunk.len());
        for _ in 0..reader.varint().expect("partitions") {
            let key = reader.text().expect("a key");
            reader.text().expect("ids");
            let count = reader.varint().expect("numbers") / 4;
            let mut input = Writer::new();
            for _ in 0..count {
                let (_number, _id_end) = (reader.u32().expect("a number"), reader.u32().expect("an end"));
                let begin = reader.u32().expect("where it begins") as usize;
                let length = reader.u32().expect("its length") as usize;
                input.bytes(&chunk[begin..begin + length]);
            }
            load(&application, key, count, input.finish());
        }
    })
}

/// Loads operations into the tail of a partition that does not exist.
fn load(application: &Application, key: &str, count: u64, operations: Vec<u8>) {
    let mut writer = Writer::new();
    PartitionVersion { incarnation: 1, partition: 0, key: key.to_owned(), layout: 1, operation: 0 }.write(&mut writer);
    writer.u64(1);
    writer.u32(0);
    writer.varint(count);
    let mut task = Load::open(application, &writer.finish(), operations, Bounds::default()).expect("a load");
    while task.wants().expect("operations are refused one by one") != Want::Nothing {}
    let result = Box::new(task).finish().expect("a result");
    assert_eq!(Reader::new(&result).varint().ok(), Some(count), "each has an outcome");
}

fn operation() -> Target {
    let fields = Fields(corpus::mail_schema());
    Target::text("feed-operation", corpus::members("document-json/feed.jsonl", "op"), move |text| {
        for strict in [false, true] {
            let options = ReadOptions { ignore_undefined_fields: !strict, strict };
            let mut json = Lexer::new(text, Code::InvalidDocument);
            let _ = black_box(read_operation(&fields, &mut json, options));
        }
    })
}

fn tensor_type() -> Target {
    Target::text("tensor-type", TENSOR_TYPES.map(Vec::from).to_vec(), |text| {
        if let Ok(tensor_type) = TensorType::parse(text) {
            let again = TensorType::parse(&tensor_type.to_string()).expect("a type that was read is a type");
            assert_eq!(again, tensor_type);
        }
    })
}

fn types() -> Vec<Arc<TensorType>> {
    TENSOR_TYPES.iter().map(|text| Arc::new(TensorType::parse(text).expect("a type"))).collect()
}

fn tensor_literal() -> Target {
    let (types, corpus) = (types(), corpus::members("tensor/tensor.jsonl", "canonical"));
    Target::text("tensor-literal", corpus, move |text| {
        let _ = black_box(parse_literal(text, None, Code::BadRequest));
        for tensor_type in &types {
            let _ = black_box(parse_literal(text, Some(tensor_type), Code::BadRequest));
        }
    })
}

fn tensor_json() -> Target {
    let types = types();
    let mut corpus = corpus::members("tensor/tensor.jsonl", "json");
    corpus.extend(corpus::members("tensor/tensor.jsonl", "query_json"));
    Target::text("tensor-json", corpus, move |text| {
        for tensor_type in &types {
            let mut json = Lexer::new(text, Code::InvalidDocument);
            let _ = black_box(read_tensor(tensor_type, &mut json, TensorSource::Document));
            let _ = black_box(read_query_tensor(tensor_type, text));
        }
    })
}

/// Fields as the tail and the segments store them.
fn stored_fields() -> Target {
    let documents = corpus::documents(&corpus::mail());
    let encoded = documents.iter().map(|document| {
        let mut writer = Writer::new();
        encode_fields(&document.fields, &mut writer);
        writer.finish()
    });
    Target::new("stored-fields", encoded.collect(), |bytes| {
        let _ = black_box(decode_fields(&mut Reader::new(bytes)));
    })
}

/// The request of task `encode` (docs/abi.md).
fn encode_request() -> Target {
    let application = corpus::mail();
    let request = |kind: u8, id: &str, condition: &str, body: &[u8]| {
        let mut writer = Writer::new();
        writer.u8(kind);
        writer.text("/document/v1/ns/mail/group/a/1");
        writer.text(id);
        writer.u8(1);
        writer.text(condition);
        writer.bytes(body);
        writer.finish()
    };
    let bodies = corpus::bodies();
    let mut corpus: Vec<Vec<u8>> = bodies.iter().map(|body| request(1, "id:ns:mail:g=a:1", "", body)).collect();
    corpus.push(request(3, "id:ns:note:n=17:1", "", b""));
    corpus.push(request(2, "id:ns:mail:g=a:1", "mail.year > 3", b"{\"fields\":{\"year\":{\"assign\":1}}}"));
    Target::new("encode-request", corpus, move |bytes| {
        if let Ok(request) = OperationRequest::read(bytes) {
            let _ = black_box(encode(&application, &request, 0));
        }
    })
}

fn selection() -> Target {
    let fields = Fields(corpus::mail_schema());
    let documents = corpus::documents(&corpus::mail());
    let documents: Vec<_> = documents
        .into_iter()
        .map(|document| (DocumentId::parse(&document.id).expect("an id"), document.fields))
        .collect();
    let mut corpus = corpus::members("selection/select.jsonl", "selection");
    corpus.extend(corpus::members("selection/more.jsonl", "selection"));
    Target::text("selection", corpus, move |text| {
        let Ok(selection) = Selection::parse(text, &fields, Code::InvalidDocument) else { return };
        for (id, fields) in &documents {
            let outcome = selection.evaluate(&Subject { id, fields, now: 1 });
            if outcome == Ok(Outcome::True) {
                let scope = selection.scope();
                assert!(scope.locations.as_ref().is_none_or(|known| known.contains(id.location())));
                assert!(scope.types.as_ref().is_none_or(|known| known.contains(id.document_type())));
            }
        }
    })
}

/// The documents that are updated, by the first byte of an input.
const UPDATED: usize = 8;

/// Bodies of updates: those of the vectors, and every operator on a field that documents have.
fn updates() -> Vec<Vec<u8>> {
    let fields = [
        r#""year":{"increment":1},"size":{"decrement":2.5},"b":{"multiply":-3},"score":{"divide":0},"f":{"divide":3}"#,
        r#""tags":{"add":["new",""]},"nums":{"remove":[1,3]},"weights":{"add":{"a":7,"z":-1}},"iw":{"remove":{"4":0}}"#,
        r#""nums":{"match":{"element":1,"multiply":-9}},"weights":{"match":{"element":"b","increment":5}}"#,
        r#""people[0].age":{"increment":1},"people":{"add":[{"name":"D"}]},"main.name":{"assign":"E"}"#,
        r#""props{k}":{"assign":"w"},"props{new}":{"assign":""},"counts{one}":{"increment":2},"counts":{"remove":{"two":0}}"#,
        r#""byid{7}.name":{"assign":"x"},"byid":{"assign":{"8":{"age":1}}},"main":{"assign":null},"nums[0]":{"remove":0}"#,
        r#""emb":{"modify":{"operation":"multiply","cells":[{"address":{"x":"1"},"value":-2}]}}"#,
        r#""sparse":{"modify":{"operation":"add","create":true,"cells":{"a":1,"n":2}}},"mixed":{"remove":{"addresses":[{"k":"p"}]}}"#,
        r#""sparse":{"add":{"cells":{"z":5}}},"mixed":{"add":{"blocks":{"r":[5,6]}}},"emb":{"assign":{"values":[0,1,2]}}"#,
        r#""subject":{"assign":"Ünïcode 😀"},"location":{"assign":{"lat":-1,"lng":0.5}},"blob":{"assign":"AA=="},"url":{"assign":null}"#,
    ];
    let bodies = fields.map(|fields| format!("{{\"fields\":{{{fields}}}}}"));
    let conditional = [
        r#"{"condition":"mail.year > 3 and mail.tags[0] == \"red\"","create":true,"fields":{"year":{"assign":7}}}"#,
        r#"{"fields":{"year":{"assign":null},"tags":{"assign":[]},"weights":{"assign":{}}}}"#,
    ];
    let of_vectors = corpus::members("document-json/feed.jsonl", "op");
    let is_update = |operation: &Vec<u8>| String::from_utf8_lossy(operation).contains("\"update\":\"id:");
    let of_vectors = of_vectors.into_iter().filter(is_update);
    let own = bodies.into_iter().chain(conditional.map(str::to_owned)).map(String::into_bytes);
    own.chain(of_vectors).enumerate().map(|(number, body)| [&[(number % UPDATED) as u8], &body[..]].concat()).collect()
}

/// An update is refused, or makes of the document one that can be stored, and that could have been put as it is shown.
fn update() -> Target {
    let application = corpus::mail();
    let schema = corpus::mail_schema();
    let stored: Vec<(String, Vec<u8>)> = corpus::documents(&application)
        .into_iter()
        .map(|document| {
            let (id, schema) = (document.id.clone(), schema.name.clone());
            let operation = StoredOperation { schema: schema.into(), time: 1, operation: Operation::Put(document) };
            (id, operation.encode(corpus::KEY))
        })
        .collect();
    Target::new("update", updates(), move |bytes| {
        let Some((number, body)) = bytes.split_first() else { return };
        let (id, before) = &stored[usize::from(*number) % stored.len()];
        let Ok(after) = updated(&application, id, before, body) else { return };
        // Cells that are no finite numbers are shown as null, which no put takes.
        let Some(document) = after.filter(has_finite_cells) else { return };
        let shown = shown(&document);
        let body = [&b"{\"fields\":"[..], &shown, b"}"].concat();
        let put = OperationRequest { kind: 1, id, create: None, condition: "", body: &body, embeddings: &[] };
        let put = encode(&application, &put, 1).unwrap_or_else(|refusal| panic!("{refusal}: {}", lossy(&shown)));
        let read = StoredOperation::decode(corpus::KEY, &put.operation).expect("just encoded").operation;
        let Operation::Put(read) = read else { panic!("a put removes") };
        assert_eq!(lossy(&self::shown(&read)), lossy(&shown), "put as it is shown");
    })
}

/// What an update makes of a document that was just written; nothing if it changes nothing.
fn updated(application: &Application, id: &str, before: &[u8], body: &[u8]) -> Result<Option<Document>, Rejection> {
    let mut writer = Writer::new();
    PartitionVersion { incarnation: 1, partition: 1, key: corpus::KEY.to_owned(), layout: 1, operation: 1 }
        .write(&mut writer);
    writer.u64(1);
    writer.bytes(before);
    writer.u8(2);
    writer.text("/document/v1/x");
    writer.text(id);
    writer.u8(0);
    writer.text("");
    writer.bytes(body);
    writer.bytes(&[]);
    let mut task = Box::new(Mutate::open(application, Rc::default(), &writer.finish())?);
    assert_eq!(task.wants()?, Want::Nothing, "the document is there");
    let result = task.finish()?;
    let mut reader = Reader::new(&result);
    reader.u8()?;
    let operation = reader.bytes()?;
    if operation.is_empty() {
        return Ok(None);
    }
    let stored = StoredOperation::decode(corpus::KEY, operation).expect("what is stored can be read");
    assert_eq!(stored.encode(corpus::KEY), operation, "read and stored again");
    match stored.operation {
        Operation::Put(document) => Ok(Some(document)),
        Operation::Remove(id) => panic!("{id} was updated, not removed"),
    }
}

fn has_finite_cells(document: &Document) -> bool {
    document.fields.iter().all(|(_, value)| match value {
        Value::Tensor(tensor) => tensor.cells.iter().all(|cell| cell.is_finite()),
        _ => true,
    })
}

/// The fields as `/document/v1` shows them.
fn shown(document: &Document) -> Vec<u8> {
    Format::Json.write_with(|out| render_fields(&document.fields, &Render::document(TensorFormat::Short), out))
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
