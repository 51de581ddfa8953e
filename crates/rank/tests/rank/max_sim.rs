//! Max-sim as one node against the same functions one after the other, which multiplying the sums by 1 keeps apart.
use std::rc::Rc;
use std::sync::Arc;

use brooklet_document::{CellType, Dimension, Tensor, TensorType, cells_to_bytes};
use brooklet_rank::{
    Environment, Expression, FeatureName, FeatureSource, FeatureType, Function, Program, StoredRows, Value,
};
use brooklet_task::{Code, Rejection};
use proptest::prelude::*;

/// The tensors `query(a)` and `attribute(b)`, and whether the rows of the latter can be shown.
struct Pair {
    tensors: [Rc<Tensor>; 2],
    are_stored: bool,
}

impl Environment for Pair {
    fn feature_type(&self, feature: &FeatureName) -> Result<FeatureType, Rejection> {
        let of = usize::from(feature.name == "attribute");
        Ok(FeatureType::Tensor(self.tensors[of].tensor_type.clone()))
    }

    fn function(&self, name: &str) -> Option<Function> {
        let body = match name {
            "dots" => "sum(query(a) * attribute(b), x)",
            "products" => "query(a) * attribute(b)",
            "by_label" => "reduce(dots, max, t)",
            _ => return None,
        };
        Some(Function { parameters: Vec::new(), body: body.to_owned() })
    }

    fn constant(&self, _: &str) -> Option<Value> {
        None
    }
}

/// The features of one program.
struct Source<'a>(&'a Pair, Vec<usize>, usize);

impl FeatureSource for Source<'_> {
    fn number(&mut self, _: usize) -> f64 {
        f64::NAN
    }

    fn tensor(&mut self, feature: usize) -> Rc<Tensor> {
        self.0.tensors[self.1[feature]].clone()
    }

    fn rows(&mut self, feature: usize, show: &mut dyn FnMut(StoredRows<'_>)) -> bool {
        if !self.0.are_stored || self.1[feature] == 0 {
            return false;
        }
        self.2 += 1;
        let tensor = &self.0.tensors[1];
        let cell = tensor.tensor_type.cell;
        let size = tensor.tensor_type.indexed().last().and_then(|dimension| dimension.size).expect("rows");
        // Three rows in a run, padded to sixteen bytes, as a column may hold them.
        let stride = (size * cell.bytes()).next_multiple_of(16);
        for rows in tensor.cells.chunks(3 * size) {
            let mut bytes = Vec::new();
            for row in rows.chunks(size) {
                bytes.resize(bytes.len().next_multiple_of(stride), 0xff);
                cells_to_bytes(cell, row, &mut bytes);
            }
            show(StoredRows { cell, size, stride, bytes: &bytes });
        }
        true
    }

    fn labels(&mut self, feature: usize, show: &mut dyn FnMut(&[&str])) -> bool {
        if !self.0.are_stored || self.1[feature] == 0 {
            return false;
        }
        for address in &self.0.tensors[1].addresses {
            show(&address.iter().map(String::as_str).collect::<Vec<_>>());
        }
        true
    }
}

/// The value of an expression, and how often rows were shown.
fn value(pair: &Pair, text: &str) -> (Value, usize) {
    let program = Program::compile(&Expression::parse(text).expect("an expression"), pair).expect("a program");
    let features = program.features().iter().map(|(name, _)| usize::from(name.name == "attribute")).collect();
    let mut source = Source(pair, features, 0);
    let value = program.evaluate(&mut source, &mut program.scratch()).expect("a value");
    (value, source.2)
}

fn bits(value: &Value) -> Vec<u64> {
    let cells = match value {
        Value::Number(number) => vec![*number],
        Value::Tensor(tensor) => tensor.cells.clone(),
    };
    cells.into_iter().map(|cell| if cell.is_nan() { u64::MAX } else { (cell + 0.0).to_bits() }).collect()
}

fn tensor(cell: CellType, dimensions: &[(&str, Option<usize>)], rows: usize, cells: &[f64]) -> Rc<Tensor> {
    let dimensions = dimensions.iter().map(|(name, size)| Dimension { name: (*name).to_owned(), size: *size });
    let tensor_type = TensorType::new(cell, dimensions.collect());
    let size = tensor_type.dense_size();
    let mapped = tensor_type.mapped().count();
    let addresses = (0..rows).map(|row| vec![format!("{row:03}"); mapped]).collect();
    let cells = cells.iter().cycle().take(rows * size).map(|value| cell.round(*value)).collect();
    Rc::new(Tensor { tensor_type: Arc::new(tensor_type), addresses, cells })
}

