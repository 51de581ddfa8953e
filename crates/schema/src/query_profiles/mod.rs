//! Query profiles: named sets of request parameters in the application package, which a request chooses by `queryProfile`.
//!
//! `read` makes them of `search/query-profiles/*.xml` and its `types/*.xml`, `types` says what values fields may have, and
//! `lookup` finds the values of a profile: its own, those of variants for the request at hand, and inherited ones.
mod lookup;
mod profile;
mod read;
mod types;

pub use lookup::ProfileValue;
pub use profile::{FieldType, ProfileType, QueryProfile, QueryProfiles, TypedField};

pub(crate) use read::read;
