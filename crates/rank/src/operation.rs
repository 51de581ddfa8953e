//! Numbers in, number out: the operators and scalar functions of ranking expressions, as the content node's evaluator
//! defines them, with mathematics from `libm` so that every machine yields the same bits.

/// A function of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Negate,
    Not,
    Abs,
    Acos,
    Asin,
    Atan,
    Ceil,
    Cos,
    Cosh,
    Elu,
    Erf,
    Exp,
    Fabs,
    Floor,
    IsNan,
    Log,
    Log10,
    Relu,
    Round,
    Sigmoid,
    Sign,
    Sin,
    Sinh,
    Sqrt,
    Square,
    Tan,
    Tanh,
}

/// The functions of one number that are called by name.
const UNARY: &[(&str, Unary)] = &[
    ("abs", Unary::Abs),
    ("acos", Unary::Acos),
    ("asin", Unary::Asin),
    ("atan", Unary::Atan),
    ("ceil", Unary::Ceil),
    ("cos", Unary::Cos),
    ("cosh", Unary::Cosh),
    ("elu", Unary::Elu),
    ("erf", Unary::Erf),
    ("exp", Unary::Exp),
    ("fabs", Unary::Fabs),
    ("floor", Unary::Floor),
    ("isNan", Unary::IsNan),
    ("log", Unary::Log),
    ("log10", Unary::Log10),
    ("relu", Unary::Relu),
    ("round", Unary::Round),
    ("sigmoid", Unary::Sigmoid),
    ("sign", Unary::Sign),
    ("sin", Unary::Sin),
    ("sinh", Unary::Sinh),
    ("sqrt", Unary::Sqrt),
    ("square", Unary::Square),
    ("tan", Unary::Tan),
    ("tanh", Unary::Tanh),
];

/// Names of the functions of one and of two numbers.
pub(crate) fn function_names() -> impl Iterator<Item = &'static str> {
    UNARY.iter().map(|(name, _)| *name).chain(BINARY.iter().map(|(name, _)| *name))
}

impl Unary {
    /// The function called by this name.
    pub(crate) fn named(name: &str) -> Option<Unary> {
        UNARY.iter().find(|(known, _)| *known == name).map(|(_, function)| *function)
    }

    /// The name it is called by; the sign of the two that are written before their operand.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Unary::Negate => "-",
            Unary::Not => "!",
            _ => UNARY.iter().find(|(_, function)| *function == self).map_or("", |(name, _)| name),
        }
    }

    /// Its value.
    #[inline]
    pub(crate) fn apply(self, x: f64) -> f64 {
        match self {
            Unary::Negate => -x,
            Unary::Not => truth(x == 0.0),
            Unary::IsNan => truth(x.is_nan()),
            Unary::Square => x * x,
            function => function.apply_dearer(x),
        }
    }

    /// The value of those that cost more than a call; apart, so that the others are inlined into tight code.
    #[inline(never)]
    fn apply_dearer(self, x: f64) -> f64 {
        match self {
            Unary::Negate => -x,
            Unary::Not => truth(x == 0.0),
            Unary::Abs | Unary::Fabs => x.abs(),
            Unary::Acos => libm::acos(x),
            Unary::Asin => libm::asin(x),
            Unary::Atan => libm::atan(x),
            Unary::Ceil => x.ceil(),
            Unary::Cos => libm::cos(x),
            Unary::Cosh => libm::cosh(x),
            Unary::Elu if x < 0.0 => libm::exp(x) - 1.0,
            Unary::Elu => x,
            Unary::Erf => libm::erf(x),
            Unary::Exp => libm::exp(x),
            Unary::Floor => x.floor(),
            Unary::IsNan => truth(x.is_nan()),
            Unary::Log => libm::log(x),
            Unary::Log10 => libm::log10(x),
            Unary::Relu => Binary::Max.apply(x, 0.0),
            Unary::Round => (x + 0.5).floor(),
            Unary::Sigmoid => 1.0 / (1.0 + libm::exp(-x)),
            Unary::Sign if x >= 0.0 => 1.0,
            Unary::Sign => -1.0,
            Unary::Sin => libm::sin(x),
            Unary::Sinh => libm::sinh(x),
            Unary::Sqrt => x.sqrt(),
            Unary::Square => x * x,
            Unary::Tan => libm::tan(x),
            Unary::Tanh => libm::tanh(x),
        }
    }
}

/// Who reads an expression. The reference has two evaluators, which differ in how tight operators bind and in what `max`
/// and `min` make of NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// The content node: all that is computed of single documents.
    #[default]
    Content,
    /// The container: the global phase. Every operator binds as tight as no other.
    Container,
}

