//! Programs: functions, memos, laziness, limits, and that no text makes anything panic.
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use brooklet_document::{CellType, Dimension, Tensor, TensorType};
use brooklet_rank::{
    Dialect, Environment, Expression, FeatureName, FeatureSource, FeatureType, Function, Program, Value,
};
use brooklet_task::{Code, Rejection, limits};
use proptest::prelude::*;

/// A profile with functions; `attribute(v)` is a tensor(x[3]), `attribute(m)` a tensor(k{},x[2]), `missing` is missing.
#[derive(Default)]
struct Profile {
    functions: BTreeMap<String, Function>,
}

impl Profile {
    fn with(functions: &[(&str, &[&str], &str)]) -> Profile {
        let function = |(name, parameters, body): &(&str, &[&str], &str)| {
            let parameters = parameters.iter().map(|parameter| (*parameter).to_owned()).collect();
            ((*name).to_owned(), Function { parameters, body: (*body).to_owned() })
        };
        Profile { functions: functions.iter().map(function).collect() }
    }
}

fn dimension(name: &str, size: Option<usize>) -> Dimension {
    Dimension { name: name.to_owned(), size }
}

impl Environment for Profile {
    fn feature_type(&self, feature: &FeatureName) -> Result<FeatureType, Rejection> {
        Ok(match feature.to_string().as_str() {
            "attribute(v)" => {
                FeatureType::from_tensor_type(TensorType::new(CellType::Float, vec![dimension("x", Some(3))]))
            }
            "attribute(m)" => FeatureType::from_tensor_type(TensorType::new(
                CellType::Double,
                vec![dimension("k", None), dimension("x", Some(2))],
            )),
            "missing" => return Err(Rejection::new(Code::InvalidApplication, "unknown feature 'missing'")),
            _ => FeatureType::Number,
        })
    }

    fn function(&self, name: &str) -> Option<Function> {
        self.functions.get(name).cloned()
    }

    fn constant(&self, name: &str) -> Option<Value> {
        (name == "pi").then_some(Value::Number(3.25))
    }
}

/// Features with the values 1, 2, 3 … in the order of their numbers; remembers which were asked for.
#[derive(Default)]
struct Counting {
    asked: RefCell<Vec<usize>>,
}

impl FeatureSource for Counting {
    fn number(&mut self, feature: usize) -> f64 {
        self.asked.borrow_mut().push(feature);
        (feature + 1) as f64
    }

    fn tensor(&mut self, feature: usize) -> Rc<Tensor> {
        self.asked.borrow_mut().push(feature);
        let tensor_type = TensorType::new(CellType::Float, vec![dimension("x", Some(3))]);
        Rc::new(Tensor { tensor_type: Arc::new(tensor_type), addresses: vec![Vec::new()], cells: vec![1.0, 2.0, 3.0] })
    }
}

fn compiled(profile: &Profile, text: &str) -> Result<Program, Rejection> {
    Program::compile(&Expression::parse(text)?, profile)
}

/// The value, the names of the program's features, and the numbers of those asked for.
fn run(profile: &Profile, text: &str) -> (f64, Vec<String>, Vec<usize>) {
    let program = compiled(profile, text).unwrap_or_else(|rejection| panic!("{text}: {rejection}"));
    let mut source = Counting::default();
    let value = program.score(&mut source, &mut program.scratch()).unwrap();
    (value, program.features().iter().map(|(name, _)| name.to_string()).collect(), source.asked.into_inner())
}

#[test]
fn a_function_without_parameters_is_evaluated_once_per_document() {
    let profile = Profile::with(&[("twice", &[], "a + a"), ("thrice", &[], "twice + a")]);
    let program = compiled(&profile, "twice * thrice + twice() + rankingExpression(twice)").unwrap();
    let (mut source, mut scratch) = (Counting::default(), program.scratch());
    for _ in 0..2 {
        source.asked.borrow_mut().clear();
        assert_eq!(program.score(&mut source, &mut scratch), Ok(2.0 * 3.0 + 2.0 + 2.0));
        assert_eq!(source.asked.borrow().as_slice(), [0, 0, 0], "two uses in twice, one in thrice");
    }
}