/// A tensor with rows of `x` at some addresses of two mapped dimensions; and of `i[2]`, where it is asked for.
fn labelled(
    cell: CellType,
    names: (&str, &str),
    is_deep: bool,
    addresses: &[(u8, u8)],
    (size, cells): (usize, &[f64]),
) -> Rc<Tensor> {
    let mut dimensions = vec![(names.0, None), (names.1, None), ("x", Some(size))];
    dimensions.extend(is_deep.then_some(("i", Some(2))));
    let mut tensor = Tensor::clone(&tensor(cell, &dimensions, 0, &[]));
    let mapped: Vec<String> = tensor.tensor_type.mapped().map(|dimension| dimension.name.clone()).collect();
    let address = |(a, b): &(u8, u8)| {
        let label = |name: &String| format!("{:02}", if *name == names.0 { a } else { b });
        mapped.iter().map(label).collect::<Vec<String>>()
    };
    tensor.addresses = addresses.iter().map(address).collect();
    tensor.addresses.sort();
    tensor.addresses.dedup();
    let count = tensor.addresses.len() * tensor.tensor_type.dense_size();
    tensor.cells = cells.iter().cycle().take(count).map(|value| cell.round(*value)).collect();
    Rc::new(tensor)
}

fn cell_type() -> impl Strategy<Value = CellType> {
    prop::sample::select(vec![CellType::Double, CellType::Float, CellType::Bfloat16, CellType::Int8])
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        20 => -2.0..2.0f64,
        4 => (-100i32..100).prop_map(f64::from),
        1 => Just(f64::NAN),
        1 => Just(1e30),
        1 => Just(-1e-30),
        1 => Just(f64::INFINITY),
    ]
}

