//! What expressions yield.
use std::rc::Rc;

use brooklet_document::Tensor;

/// What an expression yields.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number; also the hash of a text, and a tensor without dimensions.
    Number(f64),
    /// A tensor with at least one dimension.
    Tensor(Rc<Tensor>),
}
