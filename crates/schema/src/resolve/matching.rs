//! `match`, `sorting` and the rank settings of a field, with defaults filled in.
use brooklet_document::DataType;

use crate::field::{RankMode, Roles};
use crate::match_settings::{MAX_LENGTH_BYTES, MatchKind, MatchMode, MatchSettings, Sorting};
use crate::sd::tree::{MatchTree, SortingTree};

/// The settings a tree means for a value of type `of` with `roles`; `around` are those of the field it is a part of.
pub(super) fn match_settings(
    tree: &MatchTree,
    around: Option<&MatchTree>,
    of: &DataType,
    roles: Roles,
) -> MatchSettings {
    let outer = around.cloned().unwrap_or_default();
    let implied =
        if of.element().is_text() && roles.attribute && !roles.index { MatchKind::Word } else { MatchKind::Text };
    let kind = tree.kind.or(outer.kind).unwrap_or(implied);
    let mode = match (kind, tree.algorithm.or(outer.algorithm)) {
        (MatchKind::Exact, _) => MatchMode::Exact,
        (_, Some(algorithm)) => algorithm,
        (MatchKind::Word, None) => MatchMode::Word,
        (MatchKind::Text, None) => MatchMode::Text,
        (MatchKind::Gram, None) => MatchMode::Gram,
    };
    let defaults = MatchSettings::default();
    MatchSettings {
        kind,
        mode,
        cased: tree.cased.or(outer.cased).unwrap_or(false),
        max_length_bytes: tree.max_length_bytes.unwrap_or(MAX_LENGTH_BYTES),
        exact_terminator: tree.exact_terminator.clone().unwrap_or(defaults.exact_terminator),
        gram_size: tree.gram_size.unwrap_or(defaults.gram_size),
    }
}

/// `rank`, or what `match: exact` implies.
pub(super) fn rank_mode(said: Option<RankMode>, matching: &MatchSettings) -> RankMode {
    let implied = if matching.kind == MatchKind::Exact { RankMode::Filter } else { RankMode::Normal };
    said.unwrap_or(implied)
}

/// `sorting` with its defaults.
pub(super) fn sorting(tree: &SortingTree) -> Sorting {
    Sorting {
        order: tree.order.unwrap_or_default(),
        function: tree.function,
        strength: tree.strength.unwrap_or_default(),
        locale: tree.locale.clone(),
    }
}
