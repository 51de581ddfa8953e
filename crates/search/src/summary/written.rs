//! Values that take too long to be written in one step are written in pieces: texts as JSON and markup, entries of collections.
//! All of them together are what the value is written as at once.
use brooklet_document::{Format, Value};

use super::field_markup;
use crate::markup::Markup;

/// Bytes of a text in a piece, and of a value that is written at once.
const PIECE_BYTES: usize = 1 << 16;
/// Entries of a collection in a piece.
const PIECE_ENTRIES: usize = 1 << 11;
/// A byte of what is no text takes as long as so many of one.
const ENTRY_WORK: usize = 4;

/// A byte of a text as markup, in which marks are looked for and written, takes as long as so many of one as JSON.
const MARKED_TEXT_WORK: usize = 2;

/// How far a value was written.
#[derive(Default)]
pub(super) struct Writing {
    bytes: Vec<u8>,
    /// Where the next piece begins: a byte of a text, an entry of a collection.
    next: usize,
}

/// Whether a value is written in pieces.
pub(super) fn is_long(value: &Value, format: Format) -> bool {
    match value {
        Value::String(text) => format == Format::Json && text.len() > PIECE_BYTES,
        _ => (0..length_of(value)).map(|at| weight_of_entry(value, at)).sum::<usize>() > PIECE_BYTES,
    }
}

fn length_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(elements) => elements.len(),
        Value::WeightedSet(entries) => entries.len(),
        Value::Map(entries) => entries.len(),
        _ => 0,
    }
}

/// What an entry has to write, about, in bytes.
fn weight_of_entry(value: &Value, at: usize) -> usize {
    match value {
        Value::Array(elements) => weight_of(&elements[at]),
        Value::WeightedSet(entries) => weight_of(&entries[at].0) + 8,
        Value::Map(entries) => weight_of(&entries[at].0) + weight_of(&entries[at].1),
        _ => 0,
    }
}

fn weight_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Raw(bytes) => bytes.len() * 4 / 3,
        Value::Struct(members) => members.iter().map(|(name, value)| name.len() + weight_of(value)).sum(),
        Value::Tensor(tensor) => tensor.cells.len() * 8,
        Value::Array(_) | Value::WeightedSet(_) | Value::Map(_) => {
            (0..length_of(value)).map(|at| weight_of_entry(value, at)).sum::<usize>() + 2
        }
        _ => 8,
    }
}

/// The piece that begins at `from`, and where the next one does.
fn piece_of(value: &Value, from: usize) -> (Value, usize) {
    if let Value::String(text) = value {
        let end = text.floor_char_boundary(from + PIECE_BYTES);
        return (Value::String(text[from..end].to_owned()), end);
    }
    let (mut end, mut weight) = (from, 0);
    while end < length_of(value) && end - from < PIECE_ENTRIES && weight < PIECE_BYTES {
        weight += weight_of_entry(value, end);
        end += 1;
    }
    let piece = match value {
        Value::Array(elements) => Value::Array(elements[from..end].to_vec()),
        Value::WeightedSet(entries) => Value::WeightedSet(entries[from..end].to_vec()),
        Value::Map(entries) => Value::Map(entries[from..end].to_vec()),
        other => other.clone(),
    };
    (piece, end)
}

impl Writing {
    /// A long value as `write` writes it; nothing while there is too little work left: another call with the value goes on.
    pub(super) fn write(
        &mut self,
        value: &Value,
        format: Format,
        write: &dyn Fn(&Value) -> Vec<u8>,
        work: &mut usize,
    ) -> Option<Vec<u8>> {
        let is_text = matches!(value, Value::String(_));
        let is_separated = format == Format::Json && !is_text;
        let length = length_of(value);
        while self.next < length {
            if *work == 0 {
                return None;
            }
            let (piece, next) = piece_of(value, self.next);
            let written = write(&piece);
            // Every piece has the marks that a whole value begins and ends with.
            let [begin, inner @ .., end] = &written[..] else { return Some(write(value)) };
            if self.next == 0 {
                self.bytes.push(*begin);
            } else if is_separated {
                self.bytes.push(b',');
            }
            self.bytes.extend_from_slice(inner);
            if next == length {
                self.bytes.push(*end);
            }
            self.next = next;
            *work = work.saturating_sub(if is_text { written.len() } else { ENTRY_WORK * written.len() });
        }
        self.next = 0;
        Some(std::mem::take(&mut self.bytes))
    }
}

/// The fields of a hit as markup, as far as they were written.
#[derive(Default)]
pub(super) struct MarkupWriting {
    /// What was written; nothing before the first of it.
    pub(super) out: Option<Markup>,
    /// Where the next piece of a long value begins.
    next: usize,
}