/// A function of two numbers: the operators first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Power,
    Multiply,
    Divide,
    Modulo,
    Add,
    Subtract,
    Equal,
    NotEqual,
    Approximately,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    And,
    Or,
    Atan2,
    Bit,
    Fmod,
    Hamming,
    Ldexp,
    Max,
    Min,
    /// NaN if either is.
    MaxOrNan,
    MinOrNan,
    Pow,
}

/// The operators: sign, function, priority on the content node and in the container (higher binds tighter).
const OPERATORS: &[(&str, Binary, u8, u8)] = &[
    ("^", Binary::Power, 6, 15),
    ("*", Binary::Multiply, 5, 12),
    ("/", Binary::Divide, 5, 13),
    ("%", Binary::Modulo, 5, 14),
    ("+", Binary::Add, 4, 10),
    ("-", Binary::Subtract, 4, 11),
    ("==", Binary::Equal, 3, 9),
    ("!=", Binary::NotEqual, 3, 8),
    ("~=", Binary::Approximately, 3, 7),
    ("<", Binary::Less, 3, 6),
    ("<=", Binary::LessOrEqual, 3, 5),
    (">", Binary::Greater, 3, 4),
    (">=", Binary::GreaterOrEqual, 3, 3),
    ("&&", Binary::And, 2, 2),
    ("||", Binary::Or, 1, 1),
];

/// The functions of two numbers that are called by name.
const BINARY: &[(&str, Binary)] = &[
    ("atan2", Binary::Atan2),
    ("bit", Binary::Bit),
    ("fmod", Binary::Fmod),
    ("hamming", Binary::Hamming),
    ("ldexp", Binary::Ldexp),
    ("max", Binary::Max),
    ("min", Binary::Min),
    ("pow", Binary::Pow),
];

impl Binary {
    /// The operator written so, with its priority.
    pub(crate) fn operator(sign: &str, dialect: Dialect) -> Option<(Binary, u8)> {
        let (_, operator, content, container) = *OPERATORS.iter().find(|(known, ..)| *known == sign)?;
        Some((operator, if dialect == Dialect::Content { content } else { container }))
    }

    /// The function called by this name.
    pub(crate) fn named(name: &str, dialect: Dialect) -> Option<Binary> {
        let (_, function) = *BINARY.iter().find(|(known, _)| *known == name)?;
        Some(match (function, dialect) {
            (Binary::Max, Dialect::Container) => Binary::MaxOrNan,
            (Binary::Min, Dialect::Container) => Binary::MinOrNan,
            (function, _) => function,
        })
    }

    /// Its sign if it is an operator, or else its name.
    pub(crate) fn name(self) -> &'static str {
        let called = match self {
            Binary::MaxOrNan => Binary::Max,
            Binary::MinOrNan => Binary::Min,
            function => function,
        };
        let operator = OPERATORS.iter().find(|(_, operator, ..)| *operator == called).map(|(sign, ..)| *sign);
        operator.unwrap_or_else(|| BINARY.iter().find(|(_, function)| *function == called).map_or("", |(name, _)| name))
    }

    /// Its value.
    #[inline]
    pub(crate) fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Binary::Add => a + b,
            Binary::Subtract => a - b,
            Binary::Multiply => a * b,
            Binary::Divide => a / b,
            function => function.apply_dearer(a, b),
        }
    }

    /// The value of the others; apart, so that the first are inlined into tight code. `max` and `min` yield their first
    /// argument when either is NaN, as C++'s do.
    #[inline(never)]
    fn apply_dearer(self, a: f64, b: f64) -> f64 {
        match self {
            Binary::Power | Binary::Pow => libm::pow(a, b),
            Binary::Multiply => a * b,
            Binary::Divide => a / b,
            Binary::Modulo | Binary::Fmod => libm::fmod(a, b),
            Binary::Add => a + b,
            Binary::Subtract => a - b,
            Binary::Equal => truth(a == b),
            Binary::NotEqual => truth(a != b),
            Binary::Approximately => truth(approximately(a, b)),
            Binary::Less => truth(a < b),
            Binary::LessOrEqual => truth(a <= b),
            Binary::Greater => truth(a > b),
            Binary::GreaterOrEqual => truth(a >= b),
            Binary::And => truth(a != 0.0 && b != 0.0),
            Binary::Or => truth(a != 0.0 || b != 0.0),
            Binary::Atan2 => libm::atan2(a, b),
            Binary::Bit => bit(a, b),
            Binary::Hamming => f64::from((int8(a) ^ int8(b)).count_ones()),
            Binary::Ldexp => libm::scalbn(a, b as i32),
            Binary::Max if a < b => b,
            Binary::Max => a,
            Binary::Min if b < a => b,
            Binary::Min => a,
            Binary::MaxOrNan | Binary::MinOrNan if a.is_nan() || b.is_nan() => f64::NAN,
            Binary::MaxOrNan => Binary::Max.apply_dearer(a, b),
            Binary::MinOrNan => Binary::Min.apply_dearer(a, b),
        }
    }
}

