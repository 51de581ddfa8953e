//! Explanations (an extension): why a document is a hit, and why another is not: the query's tree with what matched where,
//! and the rank expressions with the values of all their parts.
//!
//! [`formula`] is about ranking, [`query`] about matching. Both look at one document, and only at documents that are
//! asked about.
mod about;
mod explainer;
mod formula;
mod query;

pub(crate) use about::ExplainedDocument;
pub(crate) use explainer::Explainer;
