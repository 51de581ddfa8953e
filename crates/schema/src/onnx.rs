//! What an ONNX file says of itself: the names and types of its inputs and outputs, read at deploy so that expressions
//! can be checked. The weights are passed over, and models are run by the host.
//!
//! ONNX is protocol buffers (onnx.proto3 of ONNX 1.16). Fields that are looked at: ModelProto 7 graph, 25 functions;
//! FunctionProto 7 node; GraphProto 1 node, 5 initializer, 11 input, 12 output, 15 sparse_initializer; NodeProto 4 op_type,
//! 5 attribute, 7 domain; AttributeProto 5 t, 6 g, 10 tensors, 11 graphs, 22 sparse_tensor, 23 sparse_tensors;
//! SparseTensorProto 1 values, 2 indices; TensorProto 8 name, 13 external_data, 14 data_location; ValueInfoProto 1 name,
//! 2 type; TypeProto 1 tensor_type; TypeProto.Tensor 1 elem_type, 2 shape; TensorShapeProto 1 dim; Dimension 1 dim_value,
//! 2 dim_param.
use std::collections::{BTreeMap, BTreeSet};

use brooklet_task::limits::{ONNX_BYTES, ONNX_VALUES, TENSOR_CELLS, TENSOR_DIMENSIONS};
use brooklet_task::{Code, Rejection};

/// Inputs and outputs of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnnxSignature {
    /// The inputs that must be given: those without a value in the file.
    pub inputs: Vec<OnnxValue>,
    /// The outputs, in the order of the file.
    pub outputs: Vec<OnnxValue>,
}

/// How models are evaluated by themselves: the element `model-evaluation` of services.xml.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelEvaluation {
    /// How ONNX models are run, by their name: settings and their values.
    pub settings: BTreeMap<String, Vec<(String, String)>>,
}

/// An input or output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnnxValue {
    /// Its name in the graph.
    pub name: String,
    /// ONNX's number of the element type (TensorProto.DataType): 1 float, 7 int64, 11 double, …; 0 if it is no tensor.
    pub element: u32,
    /// The sizes of its dimensions.
    pub sizes: Vec<OnnxSize>,
}

/// The size of a dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnnxSize {
    /// So many places.
    Known(usize),
    /// As many as everywhere where this name stands.
    Named(String),
    /// Not said.
    Unknown,
}

/// Domains of operators that runtimes have without further libraries.
const DOMAINS: &[&str] = &["", "ai.onnx", "ai.onnx.ml", "com.microsoft"];
/// Graphs within graphs. Exporters write two or three: a loop within a condition.
const GRAPH_DEPTH: usize = 16;

impl OnnxSignature {
    /// Reads a file.
    ///
    /// # Errors
    /// If it is no ONNX model, is cut short, keeps weights in other files, or uses operators of another domain.
    pub fn read(file: &[u8]) -> Result<OnnxSignature, Rejection> {
        if file.len() > ONNX_BYTES {
            return Err(refuse(format!("a model may have {ONNX_BYTES} bytes")));
        }
        let mut graph = None;
        for field in Fields::new(file) {
            match field? {
                (7, Content::Bytes(bytes)) => graph = Some(bytes),
                (25, Content::Bytes(function)) => check_function(function)?,
                _ => {}
            }
        }
        let graph = graph.ok_or_else(|| refuse("it has no graph".to_owned()))?;
        let (mut inputs, mut outputs, mut given) = (Vec::new(), Vec::new(), BTreeSet::new());
        for field in Fields::new(graph) {
            match field? {
                (1, Content::Bytes(node)) => check_node(node, 0)?,
                (5, Content::Bytes(tensor)) => {
                    given.insert(weights(tensor)?);
                }
                (15, Content::Bytes(tensor)) => check_sparse(tensor)?,
                (11, Content::Bytes(input)) => inputs.push(value(input)?),
                (12, Content::Bytes(output)) => outputs.push(value(output)?),
                _ => {}
            }
            if inputs.len() + outputs.len() > ONNX_VALUES + given.len() {
                return Err(refuse(format!("it has more than {ONNX_VALUES} inputs and outputs")));
            }
        }
        // Older files list their weights among the inputs.
        inputs.retain(|input: &OnnxValue| !given.contains(&input.name));
        if outputs.is_empty() {
            return Err(refuse("its graph has no outputs".to_owned()));
        }
        Ok(OnnxSignature { inputs, outputs })
    }
}

/// The nodes of a function of a model.
fn check_function(function: &[u8]) -> Result<(), Rejection> {
    for field in Fields::new(function) {
        if let (7, Content::Bytes(node)) = field? {
            check_node(node, 0)?;
        }
    }
    Ok(())
}

/// A graph within a node, so many graphs deep: the body of a loop, the side of a condition.
fn check_inner_graph(graph: &[u8], depth: usize) -> Result<(), Rejection> {
    if depth > GRAPH_DEPTH {
        return Err(refuse(format!("its graphs are more than {GRAPH_DEPTH} deep in one another")));
    }
    for field in Fields::new(graph) {
        match field? {
            (1, Content::Bytes(node)) => check_node(node, depth)?,
            (5, Content::Bytes(tensor)) => drop(weights(tensor)?),
            (15, Content::Bytes(tensor)) => check_sparse(tensor)?,
            _ => {}
        }
    }
    Ok(())
}

