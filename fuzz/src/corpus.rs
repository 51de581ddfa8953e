//! The inputs that changes begin with: the vectors, and the application `mail` with a few of its documents.
use std::sync::Arc;

use brooklet_document::{Document, DocumentId};
use brooklet_feed::{OperationRequest, encode};
use brooklet_schema::{Application, Schema};
use brooklet_segment::{BuiltSegment, Operation, SegmentBuilder, StoredOperation, layout};
use serde_json::Value;

/// Key of the partition all documents of the corpus live in.
pub const KEY: &str = "g:a";

/// The text of a file of the test vectors.
pub fn file(path: &str) -> String {
    let path = format!("{}/../test-vectors/{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A member of every row of a file of vectors that has it: texts as they are, all else as JSON.
pub fn members(path: &str, member: &str) -> Vec<Vec<u8>> {
    let rows = file(path);
    let rows = rows.lines().map(|line| serde_json::from_str::<Value>(line).expect("a vector is JSON"));
    let found: Vec<Vec<u8>> = rows
        .filter_map(|row| row.get(member).cloned())
        .map(|value| match value {
            Value::String(text) => text.into_bytes(),
            other => other.to_string().into_bytes(),
        })
        .collect();
    assert!(!found.is_empty(), "{path} has no {member}");
    found
}

/// The files of the application `mail`.
pub fn mail_files() -> Vec<(String, Vec<u8>)> {
    ["services.xml", "schemas/mail.sd", "schemas/note.sd"]
        .map(|path| (path.to_owned(), file(&format!("applications/mail/{path}")).into_bytes()))
        .to_vec()
}

/// The application `mail`, deployed.
pub fn mail() -> Application {
    Application::deploy(&mail_files()).expect("the application is good")
}

/// The schema `mail` of it.
pub fn mail_schema() -> Arc<Schema> {
    mail().schema("mail").expect("the application has it").clone()
}

/// Bodies of puts, one for every field type.
pub fn bodies() -> Vec<Vec<u8>> {
    let fields = [
        r#""subject":"Lease of the flat","body":"Dear tenant, the deposit is due. Ünïcode 😀 x²","year":2024,"unread":true"#,
        r#""size":9007199254740993,"b":-7,"score":-1.5e-300,"f":0.1,"sender":"a@b.example","folder":"In box","nostem":"ÅÄÖ""#,
        r#""tags":["red","dark blue",""],"attrtags":["x","y"],"nums":[1,-2,3],"weights":{"a":1,"b":-5},"iw":{"4":2}"#,
        r#""people":[{"name":"Ann","email":"a@b","age":4},{}],"main":{"name":"Bo"},"props":{"k":"v"},"counts":{"one":1}"#,
        r#""byid":{"7":{"name":"C"}},"location":{"lat":63.4,"lng":10.4},"blob":"AQID","url":"http://x.example/a?b=c#d""#,
        r#""emb":{"values":[1,2.5,-3]},"sparse":{"a":1,"b":2},"mixed":{"blocks":{"p":[1,2],"q":[3,4]}}"#,
        r#""emb":[0,0,0],"prefixed":"abc","suffixed":"cba","grams":"hello","sparse":{"cells":[{"address":{"k":"z"},"value":1e9}]}"#,
        "",
    ];
    fields.map(|fields| format!("{{\"fields\":{{{fields}}}}}").into_bytes()).to_vec()
}

/// The bodies as documents of [`KEY`], in the order of their ids.
pub fn documents(application: &Application) -> Vec<Document> {
    let documents = bodies().into_iter().enumerate().map(|(number, body)| {
        let id = format!("id:ns:mail:g=a:{number}");
        let request = OperationRequest { kind: 1, id: &id, create: None, condition: "", body: &body, embeddings: &[] };
        let encoded = encode(application, &request, 1_790_000_000_000_000)
            .unwrap_or_else(|rejection| panic!("{id}: {rejection}"));
        match StoredOperation::decode(KEY, &encoded.operation).expect("just encoded").operation {
            Operation::Put(document) => document,
            Operation::Remove(id) => panic!("{id} was put"),
        }
    });
    let documents: Vec<Document> = documents.collect();
    assert!(documents.iter().all(|document| DocumentId::parse(&document.id).is_ok()));
    documents
}

/// A segment of these documents.
pub fn segment() -> BuiltSegment {
    let application = mail();
    let schema = mail_schema();
    let mut builder = SegmentBuilder::new(&schema.name, &layout::columns(&schema));
    documents(&application).iter().for_each(|document| builder.add(document, 0));
    builder.finish()
}
