//! Reading: the tasks that get a document, visit many, and answer a query.
//!
//! A query is [compiled](compile) against the deployed schemas into a plan, and the plan is run over the views of a
//! partition: [matching] term at a time, [nearest] neighbours with bounds, [ranking] document at a time, then the
//! hits are ordered, summarised and [rendered](render).
#![forbid(unsafe_code)]

mod analysis;
mod answer;
mod bind;
mod collapse;
mod collation;
mod compile;
mod condition;
mod deployed;
mod deployment;
mod embed_call;
mod embedded_inputs;
mod environment;
mod explain;
mod field_set;
mod geodesy;
mod get;
mod global_phase;
mod global_scoring;
mod grouped;
mod grouping;
mod hit;
mod inputs;
mod known_parameters;
mod lane;
mod late;
mod listing;
mod loading;
mod lookup;
mod matching;
mod merge;
mod model_runs;
mod nearest;
mod onnx_call;
mod parse;
mod partial;
mod partition;
mod period;
mod phase_settings;
mod phases;
mod places;
mod plan;
mod profile_values;
mod properties;
mod query;
mod query_profile;
mod ranking;
mod reads;
mod render;
mod request;
mod residency;
mod run;
mod scope;
mod search;
mod selecting;
mod sorting;
mod summary;
mod visit;

pub use deployed::{Deployed, DeployedProfile, DeployedSchema};
pub use get::Get;
pub use merge::Merge;
#[doc(hidden)]
pub use model_runs::read_outputs;
pub use partition::ResidentPartition;
pub use query::Query;
pub use residency::{Residency, ResidencyStatistics};
pub use search::Search;
pub use visit::Visit;
