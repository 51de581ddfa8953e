//! The canonical text of scripts, as error messages show them: `{ input f | index f; }`.
use std::fmt::{Display, Formatter, Result};

use super::{Argument, Condition, Constant, Expression, ExpressionKind, Script, Statement};

impl Display for Script {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("{ ")?;
        for statement in &self.statements {
            write!(f, "{statement}; ")?;
        }
        f.write_str("}")
    }
}

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        print_joined(f, &self.expressions, " | ")
    }
}

impl Display for Expression {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.kind {
            ExpressionKind::Output(output, field) => write!(f, "{} {field}", output.name()),
            ExpressionKind::Input(field) => write!(f, "input {field}"),
            ExpressionKind::Constant(constant) => write!(f, "{constant}"),
            ExpressionKind::Choice(of) => print_joined(f, of, " || "),
            ExpressionKind::Concatenate(of) => print_joined(f, of, " . "),
            ExpressionKind::Arithmetic(operator, left, right) => write!(f, "{left} {} {right}", operator.sign()),
            ExpressionKind::Group(statement) => write!(f, "({statement})"),
            ExpressionKind::Block(script) => write!(f, "{script}"),
            ExpressionKind::If(condition) => write!(f, "{condition}"),
            ExpressionKind::Switch(cases, default) => {
                f.write_str("switch { ")?;
                for (value, statement) in cases {
                    write!(f, "case {}: {statement}; ", Quoted(value))?;
                }
                default.iter().try_for_each(|statement| write!(f, "default: {statement}; "))?;
                f.write_str("}")
            }
            ExpressionKind::SelectInput(cases) => {
                f.write_str("select_input { ")?;
                cases.iter().try_for_each(|(field, statement)| write!(f, "{field}: {statement}; "))?;
                f.write_str("}")
            }
            ExpressionKind::ForEach(statement) => write!(f, "for_each {{ {statement} }}"),
            ExpressionKind::Guard(script) => write!(f, "guard {script}"),
            ExpressionKind::Function(name, arguments) => {
                f.write_str(name)?;
                arguments.iter().try_for_each(|argument| write!(f, " {argument}"))
            }
        }
    }
}

impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "if ({} {} {}) {}", self.left, self.comparison.sign(), self.right, self.then)?;
        self.otherwise.iter().try_for_each(|script| write!(f, " else {script}"))
    }
}

impl Display for Constant {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Constant::Text(text) => write!(f, "{}", Quoted(text)),
            Constant::Bool(value) => write!(f, "{value}"),
            Constant::Int(value) => write!(f, "{value}"),
            Constant::Long(value) => write!(f, "{value}L"),
            Constant::Float(value) => write!(f, "{value}f"),
            Constant::Double(value) => write!(f, "{value}"),
        }
    }
}

impl Display for Argument {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Argument::Name(text) | Argument::Number(text) => f.write_str(text),
            Argument::Text(text) => write!(f, "{}", Quoted(text)),
        }
    }
}

/// A text in double quotes, escaped so that it reads back as itself.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                '\u{c}' => f.write_str("\\f")?,
                other => write!(f, "{other}")?,
            }
        }
        f.write_str("\"")
    }
}

fn print_joined(f: &mut Formatter<'_>, of: &[Expression], separator: &str) -> Result {
    for (i, expression) in of.iter().enumerate() {
        if i > 0 {
            f.write_str(separator)?;
        }
        write!(f, "{expression}")?;
    }
    Ok(())
}