/// Asserts that the reduced sums of products are the same in one node and one by one, and that the rows are read as they
/// are stored where they can be. `reduced`: by what, and over which dimensions.
fn one_by_one_alike(pair: &Pair, product: &str, reduced: &str) -> Result<(), TestCaseError> {
    let (fused, shown) = value(pair, &format!("reduce(sum({product}, x), {reduced})"));
    let (plain, none) = value(pair, &format!("reduce(map(sum({product}, x), f(v)(v * 1)), {reduced})"));
    prop_assert_eq!(bits(&fused), bits(&plain));
    if let (Value::Tensor(fused), Value::Tensor(plain)) = (&fused, &plain) {
        prop_assert_eq!(&fused.addresses, &plain.addresses);
        prop_assert_eq!(&fused.tensor_type, &plain.tensor_type);
    }
    let is_double = pair.tensors.iter().any(|tensor| tensor.tensor_type.cell == CellType::Double);
    prop_assert_eq!((shown, none), (usize::from(pair.are_stored && !is_double), 0));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn one_node_has_the_bits_of_the_functions_one_by_one(
        cells in (cell_type(), cell_type()),
        size in 1usize..40,
        counts in (0usize..5, 0usize..8),
        a in prop::collection::vec(number(), 1..300),
        b in prop::collection::vec(number(), 1..300),
        are_stored in any::<bool>(),
        is_max in any::<bool>(),
        is_swapped in any::<bool>(),
    ) {
        let aggregator = if is_max { "max" } else { "min" };
        let product = if is_swapped { "attribute(b) * query(a)" } else { "query(a) * attribute(b)" };
        let query = tensor(cells.0, &[("q", None), ("x", Some(size))], counts.0, &a);
        let rows = tensor(cells.1, &[("t", None), ("x", Some(size))], counts.1, &b);
        let single = tensor(cells.0, &[("x", Some(size))], 1, &a);
        let dense = tensor(cells.0, &[("q", Some(3)), ("x", Some(size))], 1, &a);
        for query in [query, single, dense] {
            let pair = Pair { tensors: [query, rows.clone()], are_stored };
            one_by_one_alike(&pair, product, &format!("{aggregator}, t"))?;
        }
    }

    #[test]
    fn bits_are_unpacked_as_they_are_read(
        bytes in 1usize..6,
        rows in 0usize..8,
        a in prop::collection::vec(number(), 1..200),
        b in prop::collection::vec(-128.0..127.0f64, 1..60),
        is_big in any::<bool>(),
    ) {
        let query = tensor(CellType::Float, &[("q", None), ("x", Some(8 * bytes))], 3, &a);
        let packed = tensor(CellType::Int8, &[("t", None), ("x", Some(bytes))], rows, &b);
        let pair = Pair { tensors: [query, packed], are_stored: true };
        let unpacked = format!("unpack_bits(attribute(b), float, {})", if is_big { "big" } else { "little" });
        let (fused, shown) = value(&pair, &format!("reduce(sum(query(a) * {unpacked}, x), max, t)"));
        let (plain, _) = value(&pair, &format!("reduce(map(sum(query(a) * {unpacked}, x), f(v)(v * 1)), max, t)"));
        prop_assert_eq!(bits(&fused), bits(&plain));
        prop_assert_eq!(shown, 1);
    }

    #[test]
    fn labels_that_stay_have_the_bits_of_the_functions_one_by_one(
        cells in (cell_type(), cell_type()),
        size in 1usize..40,
        count in 0usize..5,
        // The label that stays comes before the other, or after it.
        stays in prop::sample::select(vec!["c", "z"]),
        // Rows of one address: one, or those of a dense dimension.
        is_deep in any::<bool>(),
        addresses in prop::collection::vec((0u8..5, 0u8..6), 0..14),
        a in prop::collection::vec(number(), 1..300),
        b in prop::collection::vec(number(), 1..300),
        are_stored in any::<bool>(),
        is_max in any::<bool>(),
        is_swapped in any::<bool>(),
    ) {
        let aggregator = if is_max { "max" } else { "min" };
        let product = if is_swapped { "attribute(b) * query(a)" } else { "query(a) * attribute(b)" };
        let reduced = if is_deep { "t, i" } else { "t" };
        let query = tensor(cells.0, &[("q", None), ("x", Some(size))], count, &a);
        let single = tensor(cells.0, &[("x", Some(size))], 1, &a);
        let dense = tensor(cells.0, &[("q", Some(3)), ("x", Some(size))], 1, &a);
        let both = tensor(cells.0, &[("d", None), ("q", Some(3)), ("x", Some(size))], count, &a);
        let rows = labelled(cells.1, (stays, "t"), is_deep, &addresses, (size, &b));
        for query in [query, single, dense, both] {
            let pair = Pair { tensors: [query, rows.clone()], are_stored };
            one_by_one_alike(&pair, product, &format!("{aggregator}, {reduced}"))?;
        }
    }

    #[test]
    fn every_spelling_has_the_bits_of_the_functions_one_by_one(
        bytes in 1usize..6,
        stays in prop::sample::select(vec!["c", "z"]),
        addresses in prop::collection::vec((0u8..5, 0u8..6), 1..14),
        a in prop::collection::vec(number(), 1..200),
        b in prop::collection::vec(-128.0..127.0f64, 1..60),
    ) {
        let query = tensor(CellType::Float, &[("q", None), ("x", Some(8 * bytes))], 3, &a);
        let packed = labelled(CellType::Int8, (stays, "t"), false, &addresses, (bytes, &b));
        let pair = Pair { tensors: [query.clone(), packed], are_stored: true };
        let dots = "sum(query(a) * unpack_bits(attribute(b)), x)";
        for outer in [
            format!("reduce(sum(reduce(DOTS, max, t), q), max, {stays})"),
            "reduce(reduce(reduce(DOTS, max, t), sum, q), max)".to_owned(),
            format!("reduce(reduce(reduce(DOTS, max, t), max, {stays}), sum, q)"),
            "sum(reduce(DOTS, max, t), q)".to_owned(),
            format!("reduce(reduce(DOTS, max, {stays}), max, t)"),
        ] {
            let (fused, shown) = value(&pair, &outer.replace("DOTS", dots));
            let (plain, none) = value(&pair, &outer.replace("DOTS", &format!("map({dots}, f(v)(v * 1))")));
            prop_assert_eq!((bits(&fused), shown, none), (bits(&plain), 1, 0), "{}", outer);
        }
        let floats = labelled(CellType::Bfloat16, (stays, "t"), false, &addresses, (8 * bytes, &b));
        let pair = Pair { tensors: [query, floats], are_stored: true };
        // Functions that are remembered are looked through.
        for text in ["reduce(dots, max, t)", "reduce(sum(products, x), max, t)", "by_label"] {
            let (fused, shown) = value(&pair, &format!("sum({text}, q)"));
            let (plain, _) = value(&pair, "sum(reduce(map(dots, f(v)(v * 1)), max, t), q)");
            prop_assert_eq!((bits(&fused), shown), (bits(&plain), 1), "{}", text);
        }
    }
}

