//! Writes JSON; commas come by themselves. Bytes are those of the reference implementation's writer.
use super::lex::plain_length;
use super::number::{print_double, print_float};
use crate::ValueWriter;

/// Room made at first: as much as the fields of a hit mostly take.
const ROOM: usize = 256;

const HEX_DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// A growing JSON text.
#[derive(Clone, Debug, Default)]
pub struct JsonWriter {
    out: String,
    /// A value stands before, so the next one needs a comma.
    comma_due: bool,
}

impl JsonWriter {
    /// Nothing written yet.
    #[must_use]
    pub fn new() -> JsonWriter {
        JsonWriter { out: String::with_capacity(ROOM), comma_due: false }
    }

    /// The text written.
    #[must_use]
    pub fn finish(self) -> String {
        self.out
    }

    /// Bytes written so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// Whether nothing was written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// Opens an object.
    pub fn begin_object(&mut self) {
        self.separate();
        self.out.push('{');
        self.comma_due = false;
    }

    /// Closes an object.
    pub fn end_object(&mut self) {
        self.out.push('}');
        self.comma_due = true;
    }

    /// Opens an array.
    pub fn begin_array(&mut self) {
        self.separate();
        self.out.push('[');
        self.comma_due = false;
    }

    /// Closes an array.
    pub fn end_array(&mut self) {
        self.out.push(']');
        self.comma_due = true;
    }

    /// A key; its value comes next.
    pub fn key(&mut self, key: &str) {
        self.separate();
        quote(key, &mut self.out);
        self.out.push(':');
        self.comma_due = false;
    }

    /// A string.
    pub fn string(&mut self, text: &str) {
        self.separate();
        quote(text, &mut self.out);
    }

    /// Opens a string, or a key, whose text comes in pieces.
    pub fn begin_string(&mut self) {
        self.separate();
        self.out.push('"');
    }

    /// A piece of the open string.
    pub fn piece(&mut self, text: &str) {
        escape(text, &mut self.out);
    }

    /// Closes the string.
    pub fn end_string(&mut self) {
        self.out.push('"');
    }

    /// Closes a key; its value comes next.
    pub fn end_key(&mut self) {
        self.out.push_str("\":");
        self.comma_due = false;
    }

    /// Takes back what was written behind so many bytes, at whose end a value ends.
    pub fn cut(&mut self, length: usize) {
        self.out.truncate(length);
        self.comma_due = true;
    }

    /// An integer.
    pub fn integer(&mut self, number: i64) {
        self.raw(itoa::Buffer::new().format(number));
    }

    /// A float64; one that is no number is written as a string.
    pub fn double(&mut self, number: f64) {
        self.separate();
        self.number(number.is_finite(), |out| print_double(number, out));
    }

    /// A float32; one that is no number is written as a string.
    pub fn float(&mut self, number: f32) {
        self.separate();
        self.number(number.is_finite(), |out| print_float(number, out));
    }

    /// `true` or `false`.
    pub fn boolean(&mut self, flag: bool) {
        self.raw(if flag { "true" } else { "false" });
    }

    /// `null`.
    pub fn null(&mut self) {
        self.raw("null");
    }

    /// Ends a line of JSON lines: the next value stands alone on the next.
    pub fn end_line(&mut self) {
        self.out.push('\n');
        self.comma_due = false;
    }

    /// A value that is JSON already.
    pub fn raw(&mut self, json: &str) {
        self.separate();
        self.out.push_str(json);
    }

    fn separate(&mut self) {
        if std::mem::replace(&mut self.comma_due, true) {
            self.out.push(',');
        }
    }

    fn number(&mut self, finite: bool, print: impl Fn(&mut String)) {
        if finite {
            return print(&mut self.out);
        }
        self.out.push('"');
        print(&mut self.out);
        self.out.push('"');
    }
}

impl ValueWriter for JsonWriter {
    fn begin_object(&mut self) {
        JsonWriter::begin_object(self);
    }

    fn end_object(&mut self) {
        JsonWriter::end_object(self);
    }

    fn begin_array(&mut self) {
        JsonWriter::begin_array(self);
    }

    fn end_array(&mut self) {
        JsonWriter::end_array(self);
    }

    fn key(&mut self, key: &str) {
        JsonWriter::key(self, key);
    }

    fn string(&mut self, text: &str) {
        JsonWriter::string(self, text);
    }

    fn begin_string(&mut self, _: usize) {
        JsonWriter::begin_string(self);
    }

    fn piece(&mut self, text: &str) {
        JsonWriter::piece(self, text);
    }

    fn end_string(&mut self) {
        JsonWriter::end_string(self);
    }

    fn end_key(&mut self) {
        JsonWriter::end_key(self);
    }

    fn integer(&mut self, number: i64) {
        JsonWriter::integer(self, number);
    }

    fn double(&mut self, number: f64) {
        JsonWriter::double(self, number);
    }

    fn float(&mut self, number: f32) {
        JsonWriter::float(self, number);
    }

    fn decimal(&mut self, digits: &str) {
        self.raw(digits);
    }

    fn boolean(&mut self, flag: bool) {
        JsonWriter::boolean(self, flag);
    }

    fn null(&mut self) {
        JsonWriter::null(self);
    }

    fn fragment(&mut self, written: &[u8]) {
        match simdutf8::basic::from_utf8(written) {
            Ok(json) => self.raw(json),
            Err(_) => self.raw(&String::from_utf8_lossy(written)),
        }
    }
}

/// Appends `text` in quotes.
fn quote(text: &str, out: &mut String) {
    out.reserve(text.len() + 2);
    out.push('"');
    escape(text, out);
    out.push('"');
}

/// Appends `text`, escaping what must be escaped and nothing else.
fn escape(text: &str, out: &mut String) {
    let mut rest = text;
    loop {
        let at = plain_length(rest.as_bytes());
        if at == rest.len() {
            break;
        }
        out.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x08 => out.push_str("\\b"),
            b'\t' => out.push_str("\\t"),
            b'\n' => out.push_str("\\n"),
            0x0c => out.push_str("\\f"),
            b'\r' => out.push_str("\\r"),
            control => {
                out.push_str("\\u00");
                out.extend([control >> 4, control & 15].map(|digit| char::from(HEX_DIGITS[usize::from(digit)])));
            }
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_stand_between_values_only() {
        let mut json = JsonWriter::new();
        json.begin_object();
        json.key("a");
        json.begin_array();
        json.end_array();
        json.key("b");
        json.begin_array();
        json.integer(-1);
        json.boolean(true);
        json.null();
        json.begin_object();
        json.end_object();
        json.end_array();
        json.key("c");
        json.string("");
        json.end_object();
        assert_eq!(json.finish(), r#"{"a":[],"b":[-1,true,null,{}],"c":""}"#);
    }

    #[test]
    fn only_what_must_be_escaped_is() {
        let mut json = JsonWriter::new();
        json.string("\"\\/\u{8}\t\n\u{c}\r\u{1f}\u{7f}é😀");
        assert_eq!(json.finish(), "\"\\\"\\\\/\\b\\t\\n\\f\\r\\u001F\u{7f}é😀\"");
    }

    #[test]
    fn what_is_no_number_is_a_string() {
        let mut json = JsonWriter::new();
        json.begin_array();
        json.double(f64::NAN);
        json.float(f32::NEG_INFINITY);
        json.double(1.0);
        json.end_array();
        assert_eq!(json.finish(), r#"["NaN","-Infinity",1.0]"#);
    }
}