#[test]
fn what_takes_long_and_is_repeated_is_evaluated_once_per_document() {
    let profile = Profile::with(&[("words", &[], "a + b"), ("halved", &["x"], "exp(x) / (exp(x) + 1)")]);
    let asked = |text: &str| run(&profile, text).2;
    let (value, _, of_powers) = run(&profile, "pow(a + b, 2) / (pow(a + b, 2) + 7)");
    assert_eq!((value, of_powers), (9.0 / 16.0, vec![0, 1]));
    assert_eq!(asked("pow(a + b, 2) / (pow(a + b, 2.5) + 7)"), [0, 1, 0, 1], "another power");
    assert_eq!(asked("pow(a, b) + pow(b, a)"), [0, 1, 1, 0]);
    assert_eq!(asked("(a + b) ^ 2 - (a + b) ^ 2"), [0, 1]);
    assert_eq!(asked("log(log(a)) + log(log(a)) + log(a)"), [0], "one within the other");
    assert_eq!(asked("halved(a) + halved(a)"), [0]);
    assert_eq!(asked("sqrt(a) + sqrt(a)"), [0, 0], "what is as cheap as a memo is evaluated again");
    assert_eq!(asked("if(a > 5, exp(b) + exp(b), 1)"), [0], "a branch that is not taken is not evaluated");
    assert_eq!(run(&profile, "sum(tensor(x[3])(pow(x, 2) + pow(x, 2)))").0, 10.0, "a variable is another everywhere");
    assert_eq!(run(&profile, "exp(words) - exp(words)").0, 0.0);
    let many: Vec<String> =
        (0..70).flat_map(|power| [format!("pow(a, {power}.5)"), format!("pow(a, {power}.5)")]).collect();
    assert_eq!(run(&profile, &many.join(" + ")).0, 140.0, "more than are looked for");
}

#[test]
fn arguments_are_expressions_and_parts_of_feature_names() {
    let profile = Profile::with(&[
        ("scaled", &["x", "by"], "x * by"),
        ("outer", &["y"], "scaled(y + 1, 10)"),
        ("of", &["field"], "fieldMatch(field).completeness + attribute(field)"),
        ("same", &["field"], "of(field)"),
        ("unused", &["x"], "5"),
    ]);
    assert_eq!(run(&profile, "scaled(2, 3)").0, 6.0);
    assert_eq!(run(&profile, "outer(4)").0, 50.0);
    assert_eq!(run(&profile, "scaled(scaled(2, 3), 4)").0, 24.0, "an argument may call the same function");
    let (_, features, _) = run(&profile, "same(title) + of(title)");
    assert_eq!(features, ["fieldMatch(title).completeness", "attribute(title)"]);
    assert_eq!(run(&profile, "unused(missing)").1, Vec::<String>::new(), "what is not needed need not exist");
    assert_eq!(run(&profile, "scaled(pi, constant(pi))").0, 3.25 * 3.25);
}

#[test]
fn functions_inside_generated_tensors_see_their_arguments() {
    let profile = Profile::with(&[("square2", &["x"], "x * x"), ("wrapped", &["x"], "sum(tensor(y[2])(y + x))")]);
    assert_eq!(run(&profile, "sum(tensor(x[4])(square2(x)))").0, 0.0 + 1.0 + 4.0 + 9.0);
    assert_eq!(run(&profile, "sum(tensor(x[2],z[2])(wrapped(x) + wrapped(z)))").0, 16.0);
    assert_eq!(run(&profile, "sum(tensor(x[3])(sum(tensor(x[2])(x)) + x))").0, 6.0, "the inner x hides the outer");
}

