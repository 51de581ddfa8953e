//! Tensor algebra: the functions of ranking.md §2, one file each. A function has a *plan*, made once from the types of
//! its operands (which is where types are checked), and runs it on values of those types.

pub(crate) mod budget;
mod cell_function;
mod concat;
mod join;
mod layout;
mod merge;
mod reduce;
mod rename;
pub(crate) mod result_type;
mod slice;
mod subspaces;
pub(crate) mod sum;

pub(crate) use cell_function::{UnpackPlan, cell_order, map, mapped_type};
pub(crate) use concat::ConcatPlan;
pub(crate) use join::JoinPlan;
pub(crate) use merge::MergePlan;
pub(crate) use reduce::{Accumulator, ReducePlan};
pub(crate) use rename::RenamePlan;
pub(crate) use slice::{Coordinate, SlicePlan};
pub(crate) use subspaces::{SubspacesPlan, subspace};

pub use reduce::Aggregator;
