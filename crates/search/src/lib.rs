//! Reading: the tasks that get a document, visit many, and answer a query. From the ground up:
//!
//! * [`deployed`]: a deployed application, its rank profiles compiled.
//! * [`asked`]: the parameters of a request by their full names, and what they say before a plan is made of them.
//! * [`resident`]: partitions and blocks in memory, how they come there, and how tasks read them.
//! * [`plan`]: a query compiled against the deployed schemas.
//! * [`matching`]: which documents of a segment match, a term at a time.
//! * [`nearest`]: nearest neighbours among the documents that match, exactly.
//! * [`ranking`]: the scores and features of documents that match.
//! * [`grouping`]: what is counted and summed over the documents that match.
//! * [`found`]: hits, what decides about them, and the partial results they travel in.
//! * [`summary`]: what a hit shows of its document.
//! * [`explain`]: why a document is a hit, and why another is not.
//! * [`render`]: the answer as it is sent.
//! * [`tasks`]: a query that is open, its searches and merges, and the reading of documents.
#![forbid(unsafe_code)]

mod asked;
mod deployed;
mod explain;
mod found;
mod grouping;
mod markup;
mod matching;
mod nearest;
mod plan;
mod ranking;
mod render;
mod resident;
mod summary;
mod tasks;

pub use deployed::{Deployed, DeployedProfile, DeployedSchema};
#[doc(hidden)]
pub use found::model_runs::read_outputs;
pub use resident::partition::ResidentPartition;
pub use resident::residency::{Residency, ResidencyStatistics};
pub use tasks::evaluate::Evaluate;
pub use tasks::get::Get;
pub use tasks::merge::Merge;
pub use tasks::page::open_visit;
pub use tasks::query::Query;
pub use tasks::search::Search;