#[test]
fn branches_not_taken_are_not_evaluated() {
    let profile = Profile::default();
    let (value, features, asked) = run(&profile, "if(a > 5, b, c)");
    assert_eq!((value, asked), (3.0, vec![0, 2]));
    assert_eq!(features, ["a", "b", "c"]);
    assert_eq!(run(&profile, "a || b").2, [0]);
    assert_eq!(run(&profile, "0 && b").2, Vec::<usize>::new());
    assert_eq!(run(&profile, "switch(a) { case 1: 7, case b: c, default: d }").2, [0]);
}

#[test]
fn what_does_not_fit_is_refused_with_its_place() {
    let profile = Profile::with(&[
        ("loop", &[], "1 + loop"),
        ("ping", &["x"], "pong(x)"),
        ("pong", &["x"], "ping(x)"),
        ("bad", &[], "1 +"),
    ]);
    let cases = [
        ("1 + missing", "unknown feature", 4),
        ("loop", "calls itself", 4),
        ("ping(1)", "calls itself", 0),
        ("bad", "function 'bad'", 3),
        ("attribute(v){y:1}", "no dimension 'y'", 0),
        ("if(attribute(v), 1, 2)", "must be a number", 3),
        ("if(a, attribute(v), 2)", "one type", 20),
        ("attribute(v) + attribute(m)", "differ in dimension 'x'", 15),
        ("a in [b]", "constants only", 6),
        ("a in [1, 1 + 1]", "constants only", 9),
        ("a in [(1)]", "constants only", 6),
        ("a in [2] + 1", "an operator or the end expected", 9),
        ("a in [2] in [1]", "an operator or the end expected", 9),
        ("attribute(v) in [2]{x:1}", "an operator or the end expected", 19),
        ("a in []", "a value expected", 6),
        ("map(a, f(x)(x + b))", "only its parameters", 16),
        ("reduce(attribute(v), sum, y)", "no dimension 'y'", 0),
        ("constant(tau)", "no constant 'tau'", 0),
        ("tensor(x[2])(attribute(v))", "must be a number", 13),
        ("tensor(x[2])(fieldMatch(x))", "computed", 24),
        ("max(1, 2, 3) + missing", "unknown feature", 15),
    ];
    for (text, message, offset) in cases {
        let rejection = compiled(&profile, text).expect_err(text);
        assert!(rejection.message.contains(message), "{text}: {rejection}");
        assert_eq!(rejection.span.map(|span| span.offset), Some(offset), "{text}: {rejection}");
    }
}

#[test]
fn membership_takes_what_binds_as_tight_as_a_comparison() {
    // The content node leaves `&&` and `||` outside; the container takes all that stands before.
    let profile = Profile::default();
    let value = |text: &str, dialect: Dialect| {
        let program = Program::compile(&Expression::parse_as(text, dialect).unwrap(), &profile).unwrap();
        let Value::Number(value) = program.evaluate(&mut Counting::default(), &mut program.scratch()).unwrap() else {
            panic!("{text} is a number")
        };
        value
    };
    let cases = [
        ("1 && 2 in [2]", 1.0, 0.0),
        ("0 && 2 in [2]", 0.0, 0.0),
        ("0 || 2 in [1]", 0.0, 1.0),
        ("4 || 0 * 7 in [1, 2]", 1.0, 1.0),
        ("0 || 2 && 3 - 1 in [2]", 1.0, 0.0),
        ("0 || 1 < 2 + 1 in [1]", 1.0, 1.0),
        ("0 || 1 < 2 + 1 in [3]", 0.0, 0.0),
        ("3 == 3 in [3]", 0.0, 0.0),
        ("-2 ^ 2 + 1 in [5]", 1.0, 1.0),
        ("!3 == 0 in [1]", 1.0, 1.0),
    ];
    for (text, content, container) in cases {
        assert_eq!(value(text, Dialect::Content), content, "{text}");
        assert_eq!(value(text, Dialect::Container), container, "{text} in the container");
    }
}

