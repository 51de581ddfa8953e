//! Grouping: what is counted and summed over the documents that match.
//!
//! A request becomes [`template`]s, tables of groups; [`bind`] finds their fields in a schema, and what it makes of them is
//! [`bound`], with what is asked of documents ([`spec`]), and [`planned`] for all schemas; [`collect`] takes documents
//! view by view and in batches, reads [`columns`] and other [`inputs`], and adds a batch to all groups ([`descent`]), level
//! by level and column by column, evaluating expressions ([`program`]); [`groups`] holds what was added up ([`totals`]) and
//! carries it as bytes that are merged ([`partial`], [`firsts`]); [`page`] sorts and cuts it, [`result`] shows it.
mod bind;
mod bound;
mod classify;
mod collect;
mod columns;
mod continuation;
mod datum;
mod datum_bytes;
mod descent;
mod exact_sum;
mod filter;
mod firsts;
mod groups;
mod index;
mod inputs;
mod known;
mod numeric;
mod page;
mod partial;
mod plan;
pub(crate) mod planned;
mod program;
mod result;
mod result_markup;
mod spec;
mod stage;
mod template;
mod time;
mod total;
mod totals;
mod walk;
mod zone;

pub(crate) use collect::Kept;
pub(crate) use continuation::Seal;
pub(crate) use groups::Groups;
pub(crate) use plan::plan;
pub(crate) use result::Writing;
pub(crate) use stage::{Grouping, SearchedViews, answers};
pub(crate) use zone::{Clock, unknown_zone, zone_offset};
