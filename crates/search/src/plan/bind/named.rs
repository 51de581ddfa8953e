//! What a query settles by naming a document type (`sddocname:mail`), before any document is looked at: everything of the
//! schema of that name, nothing of any other.
use brooklet_query::tree::{Item, Operator};

/// The name that document types are asked for by.
pub(super) const FIELD: &str = "sddocname";

/// Whether an item asks for a document type.
pub(super) fn is_name(item: &Item) -> bool {
    matches!(&item.operator, Operator::Term(term) if term.field == FIELD)
}

/// Whether an item matches all documents of the schema because it names it.
pub(super) fn is_everything(item: &Item, schema: &str) -> bool {
    match &item.operator {
        Operator::Term(term) => term.field == FIELD && term.text == schema,
        Operator::Or(items) | Operator::Equiv(items) => items.iter().any(|item| is_everything(item, schema)),
        Operator::And(items) => !items.is_empty() && items.iter().all(|item| is_everything(item, schema)),
        _ => false,
    }
}
