//! What was found: hits, what decides about them, and the partial results they travel in.
pub(crate) mod global_scoring;
pub(crate) mod group_facts;
pub(crate) mod hit;
pub(crate) mod hit_list;
pub(crate) mod model_runs;
pub(crate) mod partial;
pub(crate) mod phases;
pub(crate) mod places;
pub(crate) mod stages;