impl MarkupWriting {
    /// Writes a field behind what was written. Returns whether there was enough work left for it: another call with the same
    /// field goes on.
    pub(super) fn field(&mut self, name: &str, value: &Value, work: &mut usize) -> bool {
        let out = self.out.get_or_insert_with(Markup::piece);
        if !is_long(value, Format::Json) {
            field_markup::field(name, value, out);
            return true;
        }
        let (length, of_byte) =
            (length_of(value), if matches!(value, Value::String(_)) { MARKED_TEXT_WORK } else { ENTRY_WORK });
        while self.next < length {
            if *work == 0 {
                return false;
            }
            let (piece, next) = piece_of(value, self.next);
            let before = out.length();
            if self.next == 0 {
                field_markup::begin(name, out);
            }
            field_markup::content(&piece, out);
            if next == length {
                out.end();
            }
            self.next = next;
            *work = work.saturating_sub(of_byte * (out.length() - before));
        }
        self.next = 0;
        true
    }
}

#[cfg(test)]
mod tests {
    use brooklet_document::json::{MapFormat, Render, render_value};

    use super::*;

    /// With little work left, a call after another goes on by a piece.
    fn in_pieces(value: &Value, format: Format, render: &Render) -> (Vec<u8>, usize) {
        let (mut writing, mut steps) = (Writing::default(), 0);
        let write = |value: &Value| format.write_with(|out| render_value(value, render, out));
        loop {
            steps += 1;
            if let Some(written) = writing.write(value, format, &write, &mut 1) {
                return (written, steps);
            }
        }
    }

    #[test]
    fn pieces_are_what_is_written_at_once() {
        let text = |number: usize| Value::String(format!("\"{number} å\u{1}日本😀\\"));
        let numbers = || (0..10_000).map(|number| Value::Double(f64::from(number) / 7.0));
        let person = |number: usize| Value::Struct(vec![("name".to_owned(), text(number))]);
        let values = [
            Value::String("\"å\u{1}日本😀\\ ".repeat(20_000)),
            Value::Array(numbers().collect()),
            Value::Array((0..9_000).map(text).collect()),
            Value::Array((0..9_000).map(person).collect()),
            Value::Array((0..40).map(|_| Value::String("long ".repeat(9_000))).collect()),
            Value::WeightedSet((0..9_000).map(|number| (text(number), number as i32)).collect()),
            Value::Map((0..9_000).map(|number| (text(number), Value::Array(numbers().take(3).collect()))).collect()),
            Value::Map(numbers().take(9_000).map(|number| (number, Value::Int(1))).collect()),
        ];
        for value in &values {
            for maps in [MapFormat::Object, MapFormat::Array] {
                let render = Render { maps, weighted_sets: maps, ..Render::default() };
                for format in [Format::Json, Format::Cbor] {
                    if matches!(value, Value::String(_)) && format == Format::Cbor {
                        assert!(!is_long(value, format));
                        continue;
                    }
                    assert!(is_long(value, format));
                    let at_once = format.write_with(|out| render_value(value, &render, out));
                    let (written, steps) = in_pieces(value, format, &render);
                    assert!(written == at_once, "{format:?} {maps:?}");
                    assert!(steps > 4, "{steps}");
                }
            }
        }
    }

    #[test]
    fn pieces_of_markup_are_what_is_written_at_once() {
        let text = |number: usize| Value::String(format!("<{number} å\u{2}日本\u{3}😀&"));
        let person = |number: usize| Value::Struct(vec![("name".to_owned(), text(number))]);
        for value in [
            Value::String("<å\u{2}日本\u{3}😀& ".repeat(20_000)),
            Value::Array((0..9_000).map(text).collect()),
            Value::Array((0..9_000).map(person).collect()),
            Value::WeightedSet((0..9_000).map(|number| (text(number), number as i32)).collect()),
            Value::Map((0..9_000).map(|number| (text(number), Value::Array(vec![person(number)]))).collect()),
        ] {
            let (mut at_once, mut writing, mut steps) = (Markup::piece(), MarkupWriting::default(), 1);
            for name in ["first", "second"] {
                field_markup::field(name, &value, &mut at_once);
                while !writing.field(name, &value, &mut 1) {
                    steps += 1;
                }
            }
            assert!(writing.out.unwrap().finish() == at_once.finish());
            assert!(steps > 4, "{steps}");
        }
    }

    #[test]
    fn short_values_are_written_at_once() {
        for value in [Value::Int(1), Value::String("x".repeat(60_000)), Value::Array(vec![Value::Int(1); 1_000])] {
            assert!(!is_long(&value, Format::Json) && !is_long(&value, Format::Cbor));
        }
    }
}