/// 1 for true, 0 for false.
#[inline]
pub(crate) fn truth(condition: bool) -> f64 {
    if condition { 1.0 } else { 0.0 }
}

/// A number as an int8 cell holds it: truncated toward zero, wrapped.
fn int8(x: f64) -> u8 {
    x as i64 as u8
}

/// Bit `b` of the int8 `a`; 0 is the least significant.
fn bit(a: f64, b: f64) -> f64 {
    if (0.0..8.0).contains(&b) { f64::from((int8(a) >> (b as u32)) & 1) } else { 0.0 }
}

/// `~=`: equal within one float32 step. Beyond 1 the quotient is compared with 1, below the numbers with each other.
fn approximately(a: f64, b: f64) -> bool {
    if a == b {
        return true;
    }
    if !(-1.0..=1.0).contains(&a) {
        let quotient = (b / a) as f32;
        return quotient == 1.0 || quotient == step_toward(1.0, 0.0);
    }
    let (a, b) = (a as f32, b as f32);
    a == step_toward(b, a)
}

/// The float32 after `from` on the way to `to`; `to` itself when they are equal.
fn step_toward(from: f32, to: f32) -> f32 {
    if to > from {
        from.next_up()
    } else if to < from {
        from.next_down()
    } else {
        to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_is_found_by_its_name() {
        assert!(UNARY.iter().all(|(name, function)| function.name() == *name && Unary::named(name) == Some(*function)));
        assert!(BINARY.iter().all(|(name, function)| function.name() == *name));
        assert!(OPERATORS.iter().all(|(sign, operator, ..)| operator.name() == *sign));
        let extremes = ["max", "min"].map(|name| Binary::named(name, Dialect::Container).map(Binary::name));
        assert_eq!(extremes, [Some("max"), Some("min")]);
    }

    #[test]
    fn extremes_of_the_container_are_nan_when_either_is() {
        for function in [Binary::MaxOrNan, Binary::MinOrNan] {
            assert!(function.apply(f64::NAN, 1.0).is_nan() && function.apply(1.0, f64::NAN).is_nan());
        }
        assert_eq!((Binary::MaxOrNan.apply(1.0, 2.0), Binary::MinOrNan.apply(1.0, 2.0)), (2.0, 1.0));
    }

    #[test]
    fn extremes_yield_their_first_argument_when_either_is_nan() {
        assert!(Binary::Max.apply(f64::NAN, 1.0).is_nan() && Binary::Min.apply(f64::NAN, 1.0).is_nan());
        assert_eq!((Binary::Max.apply(1.0, f64::NAN), Binary::Min.apply(1.0, f64::NAN)), (1.0, 1.0));
    }

    #[test]
    fn nan_is_true_and_differs_from_everything() {
        assert_eq!(Unary::Not.apply(f64::NAN), 0.0);
        assert_eq!(Binary::And.apply(f64::NAN, 1.0), 1.0);
        assert_eq!(Binary::NotEqual.apply(f64::NAN, f64::NAN), 1.0);
        assert_eq!(Binary::LessOrEqual.apply(f64::NAN, f64::NAN), 0.0);
    }

    #[test]
    fn approximate_equality_is_one_float_step() {
        assert!(approximately(0.1, f64::from(0.1f32)) && approximately(0.0, 0.0) && approximately(1e10, 1e10));
        assert!(approximately(3.0, 3.0 - 1e-7));
        assert!(!approximately(1.0, 1.1) && !approximately(3.0, 2.0) && !approximately(f64::NAN, 1.0));
        assert!(!approximately(-3.0, 3.0));
    }

    #[test]
    fn bits_are_those_of_an_int8() {
        assert_eq!((bit(-128.0, 7.0), bit(1.0, 0.0), bit(1.0, 8.0), bit(1.0, -1.0)), (1.0, 1.0, 0.0, 0.0));
        assert_eq!(Binary::Hamming.apply(5.0, 3.0), 2.0);
        assert_eq!(Binary::Hamming.apply(0.0, -1.0), 8.0);
    }
}
