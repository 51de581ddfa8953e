//! Scripts of fields outside the document: what they make, what they refuse, and what they want embedded.
mod host;

use brooklet_document::embedding::{Embedding, EmbeddingWanted, Embeddings};
use brooklet_document::{DataType, Tensor, Value};
use brooklet_feed::indexing::{Made, Write, make_fields};
use brooklet_feed::{OperationRequest, embeddings_wanted, encode};
use brooklet_schema::Application;
use brooklet_task::bytes::Writer;

const DOCUMENT: &str = "document t {
  field a type string {} field b type string {} field n type int {} field l type array<string> {}
  struct person { field name type string {} } field p type person {}
  field weights type weightedset<string> {} field m type map<string, int> {} field numbers type tensor<float>(x[10]) {}
  field k type tag {}
}";

/// The application with a language model and field generators: `one` has a template and answers with JSON, `plain` answers
/// with texts, `strict` fails on answers of another form.
fn generating(fields: &str) -> Application {
    let component = |id: &str, config: &str| {
        format!(
            "<component id='{id}' class='ai.vespa.llm.generation.LanguageModelFieldGenerator'>
             <config name='ai.vespa.llm.generation.language-model-field-generator'>{config}</config></component>"
        )
    };
    let services = format!(
        "<services><container id='default' version='1.0'>
         <component id='llm' class='ai.vespa.llm.clients.OpenAI'/>{}{}{}</container>
         <content id='c' version='1.0'><documents><document type='t' mode='streaming'/></documents><redundancy>1</redundancy></content></services>",
        component("one", "<promptTemplate>Of {input} as {jsonSchema}: {input}.</promptTemplate>"),
        component("plain", "<responseFormatType>TEXT</responseFormatType>"),
        component("strict", "<invalidResponseFormatPolicy>FAIL</invalidResponseFormatPolicy>"),
    );
    let schema = format!("schema t {{ {DOCUMENT}\n{fields} }}");
    let files = [("services.xml", services), ("schemas/t.sd", schema)];
    let files: Vec<_> = files.into_iter().map(|(path, text)| (path.to_owned(), text.into_bytes())).collect();
    Application::deploy(&files).unwrap_or_else(|rejection| panic!("{rejection}"))
}

/// 2026-01-01T00:00:00.5Z.
const WRITE: Write<'_> = Write { id: "id:n:t::1", time: 1_767_225_600_500_000 };

fn application(fields: &str) -> Application {
    host::application(&[("t", &format!("schema t {{ {DOCUMENT}\n{fields} }}"))])
}

fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

/// The type of the field `numbers`.
fn vector_type() -> DataType {
    application("").schemas[0].field("numbers").expect("numbers").data_type.clone()
}

