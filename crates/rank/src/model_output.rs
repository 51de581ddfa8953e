//! An output of an ONNX model as an expression uses it: types are checked here, the model is run by the host.
//!
//! A model takes dense tensors with as many dimensions as its inputs have, in the order of their names; sizes that the
//! model leaves open follow from what it is given. Dimensions of an output are called d0, d1, … (ranking, model import).
use std::collections::BTreeMap;
use std::sync::Arc;

use brooklet_document::{CellType, Dimension, TensorType};
use brooklet_schema::{OnnxSignature, OnnxSize, OnnxValue};
use brooklet_task::Rejection;

/// What a rank profile says of a model that an expression calls.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCall {
    /// The model's file in the application package.
    pub file: String,
    /// Its settings for the runtime.
    pub settings: Vec<(String, String)>,
    /// Its inputs and outputs.
    pub signature: Arc<OnnxSignature>,
    /// The expression of each input, in the order of the signature.
    pub sources: Vec<String>,
    /// Which output is wanted.
    pub output: usize,
}

/// An output of a model, its types bound to what it is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelOutput {
    /// The model's file in the application package.
    pub file: String,
    /// Its settings for the runtime.
    pub settings: Vec<(String, String)>,
    /// What it is given.
    pub inputs: Vec<ModelInput>,
    /// The name of the output in the graph.
    pub output: String,
    /// Whether several runs can be one: the first dimension of all inputs and of the output is a batch, here of one.
    pub is_batched: bool,
    /// The type of the output; one without dimensions is a number.
    pub result: Arc<TensorType>,
}

/// An input of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelInput {
    /// Its name in the graph.
    pub name: String,
    /// ONNX's number of its element type.
    pub element: u32,
    /// The size of each dimension.
    pub sizes: Vec<usize>,
}

/// The cell type that holds elements of an ONNX type; nothing if it is not supported.
#[must_use]
pub fn cell_type_of(element: u32) -> Option<CellType> {
    match element {
        3 => Some(CellType::Int8),
        // float, uint8, int16, bool
        1 | 2 | 5 | 9 => Some(CellType::Float),
        // uint16, int32, int64, double, uint32, uint64
        4 | 6 | 7 | 11 | 12 | 13 => Some(CellType::Double),
        _ => None,
    }
}

impl ModelCall {
    /// Binds the model to inputs of these types, in the order of the signature.
    ///
    /// # Errors
    /// If they do not fit the model.
    #[inline(never)]
    pub(crate) fn bind(&self, types: &[Arc<TensorType>]) -> Result<ModelOutput, String> {
        let mut bound = BTreeMap::new();
        let mut inputs = Vec::with_capacity(types.len());
        for ((value, source), given) in self.signature.inputs.iter().zip(&self.sources).zip(types) {
            inputs.push(bind_input(value, source, given, &mut bound)?);
        }
        let output = &self.signature.outputs[self.output];
        let named = Rejection::quote(&output.name);
        let cell = cell_type_of(output.element)
            .ok_or_else(|| format!("output '{named}' of {} has elements of a type that is not supported", self.file))?;
        let mut dimensions = Vec::with_capacity(output.sizes.len());
        for (number, size) in output.sizes.iter().enumerate() {
            let size = match size {
                OnnxSize::Known(size) => Some(*size),
                OnnxSize::Named(name) => bound.get(name.as_str()).copied(),
                OnnxSize::Unknown => None,
            };
            // The first dimension is the batch where nothing says otherwise.
            let first = || inputs.iter().filter_map(|input| input.sizes.first()).max().copied().filter(|_| number == 0);
            let unknown =
                || format!("the size of dimension {number} of output '{named}' does not follow from the inputs");
            dimensions
                .push(Dimension { name: format!("d{number}"), size: Some(size.or_else(first).ok_or_else(unknown)?) });
        }
        let result = TensorType::new(cell, dimensions);
        if result.checked_dense_size().is_none() {
            return Err(format!("output '{named}' has too many cells"));
        }
        Ok(ModelOutput {
            file: self.file.clone(),
            settings: self.settings.clone(),
            is_batched: is_batched(&self.signature, output, &inputs),
            inputs,
            output: output.name.clone(),
            result: Arc::new(result),
        })
    }
}

#[inline(never)]
fn bind_input<'s>(
    value: &'s OnnxValue,
    source: &str,
    given: &TensorType,
    bound: &mut BTreeMap<&'s str, usize>,
) -> Result<ModelInput, String> {
    let (name, source) = (Rejection::quote(&value.name), Rejection::quote(source));
    if cell_type_of(value.element).is_none() {
        return Err(format!("input '{name}' has elements of a type that is not supported"));
    }
    let wanted = || shape_text(&value.sizes);
    if given.mapped().next().is_some() || given.dimensions.len() != value.sizes.len() {
        return Err(format!("input '{name}' is a dense tensor of the shape {}, and '{source}' a {given}", wanted()));
    }
    let mut sizes = Vec::with_capacity(value.sizes.len());
    for (dimension, size) in given.indexed().zip(&value.sizes) {
        let has = dimension.size.unwrap_or(1);
        let fits = match size {
            OnnxSize::Known(size) => *size == has,
            OnnxSize::Named(name) => *bound.entry(name).or_insert(has) == has,
            OnnxSize::Unknown => true,
        };
        if !fits {
            let other = match size {
                OnnxSize::Named(name) => format!(", where {} is {}", Rejection::quote(name), bound[name.as_str()]),
                _ => String::new(),
            };
            return Err(format!("input '{name}' has the shape {}{other}, and '{source}' is a {given}", wanted()));
        }
        sizes.push(has);
    }
    Ok(ModelInput { name: value.name.clone(), element: value.element, sizes })
}

/// Whether the first dimension of everything is one that the model leaves open, and nothing else has its name.
fn is_batched(signature: &OnnxSignature, output: &OnnxValue, inputs: &[ModelInput]) -> bool {
    let Some(batch) = output.sizes.first().filter(|size| !matches!(size, OnnxSize::Known(_))) else { return false };
    let all = || signature.inputs.iter().chain([output]);
    let leads = all().all(|value| value.sizes.first() == Some(batch));
    let elsewhere = all().flat_map(|value| value.sizes.iter().skip(1)).any(|size| match (size, batch) {
        (OnnxSize::Named(size), OnnxSize::Named(batch)) => size == batch,
        _ => false,
    });
    leads && !elsewhere && inputs.iter().all(|input| input.sizes.first() == Some(&1))
}

fn shape_text(sizes: &[OnnxSize]) -> String {
    let shown: Vec<String> = sizes
        .iter()
        .map(|size| match size {
            OnnxSize::Known(size) => size.to_string(),
            OnnxSize::Named(name) => Rejection::quote(name),
            OnnxSize::Unknown => "?".to_owned(),
        })
        .collect();
    format!("[{}]", shown.join(","))
}
