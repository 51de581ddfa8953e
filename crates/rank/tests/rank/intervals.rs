//! Bounds hold: whatever features are chosen within theirs, a program's value lies within its own, bit by bit.
use std::rc::Rc;

use brooklet_document::Tensor;
use brooklet_rank::{
    Environment, Expression, FeatureName, FeatureSource, FeatureType, Function, Interval, IntervalSource, Program,
    Value,
};
use brooklet_task::Rejection;
use proptest::prelude::*;

/// Every feature is a number; `half` is a function, so that memos are bounded too.
struct Numbers;

impl Environment for Numbers {
    fn feature_type(&self, _: &FeatureName) -> Result<FeatureType, Rejection> {
        Ok(FeatureType::Number)
    }

    fn function(&self, name: &str) -> Option<Function> {
        let body = "if(isNan(a), c, a - b)".to_owned();
        (name == "half").then(|| Function { parameters: Vec::new(), body })
    }

    fn constant(&self, _: &str) -> Option<Value> {
        None
    }
}

const NAMES: [&str; 3] = ["a", "b", "c"];

/// Bounds, or values, of the features by name.
struct Known<'a, T> {
    program: &'a Program,
    values: &'a [T; 3],
}

impl<T: Copy> Known<'_, T> {
    fn value(&self, feature: usize) -> T {
        let name = self.program.features()[feature].0.to_string();
        self.values[NAMES.iter().position(|known| *known == name).unwrap()]
    }
}

impl FeatureSource for Known<'_, f64> {
    fn number(&mut self, feature: usize) -> f64 {
        self.value(feature)
    }

    fn tensor(&mut self, _: usize) -> Rc<Tensor> {
        panic!("all features are numbers")
    }
}

impl IntervalSource for Known<'_, Interval> {
    fn interval(&mut self, feature: usize) -> Option<Interval> {
        Some(self.value(feature))
    }
}

fn compiled(text: &str) -> Program {
    Program::compile(&Expression::parse(text).unwrap(), &Numbers)
        .unwrap_or_else(|rejection| panic!("{text}: {rejection}"))
}

fn bounds(text: &str, values: [Interval; 3]) -> Option<Interval> {
    let program = compiled(text);
    program.interval(&mut Known { program: &program, values: &values }, &mut program.scratch())
}

/// Numbers of every kind, small whole ones often.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (-8i32..8).prop_map(f64::from),
        4 => -10.0f64..10.0,
        2 => -1e3f64..1e3,
        1 => proptest::sample::select(vec![0.0, -0.0, f64::MAX, f64::MIN_POSITIVE, 5e-324, 1e-300, 1e300]),
        1 => proptest::sample::select(vec![f64::INFINITY, f64::NEG_INFINITY]),
        1 => any::<f64>().prop_map(|value| if value.is_nan() { 0.0 } else { value }),
    ]
}

/// Bounds, and a value within them.
fn bounded() -> impl Strategy<Value = (Interval, f64)> {
    (number(), number(), 0.0f64..=1.0, 0u8..12).prop_map(|(one, other, part, kind)| {
        let mut bounds = Interval::between(one.min(other), one.max(other));
        let within = bounds.lo + (bounds.hi - bounds.lo) * part;
        let value = match kind {
            0 => f64::NAN,
            1..=3 => bounds.lo,
            4..=6 => bounds.hi,
            7 => return (Interval::exactly(one), one),
            _ if within >= bounds.lo && within <= bounds.hi => within,
            _ => bounds.lo,
        };
        bounds.may_be_nan = value.is_nan() || kind == 8;
        (bounds, value)
    })
}

fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        3 => proptest::sample::select(NAMES.to_vec()).prop_map(str::to_owned),
        1 => (-3i32..4).prop_map(|i| i.to_string()),
        1 => (-3.0f64..3.0).prop_map(|f| format!("{f:?}")),
        1 => Just("half".to_owned()),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let operator = proptest::sample::select(vec![
            "+", "-", "*", "/", "%", "^", "==", "!=", "~=", "<", "<=", ">", ">=", "&&", "||",
        ]);
        let unary = proptest::sample::select(vec![
            "-", "!", "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "elu", "erf", "exp", "fabs", "floor", "isNan",
            "log", "log10", "relu", "round", "sigmoid", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh",
        ]);
        let binary = proptest::sample::select(vec!["atan2", "bit", "fmod", "hamming", "ldexp", "max", "min", "pow"]);
        prop_oneof![
            4 => (inner.clone(), operator, inner.clone()).prop_map(|(a, operator, b)| format!("({a}) {operator} ({b})")),
            4 => (unary, inner.clone()).prop_map(|(function, a)| format!("{function}({a})")),
            2 => (binary, inner.clone(), inner.clone()).prop_map(|(function, a, b)| format!("{function}({a}, {b})")),
            1 => (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("if({a}, {b}, {c})")),
            1 => (inner.clone(), inner).prop_map(|(a, b)| {
                format!("switch({a}) {{ case 1: {b}, case b: 2, default: (a in [1, -2, 0.5]) }}")
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(8_000),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn values_lie_within_bounds(text in expression(), features in proptest::array::uniform3(bounded())) {
        let program = compiled(&text);
        let (intervals, values) = (features.map(|(bounds, _)| bounds), features.map(|(_, value)| value));
        let mut scratch = program.scratch();
        let bounds = program.interval(&mut Known { program: &program, values: &intervals }, &mut scratch).unwrap();
        let value = program.score(&mut Known { program: &program, values: &values }, &mut scratch).unwrap();
        let told = format!("{text} with {values:?} in {intervals:?} is {value:e}, not in {bounds:?}");
        prop_assert!(bounds.contains(value), "{}", told);
    }
}

#[test]
fn monotone_functions_have_tight_bounds() {
    let year = [Interval::between(0.25, 0.5), Interval::between(2.0, 3.0), Interval::exactly(f64::NAN)];
    assert_eq!(bounds("a * 0.5 + b * 2", year), Some(Interval::between(4.125, 6.25)));
    assert_eq!(bounds("if(isNan(c), 0, c / 1000)", year), Some(Interval::exactly(0.0)));
    assert_eq!(bounds("a < b", year), Some(Interval::exactly(1.0)));
    assert_eq!(bounds("max(a, b) in [7]", year), Some(Interval::exactly(0.0)));
    assert_eq!(
        bounds("a / (b - 2)", year),
        Some(Interval { lo: f64::NEG_INFINITY, hi: f64::INFINITY, may_be_nan: true })
    );
    let root = bounds("sqrt(b)", year).unwrap();
    assert_eq!((root.lo, root.hi), (2.0f64.sqrt(), 3.0f64.sqrt()));
}

/// Cosines of several angles are approximate in bounds: nowhere wrong, and nowhere wider by much.
#[test]
fn cosines_of_angles_have_narrow_bounds() {
    let pi = std::f64::consts::PI;
    let program = compiled("cos(a)");
    let mut scratch = program.scratch();
    for step in 0..=100_000 {
        let angle = pi * f64::from(step) / 100_000.0;
        for width in [0.0, 1e-12, 1e-8, 1e-3] {
            let (least, most) = ((angle - width).max(0.0), (angle + width).min(pi));
            let values = [Interval::between(least, most), Interval::exactly(0.0), Interval::exactly(0.0)];
            let bounds = program.interval(&mut Known { program: &program, values: &values }, &mut scratch).unwrap();
            let cosines = [least, angle, most].map(libm::cos);
            assert!(cosines.iter().all(|cosine| bounds.contains(*cosine)), "{cosines:?} in {bounds:?} at {angle}");
            assert!(bounds.hi - bounds.lo <= cosines[0] - cosines[2] + 3e-8, "{bounds:?} at {angle}");
        }
    }
}

#[test]
fn tensors_and_unknown_features_have_no_bounds() {
    struct Unknown;
    impl IntervalSource for Unknown {
        fn interval(&mut self, _: usize) -> Option<Interval> {
            None
        }
    }
    let program = compiled("a + 1");
    assert_eq!(program.interval(&mut Unknown, &mut program.scratch()), None);
    let program = compiled("sum(tensor(x[2])(x))");
    assert_eq!(program.interval(&mut Unknown, &mut program.scratch()), None);
    let program = compiled("if(1 > 2, a, 5)");
    assert_eq!(program.interval(&mut Unknown, &mut program.scratch()), Some(Interval::exactly(5.0)));
}
