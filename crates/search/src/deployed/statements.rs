//! Statements that were parsed lately: applications ask the same one again and again, with other vectors, of other groups.
use std::cell::RefCell;
use std::rc::Rc;

use brooklet_query::Query;

/// Statements kept.
pub(crate) const STATEMENTS: usize = 32;

/// Parsed statements of one deployment by all that parsing depends on beside it, those asked last at the end.
#[derive(Default)]
pub(crate) struct Statements {
    kept: RefCell<Vec<(Vec<u8>, Rc<Query>)>>,
}

impl Statements {
    /// The one with this key.
    pub(crate) fn find(&self, key: &[u8]) -> Option<Rc<Query>> {
        let mut kept = self.kept.borrow_mut();
        let at = kept.iter().rposition(|(known, _)| *known == key)?;
        kept[at..].rotate_left(1);
        kept.last().map(|(_, query)| query.clone())
    }

    /// Keeps one that is not there, for the one not asked for the longest time.
    pub(crate) fn keep(&self, key: Vec<u8>, query: &Rc<Query>) {
        let mut kept = self.kept.borrow_mut();
        if kept.len() == STATEMENTS {
            kept.remove(0);
        }
        kept.push((key, query.clone()));
    }

    /// How many are kept.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.kept.borrow().len()
    }
}
