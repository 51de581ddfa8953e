//! Compiles references: local variables, arguments, functions, constants and features.
use std::rc::Rc;

use brooklet_task::{Code, Rejection, limits};

use super::compiler::{Binding, Compiler, KnownFunction, Made, NO_LOCAL, Scope, Thunk, Thunked};
use super::environment::FeatureType;
use super::feature_name::FeatureName;
use super::syntax_tree::{Argument, Expression, Reference, Tree, TreeKind};
use crate::Value;
use crate::node::{Node, NumberNode, TensorKind, TensorNode};
use crate::operation::{Binary, Dialect, Unary};
use crate::tensor::result_type::check_size;

impl Compiler<'_> {
    pub(super) fn reference(&mut self, reference: &Reference, offset: usize) -> Made<Node> {
        if let Some(name) = reference.identifier() {
            match self.lookup(name) {
                Some(Binding::Local(local, node)) => {
                    self.lowest_local = self.lowest_local.min(local);
                    return Ok(Node::clone(&node));
                }
                Some(Binding::Argument(thunk)) => return self.thunk(thunk, offset),
                None => {}
            }
        }
        if reference.output.is_none() {
            if let Some(function) = self.function(&reference.name, reference.arguments.len(), offset)? {
                return self.call(&reference.name, &function, &reference.arguments, offset);
            }
            if reference.name == "rankingExpression"
                && let [Argument { name: None, value }] = reference.arguments.as_slice()
            {
                return self.ranking_expression(value, offset);
            }
        }
        if let Some(model) = self.model(reference, offset)? {
            return Ok(model);
        }
        if let Some(output) = self.model_output(reference, offset)? {
            return Ok(output);
        }
        if let Some(tokens) = self.tokens(reference, offset)? {
            return Ok(tokens);
        }
        if let Some(listed) = self.foreach(reference, offset)? {
            return Ok(listed);
        }
        if let Some(constant) = self.constant(reference, offset)? {
            return Ok(constant);
        }
        let feature = self.feature_name(reference)?;
        self.feature(feature, offset)
    }

    /// `rankingExpression(function)`, or of the text of an expression, which is shorter than the one it stands in.
    fn ranking_expression(&mut self, value: &Tree, offset: usize) -> Made<Node> {
        let text = self.parameter(value)?;
        if let Some(function) = self.function(&text, 0, offset)? {
            return self.call(&text, &function, &[], offset);
        }
        let expression =
            Expression::parse(&text).map_err(|rejection| self.place(Rejection { span: None, ..rejection }, offset))?;
        self.apart_from_here(&expression, offset)
    }

    fn lookup(&self, name: &str) -> Option<Binding> {
        let mut scope = Some(self.scope);
        while let Some(at) = scope {
            if let Some((_, binding)) = self.scopes[at].names.iter().find(|(known, _)| known == name) {
                return Some(binding.clone());
            }
            scope = self.scopes[at].around;
        }
        None
    }

    /// The argument's node; it is compiled where it was given.
    fn thunk(&mut self, number: usize, offset: usize) -> Made<Node> {
        if let Some(made) = self.thunks[number].made.clone() {
            self.count(made.nodes, offset)?;
            self.nest(made.height, offset)?;
            self.lowest_local = self.lowest_local.min(made.lowest_local);
            return Ok(made.node);
        }
        let Thunk { tree, text, scope, calling, .. } = &self.thunks[number];
        let (tree, text, scope, calling) = (tree.clone(), text.clone(), *scope, self.calling.split_off(*calling));
        let scope_here = std::mem::replace(&mut self.scope, scope);
        let text_here = std::mem::replace(&mut self.text, text);
        let nodes = self.nodes;
        let made = self.apart(|compiler| compiler.node(&tree));
        (self.scope, self.text) = (scope_here, text_here);
        self.calling.extend(calling);
        let (mut node, lowest_local, mut height) = made?;
        if lowest_local == NO_LOCAL && !node.is_trivial() {
            node = self.memo(node, height);
            height += 1;
        }
        let nodes = if node.is_trivial() { 1 } else { self.nodes - nodes };
        self.thunks[number].made = Some(Thunked { node: node.clone(), lowest_local, nodes, height });
        Ok(node)
    }

    /// Compiles something, and tells the lowest local variable it uses and how deep it nests.
    pub(super) fn apart(&mut self, compile: impl FnOnce(&mut Self) -> Made<Node>) -> Made<(Node, usize, usize)> {
        let lowest_local = std::mem::replace(&mut self.lowest_local, NO_LOCAL);
        let deepest = std::mem::replace(&mut self.deepest, self.depth);
        let node = compile(self)?;
        let made = (node, self.lowest_local, self.deepest - self.depth);
        self.lowest_local = self.lowest_local.min(lowest_local);
        self.deepest = self.deepest.max(deepest);
        Ok(made)
    }

    /// Gives the node a memo.
    pub(super) fn memo(&mut self, node: Node, height: usize) -> Node {
        let slot = self.memos.len();
        let memo = match &node {
            Node::Number(_) => Node::Number(NumberNode::Memo(slot)),
            Node::Tensor(tensor) => Node::Tensor(TensorNode::new(tensor.tensor_type.clone(), TensorKind::Memo(slot))),
        };
        self.memos.push((node, height + 1));
        memo
    }

    /// The function of this name with so many parameters.
    fn function(&mut self, name: &str, parameters: usize, offset: usize) -> Made<Option<Rc<KnownFunction>>> {
        if !self.functions.contains_key(name) {
            let known = match self.environment.function(name) {
                None => None,
                Some(function) => {
                    let context = format!("function '{name}'");
                    let dialect = self.environment.dialect_of(name);
                    let parsed =
                        Expression::parse_as(&function.body, dialect).map_err(|rejection| rejection.within(&context));
                    Some(Rc::new(KnownFunction {
                        expression: parsed.map_err(|rejection| self.place(rejection, offset))?,
                        function,
                    }))
                }
            };
            self.functions.insert(name.to_owned(), known);
        }
        let known = self.functions.get(name).cloned().flatten();
        Ok(known.filter(|known| known.function.parameters.len() == parameters))
    }

    /// A call of a function. One that depends on the document alone is evaluated once for it.
    fn call(&mut self, name: &str, known: &KnownFunction, arguments: &[Argument], offset: usize) -> Made<Node> {
        if self.calling.iter().any(|calling| calling == name) {
            return Err(self.refuse(format!("the function '{name}' calls itself"), offset));
        }
        if let Some(argument) = arguments.iter().find(|argument| argument.name.is_some()) {
            return Err(self.refuse("the arguments of a function have no names", argument.value.offset));
        }
        let bindings: Vec<Binding> =
            arguments.iter().map(|argument| self.argument(&argument.value)).collect::<Made<_>>()?;
        let key = self.call_key(name, &bindings);
        if let Some((node, height)) = self.known_call(&key) {
            self.nest(height, offset)?;
            return Ok(node);
        }
        let names = known.function.parameters.iter().cloned().zip(bindings).collect();
        self.scopes.push(Scope { names, around: None });
        let scope = std::mem::replace(&mut self.scope, self.scopes.len() - 1);
        let text = std::mem::replace(&mut self.text, known.expression.text.clone());
        self.calling.push(name.to_owned());
        let made = self.apart(|compiler| compiler.node(&known.expression.root));
        self.calling.pop();
        (self.scope, self.text) = (scope, text);
        let (mut node, lowest_local, height) =
            made.map_err(|rejection| rejection.within(&format!("function '{name}'")))?;
        if lowest_local == NO_LOCAL {
            if !node.is_trivial() {
                node = self.memo(node, height);
            }
            self.known.insert(key, node.clone());
        }
        Ok(node)
    }

    /// Compiles another expression where no name of this one is known, and gives it a memo if that is worth it.
    pub(super) fn apart_from_here(&mut self, expression: &Expression, offset: usize) -> Made<Node> {
        self.scopes.push(Scope { names: Vec::new(), around: None });
        let scope = std::mem::replace(&mut self.scope, self.scopes.len() - 1);
        let text = std::mem::replace(&mut self.text, expression.text.clone());
        let made = self.apart(|compiler| compiler.node(&expression.root));
        (self.scope, self.text) = (scope, text);
        let (node, _, height) = made.map_err(|rejection| self.place(Rejection { span: None, ..rejection }, offset))?;
        Ok(if node.is_trivial() { node } else { self.memo(node, height) })
    }

    pub(super) fn known_call(&self, key: &str) -> Option<(Node, usize)> {
        let node = self.known.get(key)?.clone();
        let slot = match &node {
            Node::Number(NumberNode::Memo(slot)) => Some(*slot),
            Node::Tensor(tensor) => match *tensor.kind {
                TensorKind::Memo(slot) => Some(slot),
                _ => None,
            },
            Node::Number(_) => None,
        };
        let height = slot.map_or(0, |slot| self.memos[slot].1);
        Some((node, height))
    }

    /// What makes two calls the same.
    fn call_key(&self, name: &str, bindings: &[Binding]) -> String {
        let mut key = name.to_owned();
        for binding in bindings {
            key.push('\u{0}');
            match binding {
                Binding::Argument(thunk) => match &self.thunks[*thunk].name {
                    Some(name) => key.push_str(name),
                    None => key.push_str(&format!("\u{1}{thunk}")),
                },
                Binding::Local(..) => key.push('\u{2}'),
            }
        }
        key
    }

    /// Binds an argument. The name of an argument is bound to what that is bound to.
    fn argument(&mut self, tree: &Tree) -> Made<Binding> {
        if let Some(binding @ Binding::Argument(_)) = tree.identifier().and_then(|name| self.lookup(name)) {
            return Ok(binding);
        }
        let name = if self.mentions_bound(tree) { None } else { Some(tree.to_string()) };
        let (tree_here, text) = (Rc::new(tree.clone()), self.text.clone());
        let thunk = Thunk { tree: tree_here, text, scope: self.scope, calling: self.calling.len(), name, made: None };
        self.count(tree.size(), tree.offset)?;
        self.thunks.push(thunk);
        Ok(Binding::Argument(self.thunks.len() - 1))
    }

    /// Whether a name that is bound here stands in the tree.
    fn mentions_bound(&self, tree: &Tree) -> bool {
        if tree.identifier().is_some_and(|name| self.lookup(name).is_some()) {
            return true;
        }
        let mut found = false;
        tree.parts(&mut |part| found = found || self.mentions_bound(part));
        found
    }

    fn constant(&self, reference: &Reference, offset: usize) -> Made<Option<Node>> {
        let value = match (reference.identifier(), reference.arguments.as_slice(), &reference.output) {
            (Some(name), ..) => self.environment.constant(name),
            (None, [Argument { name: None, value }], None) if reference.name == "constant" => {
                let name = self.parameter(value)?;
                let unknown = || self.refuse(format!("there is no constant '{}'", Rejection::quote(&name)), offset);
                Some(self.environment.constant(&name).ok_or_else(unknown)?)
            }
            _ => None,
        };
        Ok(value.map(|value| match value {
            Value::Number(number) => Node::Number(NumberNode::Constant(number)),
            Value::Tensor(tensor) if tensor.tensor_type.dimensions.is_empty() => {
                Node::Number(NumberNode::Constant(tensor.cells.first().copied().unwrap_or(0.0)))
            }
            Value::Tensor(tensor) => {
                Node::Tensor(TensorNode::new(tensor.tensor_type.clone(), TensorKind::Constant(tensor)))
            }
        }))
    }

    /// The feature a reference names. Names of arguments in it are replaced by what they are bound to.
    pub(super) fn feature_name(&self, reference: &Reference) -> Made<FeatureName> {
        let mut parameters = Vec::with_capacity(reference.arguments.len());
        for argument in &reference.arguments {
            let value = self.parameter(&argument.value)?;
            parameters.push(argument.name.as_ref().map_or(value.clone(), |name| format!("{name}:{value}")));
        }
        Ok(FeatureName { name: reference.name.clone(), parameters, output: reference.output.clone() })
    }

    /// The text of a feature's parameter.
    fn parameter(&self, tree: &Tree) -> Made<String> {
        let text = match &tree.kind {
            TreeKind::Text(text) => text.clone(),
            TreeKind::Reference(reference) => match reference.identifier().map(|name| (name, self.lookup(name))) {
                None => self.feature_name(reference)?.to_string(),
                Some((name, None)) => name.to_owned(),
                Some((name, Some(Binding::Argument(thunk)))) => match &self.thunks[thunk] {
                    Thunk { tree, .. } if matches!(&tree.kind, TreeKind::Text(_)) => {
                        return self.parameter(&tree.clone());
                    }
                    Thunk { name: Some(text), .. } => text.clone(),
                    _ => return Err(self.not_constant(name, tree)),
                },
                Some((name, Some(Binding::Local(..)))) => return Err(self.not_constant(name, tree)),
            },
            _ if self.mentions_bound(tree) => return Err(self.not_constant(&tree.to_string(), tree)),
            _ => tree.to_string(),
        };
        if text.len() > limits::EXPRESSION_BYTES {
            return Err(Rejection::at(Code::TooLarge, "a feature's name is too long", &self.text, tree.offset));
        }
        Ok(text)
    }

    fn not_constant(&self, name: &str, tree: &Tree) -> Rejection {
        let message = format!("'{}' cannot be part of a feature's name: it is computed", Rejection::quote(name));
        self.refuse(message, tree.offset)
    }

    fn feature(&mut self, feature: FeatureName, offset: usize) -> Made<Node> {
        let canonical = feature.to_string();
        let number = match self.feature_numbers.get(&canonical) {
            Some(number) => *number,
            None => {
                let feature_type = self.environment.feature_type(&feature);
                let feature_type =
                    feature_type.map_err(|rejection| self.place(with_hint(rejection, &feature), offset))?;
                if let FeatureType::Tensor(tensor_type) = &feature_type {
                    check_size(tensor_type).map_err(|rejection| self.place(rejection, offset))?;
                }
                self.features.push((feature, feature_type));
                self.feature_numbers.insert(canonical, self.features.len() - 1);
                self.features.len() - 1
            }
        };
        Ok(match &self.features[number].1 {
            FeatureType::Number => Node::Number(NumberNode::Feature(number)),
            FeatureType::Tensor(tensor_type) => {
                Node::Tensor(TensorNode::new(tensor_type.clone(), TensorKind::Feature(number)))
            }
        })
    }
}

/// The rejection of an unknown feature; if a function has its name, how many arguments that takes.
fn with_hint(mut rejection: Rejection, feature: &FeatureName) -> Rejection {
    let takes = match (Unary::named(&feature.name), Binary::named(&feature.name, Dialect::Content)) {
        (Some(_), _) => "1 argument",
        (_, Some(_)) => "2 arguments",
        _ => return rejection,
    };
    rejection.message = format!("{} (the function {} takes {takes})", rejection.message, feature.name);
    rejection
}
