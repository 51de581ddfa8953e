//! The grouping language as it was written: operations, expressions, filters and buckets. Nothing is checked against
//! levels or schemas yet; `Display` (in `print`) writes the canonical text.
use crate::tree::TextRange;

/// `all(…)` or `each(…)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// Whether it is `each`, which works on every element of the list, or `all`, which works on the whole list.
    pub each: bool,
    /// What `group(…)` says.
    pub group_by: Option<Expression>,
    /// What `filter(…)` says; the last one wins.
    pub filter: Option<Filter>,
    /// What `max(…)` says; `inf` is [`UNLIMITED`].
    pub max: Option<i32>,
    /// What `precision(…)` says.
    pub precision: Option<i32>,
    /// What all `order(…)` say, in order.
    pub order: Vec<Expression>,
    /// What all `output(…)` say, in order.
    pub outputs: Vec<Expression>,
    /// The hints, which change nothing.
    pub hints: Vec<String>,
    /// What `where(…)` says, `true` or `$query`.
    pub documents: Option<String>,
    /// The name an `each` was given.
    pub label: Option<String>,
    /// Operations inside.
    pub children: Vec<Operation>,
    /// Where it stands.
    pub place: TextRange,
}

/// The `max` that means no limit.
pub const UNLIMITED: i32 = i32::MAX;

impl Operation {
    /// An operation that says nothing.
    #[must_use]
    pub fn new(each: bool, place: TextRange) -> Operation {
        Operation {
            each,
            group_by: None,
            filter: None,
            max: None,
            precision: None,
            order: Vec::new(),
            outputs: Vec::new(),
            hints: Vec::new(),
            documents: None,
            label: None,
            children: Vec::new(),
            place,
        }
    }
}

/// An expression, with the name it was given.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// What it is.
    pub kind: ExpressionKind,
    /// What `as(…)` says.
    pub label: Option<String>,
    /// Where it stands.
    pub place: TextRange,
}

/// A field, or a part of one, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Names and dots up to the braces, or all of it.
    pub name: String,
    /// What stands in braces.
    pub key: Option<MapKey>,
    /// What follows the braces: empty, or a dot and names.
    pub rest: String,
}

/// Which entry of a map is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapKey {
    /// The one with this key.
    Text(String),
    /// The one whose key another field holds.
    Field(String),
}

/// A number as written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A number of digits only.
    Long(i64),
    /// A number with a dot.
    Double(f64),
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpressionKind {
    /// A number.
    Number(Number),
    /// A text.
    Text(String),
    /// A field; the flag says whether it was written as `attribute(…)`.
    Field(Path, bool),
    /// A function of its arguments.
    Call(Function, Vec<Expression>),
    /// `fixedwidth(e, width)`
    FixedWidth(Box<Expression>, Number),
    /// `predefined(e, bucket…)`
    Predefined(Box<Expression>, Vec<Bucket>),
    /// `md5(e, bits)`
    Md5(Box<Expression>, i32),
    /// `xorbit(e, bits)`
    XorBit(Box<Expression>, i32),
    /// `uca(e, locale, strength)`
    Uca(Box<Expression>, String, Option<String>),
    /// `array.at(field, index)`
    ArrayAt(Path, Box<Expression>),
    /// `interpolatedlookup(field, e)`
    InterpolatedLookup(Path, Box<Expression>),
    /// `geo_distance(attribute(field), latitude, longitude).km` or, if the flag is set, `.miles`
    GeoDistance(Path, Box<[Expression; 2]>, bool),
    /// `debugwait(e, seconds, busy)`
    DebugWait(Box<Expression>, f64, bool),
    /// `relevance()`
    Relevance,
    /// `now()`
    Now,
    /// `docidnsspecific()`
    DocumentIdSpecific,
    /// `count()`
    Count,
    /// An aggregator of one expression.
    Aggregate(Aggregator, Box<Expression>),
    /// `quantiles([q…], e)`
    Quantiles(Vec<f64>, Box<Expression>),
    /// `summary(class)`
    Summary(Option<String>),
}

/// Aggregators of one expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the language's")]
pub enum Aggregator {
    Sum,
    Avg,
    Min,
    Max,
    Xor,
    StdDev,
}

impl Aggregator {
    /// The name in the language.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Aggregator::Sum => "sum",
            Aggregator::Avg => "avg",
            Aggregator::Min => "min",
            Aggregator::Max => "max",
            Aggregator::Xor => "xor",
            Aggregator::StdDev => "stddev",
        }
    }
}

/// Functions whose arguments are expressions and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the language's")]
pub enum Function {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Neg,
    And,
    Or,
    Xor,
    Min,
    Max,
    Avg,
    Cat,
    StrCat,
    StrLen,
    ToDouble,
    ToLong,
    ToString,
    ToRaw,
    Size,
    Sort,
    Reverse,
    NormalizeSubject,
    ZCurveX,
    ZCurveY,
    Math(Math),
    Time(Time),
}

/// Functions of `math.`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the language's")]
pub enum Math {
    Exp,
    Log,
    Log1p,
    Log10,
    Sqrt,
    Cbrt,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Floor,
    Pow,
    Hypot,
}

