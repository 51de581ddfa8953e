//! What a script does, as far as a deploy must know: which roles it gives its field, and whether this release can
//! carry it out. A document field's value is stored as it was fed; expressions that would change it are refused rather
//! than ignored. What a field outside the document may do stands in `made`.
use brooklet_task::Rejection;

use super::{Condition, Expression, ExpressionKind, Output, Script, Statement};
use crate::field::Roles;
use crate::place::SourcePlace;

/// Functions without effect on values in streaming mode: they prepare terms for an index that does not exist.
pub(super) const WITHOUT_EFFECT: &[&str] =
    &["clear_state", "echo", "exact", "ngram", "optimize_predicate", "passthrough", "set_language", "this", "tokenize"];

/// Functions that need no value to work on.
const SOURCES: &[&str] = &["documentid", "get_var", "hostname", "now", "random"];

impl Script {
    /// The roles its outputs give the field of that name.
    pub(crate) fn roles(&self, field: &str) -> Roles {
        let mut roles = Roles::default();
        self.statements.iter().for_each(|statement| add_roles(statement, field, &mut roles));
        roles
    }

    /// The script with `input field` in front of each statement that needs a value and does not fetch one.
    pub(crate) fn with_input(mut self, field: &str) -> Script {
        for statement in &mut self.statements {
            if let Some(first) = statement.expressions.first()
                && needs_value(first)
            {
                let input = Expression { kind: ExpressionKind::Input(field.to_owned()), place: first.place.clone() };
                statement.expressions.insert(0, input);
            }
        }
        self
    }

    /// The script with `index` replaced by `attribute`, for fields of numbers.
    pub(crate) fn with_attribute_for_index(mut self) -> Script {
        self.statements.iter_mut().for_each(attribute_for_index);
        self
    }

    /// Refuses what this release cannot carry out.
    pub(crate) fn check(&self, owner: &ScriptOwner<'_>) -> Result<(), Rejection> {
        self.statements.iter().try_for_each(|statement| owner.statement(statement))
    }
}

fn add_roles(statement: &Statement, field: &str, roles: &mut Roles) {
    for expression in &statement.expressions {
        match &expression.kind {
            ExpressionKind::Output(output, to) if to == field => match output {
                Output::Attribute => roles.attribute = true,
                Output::Index => roles.index = true,
                Output::Summary => roles.summary = true,
            },
            other => other.statements().into_iter().for_each(|inner| add_roles(inner, field, roles)),
        }
    }
}

fn attribute_for_index(statement: &mut Statement) {
    for expression in &mut statement.expressions {
        match &mut expression.kind {
            ExpressionKind::Output(output @ Output::Index, _) => *output = Output::Attribute,
            other => other.statements_mut().into_iter().for_each(attribute_for_index),
        }
    }
}

impl ExpressionKind {
    /// The statements directly inside, to be changed.
    fn statements_mut(&mut self) -> Vec<&mut Statement> {
        match self {
            ExpressionKind::Group(statement) | ExpressionKind::ForEach(statement) => vec![statement],
            ExpressionKind::Block(script) | ExpressionKind::Guard(script) => script.statements.iter_mut().collect(),
            ExpressionKind::If(condition) => {
                let otherwise = condition.otherwise.iter_mut().flat_map(|of| &mut of.statements);
                condition.then.statements.iter_mut().chain(otherwise).collect()
            }
            ExpressionKind::Switch(cases, default) => cases.iter_mut().map(|(_, of)| of).chain(default).collect(),
            ExpressionKind::SelectInput(cases) => cases.iter_mut().map(|(_, of)| of).collect(),
            _ => Vec::new(),
        }
    }

    /// The statements directly inside.
    pub(super) fn statements(&self) -> Vec<&Statement> {
        match self {
            ExpressionKind::Group(statement) | ExpressionKind::ForEach(statement) => vec![statement],
            ExpressionKind::Block(script) | ExpressionKind::Guard(script) => script.statements.iter().collect(),
            ExpressionKind::If(condition) => condition
                .then
                .statements
                .iter()
                .chain(condition.otherwise.iter().flat_map(|of| &of.statements))
                .collect(),
            ExpressionKind::Switch(cases, default) => cases.iter().map(|(_, of)| of).chain(default).collect(),
            ExpressionKind::SelectInput(cases) => cases.iter().map(|(_, of)| of).collect(),
            _ => Vec::new(),
        }
    }

