use brooklet_task::Code;
use std::sync::Arc;

use super::*;
use crate::{StructField, StructType};

struct Types(Vec<(&'static str, DataType)>);

impl FieldTypes for Types {
    fn data_type(&self, field: &str) -> Option<&DataType> {
        self.0.iter().find(|(name, _)| *name == field).map(|(_, data_type)| data_type)
    }

    fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| *name).collect()
    }
}

fn types() -> Types {
    let person = DataType::Struct(Arc::new(StructType {
        name: "person".into(),
        fields: vec![
            StructField { name: "name".into(), data_type: DataType::String },
            StructField { name: "ages".into(), data_type: DataType::Array(Arc::new(DataType::Int)) },
        ],
    }));
    let set = DataType::WeightedSet {
        element: Arc::new(DataType::String),
        create_if_nonexistent: false,
        remove_if_zero: false,
    };
    let tensor = |text: &str| DataType::Tensor(Arc::new(text.parse().unwrap()));
    Types(vec![
        ("subject", DataType::String),
        ("i", DataType::Int),
        ("l", DataType::Long),
        ("d", DataType::Double),
        ("flag", DataType::Bool),
        ("a", DataType::Array(Arc::new(DataType::Int))),
        ("w", set),
        ("m", DataType::Map(Arc::new(DataType::Int), Arc::new(person.clone()))),
        ("p", person),
        ("place", DataType::Position),
        ("x384", tensor("tensor<float>(x[384])")),
        ("mixed", tensor("tensor(k{},x[2])")),
        ("ref", DataType::Reference("mail".into())),
    ])
}

fn read_with(body: &[u8], options: ReadOptions) -> Result<PutBody, Rejection> {
    read_fields(&types(), &DocumentId::parse("id:ns:mail:g=u:1").unwrap(), body, options)
}

fn read(fields: &str) -> Result<Vec<(String, Value)>, Rejection> {
    read_with(format!("{{\"fields\":{fields}}}").as_bytes(), ReadOptions::default()).map(|body| body.fields)
}

fn message(fields: &str) -> String {
    read(fields).unwrap_err().message
}

fn body_message(body: &str) -> String {
    let error = read_with(body.as_bytes(), ReadOptions::default()).unwrap_err();
    assert_eq!(error.code, Code::InvalidDocument);
    error.message
}

