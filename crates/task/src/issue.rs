//! What went less well than asked, without failing the request.
use crate::Code;

/// A soft error of a search: the answer is given, `root.errors` tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// What kind.
    pub code: Code,
    /// One sentence.
    pub message: String,
}

/// The issues of one request, each told once.
#[derive(Clone, Debug, Default)]
pub struct Issues(Vec<Issue>);

impl Issues {
    /// Adds an issue unless the same was reported before.
    pub fn report(&mut self, code: Code, message: impl Into<String>) {
        let issue = Issue { code, message: message.into() };
        if !self.0.contains(&issue) && self.0.len() < crate::limits::ISSUES {
            self.0.push(issue);
        }
    }

    /// All issues, in the order of their first report.
    #[must_use]
    pub fn all(&self) -> &[Issue] {
        &self.0
    }
}
