//! A feature made ready for one query, and what computes it.

use brooklet_document::{Tensor, TensorType};
use brooklet_task::{Code, Rejection};
use std::sync::Arc;

use crate::match_data::{FieldId, MatchData};

/// A feature made ready for one query.
pub trait Executor {
    /// Computes all outputs for the document in `data`; `outputs` has the length of [`Prepared::outputs`].
    fn execute(&mut self, data: &MatchData, outputs: &mut [f64]);

    /// The value of a feature that is a tensor ([`Prepared::tensor_type`]); nothing of one that is numbers.
    fn tensor(&mut self, data: &MatchData) -> Option<Tensor> {
        let _ = data;
        None
    }

    /// The feature as a sum over terms, if that is what it is: it can be computed a term at a time then.
    fn bm25(&self) -> Option<&crate::features::term_sum::Bm25> {
        None
    }

    /// The attributes whose [content](MatchData::record_content) must be recorded for the feature.
    fn counted_attributes(&self) -> Vec<FieldId> {
        Vec::new()
    }
}

/// A feature made ready for one query, with the names of what it computes.
pub struct Prepared {
    /// `name(parameters)`, for messages.
    pub text: String,
    /// Names of the outputs; the first is the one meant by a feature without `.output`.
    pub outputs: Vec<String>,
    /// The type of the value, if it is a tensor instead of numbers; it has one output then.
    pub tensor_type: Option<Arc<TensorType>>,
    /// What computes them.
    pub executor: Box<dyn Executor>,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Prepared").field("text", &self.text).field("outputs", &self.outputs).finish()
    }
}

impl Prepared {
    /// Index of the output called `name`, or of the first if there is no name.
    ///
    /// # Errors
    /// If there is no such output.
    pub fn output(&self, name: Option<&str>) -> Result<usize, Rejection> {
        let Some(name) = name else { return Ok(0) };
        self.outputs.iter().position(|output| output == name).ok_or_else(|| {
            let known = self.outputs.join(", ");
            let message =
                format!("Rank feature '{}' has no output '{}' (it has {known})", self.text, Rejection::quote(name));
            Rejection::new(Code::InvalidApplication, message)
        })
    }
}