/// Operators of an unknown domain need a library that nobody has, and what a node has beside its operator may be weights.
fn check_node(node: &[u8], depth: usize) -> Result<(), Rejection> {
    let (mut operator, mut domain) = (String::new(), String::new());
    for field in Fields::new(node) {
        match field? {
            (4, Content::Bytes(bytes)) => operator = text(bytes)?,
            (5, Content::Bytes(attribute)) => check_attribute(attribute, depth)?,
            (7, Content::Bytes(bytes)) => domain = text(bytes)?,
            _ => {}
        }
    }
    if DOMAINS.contains(&domain.as_str()) {
        return Ok(());
    }
    let (operator, domain) = (Rejection::quote(&operator), Rejection::quote(&domain));
    Err(refuse(format!("its operator '{operator}' is of the domain '{domain}', which no runtime here knows")))
}

fn check_attribute(attribute: &[u8], depth: usize) -> Result<(), Rejection> {
    for field in Fields::new(attribute) {
        match field? {
            (5 | 10, Content::Bytes(tensor)) => drop(weights(tensor)?),
            (6 | 11, Content::Bytes(graph)) => check_inner_graph(graph, depth + 1)?,
            (22 | 23, Content::Bytes(tensor)) => check_sparse(tensor)?,
            _ => {}
        }
    }
    Ok(())
}

fn check_sparse(tensor: &[u8]) -> Result<(), Rejection> {
    for field in Fields::new(tensor) {
        if let (1 | 2, Content::Bytes(part)) = field? {
            weights(part)?;
        }
    }
    Ok(())
}

/// The name of a tensor with weights.
fn weights(tensor: &[u8]) -> Result<String, Rejection> {
    let mut name = String::new();
    for field in Fields::new(tensor) {
        match field? {
            (8, Content::Bytes(bytes)) => name = text(bytes)?,
            (13, _) | (14, Content::Number(1)) => {
                return Err(refuse(
                    "its weights are in other files (external data), which is not supported".to_owned(),
                ));
            }
            _ => {}
        }
    }
    Ok(name)
}

fn value(bytes: &[u8]) -> Result<OnnxValue, Rejection> {
    let mut value = OnnxValue { name: String::new(), element: 0, sizes: Vec::new() };
    for field in Fields::new(bytes) {
        match field? {
            (1, Content::Bytes(name)) => value.name = text(name)?,
            (2, Content::Bytes(of)) => tensor_type(of, &mut value)?,
            _ => {}
        }
    }
    Ok(value)
}

fn tensor_type(bytes: &[u8], value: &mut OnnxValue) -> Result<(), Rejection> {
    for field in Fields::new(bytes) {
        let (1, Content::Bytes(tensor)) = field? else { continue };
        for field in Fields::new(tensor) {
            match field? {
                (1, Content::Number(element)) => value.element = u32::try_from(element).unwrap_or(0),
                (2, Content::Bytes(shape)) => value.sizes = sizes(shape)?,
                _ => {}
            }
        }
    }
    Ok(())
}

fn sizes(shape: &[u8]) -> Result<Vec<OnnxSize>, Rejection> {
    let mut sizes = Vec::new();
    for field in Fields::new(shape) {
        let (1, Content::Bytes(dimension)) = field? else { continue };
        let mut size = OnnxSize::Unknown;
        for field in Fields::new(dimension) {
            match field? {
                // Some exporters write -1 for a size that is not known.
                (1, Content::Number(places)) if places >= 1 << 63 => {}
                (1, Content::Number(places)) => match usize::try_from(places) {
                    Ok(places) if places <= TENSOR_CELLS => size = OnnxSize::Known(places),
                    _ => return Err(refuse(format!("a dimension has more than {TENSOR_CELLS} places"))),
                },
                (2, Content::Bytes(name)) if !name.is_empty() => size = OnnxSize::Named(text(name)?),
                _ => {}
            }
        }
        sizes.push(size);
        if sizes.len() > TENSOR_DIMENSIONS {
            return Err(refuse(format!("an input or output has more than {TENSOR_DIMENSIONS} dimensions")));
        }
    }
    Ok(sizes)
}

fn text(bytes: &[u8]) -> Result<String, Rejection> {
    let text = std::str::from_utf8(bytes).map_err(|_| refuse("a name in it is not UTF-8".to_owned()))?;
    Ok(text.to_owned())
}

fn refuse(why: String) -> Rejection {
    Rejection::new(Code::InvalidApplication, why)
}

/// What a field of a message holds.
enum Content<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// Four or eight bytes, which nothing here looks at.
    Fixed,
}

/// The fields of a message, with their numbers.
struct Fields<'a> {
    rest: &'a [u8],
    failed: bool,
}

impl<'a> Fields<'a> {
    fn new(bytes: &'a [u8]) -> Fields<'a> {
        Fields { rest: bytes, failed: false }
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn bytes(&mut self, length: u64) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(usize::try_from(length).ok()?)?;
        self.rest = rest;
        Some(bytes)
    }

    fn field(&mut self) -> Option<(u64, Content<'a>)> {
        let tag = self.varint()?;
        let content = match tag & 7 {
            0 => Content::Number(self.varint()?),
            1 => self.bytes(8).map(|_| Content::Fixed)?,
            2 => {
                let length = self.varint()?;
                Content::Bytes(self.bytes(length)?)
            }
            5 => self.bytes(4).map(|_| Content::Fixed)?,
            _ => return None,
        };
        Some((tag >> 3, content))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Content<'a>), Rejection>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() || self.failed {
            return None;
        }
        let field = self.field();
        self.failed = field.is_none();
        Some(field.ok_or_else(|| refuse("it is no ONNX model, or cut short".to_owned())))
    }
}
