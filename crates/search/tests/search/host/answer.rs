//! An answer as a test reads it.
use brooklet_task::bytes::Reader;
use serde_json::Value;

/// An answer of the core.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// The body as it was rendered; CBOR, and what is no answer (status 0), in hexadecimal digits.
    pub body: String,
    /// The same body, read, if it is JSON.
    pub json: Value,
    pub bytes_read: u64,
}

impl Answer {
    pub(super) fn new(status: u16, content_type: &str, body: &[u8], bytes_read: u64) -> Answer {
        let body = if content_type.starts_with("application/cbor") || status == 0 {
            body.iter().map(|byte| format!("{byte:02x}")).collect()
        } else {
            String::from_utf8(body.to_vec()).unwrap()
        };
        Answer { status, json: serde_json::from_str(&body).unwrap_or_default(), body, bytes_read }
    }
}

/// An answer that was rendered.
pub fn rendered(result: &[u8]) -> Answer {
    let mut reader = Reader::new(result);
    let status = reader.u16().unwrap();
    let content_type = reader.text().unwrap();
    let bytes_read = reader.u64().unwrap();
    reader.u64().unwrap();
    Answer::new(status, content_type, reader.bytes().unwrap(), bytes_read)
}

/// The ids of an answer's hits, in order.
pub fn ids(answer: &Answer) -> Vec<String> {
    let children = answer.json["root"]["children"].as_array().cloned().unwrap_or_default();
    children.iter().map(|hit| hit["id"].as_str().unwrap_or_default().to_owned()).collect()
}
