//! Compiles what stands for a longer expression: models of decision trees, and `foreach`.
use std::rc::Rc;

use brooklet_task::{Code, Rejection};

use super::compiler::{Compiler, Made};
use super::syntax_tree::{Argument, Expression, Reference, TreeKind};
use crate::forest::Model;
use crate::node::{ForestNode, Node, NumberNode};
use crate::operation::{Binary, Unary};

/// Terms that `foreach(terms,…)` goes through.
const FOREACH_TERMS: usize = 16;

impl Compiler<'_> {
    /// `lightgbm("file.json")` or `xgboost("file.json")`: the sum of the trees, evaluated once per document.
    pub(super) fn model(&mut self, reference: &Reference, offset: usize) -> Made<Option<Node>> {
        let ("lightgbm" | "xgboost", [Argument { name: None, value }], None) =
            (reference.name.as_str(), reference.arguments.as_slice(), &reference.output)
        else {
            return Ok(None);
        };
        let path = match &value.bare().kind {
            TreeKind::Text(path) => path.clone(),
            _ => return Err(self.refuse(format!("{} takes the name of a file in quotes", reference.name), offset)),
        };
        let shown = Rejection::quote(&path);
        if path.ends_with(".ubj") {
            let message = format!("'{shown}': binary models are not supported; dump the model as JSON");
            return Err(self.place(Rejection::new(Code::Unsupported, message), offset));
        }
        let Some(content) = self.environment.model(&path) else {
            return Err(self.refuse(format!("there is no file models/{shown}"), offset));
        };
        let read = if reference.name == "xgboost" { Model::xgboost(&content) } else { Model::lightgbm(&content) };
        let model = read.map_err(|rejection| {
            let place = rejection.span.map_or(String::new(), |span| format!(":{}:{}", span.line, span.column));
            let message = format!("models/{shown}{place}: {}", rejection.message);
            self.place(Rejection::new(rejection.code, message), offset)
        })?;
        let inputs =
            model.inputs.iter().map(|text| self.input(text, &path, offset)).collect::<Made<Vec<NumberNode>>>()?;
        let node = NumberNode::Forest(Box::new(ForestNode { forest: Rc::new(model.forest), inputs: inputs.into() }));
        let scaled = match model.sigmoid {
            None => node,
            Some(1.0) => NumberNode::Unary(Unary::Sigmoid, Box::new(node)),
            Some(scale) => {
                let product = NumberNode::Binary(Binary::Multiply, Box::new([NumberNode::Constant(scale), node]));
                NumberNode::Unary(Unary::Sigmoid, Box::new(product))
            }
        };
        Ok(Some(Node::Number(scaled)))
    }

    /// A feature of a model: an expression in the profile, as if it stood in a function of its own.
    fn input(&mut self, text: &str, path: &str, offset: usize) -> Made<NumberNode> {
        let context = format!("feature '{}' of models/{}", Rejection::quote(text), Rejection::quote(path));
        let expression = Expression::parse(text).map_err(|rejection| rejection.within(&context))?;
        match self.apart_from_here(&expression, offset).map_err(|rejection| rejection.within(&context))? {
            Node::Number(number) => Ok(number),
            Node::Tensor(_) => Err(self.refuse(format!("{context} is a tensor, and must be a number"), offset)),
        }
    }

    /// `foreach(dimension,variable,feature,condition,operation)`: the feature for each term, index field or attribute,
    /// those that meet the condition put together.
    pub(super) fn foreach(&mut self, reference: &Reference, offset: usize) -> Made<Option<Node>> {
        if reference.name != "foreach" || reference.output.as_deref().is_some_and(|output| output != "value") {
            return Ok(None);
        }
        let [dimension, variable, feature, condition, operation] = reference.arguments.as_slice() else {
            return Err(self.refuse("foreach takes dimension, variable, feature, condition and operation", offset));
        };
        let word = |argument: &Argument| match &argument.value.bare().kind {
            TreeKind::Text(text) => text.clone(),
            _ => argument.value.to_string(),
        };
        let names = match word(dimension).as_str() {
            "terms" => (0..FOREACH_TERMS).map(|number| number.to_string()).collect(),
            "fields" => self.environment.fields(false),
            "attributes" => self.environment.fields(true),
            other => {
                let message =
                    format!("foreach goes through terms, fields or attributes, not '{}'", Rejection::quote(other));
                return Err(self.refuse(message, offset));
            }
        };
        let condition = self.foreach_condition(&word(condition), offset)?;
        let (variable, feature) = (word(variable), word(feature));
        let mut values = Vec::new();
        for name in names {
            let expression = Expression::parse(&replace_variable(&feature, &variable, &name))
                .map_err(|rejection| self.place(Rejection { span: None, ..rejection }, offset))?;
            match self.apart_from_here(&expression, offset)? {
                Node::Number(number) => values.push(number),
                Node::Tensor(_) => return Err(self.refuse("the feature of foreach must be a number", offset)),
            }
        }
        self.count(values.len() * 4, offset)?;
        self.put_together(values, condition, &word(operation), offset).map(|node| Some(Node::Number(node)))
    }

    /// `true`, `<number` or `>number`.
    fn foreach_condition(&self, text: &str, offset: usize) -> Made<Option<(Binary, f64)>> {
        let number = |text: &str| text.trim().parse::<f64>().ok();
        let parsed = match text.split_at_checked(1) {
            _ if text == "true" => return Ok(None),
            Some(("<", rest)) => number(rest).map(|number| (Binary::Less, number)),
            Some((">", rest)) => number(rest).map(|number| (Binary::Greater, number)),
            _ => None,
        };
        let refused = || {
            let message =
                format!("the condition of foreach is true, '<number' or '>number', not '{}'", Rejection::quote(text));
            self.refuse(message, offset)
        };
        parsed.map(Some).ok_or_else(refused)
    }

    /// The values that meet the condition, put together.
    fn put_together(
        &self,
        values: Vec<NumberNode>,
        condition: Option<(Binary, f64)>,
        operation: &str,
        offset: usize,
    ) -> Made<NumberNode> {
        let constant = |number: f64| NumberNode::Constant(number);
        let chosen = |value: &NumberNode, used: NumberNode, otherwise: f64| match condition {
            None => used,
            Some((comparison, limit)) => {
                let meets = NumberNode::Binary(comparison, Box::new([value.clone(), constant(limit)]));
                NumberNode::If(Box::new([meets, used, constant(otherwise)]))
            }
        };
        let chain = |function: Binary, start: f64, count: bool| {
            let parts = values.iter().map(|value| {
                let used = if count { constant(1.0) } else { value.clone() };
                (function, chosen(value, used, start))
            });
            NumberNode::Chain(Box::new(constant(start)), parts.collect())
        };
        Ok(match operation {
            "sum" => chain(Binary::Add, 0.0, false),
            "product" => chain(Binary::Multiply, 1.0, false),
            "max" => chain(Binary::Max, -f64::MAX, false),
            "min" => chain(Binary::Min, f64::MAX, false),
            "count" => chain(Binary::Add, 0.0, true),
            "average" => {
                let (sum, count) = (chain(Binary::Add, 0.0, false), chain(Binary::Add, 0.0, true));
                let mean = NumberNode::Binary(Binary::Divide, Box::new([sum, count.clone()]));
                NumberNode::If(Box::new([count, mean, constant(0.0)]))
            }
            other => {
                let known = "sum, product, average, max, min or count";
                let message = format!("the operation of foreach is {known}, not '{}'", Rejection::quote(other));
                return Err(self.refuse(message, offset));
            }
        })
    }
}

/// The text with each whole word `variable` replaced.
fn replace_variable(text: &str, variable: &str, by: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(variable).filter(|_| !variable.is_empty()) {
        let (before, after) = (&rest[..at], &rest[at + variable.len()..]);
        out.push_str(before);
        let is_whole = !out.ends_with(is_word) && !after.starts_with(is_word);
        out.push_str(if is_whole { by } else { variable });
        rest = after;
    }
    out + rest
}
