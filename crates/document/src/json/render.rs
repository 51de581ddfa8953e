//! Renders values, for `/document/v1` and query results alike, as JSON or CBOR: at once, or as far as a step comes.
use std::borrow::Cow;

use super::{JsonWriter, encode_base64};
use crate::progress::{MARK_WORK, NUMBER_WORK, PIECE_BYTES, Progress};
use crate::unread::is_unread;
use crate::{Value, ValueWriter};

mod spec;
mod tensor;

pub use spec::{MapFormat, Render, TensorFormat};
pub use tensor::{render_tensor, write_tensor};

/// A byte of a raw value takes as long as so many of a text.
const RAW_WORK: usize = 3;

/// Writes the object of a document's fields, or of a struct's members.
pub fn render_fields(fields: &[(String, Value)], render: &Render, out: &mut dyn ValueWriter) {
    write_fields(fields, render, &mut Progress::endless(), out);
}

/// Writes one value.
pub fn render_value(value: &Value, render: &Render, out: &mut dyn ValueWriter) {
    write_value(value, render, &mut Progress::endless(), out);
}

/// Writes the object of fields or members as far as a step comes. Returns whether all of it is written.
pub fn write_fields(
    fields: &[(String, Value)],
    render: &Render,
    progress: &mut Progress,
    out: &mut dyn ValueWriter,
) -> bool {
    if !progress.is_begun() {
        out.begin_object();
    }
    let is_whole = progress.parts(fields.len(), |progress, at| {
        let (name, value) = &fields[at];
        if !progress.is_begun() {
            if is_unread(name) || render.hides(value) {
                return true;
            }
            out.key(name);
            progress.work(MARK_WORK);
        }
        write_value(value, render, progress, out)
    });
    if is_whole {
        out.end_object();
    }
    is_whole
}

/// Writes one value as far as a step comes. Returns whether all of it is written.
pub fn write_value(value: &Value, render: &Render, progress: &mut Progress, out: &mut dyn ValueWriter) -> bool {
    match value {
        Value::String(text) => return write_text(text, progress, out),
        Value::Raw(bytes) => return write_raw(bytes, progress, out),
        Value::Array(elements) => {
            if !progress.is_begun() {
                out.begin_array();
            }
            let is_whole =
                progress.parts(elements.len(), |progress, at| write_value(&elements[at], render, progress, out));
            if is_whole {
                out.end_array();
            }
            return is_whole;
        }
        Value::WeightedSet(entries) => {
            let entry = |at: usize| (&entries[at].0, Cow::Owned(Value::Int(entries[at].1)));
            let entries = Entries { count: entries.len(), entry: &entry, names: ["item", "weight"] };
            return entries.write(render.weighted_sets, render, progress, out);
        }
        Value::Map(entries) => return write_map(entries, render.maps, render, progress, out),
        Value::Struct(members) => return write_fields(members, render, progress, out),
        Value::Tensor(tensor) => return write_tensor(tensor, render, progress, out),
        Value::Int(number) => out.integer(i64::from(*number)),
        Value::Long(number) => out.integer(*number),
        Value::Byte(number) => out.integer(i64::from(*number)),
        Value::Bool(flag) => out.boolean(*flag),
        Value::Float(number) => out.float(*number),
        Value::Double(number) => out.double(*number),
        Value::Position { x, y } => {
            out.begin_object();
            out.key("lat");
            out.decimal(&degrees(*y));
            out.key("lng");
            out.decimal(&degrees(*x));
            out.end_object();
        }
    }
    progress.work(NUMBER_WORK);
    true
}

/// Writes a map in a form as far as a step comes. Returns whether all of it is written.
pub fn write_map(
    entries: &[(Value, Value)],
    format: MapFormat,
    render: &Render,
    progress: &mut Progress,
    out: &mut dyn ValueWriter,
) -> bool {
    let entry = |at: usize| (&entries[at].0, Cow::Borrowed(&entries[at].1));
    let entries = Entries { count: entries.len(), entry: &entry, names: ["key", "value"] };
    entries.write(format, render, progress, out)
}

fn write_text(text: &str, progress: &mut Progress, out: &mut dyn ValueWriter) -> bool {
    if text.len() <= PIECE_BYTES {
        progress.work(MARK_WORK + text.len());
        out.string(text);
        return true;
    }
    if !progress.is_begun() {
        out.begin_string(text.len());
    }
    let is_whole = progress.text(text, 1, |piece| out.piece(piece));
    if is_whole {
        out.end_string();
    }
    is_whole
}

fn write_raw(bytes: &[u8], progress: &mut Progress, out: &mut dyn ValueWriter) -> bool {
    if !progress.is_begun() {
        out.begin_string(bytes.len().div_ceil(3) * 4);
    }
    let is_whole = progress.bytes(bytes, RAW_WORK, |piece| out.piece(&encode_base64(piece)));
    if is_whole {
        out.end_string();
    }
    is_whole
}

/// The entries of a map or weighted set.
struct Entries<'a> {
    count: usize,
    entry: &'a dyn Fn(usize) -> (&'a Value, Cow<'a, Value>),
    /// What key and value are called where an entry is an object.
    names: [&'static str; 2],
}

