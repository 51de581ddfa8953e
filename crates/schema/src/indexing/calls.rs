//! What scripts ask models for, and the types of what these are to make.
use std::sync::Arc;

use brooklet_document::{CellType, DataType, TensorType};

use super::{Argument, Expression, ExpressionKind, Script, Statement};
use crate::place::SourcePlace;

/// An embedding expression of a script: `embed [component] [dimension of the elements of an array]`.
#[derive(Clone, Debug, PartialEq)]
pub struct EmbedCall {
    /// The component that embeds; empty if the only one is meant.
    pub embedder: String,
    /// Where it was written.
    pub place: SourcePlace,
}

/// A generating expression of a script: `generate [component]`.
#[derive(Clone, Debug, PartialEq)]
pub struct GenerateCall {
    /// The component that generates; empty if the only one is meant.
    pub generator: String,
    /// The type of the value it is to generate.
    pub target: DataType,
    /// Where it was written.
    pub place: SourcePlace,
}

/// The type of the value that `generate` makes, given what follows it in its statement: that of the field if it is put
/// out, otherwise a text.
#[must_use]
pub fn generated_type<'t>(field: &'t DataType, rest: &[Expression]) -> &'t DataType {
    match rest.first().map(|next| &next.kind) {
        Some(ExpressionKind::Output(..)) => field,
        _ => &DataType::String,
    }
}

/// The component that a `generate` names; empty where it names none.
#[must_use]
pub fn generate_argument(arguments: &[Argument]) -> &str {
    embed_arguments(arguments).0
}

impl Script {
    /// Whether a model has to be asked before its value can be made.
    #[must_use]
    pub fn asks_models(&self) -> bool {
        !self.embed_calls().is_empty() || !self.generate_calls(&DataType::String).is_empty()
    }

    /// The names of all fields that are read, at any depth, and where.
    pub(crate) fn inputs(&self) -> Vec<(&str, &SourcePlace)> {
        let mut inputs = Vec::new();
        self.each_expression(&mut |expression, _| {
            if let ExpressionKind::Input(name) = &expression.kind {
                inputs.push((name.as_str(), &expression.place));
            }
        });
        inputs
    }

    /// The first expression whose value is another with every write; nothing if there is none.
    pub(crate) fn varying(&self) -> Option<&Expression> {
        let mut found = None;
        self.each_expression(&mut |expression, _| {
            if matches!(expression.kind, ExpressionKind::Function("now" | "random", _)) {
                found = found.or(Some(expression));
            }
        });
        found
    }

    /// What is cut into pieces, and how, as the canonical text of the script says it: the same for fields of the same
    /// pieces. Nothing where a script cuts nothing.
    #[must_use]
    pub fn pieces(&self) -> Option<String> {
        self.statements.iter().find_map(|Statement { expressions, .. }| {
            let cuts = |one: &Expression| matches!(one.kind, ExpressionKind::Function("chunk", _));
            let cut = expressions.iter().position(cuts)?;
            let steps: Vec<String> = expressions[..=cut].iter().map(ToString::to_string).collect();
            Some(steps.join(" | "))
        })
    }

    /// All generating expressions, at any depth, of the script of a field of that type.
    #[must_use]
    pub fn generate_calls(&self, field: &DataType) -> Vec<GenerateCall> {
        let mut calls = Vec::new();
        self.each_expression(&mut |expression, rest| {
            if let ExpressionKind::Function("generate", arguments) = &expression.kind {
                let (generator, target) =
                    (generate_argument(arguments).to_owned(), generated_type(field, rest).clone());
                calls.push(GenerateCall { generator, target, place: expression.place.clone() });
            }
        });
        calls
    }

    /// Shows every expression, at any depth, and what follows it in its statement.
    fn each_expression<'s>(&'s self, visit: &mut dyn FnMut(&'s Expression, &'s [Expression])) {
        self.statements.iter().for_each(|statement| walk(&statement.expressions, visit));
    }

    /// All embedding expressions, at any depth.
    #[must_use]
    pub fn embed_calls(&self) -> Vec<EmbedCall> {
        let mut calls = Vec::new();
        self.each_expression(&mut |expression, _| {
            if let ExpressionKind::Function("embed", arguments) = &expression.kind {
                let embedder = embed_arguments(arguments).0.to_owned();
                calls.push(EmbedCall { embedder, place: expression.place.clone() });
            }
        });
        calls
    }
}

/// Shows every expression of a statement, at any depth, and what follows it in its own statement.
fn walk<'s>(expressions: &'s [Expression], visit: &mut dyn FnMut(&'s Expression, &'s [Expression])) {
    for (index, expression) in expressions.iter().enumerate() {
        visit(expression, &expressions[index + 1..]);
        expression.kind.statements().into_iter().for_each(|inner| walk(&inner.expressions, visit));
        match &expression.kind {
            ExpressionKind::Choice(of) | ExpressionKind::Concatenate(of) => {
                of.iter().for_each(|one| walk(std::slice::from_ref(one), visit));
            }
            ExpressionKind::Arithmetic(_, left, right) => {
                [left, right].into_iter().for_each(|one| walk(std::slice::from_ref(one), visit));
            }
            ExpressionKind::If(condition) => {
                [&condition.left, &condition.right].into_iter().for_each(|one| walk(std::slice::from_ref(one), visit));
            }
            _ => {}
        }
    }
}

/// The component and the dimension of elements that an `embed` names; empty where it names none.
#[must_use]
pub fn embed_arguments(arguments: &[Argument]) -> (&str, &str) {
    let name = |index: usize| match arguments.get(index) {
        Some(Argument::Name(name)) => name.as_str(),
        _ => "",
    };
    (name(0), name(1))
}

/// The type an `embed` makes a tensor of, given what follows it in its statement: that of the field, or the one that
/// `pack_bits` makes the field's of, with a cell for each bit.
#[must_use]
pub fn embedded_type(field: &DataType, rest: &[Expression]) -> Option<Arc<TensorType>> {
    let DataType::Tensor(target) = field else { return None };
    let is_packed = |next: &Expression| matches!(next.kind, ExpressionKind::Function("pack_bits", _));
    Some(rest.iter().filter(|next| is_packed(next)).fold(target.clone(), |packed, _| Arc::new(unpack_type(&packed))))
}

/// The type with a cell for each bit of another's.
fn unpack_type(packed: &TensorType) -> TensorType {
    let mut unpacked = packed.clone();
    unpacked.cell = CellType::Float;
    let sizes = unpacked.dimensions.iter_mut().filter_map(|dimension| dimension.size.as_mut());
    sizes.for_each(|size| *size = size.saturating_mul(8));
    unpacked
}

/// The type `pack_bits` makes of another, which must have one indexed dimension: an eighth of its size, rounded up.
#[must_use]
pub fn packed_type(unpacked: &TensorType) -> Option<TensorType> {
    if unpacked.indexed().count() != 1 {
        return None;
    }
    let mut packed = unpacked.clone();
    packed.cell = CellType::Int8;
    let sizes = packed.dimensions.iter_mut().filter_map(|dimension| dimension.size.as_mut());
    sizes.for_each(|size| *size = size.div_ceil(8));
    Some(packed)
}
