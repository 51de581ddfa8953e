//! What was asked: the parameters of a request by their full names, and what they say before a plan is made of them.
pub(crate) mod embed_call;
pub(crate) mod embedded_inputs;
pub(crate) mod field_set;
mod input_checks;
pub(crate) mod known_parameters;
pub(crate) mod parse;
pub(crate) mod period;
pub(crate) mod properties;
pub(crate) mod property_text;
pub(crate) mod query_profile;
pub(crate) mod request;
pub(crate) mod scope;
pub(crate) mod statements;
