//! A rank expression with the values of its parts. Functions are shown with what they stand for.
use brooklet_rank::{Expression, Value};
use brooklet_schema::{Phase, RankProfile};

use crate::render::Tree;

/// Parts of all expressions that are looked at.
const PARTS_MAX: usize = 400;
/// Levels of parts.
const DEPTH_MAX: usize = 24;

/// An expression and its parts.
pub(super) struct Formula {
    text: String,
    parts: Vec<Formula>,
}

/// The expressions of a profile's phases, whose parts are added to `names`, each once.
pub(super) fn phases(profile: &RankProfile, names: &mut Vec<String>) -> Vec<(&'static str, Formula)> {
    fn text(phase: Option<&Phase>) -> Option<&str> {
        phase.and_then(|phase| phase.expression.as_ref()).map(|expression| &*expression.text)
    }
    let default = if profile.name == "unranked" { "0" } else { "nativeRank" };
    let first = text(profile.first_phase.as_ref()).unwrap_or(default);
    let mut phases = Vec::new();
    for (phase, text) in [("firstPhase", Some(first)), ("secondPhase", text(profile.second_phase.as_ref()))] {
        if let Some(Ok(expression)) = text.map(Expression::parse) {
            phases.push((phase, of(&expression, profile, names, 0)));
        }
    }
    phases
}

fn of(expression: &Expression, profile: &RankProfile, names: &mut Vec<String>, depth: usize) -> Formula {
    let text = expression.to_string();
    let is_new = !names.contains(&text);
    if is_new && names.len() < PARTS_MAX {
        names.push(text.clone());
    }
    let parts = if depth < DEPTH_MAX && names.len() < PARTS_MAX { parts_of(expression, profile) } else { Vec::new() };
    Formula { text, parts: parts.iter().map(|part| of(part, profile, names, depth + 1)).collect() }
}

fn parts_of(expression: &Expression, profile: &RankProfile) -> Vec<Expression> {
    let Some(name) = expression.name() else {
        // Of numbers that stand in the expression there is nothing to tell.
        return expression.parts().into_iter().filter(|part| part.to_string().parse::<f64>().is_err()).collect();
    };
    let first = || profile.first_phase.as_ref().and_then(|phase| phase.expression.as_ref());
    let body = match profile.function(name) {
        Some(function) if function.parameters.is_empty() => Some(&function.expression),
        None if name == "firstPhase" => first(),
        _ => None,
    };
    body.and_then(|body| Expression::parse(&body.text).ok()).into_iter().collect()
}

impl Formula {
    /// What is shown, with the values of the parts that have one by themselves.
    pub(super) fn tree<'v>(&self, value: &dyn Fn(&str) -> Option<&'v Value>) -> Tree {
        let mut members = vec![("expression", Tree::from(self.text.as_str()))];
        members.extend(value(&self.text).map(|value| ("value", tree_of(value))));
        if !self.parts.is_empty() {
            members.push(("children", Tree::List(self.parts.iter().map(|part| part.tree(value)).collect())));
        }
        Tree::object(members)
    }
}

fn tree_of(value: &Value) -> Tree {
    match value {
        Value::Number(number) => Tree::Double(*number),
        Value::Tensor(tensor) => Tree::Tensor(tensor.clone()),
    }
}