#[test]
fn texts_are_bounded() {
    let deep = |levels: usize| format!("{}1{}", "(".repeat(levels), ")".repeat(levels));
    assert!(Expression::parse(&deep(limits::EXPRESSION_DEPTH - 1)).is_ok());
    assert_eq!(Expression::parse(&deep(limits::EXPRESSION_DEPTH)).unwrap_err().code, Code::TooLarge);
    for repeated in
        ["-", "!", "((", "a[", "a{x:(", "[", "2^", "max(1,", "softmax(", "tensor(x{}):{a:", "map(", "if(1,2,"]
    {
        assert!(Expression::parse(&repeated.repeat(10_000)).is_err(), "{repeated}");
    }
    assert!(Expression::parse(&"1+".repeat(limits::EXPRESSION_FILE_BYTES)).is_err());
    let long = format!("{}1", "1+".repeat(20_000));
    assert_eq!(run(&Profile::default(), &long).0, 20_001.0, "operators of one priority do not nest");
    let copies = format!("{}a{}", "softmax(".repeat(40), ",x)".repeat(40));
    assert!(Expression::parse(&copies).unwrap_err().message.contains("too large"));
}

#[test]
fn programs_are_bounded() {
    let names: Vec<String> = (0..60).map(|i| format!("f{i}")).collect();
    let bodies: Vec<String> = (0..60).map(|i| format!("sum(tensor(z[2])(f{0}(x + z) + f{0}(x - z)))", i + 1)).collect();
    let mut profile = Profile::default();
    for (name, body) in names.iter().zip(bodies) {
        profile.functions.insert(name.clone(), Function { parameters: vec!["x".to_owned()], body });
    }
    profile.functions.insert("f60".to_owned(), Function { parameters: vec!["x".to_owned()], body: "x".to_owned() });
    assert_eq!(compiled(&profile, "f0(1)").unwrap_err().code, Code::TooLarge);
    let mut profile = Profile::default();
    for i in 0..20 {
        let body = format!("{}f{}{}", "sqrt(".repeat(100), i + 1, ")".repeat(100));
        profile.functions.insert(format!("f{i}"), Function { parameters: Vec::new(), body });
    }
    assert!(compiled(&profile, "f0").unwrap_err().message.contains("nest"));
}

/// WebAssembly has 1 MiB of stack, and callers use some of it.
#[test]
fn the_deepest_expressions_fit_a_small_stack() {
    let deepest = || {
        let levels = limits::EXPRESSION_DEPTH - 1;
        for form in ["1||1&&1==1+1*(", "max(1||1&&1==1+1*a{x:1},", "sqrt(", "softmax(", "map(a,f(x)(", "foo(", "2^"] {
            let _ = Expression::parse(&form.repeat(levels));
        }
        let closed = |levels: usize| format!("{}1{}", "1||1&&1==1+1*(".repeat(levels), ")".repeat(levels));
        assert_eq!(run(&Profile::default(), &closed(100)).0, 1.0, "500 levels deep");
        assert_eq!(compiled(&Profile::default(), &closed(levels)).unwrap_err().code, Code::TooLarge);
        let mut profile = Profile::default();
        for i in 0..4 {
            let body = format!("{}f{}{}", "sqrt(".repeat(120), i + 1, ")".repeat(120));
            profile.functions.insert(format!("f{i}"), Function { parameters: Vec::new(), body });
        }
        assert_eq!(run(&profile, "f0").0, 1.0, "480 levels deep");
        let nested = format!("{}attribute(v){}", "map(".repeat(120), ",f(x)(x+1))".repeat(120));
        assert_eq!(run(&profile, &format!("sum({nested})")).0, 366.0);
    };
    std::thread::Builder::new().stack_size(768 << 10).spawn(deepest).unwrap().join().unwrap();
}

#[test]
fn doubling_functions_without_variables_are_compiled_once() {
    let mut profile = Profile::default();
    for i in 0..60 {
        let function = Function { parameters: vec!["x".to_owned()], body: format!("f{0}(x) + f{0}(x)", i + 1) };
        profile.functions.insert(format!("f{i}"), function);
    }
    profile.functions.insert("f60".to_owned(), Function { parameters: vec!["x".to_owned()], body: "x".to_owned() });
    assert_eq!(run(&profile, "f0(a)").0, libm::scalbn(1.0, 60));
}