fn document() -> Vec<(String, Value)> {
    let list = Value::Array(vec![text("One"), text("two")]);
    let person = Value::Struct(vec![("name".to_owned(), text("Ada"))]);
    let set = Value::WeightedSet(vec![(text("A"), 3), (text("b"), 5), (text("a"), 7)]);
    let map = Value::Map(vec![(text("x"), Value::Int(1)), (text("y"), Value::Int(2))]);
    let DataType::Tensor(of) = vector_type() else { panic!("a tensor") };
    let vector = Tensor {
        addresses: vec![vec![]],
        cells: vec![0.5, -1.0, 0.0, 1.0, 2.0, -0.1, 0.0, 3.0, 1.0, -1.0],
        tensor_type: of,
    };
    [
        ("a", text(" Hello. World! ")),
        ("n", Value::Int(7)),
        ("l", list),
        ("p", person),
        ("weights", set.clone()),
        ("m", map),
        ("numbers", Value::Tensor(vector)),
        ("k", set),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

fn make(application: &Application, embeddings: &Embeddings) -> Result<Made, String> {
    make_fields(&application.schemas[0], WRITE, &document(), embeddings, None).map_err(|rejection| rejection.message)
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
fn texts_are_split_by_expressions_and_cut_by_characters() {
    let texts = |texts: &[&str]| Ok(Some(Value::Array(texts.iter().map(|one| text(one)).collect())));
    assert_eq!(made("array<string>", "\"a,  b;c;\" | split \"[,;] *\" | index"), texts(&["a", "b", "c"]));
    assert_eq!(made("array<string>", "input b | split \",\" | index"), Ok(None));
    assert_eq!(made("array<string>", "\"\" | split \",\" | index"), Ok(None));
    assert_eq!(made("string", "\"a🜁bc\" | substring 1 3 | index"), Ok(Some(text("🜁b"))));
    assert_eq!(made("string", "\"\u{a0}x \" | trim | index"), Ok(Some(text("\u{a0}x"))));
}

#[test]
fn numbers_are_made_of_digits_and_texts_and_times() {
    let long = |number| Ok(Some(Value::Long(number)));
    assert_eq!(made("long", "\"ff\" | hexdecode | attribute"), long(255));
    assert_eq!(made("long", "\"AQ==\" | base64decode | attribute"), long(1));
    assert_eq!(made("string", "input n | to_long | hexencode | index"), Ok(Some(text("7"))));
    assert_eq!(made("string", "input n | to_long | base64encode | index"), Ok(Some(text("BwAAAAAAAAA="))));
    assert_eq!(made("long", "\"hello\" | hash | attribute"), long(22_433_990_042_967_937));
    assert_eq!(made("int", "\"hello\" | hash | attribute"), Ok(Some(Value::Int(1_466_425_217))));
    assert_eq!(made("array<long>", "input l | for_each { hash } | attribute").map(|value| value.is_some()), Ok(true));
    assert_eq!(made("long", "now | attribute"), long(1_767_225_600));
    assert_eq!(made("int", "now - 100L | to_int | attribute"), Ok(Some(Value::Int(1_767_225_500))));
    let Ok(Some(Value::Int(drawn))) = made("int", "random 10 | attribute") else { panic!("a number") };
    assert!((0..10).contains(&drawn));
    assert_eq!(made("int", "random 10 | attribute"), Ok(Some(Value::Int(drawn))));
    let refused = made("long", "\"xyz\" | hexdecode | attribute").unwrap_err();
    assert!(refused.ends_with("Illegal hex value 'xyz'"), "{refused}");
}

#[test]
fn variables_live_for_one_script() {
    assert_eq!(
        made("string", "{ input n | to_string | set_var x; get_var x . \"/\" . get_var x | index; }"),
        Ok(Some(text("7/7")))
    );
    assert_eq!(
        made("string", "input a | trim | set_var x | lowercase | get_var x | index"),
        Ok(Some(text("Hello. World!")))
    );
}

#[test]
fn collections_are_walked() {
    let set = |entries: &[(&str, i32)]| {
        Ok(Some(Value::WeightedSet(entries.iter().map(|(key, weight)| (text(key), *weight)).collect())))
    };
    // Keys that become equal are one: the last weight wins.
    assert_eq!(
        made("weightedset<string>", "input weights | for_each { lowercase } | attribute"),
        set(&[("a", 7), ("b", 5)])
    );
    assert_eq!(made("tag", "input k | for_each { lowercase } | attribute"), set(&[("a", 7), ("b", 5)]));
    assert_eq!(made("weightedset<string>", "input a | trim | to_wset | attribute"), set(&[("Hello. World!", 1)]));
    assert_eq!(
        made("array<string>", "input m | for_each { get_field key } | index"),
        Ok(Some(Value::Array(vec![text("x"), text("y")])))
    );
    assert_eq!(
        made("array<int>", "input m | for_each { get_field value } | attribute"),
        Ok(Some(Value::Array(vec![Value::Int(1), Value::Int(2)])))
    );
    assert_eq!(made("int", "input m | get_value y | attribute"), Ok(Some(Value::Int(2))));
    assert_eq!(made("string", "input p | for_each { lowercase } | get_field name | index"), Ok(Some(text("ada"))));
}

fn cells(made: Result<Option<Value>, String>) -> Vec<f64> {
    match made {
        Ok(Some(Value::Tensor(tensor))) => tensor.cells,
        other => panic!("{other:?}"),
    }
}

#[test]
fn tensors_are_made_of_bits() {
    // The last byte is filled with zeros.
    let packed = [f64::from(0b1001_1001u8 as i8), f64::from(0b1000_0000u8 as i8)];
    assert_eq!(cells(made("tensor<int8>(x[2])", "input numbers | pack_bits | attribute")), packed);
    assert_eq!(cells(made("tensor<int8>(x[2])", "input numbers | binarize | pack_bits | attribute")), packed);
    assert_eq!(
        cells(made("tensor<float>(x[10])", "input numbers | binarize 0.9 | attribute")),
        [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0]
    );
}

#[test]
fn bits_are_packed_of_what_an_embedder_makes() {
    for (data_type, script, expected) in [
        ("tensor<int8>(x[2])", "input a | embed | pack_bits | attribute", vec![-128.0, 1.0]),
        ("tensor<int8>(x[2])", "input a | embed | binarize | pack_bits | attribute", vec![-128.0, 1.0]),
        ("tensor<float>(x[2])", "input a | embed | binarize 0.5 | attribute", vec![1.0, 0.0]),
    ] {
        let application = application(&format!("field f type {data_type} {{ indexing: {script} }}"));
        let wanted = make(&application, &Embeddings::default()).unwrap().wanted;
        let size = if data_type.contains("int8") { 16 } else { 2 };
        assert_eq!(wanted.iter().map(|one| one.values).collect::<Vec<_>>(), [size], "{script}");
        let mut vector = vec![-0.5; size as usize];
        vector[0] = 0.75;
        if size == 16 {
            vector[15] = 0.25;
        }
        let mut known = Embeddings::default();
        known.insert(wanted[0].clone(), Embedding::Vector(vector));
        let fields = make(&application, &known).unwrap().fields;
        assert_eq!(cells(Ok(fields.into_iter().next().map(|(_, value)| value))), expected, "{script}");
    }
}

#[test]
fn a_script_that_asks_a_model_cannot_depend_on_the_time() {
    let schema = format!(
        "schema t {{ {DOCUMENT}\nfield f type tensor<float>(x[2]) {{ indexing: now | to_string | embed | attribute }} }}"
    );
    let files = [("services.xml", host::services(&["t"])), ("schemas/t.sd", schema)];
    let files: Vec<_> = files.into_iter().map(|(path, text)| (path.to_owned(), text.into_bytes())).collect();
    let refused = Application::deploy(&files).unwrap_err();
    assert!(refused.message.contains("'now' beside one that asks a model"), "{refused}");
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
        make_fields(schema, WRITE, &document, &Embeddings::default(), Some(&is_updated)).unwrap()
    };
    // What reads nothing is made with every update.
    assert_eq!(made("b").ran, ["g", "h"]);
    assert_eq!(made("b").fields, [("g".to_owned(), text("x")), ("h".to_owned(), text("old new"))]);
    assert_eq!(made("a").ran, ["f", "g", "h"]);
    assert_eq!(made("l").ran, ["g"]);
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
        |embeddings| OperationRequest { kind: 1, id: "id:n:t::1", create: None, condition: "", body, embeddings };
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

#[test]
fn a_put_is_asked_again_for_what_was_generated() {
    let application =
        generating("field v type tensor<float>(x[2]) { indexing: input a | generate plain | embed e | attribute }");
    let wants = |embeddings: &[u8]| {
        let body = br#"{"fields":{"a":"hello"}}"#;
        let request = OperationRequest { kind: 1, id: "id:n:t::1", create: None, condition: "", body, embeddings };
        (embeddings_wanted(&application, &request).unwrap(), encode(&application, &request, 0).is_ok())
    };
    assert_eq!(wants(&[]), (vec![generation("plain", "", "hello")], false));
    let mut answers = Writer::new();
    answers.varint(1);
    answers.u8(4);
    answers.text("a greeting");
    let first = answers.finish();
    assert_eq!(wants(&first), (vec![wanted("a greeting", 2)], false));
    let mut answers = Writer::new();
    answers.varint(1);
    answers.u8(1);
    answers.varint(2);
    answers.f32(1.0);
    answers.f32(2.0);
    assert_eq!(wants(&[first, answers.finish()].concat()), (vec![], true));
}

fn generation(generator: &str, json_schema: &str, prompt: &str) -> EmbeddingWanted {
    let text = format!("{json_schema}\n{prompt}");
    EmbeddingWanted { embedder: generator.to_owned(), is_query: false, values: 0, text }
}

/// What is made of the document when every generation is answered so.
fn generated(application: &Application, answer: &str) -> Result<Made, String> {
    let mut known = Embeddings::default();
    loop {
        let made = make(application, &known)?;
        if made.wanted.is_empty() {
            return Ok(made);
        }
        for wanted in made.wanted {
            let answer = if wanted.embedder == "e" {
                Embedding::Vector(vec![wanted.text.len() as f32, 0.0])
            } else {
                Embedding::Text(answer.to_owned())
            };
            known.insert(wanted, answer);
        }
    }
}

#[test]
fn values_are_generated_of_texts() {
    let schema = |of: &str| {
        let object =
            "{\"type\":\"object\",\"properties\":{\"t.f\":T},\"required\":[\"t.f\"],\"additionalProperties\":false}";
        object.replace('T', of)
    };
    let list = schema("{\"type\":\"array\",\"items\":{\"type\":\"string\"}}");
    let lists = generating("field f type array<string> { indexing: input p.name | generate one | summary | index }");
    let wanted = make(&lists, &Embeddings::default()).unwrap().wanted;
    assert_eq!(wanted, [generation("one", &list, &format!("Of Ada as {list}: Ada."))]);
    let value =
        |answer: &str| generated(&lists, answer).map(|made| made.fields.into_iter().next().map(|(_, value)| value));
    let both = Value::Array(vec![text("a"), text("b")]);
    assert_eq!(value(r#"{"t.f":["a","b"]}"#), Ok(Some(both.clone())));
    assert_eq!(value(r#" {"other":1,"t.f":["a","b"]} "#), Ok(Some(both)));
    for nothing in [r#"{"t.f":[]}"#, r#"{"t.f":null}"#, r#"{"t.f":7}"#, "{}", "", "Ada", r#"{"t.f":["a"]} and more"#] {
        assert_eq!(value(nothing), Ok(None), "{nothing}");
    }
    for (data_type, kind, answer, expected) in [
        ("bool", "boolean", "true", Value::Bool(true)),
        ("int", "integer", "7", Value::Int(7)),
        ("double", "number", "0.5", Value::Double(0.5)),
    ] {
        let one =
            generating(&format!("field f type {data_type} {{ indexing: input a | generate strict | attribute }}"));
        let wanted = make(&one, &Embeddings::default()).unwrap().wanted;
        let json_schema = schema(&format!("{{\"type\":\"{kind}\"}}"));
        assert_eq!(wanted, [generation("strict", &json_schema, " Hello. World! ")]);
        let made = generated(&one, &format!("{{\"t.f\":{answer}}}")).unwrap();
        assert_eq!(made.fields, [("f".to_owned(), expected)]);
        let refused = generated(&one, "no").unwrap_err();
        assert!(refused.contains("the answer of the generator 'strict' is no value"), "{refused}");
    }
}

#[test]
fn what_was_generated_goes_on_through_the_script() {
    let application = generating(
        "field f type string { indexing: input b || (input a | generate plain) | trim | lowercase | index }\n\
         field v type tensor<float>(x[2]) { indexing: input a | generate plain | embed e | attribute }\n\
         field w type array<string> { indexing: input l | for_each { generate plain } | index }",
    );
    let made = generated(&application, " Ja! ").unwrap();
    let [(_, f), (_, Value::Tensor(v)), (_, w)] = &made.fields[..] else { panic!("{made:?}") };
    assert_eq!((f, &v.cells), (&text("ja!"), &vec![5.0, 0.0]));
    assert_eq!(*w, Value::Array(vec![text(" Ja! "), text(" Ja! ")]));
    // One question for the two fields that ask the same.
    assert_eq!(make(&application, &Embeddings::default()).unwrap().wanted.len(), 3);
}
