use super::*;

fn canonical(text: &str) -> String {
    parse_literal(text, None, Code::BadRequest).unwrap().to_string()
}

fn of_type(tensor_type: &str, text: &str) -> Result<String, Rejection> {
    let tensor_type = Arc::new(TensorType::parse(tensor_type).unwrap());
    parse_literal(text, Some(&tensor_type), Code::BadRequest).map(|tensor| tensor.to_string())
}

#[test]
fn every_form_is_read() {
    assert_eq!(
        canonical("{ {x:a, y:b}:1, {y:c, x:'d e'}:-2e3 }"),
        "tensor(x{},y{}):{{x:a,y:b}:1.0, {x:'d e',y:c}:-2000.0}"
    );
    assert_eq!(canonical("5"), "tensor():{5.0}");
    assert_eq!(canonical("tensor():{5}"), "tensor():{5.0}");
    assert_eq!(canonical("tensor():5"), "tensor():{5.0}");
    assert_eq!(of_type("tensor(x[2],y[2])", "[1,2,3,4]").unwrap(), "tensor(x[2],y[2]):[[1.0, 2.0], [3.0, 4.0]]");
    assert_eq!(of_type("tensor(x[2])", "{0:1, 1:2}").unwrap(), "tensor(x[2]):[1.0, 2.0]");
    assert_eq!(of_type("tensor<int8>(x[3])", "0B22fe").unwrap(), "tensor<int8>(x[3]):[11, 34, -2]");
    assert_eq!(
        of_type("tensor<int8>(k{},x[2])", "{a:0102, b:[3,4]}").unwrap(),
        "tensor<int8>(k{},x[2]):{a:[1, 2], b:[3, 4]}"
    );
    assert_eq!(
        of_type("tensor(a{},b{},x[2])", "{c1:{k1:[1,2],k2:[3,4]},c2:{k1:[5,6]}}").unwrap(),
        "tensor(a{},b{},x[2]):{{a:c1,b:k1,x:0}:1.0, {a:c1,b:k1,x:1}:2.0, {a:c1,b:k2,x:0}:3.0, {a:c1,b:k2,x:1}:4.0, \
         {a:c2,b:k1,x:0}:5.0, {a:c2,b:k1,x:1}:6.0}"
    );
    assert_eq!(of_type("tensor<float>(k{})", "tensor<float>(k{}):{a:inf}").unwrap(), "tensor<float>(k{}):{a:Infinity}");
}

#[test]
fn what_is_printed_reads_back() {
    for text in [
        "tensor(k{}):{'':1.0, 'a b':NaN, a_b:-Infinity, \"it's\":4.0}",
        "tensor<bfloat16>(k{},x[2],y[1]):{a:[[1.0], [2.0]]}",
        "tensor(x{},y{}):{{x:a,y:b}:1.0}",
        "tensor(k{}):{}",
        "tensor<float>(x[1]):[0.1]",
    ] {
        assert_eq!(canonical(text), text);
    }
}

#[test]
fn what_is_no_tensor_is_refused() {
    for (tensor_type, text) in [
        ("tensor(x[2])", "[1]"),
        ("tensor(x[2])", "[1,2,3]"),
        ("tensor(x[2])", "[1,2"),
        ("tensor(x[2])", "[1,2]]"),
        ("tensor(x[2])", "[1,,2]"),
        ("tensor(x[2])", "[a,b]"),
        ("tensor(x[2])", "{{x:2}:1}"),
        ("tensor(x[2])", "{{y:0}:1}"),
        ("tensor(x[2])", "{{x:0,x:1}:1}"),
        ("tensor(x[2])", ""),
        ("tensor(k{})", "{a}"),
        ("tensor(k{})", "{a:1"),
        ("tensor(k{})", "{'a:1}"),
        ("tensor(k{})", "{a:1,}"),
        ("tensor(k{})", "{a:1}}"),
        ("tensor(k{})", "[1]"),
        ("tensor(k{},x[2])", "{a:1}"),
        ("tensor(k{},x[2])", "{a:[1,2],a:[1,2]}"),
        ("tensor(a{},b{})", "{a:1}"),
        ("tensor()", "{1,2}"),
    ] {
        assert!(of_type(tensor_type, text).is_err(), "{tensor_type} {text}");
    }
    for text in ["", "x", "{x:1}", "{{x:1}", "{{x", "[[", "tensor", "tensor(x[2])", "tensor(x[1048576]):{}", "{{{{"] {
        assert!(parse_literal(text, None, Code::BadRequest).is_err(), "{text}");
    }
    assert!(of_type("tensor(x[2])", &"[".repeat(1_000_000)).is_err());
}
