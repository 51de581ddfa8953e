//! What holds for every document: what is written is read back, and no bytes make a reader panic.
//!
//! `PROPTEST_CASES` sets how many cases are tried.
use crate::mail;
use std::sync::Arc;

use brooklet_document::encode::{decode_fields, decode_fields_where, encode_fields};
use brooklet_document::json::{
    JsonWriter, Lexer, MapFormat, ReadOptions, Render, TensorFormat, TensorSource, parse_double, print_double,
    print_float, read_fields, read_tensor, render_fields, render_tensor, write_fields,
};
use brooklet_document::{
    CellType, Dimension, DocumentId, DocumentTypes, Format, PIECE_BYTES, Progress, Tensor, TensorType, Value,
    cells_to_bytes, parse_literal,
};
use brooklet_task::Code;
use brooklet_task::bytes::{Reader, Writer};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

fn cases() -> ProptestConfig {
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    if asked { ProptestConfig::default() } else { ProptestConfig::with_cases(2_000) }
}

fn any_cell_type() -> impl Strategy<Value = CellType> {
    prop::sample::select(vec![CellType::Double, CellType::Float, CellType::Bfloat16, CellType::Int8])
}

prop_compose! {
    /// A tensor with up to two dimensions of each kind.
    fn any_tensor()(
        cell in any_cell_type(),
        mapped in 0..3usize,
        sizes in vec(1..4usize, 0..3),
        labels in btree_set(vec(".{0,6}", 2), 0..5),
        cells in vec(any::<f64>(), 45),
    ) -> Tensor {
        let mut dimensions: Vec<Dimension> =
            (0..mapped).map(|i| Dimension { name: format!("m{i}"), size: None }).collect();
        dimensions.extend(sizes.iter().enumerate().map(|(i, size)| Dimension { name: format!("i{i}"), size: Some(*size) }));
        let tensor_type = Arc::new(TensorType::new(cell, dimensions));
        let mut addresses: Vec<Vec<String>> =
            labels.into_iter().map(|mut address| { address.truncate(mapped); address }).collect();
        addresses.dedup();
        if mapped == 0 {
            addresses = vec![Vec::new()];
        }
        let count = addresses.len() * tensor_type.dense_size();
        let cells = cells.into_iter().take(count).map(|value| cell.round(value)).collect();
        Tensor { tensor_type, addresses, cells }
    }
}

fn any_tensor_format() -> impl Strategy<Value = TensorFormat> {
    let names = ["short", "long", "hex", "short-value", "long-value", "hex-value"];
    prop::sample::select(names.map(|name| TensorFormat::from_name(name).unwrap()).to_vec())
}

fn any_map_format() -> impl Strategy<Value = MapFormat> {
    prop::sample::select(vec![MapFormat::Object, MapFormat::Array])
}

fn any_single() -> impl Strategy<Value = Value> {
    prop_oneof![
        ".{0,20}".prop_map(Value::String),
        any::<i32>().prop_map(Value::Int),
        any::<i64>().prop_map(Value::Long),
        any::<i8>().prop_map(Value::Byte),
        any::<bool>().prop_map(Value::Bool),
        any::<f32>().prop_map(Value::Float),
        any::<f64>().prop_map(Value::Double),
        vec(any::<u8>(), 0..9).prop_map(Value::Raw),
        any::<(i32, i32)>().prop_map(|(x, y)| Value::Position { x, y }),
        any_tensor().prop_map(Value::Tensor),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    any_single().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::Array),
            vec((any_single(), any::<i32>()), 0..4).prop_map(Value::WeightedSet),
            vec((any_single(), inner.clone()), 0..4).prop_map(Value::Map),
            vec(("[a-z]{1,4}", inner), 0..4).prop_map(Value::Struct),
        ]
    })
}

fn any_fields() -> impl Strategy<Value = Vec<(String, Value)>> {
    vec(("[a-z]{1,8}", any_value()), 0..5)
}

fn encoded(fields: &[(String, Value)]) -> Vec<u8> {
    let mut writer = Writer::new();
    encode_fields(fields, &mut writer);
    writer.finish()
}

/// A text form in which every bit of a number counts, and NaN equals NaN.
fn shown<T: std::fmt::Debug>(value: &T) -> String {
    format!("{value:?}")
}

