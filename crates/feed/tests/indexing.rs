//! Scripts of fields outside the document: what they make, what they refuse, and what they want embedded.
mod host;

use brooklet_document::Value;
use brooklet_document::embedding::{Embedding, EmbeddingWanted, Embeddings};
use brooklet_feed::indexing::{Made, make_fields};
use brooklet_feed::{OperationRequest, embeddings_wanted, encode};
use brooklet_schema::Application;
use brooklet_task::bytes::Writer;

const DOCUMENT: &str = "document t {
  field a type string {} field b type string {} field n type int {} field l type array<string> {}
  struct person { field name type string {} } field p type person {}
}";

fn application(fields: &str) -> Application {
    host::application(&[("t", &format!("schema t {{ {DOCUMENT}\n{fields} }}"))])
}

fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

fn document() -> Vec<(String, Value)> {
    let list = Value::Array(vec![text("One"), text("two")]);
    let person = Value::Struct(vec![("name".to_owned(), text("Ada"))]);
    [("a", text(" Hello. World! ")), ("n", Value::Int(7)), ("l", list), ("p", person)]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn make(application: &Application, embeddings: &Embeddings) -> Result<Made, String> {
    make_fields(&application.schemas[0], "id:n:t::1", &document(), embeddings, None)
        .map_err(|rejection| rejection.message)
}

/// What a script makes of the document, in a field of that type.
fn made(data_type: &str, script: &str) -> Result<Option<Value>, String> {
    let application = application(&format!("field f type {data_type} {{ indexing: {script} }}"));
    let made = make(&application, &Embeddings::default())?;
    Ok(made.fields.into_iter().next().map(|(_, value)| value))
}

#[test]
fn texts() {
    for (script, expected) in [
        ("input a | index", Some(" Hello. World! ")),
        ("input a | trim | lowercase | index", Some("hello. world!")),
        ("input b | index", None),
        ("input b || input a | trim | index", Some("Hello. World!")),
        ("input a . input b | index", None),
        ("(input a || \"\") . (input b || \"\") . \"x\" | trim | index", Some("Hello. World! x")),
        ("input n . \"-\" . input p.name | index", Some("7-Ada")),
        ("input a | substring 1 6 | index", Some("Hello")),
        ("input l | join \", \" | index", Some("One, two")),
        ("input n + 1 | to_string | index", Some("8")),
        ("documentid | index", Some("id:n:t::1")),
        ("{ if (input n > 5) { \"big\" | index; } else { \"small\" | index; }; }", Some("big")),
        ("{ if (input b == 1) { \"x\" | index; } else { \"y\" | index; }; }", None),
        ("{ input p.name | switch { case 'Ada': \"first\" | index; default: \"other\" | index; }; }", Some("first")),
        ("{ select_input { b: index; a: trim | index; }; }", Some("Hello. World!")),
    ] {
        assert_eq!(made("string", script), Ok(expected.map(text)), "{script}");
    }
}

#[test]
fn arrays_and_numbers() {
    let texts = |texts: &[&str]| Ok(Some(Value::Array(texts.iter().map(|one| text(one)).collect())));
    assert_eq!(made("array<string>", "input a | chunk sentence | index"), texts(&[" Hello.", " World!", " "]));
    assert_eq!(made("array<string>", "input a | trim | chunk fixed-length 7 | index"), texts(&["Hello. ", "World!"]));
    assert_eq!(made("array<string>", "input l | for_each { lowercase } | index"), texts(&["one", "two"]));
    assert_eq!(made("array<string>", "input l . input l | index"), texts(&["One", "two", "One", "two"]));
    assert_eq!(made("array<string>", "\"a,b,,\" | split \",\" | index"), texts(&["a", "b"]));
    assert_eq!(
        made("long", "\"2026-01-01T00:00:00Z\" | to_epoch_second | attribute"),
        Ok(Some(Value::Long(1_767_225_600)))
    );
    assert_eq!(made("int", "input n * 6 % 5 | attribute"), Ok(Some(Value::Int(2))));
    assert_eq!(made("double", "input n | to_double | attribute"), Ok(Some(Value::Double(7.0))));
}

#[test]
fn what_cannot_be_made_names_its_statement() {
    let refused = made("int", "input a | to_int | attribute").unwrap_err();
    let expected = "Operation on 'id:n:t::1' contains invalid input: Error executing \
                    'input a | to_int | attribute f' of field 'f': ' Hello. World! ' is no whole number";
    assert_eq!(refused, expected);
    assert!(made("int", "input n / 0 | attribute").unwrap_err().ends_with("a division by zero"));
    let twice = made("string", "{ \"a\" | index; \"b\" | index; }").unwrap_err();
    assert!(twice.ends_with("field 'f' is given two values"), "{twice}");
}

#[test]
fn updates_make_again_what_reads_an_updated_field() {
    let application = application(
        "field f type string { indexing: input a | index }\n field g type string { indexing: \"x\" | index }\n\
         field h type string { indexing: (input a || \"\") . (input b || \"\") | index }",
    );
    let document = [("a".to_owned(), text("old ")), ("b".to_owned(), text("new"))];
    let made = |updated: &str| {
        let is_updated = |name: &str| name == updated;
        let schema = &application.schemas[0];
        make_fields(schema, "id:n:t::1", &document, &Embeddings::default(), Some(&is_updated)).unwrap()
    };
    assert_eq!((made("b").fields, made("b").ran), (vec![("h".to_owned(), text("old new"))], vec!["h".to_owned()]));
    assert_eq!(made("a").ran, ["f", "h"]);
    assert_eq!((made("l").fields, made("l").ran), (vec![], Vec::<String>::new()));
}

fn wanted(of: &str, values: u32) -> EmbeddingWanted {
    EmbeddingWanted { embedder: "e".to_owned(), is_query: false, values, text: of.to_owned() }
}

#[test]
fn texts_are_wanted_once_and_become_tensors() {
    let application = application(
        "field v type tensor<float>(x[2]) { indexing: input p.name | embed e | attribute }\n\
         field w type tensor<bfloat16>(x[2]) { indexing: input p.name | embed e | attribute }\n\
         field c type tensor<int8>(c{}, x[1]) { indexing: input l | embed e | attribute }",
    );
    let first = make(&application, &Embeddings::default()).unwrap();
    assert_eq!(first.fields, []);
    assert_eq!(first.wanted, [wanted("Ada", 2), wanted("One", 8), wanted("two", 8)]);
    let mut embeddings = Embeddings::default();
    embeddings.insert(wanted("Ada", 2), Embedding::Vector(vec![0.5, -0.25, 9.0]));
    for word in ["One", "two"] {
        embeddings.insert(wanted(word, 8), Embedding::Vector(vec![1.0, 1.0, -1.0, -1.0, -1.0, -1.0, -1.0, 1.0]));
    }
    let second = make(&application, &embeddings).unwrap();
    assert_eq!(second.wanted, []);
    let cells = |index: usize| match &second.fields[index].1 {
        Value::Tensor(tensor) => tensor.cells.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!((cells(0), cells(1)), (vec![0.5, -0.25], vec![0.5, -0.25]));
    let packed = f64::from(0b1100_0001u8 as i8);
    assert_eq!(cells(2), [packed, packed]);
}

#[test]
fn a_put_is_encoded_with_its_embeddings_or_refused() {
    let application = application("field v type tensor<float>(x[2]) { indexing: input a | embed e | attribute }");
    let body = br#"{"fields":{"a":"hello"}}"#;
    let request =
        |embeddings| OperationRequest { kind: 1, id: "id:n:t::1", create: false, condition: "", body, embeddings };
    assert_eq!(embeddings_wanted(&application, &request(&[])), Ok(vec![wanted("hello", 2)]));
    let refused = encode(&application, &request(&[]), 0).unwrap_err();
    assert!(refused.message.contains("no embedder is configured"), "{}", refused.message);
    let mut answer = Writer::new();
    answer.varint(1);
    answer.u8(1);
    answer.varint(2);
    answer.f32(1.0);
    answer.f32(2.0);
    let answer = answer.finish();
    assert!(encode(&application, &request(&answer), 0).is_ok());
    assert!(encode(&application, &request(&answer[..answer.len() - 1]), 0).is_err());
    assert!(application.warnings.iter().any(|warning| warning.contains("the embedder 'e' is no component")));
}