    /// Name for messages.
    fn name(&self) -> &'static str {
        match self {
            ExpressionKind::Output(output, _) => output.name(),
            ExpressionKind::Input(_) => "input",
            ExpressionKind::Constant(_) => "constant",
            ExpressionKind::Choice(_) => "||",
            ExpressionKind::Concatenate(_) => ".",
            ExpressionKind::Arithmetic(operator, ..) => operator.sign(),
            ExpressionKind::Group(_) => "( … )",
            ExpressionKind::Block(_) => "{ … }",
            ExpressionKind::If(_) => "if",
            ExpressionKind::Switch(..) => "switch",
            ExpressionKind::SelectInput(_) => "select_input",
            ExpressionKind::ForEach(_) => "for_each",
            ExpressionKind::Guard(_) => "guard",
            ExpressionKind::Function(name, _) => name,
        }
    }
}

/// Whether an output is in it, at any depth.
fn puts_out(statement: &Statement) -> bool {
    statement.expressions.iter().any(|expression| match &expression.kind {
        ExpressionKind::Output(..) => true,
        other => other.statements().into_iter().any(puts_out),
    })
}

fn sets_language(statement: &Statement) -> bool {
    statement
        .expressions
        .iter()
        .any(|expression| matches!(expression.kind, ExpressionKind::Function("set_language", _)))
}

fn needs_value(expression: &Expression) -> bool {
    match &expression.kind {
        ExpressionKind::Input(_) | ExpressionKind::Constant(_) | ExpressionKind::SelectInput(_) => false,
        ExpressionKind::Function(name, _) => !SOURCES.contains(name),
        ExpressionKind::Choice(of) | ExpressionKind::Concatenate(of) => of.iter().any(needs_value),
        ExpressionKind::Arithmetic(_, left, right) => needs_value(left) || needs_value(right),
        ExpressionKind::Group(statement) => statement.expressions.first().is_some_and(needs_value),
        ExpressionKind::Block(script) | ExpressionKind::Guard(script) => {
            script.statements.iter().any(|statement| statement.expressions.first().is_some_and(needs_value))
        }
        _ => true,
    }
}

/// The field whose script is checked.
pub(crate) struct ScriptOwner<'a> {
    /// Name of the schema.
    pub(crate) schema: &'a str,
    /// Name of the field, or dotted path of a struct-field.
    pub(crate) field: &'a str,
    /// The field of the document the value belongs to.
    pub(crate) own: &'a str,
}

impl ScriptOwner<'_> {
    /// A statement that puts nothing out changes nothing: it may set the language of others.
    fn statement(&self, statement: &Statement) -> Result<(), Rejection> {
        if !puts_out(statement) && sets_language(statement) {
            return Ok(());
        }
        statement.expressions.iter().try_for_each(|expression| self.expression(expression))
    }

    fn expression(&self, expression: &Expression) -> Result<(), Rejection> {
        match &expression.kind {
            ExpressionKind::Output(_, to) if to == self.own => Ok(()),
            ExpressionKind::Output(output, to) => {
                Err(self.unsupported_expression(&expression.place, &format!("{} {to}", output.name())))
            }
            ExpressionKind::Input(from) if from == self.own => Ok(()),
            ExpressionKind::Input(_) | ExpressionKind::Constant(_) => Err(self.modifies(expression)),
            ExpressionKind::Function(name, _) if WITHOUT_EFFECT.contains(name) => Ok(()),
            ExpressionKind::If(condition) => {
                self.operands(condition)?;
                self.all(&expression.kind)
            }
            ExpressionKind::Group(_)
            | ExpressionKind::Block(_)
            | ExpressionKind::Guard(_)
            | ExpressionKind::Switch(..) => self.all(&expression.kind),
            other => Err(self.unsupported_expression(&expression.place, other.name())),
        }
    }

    fn all(&self, kind: &ExpressionKind) -> Result<(), Rejection> {
        kind.statements().into_iter().try_for_each(|statement| self.statement(statement))
    }

    /// What is compared in an `if` is thrown away, so any constant or field will do; what could store something will not.
    fn operands(&self, condition: &Condition) -> Result<(), Rejection> {
        for operand in [&condition.left, &condition.right] {
            match &operand.kind {
                ExpressionKind::Constant(_) | ExpressionKind::Input(_) | ExpressionKind::Function("this", _) => {}
                other => return Err(self.unsupported_expression(&operand.place, other.name())),
            }
        }
        Ok(())
    }

    fn unsupported_expression(&self, place: &SourcePlace, what: &str) -> Rejection {
        place.unsupported_here(format!(
            "For schema '{}', field '{}': indexing expression '{what}'",
            self.schema, self.field
        ))
    }

    fn modifies(&self, expression: &Expression) -> Rejection {
        expression.place.reject(format!(
            "For schema '{}', field '{}': Indexing expression '{expression}' attempts to modify the value of the document \
             field '{}'. Use a field outside the document block instead.",
            self.schema, self.field, self.own
        ))
    }
}
