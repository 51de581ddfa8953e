//! The indexing language.
//!
//! The whole grammar is read; `analyze` decides which expressions this release carries out. Running scripts is the
//! feed's business.
pub(crate) mod analyze;
pub(crate) mod calls;
pub(crate) mod made;
pub(crate) mod parse;

mod display;
mod functions;
mod lex;
mod outputs;
mod script;

pub use calls::{
    EmbedCall, GenerateCall, embed_arguments, embedded_type, generate_argument, generated_type, packed_type,
};
pub use script::{
    Argument, Arithmetic, Comparison, Condition, Constant, Expression, ExpressionKind, Output, Script, Statement,
};
