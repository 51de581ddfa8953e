//! The statement tree of a field's script.
use crate::place::{SourcePlace, SourceText};

/// A field's indexing script, or a `{ … }` inside one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// Its statements, run in order; empty if the field has no script.
    pub statements: Vec<Statement>,
    /// The text as written, for messages; nothing if the field has no script, and inside a script.
    pub source: Option<SourceText>,
}

/// Expressions joined by `|`, each fed with the value of the one before. The value is nothing at the start.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The expressions, left to right; at least one.
    pub expressions: Vec<Expression>,
}

/// An expression and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// What it does.
    pub kind: ExpressionKind,
    /// Where it was written.
    pub place: SourcePlace,
}

/// What an expression does with the value it is fed.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpressionKind {
    /// Writes it to a field (the script's own unless another was named) and passes it on.
    Output(Output, String),
    /// Replaces it by the value of a field; a dotted path reads inside structs.
    Input(String),
    /// Replaces it by a constant.
    Constant(Constant),
    /// `a || b`: the first that is not nothing.
    Choice(Vec<Expression>),
    /// `a . b`: the texts or arrays joined; nothing if one of them is.
    Concatenate(Vec<Expression>),
    /// `a + b`.
    Arithmetic(Arithmetic, Box<Expression>, Box<Expression>),
    /// `( … )`.
    Group(Statement),
    /// `{ …; … }`.
    Block(Script),
    /// `if (left comparison right) { … } else { … }`.
    If(Box<Condition>),
    /// `switch { case 'a': …; default: …; }`.
    Switch(Vec<(String, Statement)>, Option<Statement>),
    /// `select_input { field: …; }`: the statement of the first of the fields that is set, fed with its value.
    SelectInput(Vec<(String, Statement)>),
    /// `for_each { … }`: each element on its own.
    ForEach(Statement),
    /// `guard { … }`: only when one of its inputs is in an update.
    Guard(Script),
    /// Any other expression: its name and its arguments, as in the list of the language.
    Function(&'static str, Vec<Argument>),
}

/// An `if`.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Left side.
    pub left: Expression,
    /// What is asked.
    pub comparison: Comparison,
    /// Right side.
    pub right: Expression,
    /// Run if it is so.
    pub then: Script,
    /// Run if it is not.
    pub otherwise: Option<Script>,
}

/// Where an output expression writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// `attribute`.
    Attribute,
    /// `index`.
    Index,
    /// `summary`.
    Summary,
}

impl Output {
    /// Name in the language.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Output::Attribute => "attribute",
            Output::Index => "index",
            Output::Summary => "summary",
        }
    }
}

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// `"text"`.
    Text(String),
    /// `true`.
    Bool(bool),
    /// `12`, `0x1f`.
    Int(i32),
    /// `12L`.
    Long(i64),
    /// `12.5f`.
    Float(f32),
    /// `12.5`.
    Double(f64),
}

/// An argument of a function.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A name, such as the component of `embed`.
    Name(String),
    /// A text in quotes.
    Text(String),
    /// A number, as written.
    Number(String),
}

/// `+ - * / %`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
}

impl Arithmetic {
    /// Sign in the language.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Arithmetic::Add => "+",
            Arithmetic::Subtract => "-",
            Arithmetic::Multiply => "*",
            Arithmetic::Divide => "/",
            Arithmetic::Remainder => "%",
        }
    }
}

/// What an `if` asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// Sign in the language.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Comparison::Equal => "==",
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }
}