/// How many cases; more with `PROPTEST_CASES`.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(256)
}

#[test]
fn other_shapes_are_not_taken_for_it() {
    let query = tensor(CellType::Float, &[("q", None), ("x", Some(2))], 2, &[1.0, 2.0, 3.0, 4.0]);
    let rows = tensor(CellType::Float, &[("q", None), ("x", Some(2))], 2, &[1.0, -1.0, 5.0, 1.0]);
    let pair = Pair { tensors: [query.clone(), rows], are_stored: true };
    // Rows that pair by their label are compared one to one.
    let (largest, shown) = value(&pair, "reduce(sum(query(a) * attribute(b), x), max, q)");
    assert_eq!((largest, shown), (Value::Number(19.0), 0));
    let rows = tensor(CellType::Float, &[("t", None), ("x", Some(2))], 2, &[1.0, -1.0, 5.0, 1.0]);
    let pair = Pair { tensors: [query, rows], are_stored: true };
    for (text, expected) in [
        ("reduce(sum(query(a) * attribute(b), x), max)", 19.0),
        ("reduce(reduce(sum(query(a) * attribute(b), x), sum, t), max, q)", 18.0),
        ("reduce(reduce(sum(query(a) + attribute(b), x), max, t), sum, q)", 22.0),
        ("reduce(reduce(reduce(query(a) * attribute(b), max, x), max, t), sum, q)", 20.0),
    ] {
        assert_eq!(value(&pair, text), (Value::Number(expected), 0), "{text}");
    }
    assert_eq!(value(&pair, "sum(reduce(sum(query(a) * attribute(b), x), max, t), q)"), (Value::Number(26.0), 1));
}

#[test]
fn work_is_limited_though_no_product_is_kept() {
    let cells = vec![1.0; 4096];
    let query = tensor(CellType::Float, &[("q", None), ("x", Some(1024))], 256, &cells);
    let rows = tensor(CellType::Float, &[("t", None), ("x", Some(1024))], 2049, &cells);
    let text = "sum(reduce(sum(query(a) * attribute(b), x), max, t), q)";
    for are_stored in [false, true] {
        let pair = Pair { tensors: [query.clone(), rows.clone()], are_stored };
        let program = Program::compile(&Expression::parse(text).expect("an expression"), &pair).expect("a program");
        let features = program.features().iter().map(|(name, _)| usize::from(name.name == "attribute")).collect();
        let refused = program.evaluate(&mut Source(&pair, features, 0), &mut program.scratch());
        assert_eq!(refused.expect_err("too much work").code, Code::TooLarge);
    }
}

#[test]
fn a_hundred_pages_rank() {
    // 500 tokens of 128 bits each, against a query of 32.
    let addresses: Vec<(u16, u16)> = (0..100).flat_map(|page| (0..500).map(move |token| (page, token))).collect();
    let bytes: Vec<f64> = (0..997).map(|at| f64::from(at % 256) - 128.0).collect();
    let dimensions = [("context", None), ("token", None), ("v", Some(16))];
    let mut packed = Tensor::clone(&tensor(CellType::Int8, &dimensions, 0, &[]));
    packed.addresses =
        addresses.iter().map(|(page, token)| vec![format!("{page:03}"), format!("{token:03}")]).collect();
    packed.cells = bytes.iter().cycle().take(addresses.len() * 16).copied().collect();
    let query: Vec<f64> = (0..1009).map(|at| f64::from(at % 61) / 30.0 - 1.0).collect();
    let query = tensor(CellType::Float, &[("querytoken", None), ("v", Some(128))], 32, &query);
    let pair = Pair { tensors: [query, Rc::new(packed)], are_stored: true };
    let dots = "sum(query(a) * unpack_bits(attribute(b)), v)";
    let text = format!("reduce(sum(reduce({dots}, max, token), querytoken), max, context)");
    let (best, shown) = value(&pair, &text);
    let (pages, _) = value(&pair, &format!("sum(reduce({dots}, max, token), querytoken)"));
    let Value::Tensor(pages) = pages else { panic!("a number for each page") };
    let largest = pages.cells.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    assert_eq!((best, shown, pages.cells.len()), (Value::Number(largest), 1, 100));
}