/// Parts of a time, functions of `time.`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the language's")]
pub enum Time {
    Date,
    Year,
    MonthOfYear,
    DayOfMonth,
    DayOfWeek,
    DayOfYear,
    HourOfDay,
    MinuteOfHour,
    SecondOfMinute,
}

/// Every function with its name, the fewest arguments and the most.
pub(super) const FUNCTIONS: [(Function, &str, usize, usize); 55] = {
    use Function as F;
    const MANY: usize = usize::MAX;
    [
        (F::Add, "add", 2, MANY),
        (F::Sub, "sub", 2, MANY),
        (F::Mul, "mul", 2, MANY),
        (F::Div, "div", 2, MANY),
        (F::Mod, "mod", 2, MANY),
        (F::Neg, "neg", 1, 1),
        (F::And, "and", 2, MANY),
        (F::Or, "or", 2, MANY),
        (F::Xor, "xor", 2, MANY),
        (F::Min, "min", 2, MANY),
        (F::Max, "max", 2, MANY),
        (F::Avg, "avg", 2, MANY),
        (F::Cat, "cat", 2, MANY),
        (F::StrCat, "strcat", 2, MANY),
        (F::StrLen, "strlen", 1, 1),
        (F::ToDouble, "todouble", 1, 1),
        (F::ToLong, "tolong", 1, 1),
        (F::ToString, "tostring", 1, 1),
        (F::ToRaw, "toraw", 1, 1),
        (F::Size, "size", 1, 1),
        (F::Sort, "sort", 1, 1),
        (F::Reverse, "reverse", 1, 1),
        (F::NormalizeSubject, "normalizesubject", 1, 1),
        (F::ZCurveX, "zcurve.x", 1, 1),
        (F::ZCurveY, "zcurve.y", 1, 1),
        (F::Math(Math::Exp), "math.exp", 1, 1),
        (F::Math(Math::Log), "math.log", 1, 1),
        (F::Math(Math::Log1p), "math.log1p", 1, 1),
        (F::Math(Math::Log10), "math.log10", 1, 1),
        (F::Math(Math::Sqrt), "math.sqrt", 1, 1),
        (F::Math(Math::Cbrt), "math.cbrt", 1, 1),
        (F::Math(Math::Sin), "math.sin", 1, 1),
        (F::Math(Math::Cos), "math.cos", 1, 1),
        (F::Math(Math::Tan), "math.tan", 1, 1),
        (F::Math(Math::Asin), "math.asin", 1, 1),
        (F::Math(Math::Acos), "math.acos", 1, 1),
        (F::Math(Math::Atan), "math.atan", 1, 1),
        (F::Math(Math::Sinh), "math.sinh", 1, 1),
        (F::Math(Math::Cosh), "math.cosh", 1, 1),
        (F::Math(Math::Tanh), "math.tanh", 1, 1),
        (F::Math(Math::Asinh), "math.asinh", 1, 1),
        (F::Math(Math::Acosh), "math.acosh", 1, 1),
        (F::Math(Math::Atanh), "math.atanh", 1, 1),
        (F::Math(Math::Floor), "math.floor", 1, 1),
        (F::Math(Math::Pow), "math.pow", 2, 2),
        (F::Math(Math::Hypot), "math.hypot", 2, 2),
        (F::Time(Time::Date), "time.date", 1, 1),
        (F::Time(Time::Year), "time.year", 1, 1),
        (F::Time(Time::MonthOfYear), "time.monthofyear", 1, 1),
        (F::Time(Time::DayOfMonth), "time.dayofmonth", 1, 1),
        (F::Time(Time::DayOfWeek), "time.dayofweek", 1, 1),
        (F::Time(Time::DayOfYear), "time.dayofyear", 1, 1),
        (F::Time(Time::HourOfDay), "time.hourofday", 1, 1),
        (F::Time(Time::MinuteOfHour), "time.minuteofhour", 1, 1),
        (F::Time(Time::SecondOfMinute), "time.secondofminute", 1, 1),
    ]
};

impl Function {
    /// The name in the language.
    #[must_use]
    pub fn name(self) -> &'static str {
        FUNCTIONS.iter().find(|(function, ..)| *function == self).map_or("", |(_, name, ..)| name)
    }
}

/// A condition on the documents or elements that may open groups.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// The whole of the value, as a text, has this form.
    Regex(String, Expression),
    /// The value as a number lies between two.
    Range {
        /// The lower end.
        low: Number,
        /// The upper end.
        high: Number,
        /// What is measured.
        of: Expression,
        /// Whether the lower end is inside.
        with_low: bool,
        /// Whether the upper end is inside.
        with_high: bool,
    },
    /// The value is true.
    IsTrue(Expression),
    /// The condition does not hold.
    Not(Box<Filter>),
    /// All hold.
    And(Vec<Filter>),
    /// One holds.
    Or(Vec<Filter>),
}

/// A range of values, from the first inside to the first outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Bucket {
    /// The first value inside.
    pub from: Bound,
    /// The first value after it.
    pub to: Bound,
}

/// An end of a bucket.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// No end: below everything as `from`, above everything as `to`.
    Infinite,
    /// A whole number.
    Long(i64),
    /// A number with a fraction.
    Double(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Raw(Vec<u8>),
}
