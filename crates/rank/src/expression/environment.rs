//! What compiling an expression needs to know of the rank profile it stands in.
use std::sync::Arc;

use brooklet_document::TensorType;
use brooklet_task::{Code, Rejection};

use super::FeatureName;
use crate::Value;
use crate::model_output::ModelCall;
use crate::operation::Dialect;

/// The type of a feature's value. Texts are numbers here: their [`super::text_hash`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeatureType {
    /// A number.
    Number,
    /// A tensor of this type; it has at least one dimension (one without is a number).
    Tensor(Arc<TensorType>),
}

impl FeatureType {
    /// The feature type of a tensor type: one without dimensions is a number.
    #[must_use]
    pub fn from_tensor_type(tensor_type: TensorType) -> FeatureType {
        if tensor_type.dimensions.is_empty() { FeatureType::Number } else { FeatureType::Tensor(Arc::new(tensor_type)) }
    }

    /// The tensor type; that of a number has no dimensions.
    #[must_use]
    pub fn tensor_type(&self) -> TensorType {
        match self {
            FeatureType::Number => TensorType::scalar(),
            FeatureType::Tensor(tensor_type) => TensorType::clone(tensor_type),
        }
    }
}

/// A function of a rank profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Names of its parameters.
    pub parameters: Vec<String>,
    /// The text of its expression.
    pub body: String,
}

/// The rank profile around an expression.
///
/// A name is looked up in this order: parameters of the function and lambda it stands in, functions with as many
/// parameters as arguments are given, constants (`constant(name)` or `name`), features.
pub trait Environment {
    /// The type of the feature.
    ///
    /// # Errors
    /// If there is no such feature, or it cannot be used in this profile. The compiler adds where it stands.
    fn feature_type(&self, feature: &FeatureName) -> Result<FeatureType, Rejection>;

    /// The function of this name, if the profile has one.
    fn function(&self, name: &str) -> Option<Function>;

    /// The dialect in which the body of this function is read.
    fn dialect_of(&self, function: &str) -> Dialect {
        let _ = function;
        Dialect::Content
    }

    /// The constant of this name, if there is one.
    fn constant(&self, name: &str) -> Option<Value>;

    /// Names of the schema's attributes, or of its index fields.
    fn fields(&self, attributes: bool) -> Vec<String> {
        let _ = attributes;
        Vec::new()
    }

    /// The ONNX model and its output that `onnx(model).output` names.
    ///
    /// # Errors
    /// If there is no such model or output, or its file cannot be used.
    fn model_call(&self, feature: &FeatureName) -> Result<ModelCall, Rejection> {
        Err(Rejection::new(Code::InvalidApplication, format!("'{feature}': there are no ONNX models here")))
    }

    /// The content of the model file at this path below `models/`, if there is one.
    fn model(&self, path: &str) -> Option<Arc<[u8]>> {
        let _ = path;
        None
    }
}
