//! What is said of a package that can be read nevertheless: warnings, and objections to its form.
//!
//! An objection refuses a package that is deployed. One that was deployed before is read all the same: it may have been
//! taken by a release that did not object, and the documents under it must stay reachable (docs/decisions/0041). So an
//! objection is raised only where there is a meaning to go on with; what has none is a rejection.
use brooklet_task::Rejection;

/// Warnings and objections, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Remarks {
    pub(crate) warnings: Vec<String>,
    pub(crate) objections: Vec<Rejection>,
}

impl Remarks {
    pub(crate) fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    pub(crate) fn object(&mut self, objection: Rejection) {
        self.objections.push(objection);
    }

    pub(crate) fn add(&mut self, other: Remarks) {
        self.warnings.extend(other.warnings);
        self.objections.extend(other.objections);
    }
}
