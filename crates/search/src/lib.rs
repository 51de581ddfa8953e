//! minimal
#![forbid(unsafe_code)]
mod deployed;
mod get;
mod inputs;
mod matching;
mod nearest;
mod partition;
mod plan;
mod ranking;
mod reads;
mod residency;

pub use deployed::{Deployed, DeployedProfile, DeployedSchema};
pub use get::Get;
pub use partition::ResidentPartition;
pub use residency::{Residency, ResidencyStatistics};
mod search;
pub use search::Search;