#[test]
fn intermediate_tensors_are_bounded() {
    let profile = Profile::default();
    assert_eq!(compiled(&profile, "tensor(x[3000])(x) * tensor(y[3000])(y)").unwrap_err().code, Code::TooLarge);
    let program = compiled(&profile, "sum(tensor(x[100])(sum(tensor(y[1000000])(y))))").unwrap();
    let outcome = program.score(&mut Counting::default(), &mut program.scratch());
    assert_eq!(outcome.unwrap_err().code, Code::TooLarge);
}

#[test]
fn functions_of_cells_are_bounded_by_their_length() {
    let profile = Profile::default();
    let long = "+ x * x ".repeat(400);
    let outcome = |text: &str| {
        let program = compiled(&profile, text).unwrap();
        let mut scratch = program.scratch();
        (program.score(&mut Counting::default(), &mut scratch), scratch.cells())
    };
    // Some 400 cells each: 10,000 of them are within the limit, 100,000 are not.
    for text in [
        "sum(tensor(x[SIZE])(x LONG))",
        "sum(map(tensor(y[SIZE])(y), f(x)(x LONG)))",
        "sum(join(tensor(y[SIZE])(y), tensor(y[SIZE])(y), f(x,z)(x LONG)))",
        "sum(join(tensor(y[SIZE])(y), 2, f(x,z)(x LONG)))",
        "sum(merge(tensor(y[SIZE])(y), tensor(y[SIZE])(y), f(x,z)(x LONG)))",
    ] {
        let with = |size: &str| outcome(&text.replace("LONG", &long).replace("SIZE", size));
        let (score, cells) = with("10000");
        assert!(score.is_ok() && cells > 3_000_000, "{text}: {score:?}, {cells}");
        assert_eq!(with("100000").0.unwrap_err().code, Code::TooLarge, "{text}");
    }
    // Short ones cost what their tensors have.
    assert_eq!(outcome("sum(map(tensor(y[1000])(y), f(x)(x * 2)))").1, 2_000);
}

#[test]
fn features_have_canonical_texts() {
    let texts = ["bm25(title)", "closeness(field, e)", " fieldMatch(title).completeness", "foo"];
    let names = texts.map(|text| Expression::parse(text).unwrap().to_string());
    assert_eq!(names, ["bm25(title)", "closeness(field,e)", "fieldMatch(title).completeness", "foo"]);
}

#[test]
fn a_named_parameter_is_part_of_the_feature() {
    let (_, features, _) = run(&Profile::default(), "bm25(field: t, label: l) + query(\"a b\") + $q");
    assert_eq!(features, ["bm25(field:t,label:l)", "query(\"a b\")", "query(q)"]);
}

