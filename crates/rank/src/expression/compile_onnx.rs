//! Compiles what has to do with ONNX models: calls of them, and the token sequences that cross-encoders take.
use std::sync::Arc;

use brooklet_document::{CellType, Dimension, TensorType};
use brooklet_task::{Rejection, limits};

use super::compiler::{Compiler, Made};
use super::syntax_tree::{Expression, Reference, Tree, TreeKind};
use crate::model_output::ModelCall;
use crate::node::{ModelNode, Node, NumberNode, TensorKind, TensorNode, TokenSequence, TokensNode};

/// The token that begins a sequence, and the one after each text, of BERT's vocabularies.
const START_TOKEN: f64 = 101.0;
const SEPARATOR_TOKEN: f64 = 102.0;

impl Compiler<'_> {
    /// `onnx(model).output`: the output for what the profile gives the model, evaluated once per document.
    pub(super) fn model_output(&mut self, reference: &Reference, offset: usize) -> Made<Option<Node>> {
        if !["onnx", "onnxModel"].contains(&reference.name.as_str()) {
            return Ok(None);
        }
        let feature = self.feature_name(reference)?;
        let called = self.environment.model_call(&feature);
        let call = called.map_err(|rejection| self.place(rejection, offset))?;
        let text = feature.to_string();
        // No function can have this name.
        let key = format!("\u{3}{text}");
        if let Some((node, height)) = self.known_call(&key) {
            self.nest(height, offset)?;
            return Ok(Some(node));
        }
        if self.calling.contains(&key) {
            return Err(self.refuse(format!("the inputs of {text} depend on itself"), offset));
        }
        self.calling.push(key.clone());
        let made = self.apart(|compiler| compiler.model_node(&call, offset));
        self.calling.pop();
        let (node, _, height) = made.map_err(|rejection| rejection.within(&text))?;
        let node = self.memo(node, height);
        self.known.insert(key, node.clone());
        Ok(Some(node))
    }

    #[inline(never)]
    fn model_node(&mut self, call: &ModelCall, offset: usize) -> Made<Node> {
        let mut inputs = Vec::with_capacity(call.sources.len());
        for source in &call.sources {
            let context = format!("input '{}'", Rejection::quote(source));
            let expression = Expression::parse(source)
                .map_err(|rejection| self.place(Rejection { span: None, ..rejection.within(&context) }, offset))?;
            inputs.push(self.apart_from_here(&expression, offset).map_err(|rejection| rejection.within(&context))?);
        }
        let types: Vec<Arc<TensorType>> = inputs.iter().map(Node::tensor_type).collect();
        let output = Arc::new(call.bind(&types).map_err(|why| self.refuse(why, offset))?);
        let result = output.result.clone();
        let node = Box::new(ModelNode { output, inputs: inputs.into() });
        Ok(match result.dimensions.is_empty() {
            true => Node::Number(NumberNode::ModelOutput(node)),
            false => Node::Tensor(TensorNode::new(result, TensorKind::ModelOutput(node))),
        })
    }

    /// `tokenInputIds(length, texts…)` and its kin: token sequences of several texts, one after another.
    pub(super) fn tokens(&mut self, reference: &Reference, offset: usize) -> Made<Option<Node>> {
        let numbers = match reference.name.as_str() {
            _ if reference.output.is_some() => return Ok(None),
            "tokenInputIds" | "tokenTypeIds" | "tokenAttentionMask" => 1,
            "customTokenInputIds" => 3,
            _ => return Ok(None),
        };
        let name = &reference.name;
        let arguments: Vec<&Tree> = reference.arguments.iter().map(|argument| &argument.value).collect();
        let named = reference.arguments.iter().any(|argument| argument.name.is_some());
        let Some((before, texts)) =
            arguments.split_at_checked(numbers).filter(|(_, texts)| !texts.is_empty() && !named)
        else {
            let first = if numbers == 3 { "a start token, a separator token, a length" } else { "a length" };
            return Err(self.refuse(format!("{name} takes {first}, and at least one tensor with token ids"), offset));
        };
        let before: Vec<f64> = before.iter().map(|tree| self.whole_number(name, tree)).collect::<Made<_>>()?;
        let length = before[numbers - 1];
        if length < 1.0 || length > limits::QUERY_TENSOR_CELLS as f64 {
            return Err(self.refuse(format!("the length of {name} is 1 to {}", limits::QUERY_TENSOR_CELLS), offset));
        }
        let sequence = match name.as_str() {
            "tokenInputIds" => TokenSequence::Ids { start: START_TOKEN, separator: SEPARATOR_TOKEN },
            "customTokenInputIds" => TokenSequence::Ids { start: before[0], separator: before[1] },
            "tokenTypeIds" => TokenSequence::Types,
            _ => TokenSequence::Mask,
        };
        let texts = texts.iter().map(|tree| self.token_ids(name, tree)).collect::<Made<_>>()?;
        let dimension = |number: usize, size| Dimension { name: format!("d{number}"), size: Some(size) };
        let result = TensorType::new(CellType::Float, vec![dimension(0, 1), dimension(1, length as usize)]);
        let kind = TensorKind::Tokens(Box::new(TokensNode { sequence, texts }));
        Ok(Some(Node::Tensor(TensorNode::new(Arc::new(result), kind))))
    }

    fn whole_number(&self, name: &str, tree: &Tree) -> Made<f64> {
        match tree.bare().kind {
            TreeKind::Number(number, _) if number >= 0.0 && number.fract() == 0.0 => Ok(number),
            _ => Err(self.refuse(format!("{name} takes whole numbers before its texts"), tree.offset)),
        }
    }

    fn token_ids(&mut self, name: &str, tree: &Tree) -> Made<TensorNode> {
        match self.node(tree)? {
            Node::Tensor(tensor) if matches!(&tensor.tensor_type.dimensions[..], [only] if !only.is_mapped()) => {
                Ok(tensor)
            }
            other => {
                let message = format!("{name} takes tensors with one indexed dimension, not a {}", other.tensor_type());
                Err(self.refuse(message, tree.offset))
            }
        }
    }
}
