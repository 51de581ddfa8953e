//! The arguments of a call, taken by their places.

use crate::expression::syntax_tree::{Lambda, Tree, TreeKind};

/// An argument as read, before it is known what is called.
pub(crate) enum CallArgument {
    Value(Tree),
    /// `name: value`.
    Named(String, Tree),
    /// `f(x)(expression)`.
    Lambda(Lambda),
    /// `(a,b)`.
    Names(Vec<String>),
}

/// The values among the arguments, taken out of them.
pub(crate) fn take(given: &mut Vec<CallArgument>) -> impl Iterator<Item = Tree> + use<'_> {
    given.drain(..).filter_map(|given| if let CallArgument::Value(tree) = given { Some(tree) } else { None })
}

/// The name, or digits, that an argument is.
pub(crate) fn word(given: &CallArgument) -> Option<String> {
    let CallArgument::Value(tree) = given else { return None };
    match &tree.kind {
        TreeKind::Number(_, text) if text.bytes().all(|byte| byte.is_ascii_digit()) => Some(text.clone()),
        _ => tree.identifier().map(str::to_owned),
    }
}
