//! test-vectors/rendering: what the reference implementation's search answers with, as JSON and as CBOR.
use brooklet_document::json::{JsonWriter, Render, TensorFormat, render_tensor};
use brooklet_document::{Format, ValueWriter, parse_literal};
use brooklet_task::Code;
use serde_json::{Number, Value as Json};

fn rows(text: &str, least: usize) -> Vec<Json> {
    let rows: Vec<Json> = serde_json::from_str(text).unwrap();
    assert!(rows.len() >= least, "{} rows", rows.len());
    rows
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Numbers with a point or an exponent are floats, the others integers.
fn write_number(number: &Number, out: &mut dyn ValueWriter) {
    let text = number.to_string();
    match text.parse() {
        Ok(integer) => out.integer(integer),
        Err(_) => out.double(text.parse().unwrap()),
    }
}

fn write(value: &Json, key: &str, out: &mut dyn ValueWriter) {
    match value {
        Json::Null => out.null(),
        Json::Bool(flag) => out.boolean(*flag),
        Json::Number(number) => write_number(number, out),
        // A relevance that is no number has a name in JSON and is a float in CBOR.
        Json::String(name) if key == "relevance" => out.double(name.parse().unwrap()),
        Json::String(text) => out.string(text),
        Json::Array(elements) => {
            out.begin_array();
            elements.iter().for_each(|element| write(element, "", out));
            out.end_array();
        }
        Json::Object(members) => {
            out.begin_object();
            for (key, value) in members {
                out.key(key);
                write(value, key, out);
            }
            out.end_object();
        }
    }
}

#[test]
fn answers_have_the_recorded_bytes() {
    for row in rows(include_str!("../../../../test-vectors/rendering/answers.json"), 15) {
        let name = row["name"].as_str().unwrap();
        let text = row["json"].as_str().unwrap();
        let answer: Json = serde_json::from_str(text).unwrap();
        let cbor = Format::Cbor.write_with(|out| write(&answer, "", out));
        assert_eq!(digits(&cbor), row["cbor"].as_str().unwrap(), "{name}");
        let json = String::from_utf8(Format::Json.write_with(|out| write(&answer, "", out))).unwrap();
        if text.contains("\\uD") {
            // The reference escapes characters beyond 16 bits; here they stand as they are, which reads the same.
            assert_eq!(serde_json::from_str::<Json>(&json).unwrap(), answer, "{name}");
        } else {
            assert_eq!(json, text, "{name}");
        }
    }
}

#[test]
fn tensors_of_results_have_the_recorded_forms() {
    for row in rows(include_str!("../../../../test-vectors/rendering/tensors.json"), 96) {
        let (literal, format) = (row["tensor"].as_str().unwrap(), row["format"].as_str().unwrap());
        let tensor = parse_literal(literal, None, Code::BadRequest).unwrap();
        let render = Render::result(TensorFormat::from_name(format).unwrap());
        let mut json = JsonWriter::new();
        render_tensor(&tensor, &render, &mut json);
        assert_eq!(json.finish(), row["json"].as_str().unwrap(), "{literal} {format}");
        let cbor = Format::Cbor.write_with(|out| render_tensor(&tensor, &render, out));
        assert_eq!(digits(&cbor), row["cbor"].as_str().unwrap(), "{literal} {format}");
    }
}
