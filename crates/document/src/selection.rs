//! The document selection language: which documents a condition, a visit, garbage collection or a search over several
//! groups means. One implementation for all of them.
//!
//! A [`Selection`] is read once against the document types of the application, so what it names exists and what it
//! compares can be compared. Evaluated on a document it is true, false or *invalid*, as in the reference
//! implementation's content layer: invalid is what comparing a missing value or a field of another type gives, it
//! survives `not`, and selects nothing.
use std::collections::BTreeSet;

use brooklet_task::{Code, Rejection};

use crate::DocumentTypes;

mod bindings;
mod datum;
mod evaluate;
mod glob;
mod hash;
pub use hash::md5;
mod lex;
mod outcome;
mod parse;
mod scope;
mod subject;
mod tree;

pub use outcome::Outcome;
pub use scope::Scope;
pub use subject::Subject;

/// A selection, read and checked.
#[derive(Clone, Debug)]
pub struct Selection {
    root: tree::Node,
    scope: Scope,
    fields: BTreeSet<String>,
    types: BTreeSet<String>,
}

impl Selection {
    /// Reads a selection; an empty one selects everything.
    ///
    /// # Errors
    /// With `code`, and the place, if it is malformed, beyond a limit, or names a document type, field or part of a
    /// field that does not exist.
    pub fn parse(text: &str, types: &dyn DocumentTypes, code: Code) -> Result<Selection, Rejection> {
        let parse::Written { root, types: named } = parse::parse(text, types, code)?;
        let mut fields = BTreeSet::new();
        root.visit_leaves(&mut |leaf| {
            if let tree::Node::Field(reference) = leaf {
                fields.insert(reference.path.field.clone());
            }
        });
        let scope = scope::analyse(&root, types);
        Ok(Selection { root, scope, fields, types: named })
    }

    /// What it says of a document.
    ///
    /// # Errors
    /// If it divides by zero, or compares more combinations of elements than the limit.
    pub fn evaluate(&self, subject: &Subject) -> Result<Outcome, Rejection> {
        evaluate::evaluate(&self.root, subject)
    }

    /// Whether it selects a document.
    ///
    /// # Errors
    /// As [`Selection::evaluate`].
    pub fn selects(&self, subject: &Subject) -> Result<bool, Rejection> {
        Ok(self.evaluate(subject)? == Outcome::True)
    }

    /// Whether it looks at nothing of a document but its group and type: then it is the same for all that share them.
    #[must_use]
    pub fn is_of_groups_and_types(&self) -> bool {
        self.root.is_of_groups_and_types()
    }

    /// The fields it looks at: no others need be read from storage.
    #[must_use]
    pub fn fields(&self) -> &BTreeSet<String> {
        &self.fields
    }

    /// The document types it names.
    #[must_use]
    pub fn types(&self) -> &BTreeSet<String> {
        &self.types
    }

    /// Where documents it can select are: whoever reads only there misses none.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.scope
    }
}
