//! Which format an answer has: what the request names, else what its `Accept` header prefers (query-api §1.1).
use brooklet_document::Format;
use brooklet_task::{Code, Issue, Rejection};

use crate::asked::properties::Properties;

/// The formats of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Shape {
    #[default]
    Json,
    Cbor,
    /// Server-sent events.
    Events,
    Markup(Charset),
}

/// The characters that markup is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Charset {
    Utf8,
    Latin1,
    Ascii,
}

impl Charset {
    fn named(name: &str) -> Option<Charset> {
        Some(match name.to_ascii_lowercase().as_str() {
            "" | "utf-8" | "utf8" => Charset::Utf8,
            "iso-8859-1" | "latin1" => Charset::Latin1,
            "us-ascii" | "ascii" => Charset::Ascii,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Charset::Utf8 => "utf-8",
            Charset::Latin1 => "iso-8859-1",
            Charset::Ascii => "us-ascii",
        }
    }

    /// A text in these characters; those there are not become question marks, as in the reference.
    fn encode(self, text: Vec<u8>) -> Vec<u8> {
        let last = match self {
            Charset::Utf8 => return text,
            Charset::Latin1 => 0xff,
            Charset::Ascii => 0x7f,
        };
        let byte = |c: char| u8::try_from(u32::from(c)).ok().filter(|byte| *byte <= last).unwrap_or(b'?');
        String::from_utf8_lossy(&text).chars().map(byte).collect()
    }
}

impl Shape {
    fn content_type(self) -> &'static str {
        match self {
            Shape::Json => "application/json; charset=utf-8",
            Shape::Cbor => "application/cbor; charset=utf-8",
            Shape::Events => "text/event-stream; charset=utf-8",
            Shape::Markup(Charset::Utf8) => "text/xml; charset=utf-8",
            Shape::Markup(Charset::Latin1) => "text/xml; charset=iso-8859-1",
            Shape::Markup(Charset::Ascii) => "text/xml; charset=us-ascii",
        }
    }
}

/// An answer as it is sent.
pub(crate) struct Rendered {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) body: Vec<u8>,
}

/// How an answer is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rendering {
    shape: Shape,
    /// `jsoncallback`: the function whose argument the JSON is.
    callback: Option<String>,
}

impl Rendering {
    /// That of a request whose parameters cannot be read.
    pub(crate) fn of_accept_header(accept: &str) -> Rendering {
        Rendering { shape: negotiate(accept), callback: None }
    }

    /// That of a request.
    ///
    /// # Errors
    /// If the request names a format there is not.
    pub(crate) fn new(properties: &Properties, accept: &str) -> Result<Rendering, Rejection> {
        let shape = match properties.value("presentation.format") {
            None => negotiate(accept),
            Some("") => {
                return Err(properties.refuse("presentation.format", "Illegal component specification: ''"));
            }
            Some("json" | "default" | "JsonRenderer") => Shape::Json,
            Some("cbor" | "CborRenderer") => Shape::Cbor,
            Some("sse" | "EventRenderer") => Shape::Events,
            Some(_) if properties.is_markup() => Shape::Markup(charset(properties)?),
            Some(format) => {
                let message =
                    format!("The format '{}' is not supported: only json, cbor, xml and sse", Rejection::quote(format));
                return Err(Rejection::new(Code::Unsupported, message));
            }
        };
        let callback = properties.value("jsoncallback").filter(|name| !name.is_empty()).map(str::to_owned);
        Ok(Rendering { shape, callback })
    }

    /// The format that values are written in.
    pub(crate) fn format(&self) -> Format {
        if self.shape == Shape::Cbor { Format::Cbor } else { Format::Json }
    }

    /// The name of the characters of an answer that is markup.
    pub(super) fn charset(&self) -> Option<&'static str> {
        match self.shape {
            Shape::Markup(charset) => Some(charset.name()),
            _ => None,
        }
    }

    /// Whether the answer is a stream of events.
    pub(super) fn is_stream(&self) -> bool {
        self.shape == Shape::Events
    }

    /// What of the request does not go with the format.
    pub(super) fn issue(&self) -> Option<Issue> {
        let unfit = self.shape == Shape::Cbor && self.callback.is_some();
        unfit.then(|| Issue { code: Code::BadRequest, message: "Cannot use jsoncallback with CBOR format".to_owned() })
    }

    /// An answer with this body.
    pub(super) fn finish(&self, status: u16, body: Vec<u8>) -> Rendered {
        let body = match (&self.callback, self.shape) {
            (Some(callback), Shape::Json) => [callback.as_bytes(), b"(", &body, b");"].concat(),
            (_, Shape::Markup(charset)) => charset.encode(body),
            _ => body,
        };
        Rendered { status, content_type: self.shape.content_type(), body }
    }
}

/// The characters that a request wants markup in.
fn charset(properties: &Properties) -> Result<Charset, Rejection> {
    let name = properties.value("model.encoding").unwrap_or("");
    Charset::named(name).ok_or_else(|| {
        let name = Rejection::quote(name);
        let message = format!("The encoding '{name}' of XML is not supported: only utf-8, iso-8859-1 and us-ascii");
        Rejection::new(Code::Unsupported, message)
    })
}

/// CBOR if the header names it by its full name and prefers it no less than JSON; a header that is malformed anywhere
/// prefers nothing.
fn negotiate(accept: &str) -> Shape {
    let mut cbor: Option<f64> = None;
    let mut json: Option<f64> = None;
    // Of a list a part may be empty, as where two were put together of which one was.
    for range in accept.split(',').filter(|range| !range.trim().is_empty()) {
        let Some((name, quality)) = media_range(range) else { return Shape::Json };
        let known = match name.as_str() {
            "application/cbor" => &mut cbor,
            "application/json" => &mut json,
            _ => continue,
        };
        *known = Some(known.map_or(quality, |so_far| so_far.max(quality)));
    }
    match (cbor, json) {
        (Some(cbor), Some(json)) if cbor < json => Shape::Json,
        (Some(_), _) => Shape::Cbor,
        _ => Shape::Json,
    }
}

/// Name and quality of a part of an `Accept` header.
fn media_range(range: &str) -> Option<(String, f64)> {
    let mut parts = range.split(';').map(str::trim);
    let name = parts.next().filter(|name| name.contains('/'))?.to_ascii_lowercase();
    let mut quality = 1.0;
    for parameter in parts {
        let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        if key.trim().eq_ignore_ascii_case("q") {
            quality = value.trim().parse().ok().filter(|quality: &f64| (0.0..=1.0).contains(quality))?;
        }
    }
    Some((name, quality))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the reference implementation answers.
    #[test]
    fn accept_headers_choose_as_recorded() {
        let rows: serde_json::Value =
            serde_json::from_str(include_str!("../../../../test-vectors/rendering/accept.json")).unwrap();
        for row in rows.as_array().unwrap() {
            let accept = row["accept"].as_str().unwrap();
            assert_eq!(negotiate(accept).content_type(), row["contentType"].as_str().unwrap(), "{accept}");
        }
        assert!(rows.as_array().unwrap().len() >= 15);
    }
}
