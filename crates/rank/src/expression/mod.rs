//! Ranking expressions as text and as trees, and what compiling one needs to know of its rank profile.
mod arguments;
mod compile;
mod compile_max_sim;
mod compile_model;
mod compile_onnx;
mod compile_reference;
mod compile_repeated;
mod compile_tensor;
mod compiler;
mod convenience;
mod environment;
mod feature_name;
mod float_text;
mod lex;
mod parse;
mod parse_call;
mod parse_literal;
mod print;
mod syntax_tree;

pub(crate) use compile::{Compiled, compile};
pub use environment::{Environment, FeatureType, Function};
pub use feature_name::{FeatureName, text_hash};
pub use syntax_tree::Expression;
