//! What resolving a part of a package gives.
use brooklet_task::Rejection;

/// The part, or why the package is refused.
pub(super) type Resolved<T> = Result<T, Rejection>;
