use super::*;

fn lexer(text: &str) -> Lexer<'_> {
    Lexer::new(text, Code::BadRequest)
}

fn skipped(text: &str) -> Result<&str, Rejection> {
    let mut lexer = lexer(text);
    let value = lexer.skip_value()?;
    lexer.end()?;
    Ok(value)
}

#[test]
fn values_are_pulled_in_order() {
    let mut json = lexer(r#" { "a" : [1, -2.5e1, "x", true, null] , "b":{} } "#);
    json.begin_object().unwrap();
    assert_eq!(json.next_key().unwrap().as_deref(), Some("a"));
    json.begin_array().unwrap();
    assert!(json.next_element().unwrap());
    assert_eq!(json.number().unwrap(), "1");
    assert!(json.next_element().unwrap());
    assert_eq!(json.double().unwrap(), -25.0);
    assert!(json.next_element().unwrap());
    assert_eq!(json.string().unwrap(), "x");
    assert!(json.next_element().unwrap());
    assert!(json.boolean().unwrap());
    assert!(json.next_element().unwrap());
    json.null().unwrap();
    assert!(!json.next_element().unwrap());
    assert_eq!(json.next_key().unwrap().as_deref(), Some("b"));
    assert_eq!(json.skip_value().unwrap(), "{}");
    assert_eq!(json.next_key().unwrap(), None);
    json.end().unwrap();
}

#[test]
fn strict_json_only() {
    for good in ["0", "-0", "1.0", "1e5", "1E+5", "\"\"", "[]", "{}", " [ 1 , 2 ] ", "[[[]]]", "{\"a\":{\"b\":[]}}"] {
        assert_eq!(skipped(good).unwrap(), good.trim());
    }
    for bad in [
        "",
        " ",
        "{",
        "[",
        "\"",
        "\"\\",
        "]",
        "}",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{,}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{'a':1}",
        "01",
        "-",
        "+1",
        ".5",
        "5.",
        "1e",
        "1e+",
        "NaN",
        "Infinity",
        "-Infinity",
        "tru",
        "trueish",
        "nul",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\ud800\"",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\"",
        "\"\n\"",
        "\"\u{1f}\"",
        "1 2",
        "[] []",
        "/**/1",
        "\u{feff}1",
    ] {
        assert!(skipped(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn escapes_are_resolved() {
    let mut json = lexer(r#""a\"\\\/\b\f\n\r\t\u0041\u00e9\ud83d\ude00é long enough for a word""#);
    assert_eq!(json.string().unwrap(), "a\"\\/\u{8}\u{c}\n\r\tAé😀é long enough for a word");
}

#[test]
fn a_special_byte_is_found_at_every_position() {
    for length in 0..40 {
        for special in [b'"', b'\\', 0, 0x1f] {
            let mut bytes = vec![b'x'; length];
            bytes.push(special);
            bytes.extend(b"\x80\xff!# tail\"");
            assert_eq!(plain_length(&bytes), length);
        }
        assert_eq!(plain_length(&vec![0xff; length]), length);
        assert_eq!(plain_length(&vec![b' '; length]), length);
    }
}

#[test]
fn errors_tell_the_place() {
    let error = skipped("{\"é\":1,\n  x}").unwrap_err();
    let span = error.span.unwrap();
    assert_eq!((span.offset, span.line, span.column), (11, 2, 3));
    assert_eq!(
        error.message,
        "Unexpected character ('x' (code 120)): was expecting double-quote to start field name (line 2, column 3)"
    );
    let error = Lexer::from_bytes(b"[\"a\xff\"]", Code::BadRequest).unwrap_err();
    assert_eq!((error.message.as_str(), error.span.unwrap().offset), ("Invalid UTF-8 at byte 3", 3));
}

#[test]
fn limits_hold() {
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert!(skipped(&nested(JSON_DEPTH)).is_ok());
    assert!(skipped(&nested(JSON_DEPTH + 1)).unwrap_err().message.contains("64"));
    assert!(skipped(&"[".repeat(1_000_000)).is_err());
    assert!(skipped(&"1".repeat(JSON_NUMBER)).is_ok());
    assert!(skipped(&"1".repeat(JSON_NUMBER + 1)).is_err());
    let string = |length: usize| format!("\"{}\"", "s".repeat(length));
    assert!(skipped(&string(JSON_STRING)).is_ok());
    assert_eq!(skipped(&string(JSON_STRING + 1)).unwrap_err().code, Code::TooLarge);
}

#[test]
fn numbers_are_the_nearest_doubles() {
    for text in [
        "0",
        "-0.0",
        "1",
        "0.1",
        "0.30000000000000004",
        "9007199254740993",
        "9007199254740992",
        "123456789012345678",
        "12345678901234567890123",
        "1e22",
        "1e23",
        "1e-22",
        "1e-23",
        "4.9e-324",
        "2.4703282292062327e-324",
        "1e309",
        "1.7976931348623157e308",
        "1.7976931348623159e308",
        "0.000000000000000000000000000000000012345678",
        "1e400",
        "100000000.00000001",
        "-0.012345678",
        "12345678.12345678",
        "1e0000000000000000000005",
        "0e999999999999",
    ] {
        let expected: f64 = text.parse().unwrap();
        assert_eq!(lexer(text).double().unwrap().to_bits(), expected.to_bits(), "{text}");
    }
}