/// Signs and words of which broken literals, types and JSON are made.
fn any_garble() -> impl Strategy<Value = String> {
    let words = [
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        "<",
        ">",
        ":",
        ",",
        "\"",
        "'",
        " ",
        "a",
        "x",
        "k",
        "0",
        "1",
        "-1",
        "1e9",
        "tensor",
        "tensor(x[2]):",
        "{{x:0}:1}",
        "null",
        "\\",
        "\\u00",
        "é",
        "type",
        "\"cells\"",
        "\"blocks\":",
        "\"address\":",
    ];
    vec(prop::sample::select(words.to_vec()), 0..24).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn fields_come_back_from_bytes(fields in any_fields()) {
        let bytes = encoded(&fields);
        let mut reader = Reader::new(&bytes);
        let decoded = decode_fields(&mut reader).unwrap();
        prop_assert!(reader.end().is_ok());
        prop_assert_eq!(shown(&decoded), shown(&fields));
        for (name, _) in &fields {
            let only = decode_fields_where(&mut Reader::new(&bytes), |other| other == name).unwrap();
            let same: Vec<_> = fields.iter().filter(|(other, _)| other == name).cloned().collect();
            prop_assert_eq!(shown(&only), shown(&same));
        }
    }

    #[test]
    fn no_bytes_make_the_decoder_panic(bytes in vec(any::<u8>(), 0..200)) {
        if let Ok(fields) = decode_fields(&mut Reader::new(&bytes)) {
            let again = encoded(&fields);
            prop_assert_eq!(shown(&decode_fields(&mut Reader::new(&again)).unwrap()), shown(&fields));
        }
    }

    #[test]
    fn no_damage_makes_the_decoder_panic(fields in any_fields(), at in any::<prop::sample::Index>(), byte: u8, cut: bool) {
        let mut bytes = encoded(&fields);
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        if let Ok(damaged) = decode_fields(&mut Reader::new(&bytes)) {
            for (_, value) in &damaged {
                if let Value::Tensor(tensor) = value {
                    prop_assert_eq!(tensor.cells.len(), tensor.addresses.len() * tensor.tensor_type.dense_size());
                }
            }
        }
    }

    #[test]
    fn tensors_come_back_from_text_and_json(tensor in any_tensor()) {
        let quotable = |label: &String| !label.contains('\'') && !label.contains('"');
        if tensor.addresses.iter().flatten().all(quotable) {
            let back = parse_literal(&tensor.to_string(), None, Code::BadRequest).unwrap();
            prop_assert_eq!(shown(&back), shown(&tensor));
        }
        let finite = tensor.cells.iter().all(|cell| cell.is_finite());
        for format in [TensorFormat::Short, TensorFormat::Long, TensorFormat::Hex] {
            if !finite && format != TensorFormat::Hex || (tensor.cells.is_empty() && tensor.tensor_type.dimensions.is_empty()) {
                continue;
            }
            let mut json = JsonWriter::new();
            render_tensor(&tensor, &Render::document(format), &mut json);
            let json = json.finish();
            // Only dense cells are written as digits; single cells that are no finite numbers are null.
            if format == TensorFormat::Hex && json.contains("null") {
                continue;
            }
            let back = read_tensor(&tensor.tensor_type, &mut Lexer::new(&json, Code::BadRequest), TensorSource::Document);
            prop_assert_eq!(shown(&back.unwrap()), shown(&tensor), "{}", json);
        }
    }

    #[test]
    fn pieces_are_what_is_written_at_once(
        fields in any_fields(),
        (piece, times) in (".{0,12}", prop_oneof![4 => 0..40usize, 1 => 0..9_000usize]),
        bytes in vec(any::<u8>(), 0..4),
        work in prop_oneof![1..40usize, 1..100_000usize],
        tensors in any_tensor_format(),
        [maps, weighted_sets] in [any_map_format(), any_map_format()],
        narrow_cells: bool,
        hide_empty: bool,
    ) {
        let text = Value::String(piece.repeat(times));
        let long = [
            ("text".to_owned(), text.clone()),
            ("raw".to_owned(), Value::Raw(bytes.repeat(times))),
            ("map".to_owned(), Value::Map(vec![(text.clone(), Value::Struct(fields.clone())), (Value::Int(1), text)])),
            ("list".to_owned(), Value::Array(vec![Value::Struct(fields.clone())])),
        ];
        let fields = [fields, long.to_vec()].concat();
        let render = Render { tensors, maps, weighted_sets, narrow_cells, hide_empty };
        for format in [Format::Json, Format::Cbor] {
            let at_once = format.write_with(|out| render_fields(&fields, &render, out));
            let (mut writer, mut progress, mut steps) = (format.writer(), Progress::default(), 1);
            progress.may_do(work);
            while !write_fields(&fields, &render, &mut progress, writer.out()) {
                progress.may_do(work);
                steps += 1;
            }
            prop_assert!(!progress.is_begun());
            prop_assert!(writer.finish() == at_once, "{format:?}");
            prop_assert!(steps > at_once.len() / 20 / (work + PIECE_BYTES), "{steps}");
        }
        for (_, value) in &fields {
            let Value::Tensor(tensor) = value else { continue };
            let (mut text, mut progress) = (String::new(), Progress::default());
            progress.may_do(work);
            while !tensor.print(&mut progress, &mut text) {
                progress.may_do(work);
            }
            prop_assert_eq!(text, tensor.to_string());
        }
    }

    #[test]
    fn documents_come_back_from_json(
        subject in "[ -~\t\n\u{a0}-\u{d7ff}]{1,20}",
        (year, size, unread, score, f) in any::<(i32, i64, bool, f64, f32)>(),
        nums in vec(any::<i32>(), 1..9),
        blob in vec(any::<u8>(), 1..9),
        (x, y) in any::<(i32, i32)>(),
        counts in prop::collection::btree_map("[a-z]{1,3}", any::<i32>(), 1..5),
    ) {
        let counts = counts.into_iter().map(|(key, count)| (Value::String(key), Value::Int(count))).collect();
        let fields: Vec<(String, Value)> = vec![
            ("subject".into(), Value::String(subject)),
            ("year".into(), Value::Int(year)),
            ("size".into(), Value::Long(size)),
            ("unread".into(), Value::Bool(unread)),
            ("score".into(), Value::Double(score)),
            ("f".into(), Value::Float(f)),
            ("nums".into(), Value::Array(nums.into_iter().map(Value::Int).collect())),
            ("blob".into(), Value::Raw(blob)),
            ("location".into(), Value::Position { x, y }),
            ("counts".into(), Value::Map(counts)),
        ];
        let mut json = JsonWriter::new();
        json.begin_object();
        json.key("fields");
        render_fields(&fields, &Render::document(TensorFormat::Short), &mut json);
        json.end_object();
        let types = mail::Types::new();
        let id = DocumentId::parse("id:ns:mail::1").unwrap();
        let body = json.finish();
        let back = read_fields(types.fields_of("mail").unwrap(), &id, body.as_bytes(), ReadOptions::default()).unwrap();
        prop_assert_eq!(shown(&back.fields), shown(&fields));
    }

    #[test]
    fn numbers_are_read_as_the_standard_library_reads_them(
        whole in "-?(0|[1-9][0-9]{0,24})", fraction in "(\\.[0-9]{1,24})?", exponent in "([eE][+-]?[0-9]{1,3})?",
    ) {
        let text = format!("{whole}{fraction}{exponent}");
        let number = Lexer::new(&text, Code::BadRequest).double().unwrap();
        prop_assert_eq!(number.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{}", text);
    }

    #[test]
    fn printed_numbers_read_back(bits: u64) {
        let (double, float) = (f64::from_bits(bits), f32::from_bits(bits as u32));
        let mut text = String::new();
        print_double(double, &mut text);
        prop_assert_eq!(shown(&parse_double(&text).unwrap()), shown(&double), "{}", text);
        text.clear();
        print_float(float, &mut text);
        if float.is_finite() {
            prop_assert_eq!(text.parse::<f32>().unwrap().to_bits(), float.to_bits(), "{}", text);
        }
    }

    #[test]
    fn no_text_makes_a_reader_panic(garble in any_garble(), any_text in ".{0,40}") {
        let types = mail::Types::new();
        let id = DocumentId::parse("id:ns:mail::1").unwrap();
        for text in [&garble, &any_text] {
            let _ = TensorType::parse(text);
            let _ = parse_literal(text, None, Code::BadRequest);
            if let Ok(id) = DocumentId::parse(text) {
                prop_assert_eq!(id.as_str(), text);
            }
            for field in ["emb", "sparse", "mixed", "people", "byid", "location", "weights"] {
                let body = format!("{{\"fields\":{{\"{field}\":{text}}}}}");
                let _ = read_fields(types.fields_of("mail").unwrap(), &id, body.as_bytes(), ReadOptions::default());
            }
        }
    }

    #[test]
    fn no_body_makes_the_reader_panic(bytes in vec(any::<u8>(), 0..60)) {
        let types = mail::Types::new();
        let id = DocumentId::parse("id:ns:mail::1").unwrap();
        let _ = read_fields(types.fields_of("mail").unwrap(), &id, &bytes, ReadOptions::default());
    }

    #[test]
    fn strings_come_back_from_json(text: String) {
        let mut json = JsonWriter::new();
        json.string(&text);
        let json = json.finish();
        let mut lexer = Lexer::new(&json, Code::BadRequest);
        prop_assert_eq!(lexer.string().unwrap(), text);
        prop_assert!(lexer.end().is_ok());
    }

    #[test]
    fn rounded_cells_are_what_their_bytes_hold(cell in any_cell_type(), value: f64) {
        let (mut once, mut twice) = (Vec::new(), Vec::new());
        cells_to_bytes(cell, &[value], &mut once);
        cells_to_bytes(cell, &[cell.round(value)], &mut twice);
        prop_assert_eq!(once, twice);
    }
}