#[test]
fn bodies_that_are_no_documents_are_told_apart() {
    for empty in ["", " \n", "\t"] {
        assert_eq!(body_message(empty), "Could not read document, no document?");
    }
    assert_eq!(body_message("null"), "expected start of root object, got null");
    assert_eq!(body_message("[]"), "expected start of root object, got an array");
    assert_eq!(body_message("{}"), "document is missing the required \"fields\" field");
    assert_eq!(body_message(r#"{"fields":null}"#), "expected start of JSON object, but got null");
    assert_eq!(body_message(r#"{"fields":{},"fields":{}}"#), "Duplicate key 'fields'");
    assert!(body_message("{").starts_with("failed parsing document: Unexpected end"));
    assert!(body_message(r#"{"fields":{}} x"#).starts_with("failed parsing document: "));
    assert!(body_message(r#"{"fields":{"d":NaN}}"#).starts_with("failed parsing document: "));
    assert!(body_message(r#"{"fields":{},"create":"true"}"#).contains("'create'"));
    assert!(body_message(r#"{"fields":{},"condition":1}"#).contains("'condition'"));
    let deep = format!("{{\"fields\":{{\"a\":{}}}}}", "[".repeat(1_000_000));
    assert!(!body_message(&deep).is_empty());
    let error = read_with(b"{\"fields\":{\"subject\":\"\xff\"}}", ReadOptions::default()).unwrap_err();
    assert_eq!(error.span.map(|span| span.offset), Some(22));
}

#[test]
fn members_beside_the_fields_are_read_in_any_order() {
    let body = br#"{"create":true,"x":[{}],"fields":{"i":1},"condition":"mail.i == 1"}"#;
    let body = read_with(body, ReadOptions::default()).unwrap();
    assert_eq!(body.fields, [("i".to_owned(), Value::Int(1))]);
    assert_eq!((body.condition.as_deref(), body.create), (Some("mail.i == 1"), Some(true)));
    let null = read_with(br#"{"fields":{},"condition":null}"#, ReadOptions::default()).unwrap();
    assert_eq!((null.condition, null.create), (None, None));
}

#[test]
fn a_byte_order_mark_before_a_body_is_no_part_of_it() {
    let with_mark = "\u{feff}{\"fields\":{\"subject\":\"a\"}}";
    assert_eq!(read_with(with_mark.as_bytes(), ReadOptions::default()).unwrap().fields.len(), 1);
    assert!(read_with(format!("{{}}{with_mark}").as_bytes(), ReadOptions::default()).is_err());
    let objects = |feed: &[u8]| crate::json::next_object(feed, 0).is_ok();
    assert!(objects(with_mark.as_bytes()) && !objects(format!(" {with_mark}").as_bytes()));
}

#[test]
fn unknown_fields_get_a_hint_or_are_passed_over() {
    assert_eq!(
        message(r#"{"subjct":1}"#),
        "Field 'subjct' is not defined in document type 'mail'. Did you mean 'subject'?"
    );
    assert_eq!(message(r#"{"__proto__":1}"#), "Field '__proto__' is not defined in document type 'mail'");
    assert_eq!(
        message(r#"{"p":{"nmae":1}}"#),
        "In document 'id:ns:mail:g=u:1': Could not parse field 'p' of type person: Field 'nmae' is not defined in \
         struct type 'person'. Did you mean 'name'? (at fields.p.nmae)"
    );
    let changed = |field: &str| {
        let body = format!(r#"{{"fields":{{"{field}":{{"assign":1}}}}}}"#);
        let id = DocumentId::parse("id:ns:mail:g=u:1").unwrap();
        read_update(&types(), &id, body.as_bytes(), ReadOptions::default()).unwrap_err().message
    };
    assert_eq!(
        changed("subjct"),
        "Error in 'subjct': No field named 'subjct' in document type 'mail'. Did you mean 'subject'?"
    );
    assert_eq!(changed("nosuch"), "Error in 'nosuch': No field named 'nosuch' in document type 'mail'");
    let lenient = ReadOptions { ignore_undefined_fields: true, ..ReadOptions::default() };
    let body = read_with(br#"{"fields":{"nosuch":{"a":[1]},"p":{"x":1,"name":"n"}}}"#, lenient).unwrap();
    assert_eq!(body.ignored, ["nosuch", "p.x"]);
    assert_eq!(body.fields.len(), 1);
}

#[test]
fn errors_tell_the_path_of_the_value() {
    let prefix = "In document 'id:ns:mail:g=u:1': Could not parse field ";
    assert_eq!(message(r#"{"i":"abc"}"#), format!("{prefix}'i' of type int: For input string: \"abc\""));
    assert_eq!(
        message(r#"{"a":[0,1,2,3,4,5,6,"x"]}"#),
        format!("{prefix}'a' of type Array<int>: For input string: \"x\" (at fields.a[7])")
    );
    assert!(message(r#"{"m":{"5":{"ages":[1,null]}}}"#).ends_with("(at fields.m.5.ages[1])"));
    assert!(message(r#"{"m":[{"key":5,"value":{"ages":[[]]}}]}"#).ends_with("(at fields.m[0].value.ages[0])"));
    assert!(message(r#"{"w":{"k":1.5}}"#).ends_with("For input string: \"1.5\" (at fields.w.k)"));
}

#[test]
fn numbers_keep_every_digit_or_are_refused() {
    let long = read(r#"{"l":9007199254740993,"i":"12"}"#).unwrap();
    assert_eq!(long, [("l".to_owned(), Value::Long(9_007_199_254_740_993)), ("i".to_owned(), Value::Int(12))]);
    for bad in ["2147483648", "1.5", "1.0", "1e3", "true", "null2", "\"\"", "[1]", "{}"] {
        assert!(read(&format!("{{\"i\":{bad}}}")).is_err(), "{bad}");
    }
    assert!(message(r#"{"d":1e400}"#).ends_with("For input string: \"1e400\" (out of range)"));
    assert!(read(r#"{"l":9223372036854775808}"#).is_err());
    assert!(matches!(read(r#"{"d":"-Infinity"}"#).unwrap()[0].1, Value::Double(f64::NEG_INFINITY)));
}

#[test]
fn nothing_is_given_twice() {
    assert_eq!(message(r#"{"i":1,"i":2}"#), "Duplicate key 'i'");
    assert!(message(r#"{"p":{"name":"a","name":"b"}}"#).contains("Duplicate key 'name'"));
    assert!(message(r#"{"w":{"a":1,"a":2}}"#).contains("Duplicate key 'a'"));
    assert!(message(r#"{"m":[{"key":1,"value":{}},{"key":1,"value":{}}]}"#).contains("Duplicate key"));
    assert!(message(r#"{"m":[{"key":1}]}"#).contains("Missing key or value for map entry."));
    assert!(message(r#"{"place":{"lat":1,"latitude":2,"lng":3}}"#).contains("twice"));
}

/// As in the reference implementation: what is written in another way is the same key, and the last of them holds.
#[test]
fn a_key_of_a_map_is_what_it_stands_for() {
    let held = |of: DataType, object: &str| {
        let types = Types(vec![("m", DataType::Map(Arc::new(of), Arc::new(DataType::String)))]);
        let (id, body) = (DocumentId::parse("id:ns:mail::1").unwrap(), format!("{{\"fields\":{object}}}"));
        let fields = read_fields(&types, &id, body.as_bytes(), ReadOptions::default()).unwrap().fields;
        let [(_, Value::Map(entries))] = &fields[..] else { panic!("{object}") };
        let texts = entries.iter().map(|(_, value)| format!("{value:?}"));
        texts.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(held(DataType::Int, r#"{"m":{"1":"a","2":"b","01":"c","+1":"d"}}"#), r#"String("d") String("b")"#);
    assert_eq!(held(DataType::Long, r#"{"m":{"01":"a","2":"b","1":"c"}}"#), r#"String("c") String("b")"#);
    assert_eq!(held(DataType::Byte, r#"{"m":{"1":"a","-0":"b","2":"c","0":"d"}}"#).matches("String").count(), 3);
    assert_eq!(held(DataType::Double, r#"{"m":{"1":"a","1.0":"b","1e0":"c"}}"#), r#"String("c")"#);
    assert_eq!(held(DataType::Double, r#"{"m":{"NaN":"a","-NaN":"b"}}"#), r#"String("b")"#);
    assert_eq!(held(DataType::Double, r#"{"m":{"0.0":"a","-0.0":"b"}}"#), r#"String("a") String("b")"#);
    assert_eq!(held(DataType::Bool, r#"{"m":{"true":"a","TRUE":"b"}}"#), r#"String("b")"#);
}

#[test]
fn strict_reading_takes_values_in_their_own_type_only() {
    let strict = ReadOptions { strict: true, ..ReadOptions::default() };
    let strictly = |fields: &str| read_with(format!("{{\"fields\":{fields}}}").as_bytes(), strict);
    for good in [r#"{"i":12}"#, r#"{"subject":"12"}"#, r#"{"flag":"true"}"#, r#"{"flag":false}"#, r#"{"d":"NaN"}"#] {
        assert!(strictly(good).is_ok(), "{good}");
    }
    for bad in [
        r#"{"i":"12"}"#,
        r#"{"subject":12}"#,
        r#"{"flag":"yes"}"#,
        r#"{"flag":1}"#,
        r#"{"d":"1"}"#,
        r#"{"w":{"a":"1"}}"#,
    ] {
        assert!(read(bad).is_ok(), "{bad}");
        assert!(strictly(bad).is_err(), "{bad}");
    }
}

#[test]
fn limits_hold() {
    let ones = |count: usize| vec!["1"; count].join(",");
    assert!(read(&format!("{{\"a\":[{}]}}", ones(100_000))).is_ok());
    assert!(message(&format!("{{\"a\":[{}]}}", ones(100_001))).contains("limit of 100000 (at fields.a[100000])"));
    let large = format!("{{\"fields\":{{\"subject\":\"{}\"}}}}", "s".repeat(5 << 20));
    assert_eq!(read_with(large.as_bytes(), ReadOptions::default()).unwrap_err().code, Code::TooLarge);
    let lenient = ReadOptions { ignore_undefined_fields: true, ..ReadOptions::default() };
    let fields: Vec<_> = (0..513).map(|i| format!("\"f{i}\":1")).collect();
    let body = format!("{{\"fields\":{{{}}}}}", fields.join(","));
    assert!(read_with(body.as_bytes(), lenient).unwrap_err().message.contains("limit of 512"));
}

#[test]
fn tensors_need_all_their_cells_once_in_one_form() {
    assert!(read(&format!("{{\"x384\":[{}]}}", vec!["0.5"; 384].join(","))).is_ok());
    for (count, got) in [(383, "but got 383"), (385, "but got more")] {
        let text = message(&format!("{{\"x384\":[{}]}}", vec!["0.5"; count].join(",")));
        assert!(text.contains("Expected 384 values") && text.contains(got), "{text}");
    }
    for bad in [
        r#"{"values":[1],"cells":[]}"#,
        r#"{"cells":[],"blocks":{}}"#,
        r#"{"blocks":{},"a":[1,2]}"#,
        r#"{"a":[1,2],"a":[1,2]}"#,
        r#"{"cells":[],"cells":[]}"#,
        r#"{"a":"0g"}"#,
        r#"{"blocks":[{"address":{"k":"a","x":"0"},"values":[1,2]}]}"#,
        r#"{"cells":[{"address":{"k":"a","x":"0"},"value":1},{"address":{"k":"a","x":"0"},"value":1}]}"#,
        r#"{"cells":[{"address":{"k":"a","x":"-1"},"value":1}]}"#,
    ] {
        assert!(read(&format!("{{\"mixed\":{bad}}}")).is_err(), "{bad}");
    }
    for labels in [r#"{"cells":[1,2],"values":[1,2],"blocks":[3,4]}"#, r#"{"a":[1,2],"blocks":"0102"}"#] {
        assert!(read(&format!("{{\"mixed\":{labels}}}")).is_ok(), "{labels}");
    }
    let long_label = format!(r#"{{"mixed":{{"{}":[1,2]}}}}"#, "l".repeat(257));
    assert!(message(&long_label).contains("257"));
}

#[test]
fn references_name_documents_of_their_type() {
    assert!(read(r#"{"ref":"id:ns:mail::1"}"#).is_ok());
    assert!(read(r#"{"ref":""}"#).is_ok());
    assert!(read(r#"{"ref":"id:ns:note::1"}"#).is_err());
    assert!(read(r#"{"ref":"x"}"#).is_err());
}

#[test]
fn query_tensors_are_json_or_text_or_digits() {
    let mixed: Arc<crate::TensorType> = Arc::new("tensor<int8>(k{},x[2])".parse().unwrap());
    let dense: Arc<crate::TensorType> = Arc::new("tensor<int8>(x[2])".parse().unwrap());
    for text in [
        r#"{"a":[1,2]}"#,
        r#"{"blocks":{"a":"0102"}}"#,
        r#" {"blocks":[{"address":{"k":"a"},"values":[1,2]}]}"#,
        "{a:[1,2]}",
        "{a:0102}",
        "tensor<int8>(k{},x[2]):{a:[1,2]}",
    ] {
        assert_eq!(read_query_tensor(&mixed, text).unwrap().to_string(), "tensor<int8>(k{},x[2]):{a:[1, 2]}", "{text}");
    }
    for text in ["[1,2]", r#"{"values":[1,2]}"#, "{{x:0}:1,{x:1}:2}", "0102", r#"["1",2]"#] {
        assert_eq!(read_query_tensor(&dense, text).unwrap().to_string(), "tensor<int8>(x[2]):[1, 2]", "{text}");
    }
    for text in ["", "[1]", "[1,2,3]", "{", "[", "01", "{\"a\":1}", "embed(x)", "tensor(y[2]):[1,2]", "[null,x]"] {
        assert_eq!(read_query_tensor(&dense, text).unwrap_err().code, Code::InvalidQueryParameter, "{text}");
    }
}
