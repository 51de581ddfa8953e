//! What a script puts out of its field: one value, wherever it is put. Which outputs are of another field is `analyze`'s matter.
use super::analyze::WITHOUT_EFFECT;
use super::{Expression, ExpressionKind, Script, Statement};

/// What was put out on the way to an expression.
#[derive(Clone, Copy, Default)]
struct Given {
    /// Something was.
    is_any: bool,
    /// Nothing has made another value since.
    is_current: bool,
}

impl Script {
    /// An output of another value than was put out before it. Branches do not see each other.
    pub(crate) fn conflict(&self) -> Option<&Expression> {
        let mut given = Given::default();
        self.statements.iter().find_map(|statement| conflict_in(statement, &mut given))
    }
}

fn conflict_in<'s>(statement: &'s Statement, given: &mut Given) -> Option<&'s Expression> {
    statement.expressions.iter().find_map(|expression| conflict(expression, given))
}

fn conflict<'s>(expression: &'s Expression, given: &mut Given) -> Option<&'s Expression> {
    match &expression.kind {
        ExpressionKind::Output(..) if given.is_any && !given.is_current => return Some(expression),
        ExpressionKind::Output(..) => *given = Given { is_any: true, is_current: true },
        ExpressionKind::Group(statement) => return conflict_in(statement, given),
        ExpressionKind::Choice(of) | ExpressionKind::Concatenate(of) => {
            return of.iter().find_map(|operand| conflict(operand, given));
        }
        ExpressionKind::Arithmetic(_, left, right) => {
            return conflict(left, given).or_else(|| conflict(right, given));
        }
        ExpressionKind::Input(_) | ExpressionKind::Constant(_) => given.is_current = false,
        ExpressionKind::Function(name, _) => given.is_current &= *name == "set_var" || WITHOUT_EFFECT.contains(name),
        branches => {
            let found =
                branches.statements().into_iter().find_map(|statement| conflict_in(statement, &mut given.clone()));
            given.is_current &= !matches!(branches, ExpressionKind::ForEach(_));
            return found;
        }
    }
    None
}