/// Expressions of all kinds, as text. Those with tensors need not fit together.
fn text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (-1000i32..1000).prop_map(|i| i.to_string()),
        (-1e12f64..1e12).prop_map(|f| format!("{f:?}")),
        proptest::sample::select(vec![
            "a",
            "true",
            "attribute(v)",
            "attribute(m)",
            "\"te'x\\\"t\"",
            "foo(b, 1.5).c.d",
            "@x$1",
            "if",
            "sum"
        ])
        .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        let operators = ["+", "-", "*", "/", "%", "^", "==", "!=", "~=", "<", "<=", ">", ">=", "&&", "||"];
        let operator = proptest::sample::select(operators.to_vec());
        let unary = proptest::sample::select(vec!["-", "!", "abs", "exp", "isNan", "relu", "sum", "count"]);
        let tensor = proptest::sample::select(vec![
            "map(A, f(x)(x * 2))",
            "join(A, B, f(x,y)(max(x,y)))",
            "merge(A, B, f(x,y)(x))",
            "reduce(A, median, x)",
            "rename(A, x, y)",
            "rename(A, (x,k), (k,x))",
            "concat(A, B, x)",
            "tensor(x[3])(A + x)",
            "A{x:1}",
            "A[B]",
            "A{k:a, x:(B)}",
            "tensor(x{}):{a:A, 'b c':(B)}",
            "tensor<float>(x[2],k{}):{u:[A,B]}",
            "cell_cast(A, int8)",
            "cell_order(A, min)",
            "unpack_bits(A)",
            "map_subspaces(A, f(t)(sum(t)))",
            "filter_subspaces(A, f(t)(t > 1))",
            "l2_normalize(A, x)",
            "softmax(A, x)",
            "matmul(A, B, x)",
            "cosine_similarity(A, B, x)",
            "top(A, B)",
            "switch(A) { case B: 1, default: A }",
            "A in [1, -2.5]",
            "C in [-1, 'u']",
            "if(A, B, 3, 0.25)",
            "expand(A, y)",
            "max(A, B)",
            "(A)",
        ]);
        prop_oneof![
            3 => (inner.clone(), operator, inner.clone()).prop_map(|(a, operator, b)| format!("{a} {operator} ({b})")),
            1 => (unary, inner.clone()).prop_map(|(function, a)| format!("{function}({a})")),
            3 => (tensor, inner.clone(), inner)
                .prop_map(|(form, a, b)| form.replace('C', &a).replace('A', &format!("({a})")).replace('B', &b)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(2_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_canonical_text_is_the_same_expression(text in text()) {
        if let Ok(expression) = Expression::parse(&text) {
            let canonical = expression.to_string();
            let again = Expression::parse(&canonical).unwrap_or_else(|rejection| panic!("{canonical}: {rejection}"));
            prop_assert_eq!(&again, &expression, "{}", canonical);
            prop_assert_eq!(again.to_string(), canonical);
        }
    }

    #[test]
    fn what_compiles_is_evaluated_to_its_type(text in text()) {
        let Ok(program) = compiled(&Profile::default(), &text) else { return Ok(()) };
        let mut source = Typed { program: &program };
        match program.evaluate(&mut source, &mut program.scratch()).unwrap() {
            Value::Number(_) => prop_assert_eq!(program.result_type(), &FeatureType::Number),
            Value::Tensor(tensor) => {
                prop_assert_eq!(program.result_type(), &FeatureType::Tensor(tensor.tensor_type.clone()));
                prop_assert_eq!(tensor.cells.len(), tensor.addresses.len() * tensor.tensor_type.dense_size());
                prop_assert!(tensor.addresses.windows(2).all(|pair| pair[0] < pair[1]), "sorted, each once");
                prop_assert!(tensor.cells.iter().all(|cell| {
                    cell.is_nan() || tensor.tensor_type.cell.round(*cell) == *cell
                }), "rounded");
            }
        }
    }

    #[test]
    fn mutated_texts_do_not_panic(text in text(), at in 0usize..200, with in ".{0,3}", length in 0usize..4) {
        let mut characters: Vec<char> = text.chars().collect();
        let at = at.min(characters.len());
        let end = (at + length).min(characters.len());
        characters.splice(at..end, with.chars());
        let mutated: String = characters.into_iter().collect();
        if let Ok(program) = compiled(&Profile::default(), &mutated) {
            let _ = program.score(&mut Typed { program: &program }, &mut program.scratch());
        }
    }
}

fn cases(default: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(default)
}

/// Features with values of their types.
struct Typed<'a> {
    program: &'a Program,
}

impl FeatureSource for Typed<'_> {
    fn number(&mut self, feature: usize) -> f64 {
        feature as f64 - 1.5
    }

    fn tensor(&mut self, feature: usize) -> Rc<Tensor> {
        let FeatureType::Tensor(tensor_type) = &self.program.features()[feature].1 else {
            panic!("a number asked for as a tensor")
        };
        let is_mapped = tensor_type.mapped().next().is_some();
        let addresses = if is_mapped { vec![vec!["a".to_owned()], vec!["b".to_owned()]] } else { vec![Vec::new()] };
        let cells = (0..addresses.len() * tensor_type.dense_size()).map(|cell| cell as f64 - 1.0).collect();
        Rc::new(Tensor { tensor_type: tensor_type.clone(), addresses, cells })
    }
}