impl Entries<'_> {
    fn write(&self, format: MapFormat, render: &Render, progress: &mut Progress, out: &mut dyn ValueWriter) -> bool {
        let is_object = format == MapFormat::Object;
        if !progress.is_begun() {
            if is_object { out.begin_object() } else { out.begin_array() }
        }
        let is_whole = progress.parts(self.count, |progress, at| match is_object {
            true => self.member(at, render, progress, out),
            false => self.element(at, render, progress, out),
        });
        if is_whole {
            if is_object { out.end_object() } else { out.end_array() }
        }
        is_whole
    }

    /// `"a":1`
    fn member(&self, at: usize, render: &Render, progress: &mut Progress, out: &mut dyn ValueWriter) -> bool {
        let (key, value) = (self.entry)(at);
        progress.parts(2, |progress, part| match part {
            0 => write_key(&key_text(key), progress, out),
            _ => write_value(&value, render, progress, out),
        })
    }

    /// `{"key":"a","value":1}`
    fn element(&self, at: usize, render: &Render, progress: &mut Progress, out: &mut dyn ValueWriter) -> bool {
        let (key, value) = (self.entry)(at);
        if !progress.is_begun() {
            out.begin_object();
        }
        let is_whole = progress.parts(2, |progress, part| {
            if !progress.is_begun() {
                out.key(self.names[part]);
                progress.work(MARK_WORK);
            }
            write_value(if part == 0 { key } else { &value }, render, progress, out)
        });
        if is_whole {
            out.end_object();
        }
        is_whole
    }
}

/// Writes a key as a text is written.
fn write_key(key: &str, progress: &mut Progress, out: &mut dyn ValueWriter) -> bool {
    if key.len() <= PIECE_BYTES {
        progress.work(MARK_WORK + key.len());
        out.key(key);
        return true;
    }
    if !progress.is_begun() {
        out.begin_string(key.len());
    }
    let is_whole = progress.text(key, 1, |piece| out.piece(piece));
    if is_whole {
        out.end_key();
    }
    is_whole
}

/// A key as the text of a JSON key.
fn key_text(key: &Value) -> Cow<'_, str> {
    let whole = |number: i64| Cow::Owned(itoa::Buffer::new().format(number).to_owned());
    match key {
        Value::String(text) => return text.into(),
        Value::Byte(number) => return whole((*number).into()),
        Value::Int(number) => return whole((*number).into()),
        Value::Long(number) => return whole(*number),
        _ => {}
    }
    let mut json = JsonWriter::new();
    render_value(key, &Render::default(), &mut json);
    let text = json.finish();
    match text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(word) => word.to_owned().into(),
        None => text.into(),
    }
}

/// Micro-degrees as degrees with one to six decimals.
fn degrees(microdegrees: i32) -> String {
    let sign = if microdegrees < 0 { "-" } else { "" };
    let (whole, fraction) = (microdegrees.unsigned_abs() / 1_000_000, microdegrees.unsigned_abs() % 1_000_000);
    let text = format!("{sign}{whole}.{fraction:06}");
    let trimmed = text.trim_end_matches('0');
    if trimmed.ends_with('.') { format!("{trimmed}0") } else { trimmed.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(value: &Value, render: &Render) -> String {
        let mut json = JsonWriter::new();
        render_value(value, render, &mut json);
        json.finish()
    }

    #[test]
    fn places_have_one_to_six_decimals() {
        let place = Value::Position { x: -122_025_616, y: 37_418_149 };
        assert_eq!(text_of(&place, &Render::default()), r#"{"lat":37.418149,"lng":-122.025616}"#);
        assert_eq!(
            (degrees(0), degrees(-1), degrees(5_000_000), degrees(i32::MIN)),
            ("0.0".into(), "-0.000001".into(), "5.0".into(), "-2147.483648".into())
        );
    }

    #[test]
    fn maps_and_sets_are_objects_or_arrays() {
        let map = Value::Map(vec![(Value::Int(5), Value::String("x".into()))]);
        let set = Value::WeightedSet(vec![(Value::String("a".into()), -5)]);
        let arrays = Render { maps: MapFormat::Array, weighted_sets: MapFormat::Array, ..Render::default() };
        assert_eq!(text_of(&map, &Render::default()), r#"{"5":"x"}"#);
        assert_eq!(text_of(&map, &arrays), r#"[{"key":5,"value":"x"}]"#);
        assert_eq!(text_of(&set, &Render::default()), r#"{"a":-5}"#);
        assert_eq!(text_of(&set, &arrays), r#"[{"item":"a","weight":-5}]"#);
    }

    #[test]
    fn empty_members_are_hidden_but_empty_elements_are_not() {
        let members = vec![
            ("a".to_owned(), Value::String(String::new())),
            ("b".to_owned(), Value::Array(Vec::new())),
            ("c".to_owned(), Value::Array(vec![Value::String(String::new())])),
            ("d".to_owned(), Value::Struct(vec![("e".to_owned(), Value::String(String::new()))])),
        ];
        let hidden = Render::document(TensorFormat::Short);
        assert_eq!(text_of(&Value::Struct(members.clone()), &hidden), r#"{"c":[""],"d":{}}"#);
        assert_eq!(text_of(&Value::Struct(members), &Render::default()), r#"{"a":"","b":[],"c":[""],"d":{"e":""}}"#);
    }
}
