//! A piece of an answer in no format yet: what is made of grouping, traces and explanations, and written as JSON or CBOR.
use std::borrow::Cow;
use std::rc::Rc;

use brooklet_document::json::{Render, TensorFormat, render_tensor};
use brooklet_document::{Tensor, ValueWriter};

#[allow(dead_code, reason = "groups and explanations are made of all of them")]
/// A value with the kinds that JSON and CBOR share. Members of an object keep their order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tree {
    Null,
    Boolean(bool),
    Integer(i64),
    Double(f64),
    Text(String),
    Tensor(Rc<Tensor>),
    List(Vec<Tree>),
    Object(Vec<(Cow<'static, str>, Tree)>),
    /// A value that was written in the format of the answer already.
    Written(Vec<u8>),
}

#[allow(dead_code, reason = "likewise")]
impl Tree {
    /// An object of these members.
    pub(crate) fn object(members: impl IntoIterator<Item = (&'static str, Tree)>) -> Tree {
        Tree::Object(members.into_iter().map(|(name, value)| (Cow::Borrowed(name), value)).collect())
    }

    /// An object whose names come from a request or a schema.
    pub(crate) fn named(members: impl IntoIterator<Item = (String, Tree)>) -> Tree {
        Tree::Object(members.into_iter().map(|(name, value)| (Cow::Owned(name), value)).collect())
    }

    /// Writes it.
    pub(crate) fn write(&self, out: &mut dyn ValueWriter) {
        match self {
            Tree::Null => out.null(),
            Tree::Boolean(flag) => out.boolean(*flag),
            Tree::Integer(number) => out.integer(*number),
            Tree::Double(number) => out.double(*number),
            Tree::Text(text) => out.string(text),
            Tree::Tensor(tensor) => render_tensor(tensor, &Render::result(TensorFormat::Short), out),
            Tree::List(elements) => {
                out.begin_array();
                for element in elements {
                    element.write(out);
                }
                out.end_array();
            }
            Tree::Written(written) => out.fragment(written),
            Tree::Object(members) => {
                out.begin_object();
                for (name, value) in members {
                    out.key(name);
                    value.write(out);
                }
                out.end_object();
            }
        }
    }
}

impl From<&str> for Tree {
    fn from(text: &str) -> Tree {
        Tree::Text(text.to_owned())
    }
}

impl From<String> for Tree {
    fn from(text: String) -> Tree {
        Tree::Text(text)
    }
}

impl From<f64> for Tree {
    fn from(number: f64) -> Tree {
        Tree::Double(number)
    }
}

impl From<i64> for Tree {
    fn from(number: i64) -> Tree {
        Tree::Integer(number)
    }
}

impl From<u32> for Tree {
    fn from(number: u32) -> Tree {
        Tree::Integer(i64::from(number))
    }
}

impl From<bool> for Tree {
    fn from(flag: bool) -> Tree {
        Tree::Boolean(flag)
    }
}
