//! What a rank profile says to an index and its threads. It has no effect in streaming mode, and is held against the fields and
//! the inherited profiles as the reference does, so that a profile that deploys here deploys there.
use std::collections::BTreeMap;

use crate::place::SourcePlace;

/// Settings of an index, inherited ones included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tuning {
    /// Numbers by the names of their settings, such as `num-threads-per-search`.
    pub numbers: BTreeMap<String, f64>,
    /// The attribute of `match-phase`, and where that is said.
    pub match_phase: Option<(String, SourcePlace)>,
    /// The attribute of `diversity`, and where that is said.
    pub diversity: Option<(String, SourcePlace)>,
}
