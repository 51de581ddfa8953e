//! Renders values, for `/document/v1` and query results alike, as JSON or CBOR.
use super::{JsonWriter, encode_base64};
use crate::unread::is_unread;
use crate::{Value, ValueWriter};

mod spec;
mod tensor;

pub use spec::{MapFormat, Render, TensorFormat};
pub use tensor::render_tensor;

/// Writes the object of a document's fields, or of a struct's members.
pub fn render_fields(fields: &[(String, Value)], render: &Render, out: &mut dyn ValueWriter) {
    out.begin_object();
    for (name, value) in fields.iter().filter(|(name, value)| !is_unread(name) && !render.hides(value)) {
        out.key(name);
        render_value(value, render, out);
    }
    out.end_object();
}

/// Writes one value.
pub fn render_value(value: &Value, render: &Render, out: &mut dyn ValueWriter) {
    match value {
        Value::String(text) => out.string(text),
        Value::Int(number) => out.integer(i64::from(*number)),
        Value::Long(number) => out.integer(*number),
        Value::Byte(number) => out.integer(i64::from(*number)),
        Value::Bool(flag) => out.boolean(*flag),
        Value::Float(number) => out.float(*number),
        Value::Double(number) => out.double(*number),
        Value::Raw(bytes) => out.string(&encode_base64(bytes)),
        Value::Position { x, y } => {
            out.begin_object();
            out.key("lat");
            out.decimal(&degrees(*y));
            out.key("lng");
            out.decimal(&degrees(*x));
            out.end_object();
        }
        Value::Array(elements) => {
            out.begin_array();
            elements.iter().for_each(|element| render_value(element, render, out));
            out.end_array();
        }
        Value::WeightedSet(entries) => {
            let entries = entries.iter().map(|(key, weight)| (key, Value::Int(*weight)));
            render_entries(entries, render.weighted_sets, ["item", "weight"], render, out);
        }
        Value::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| (key, value));
            render_entries(entries, render.maps, ["key", "value"], render, out);
        }
        Value::Struct(members) => render_fields(members, render, out),
        Value::Tensor(tensor) => render_tensor(tensor, render, out),
    }
}

fn render_entries<'a, V: std::borrow::Borrow<Value>>(
    entries: impl Iterator<Item = (&'a Value, V)>,
    format: MapFormat,
    [key_name, value_name]: [&str; 2],
    render: &Render,
    out: &mut dyn ValueWriter,
) {
    match format {
        MapFormat::Object => {
            out.begin_object();
            for (key, value) in entries {
                out.key(&key_text(key));
                render_value(value.borrow(), render, out);
            }
            out.end_object();
        }
        MapFormat::Array => {
            out.begin_array();
            for (key, value) in entries {
                out.begin_object();
                out.key(key_name);
                render_value(key, render, out);
                out.key(value_name);
                render_value(value.borrow(), render, out);
                out.end_object();
            }
            out.end_array();
        }
    }
}

/// A key as the text of a JSON key.
fn key_text(key: &Value) -> std::borrow::Cow<'_, str> {
    if let Value::String(text) = key {
        return text.into();
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
