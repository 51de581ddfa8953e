//! Parses what is called by name: scalar functions, tensor functions, and, when the arguments have another shape than
//! the function of that name takes, features.
use brooklet_document::CellType;
use brooklet_task::{Rejection, did_you_mean, limits};

use super::convenience;
use super::lex::TokenKind;
use super::parse::Parser;
use super::syntax_tree::{Argument, Lambda, Reference, TensorFunction, Tree, TreeKind};
use crate::expression::arguments::{CallArgument, take, word};
use crate::operation::{Binary, Unary};
use crate::tensor::Aggregator;

impl Parser<'_> {
    /// A name, its arguments if there are any, and an output.
    pub(super) fn call(&mut self) -> Result<Tree, Rejection> {
        let token = self.next();
        let name = self.slice(token).to_owned();
        let mut given = Vec::new();
        if self.accept("(") {
            given = self.arguments()?;
            if !Self::is_symbol(self.peek(), ".")
                && let Some(kind) = self.function(&name, &mut given, token.start)?
            {
                return Ok(Tree::new(kind, token.start));
            }
        }
        let arguments = given.into_iter().map(|given| self.reference_argument(&name, given, token.start));
        let arguments = arguments.collect::<Result<_, _>>()?;
        let output = self.outputs()?;
        Ok(Tree::new(TreeKind::Reference(Reference { name, arguments, output }), token.start))
    }

    /// `$name`: the query feature of that name.
    pub(super) fn query_shorthand(&mut self) -> Result<Tree, Rejection> {
        let start = self.next().start;
        let name = self.name()?;
        let value = Tree::new(TreeKind::Reference(Reference::bare(&name)), start);
        let arguments = vec![Argument { name: None, value }];
        Ok(Tree::new(TreeKind::Reference(Reference { name: "query".to_owned(), arguments, output: None }), start))
    }

    fn reference_argument(&self, name: &str, given: CallArgument, offset: usize) -> Result<Argument, Rejection> {
        match given {
            CallArgument::Value(value) => Ok(Argument { name: None, value }),
            CallArgument::Named(name, value) => Ok(Argument { name: Some(name), value }),
            CallArgument::Lambda(_) | CallArgument::Names(_) => {
                Err(self.refuse(format!("these are not the arguments of {}", Rejection::quote(name)), offset))
            }
        }
    }

    /// `.output`, of several parts perhaps.
    fn outputs(&mut self) -> Result<Option<String>, Rejection> {
        let mut output = String::new();
        while self.accept(".") {
            let token = self.peek();
            if !matches!(token.kind, TokenKind::Word | TokenKind::Integer | TokenKind::Float) {
                return Err(self.unexpected_token("an output"));
            }
            self.next();
            if !output.is_empty() {
                output.push('.');
            }
            output.push_str(self.slice(token));
        }
        Ok((!output.is_empty()).then_some(output))
    }

    fn arguments(&mut self) -> Result<Vec<CallArgument>, Rejection> {
        let mut given = Vec::new();
        if self.accept(")") {
            return Ok(given);
        }
        loop {
            given.push(self.argument()?);
            if !self.accept(",") {
                self.expect(")")?;
                return Ok(given);
            }
        }
    }

    fn argument(&mut self) -> Result<CallArgument, Rejection> {
        if self.is_word(self.peek(), "f") && self.is_lambda() {
            return Ok(CallArgument::Lambda(self.lambda()?));
        }
        if self.peek().kind == TokenKind::Word && Self::is_symbol(self.peek_after(1), ":") {
            let name = self.name()?;
            self.expect(":")?;
            return Ok(CallArgument::Named(name, self.expression()?));
        }
        let is_list = Self::is_symbol(self.peek(), "(")
            && self.peek_after(1).kind == TokenKind::Word
            && Self::is_symbol(self.peek_after(2), ",");
        if is_list {
            self.next();
            return Ok(CallArgument::Names(self.names()?));
        }
        Ok(CallArgument::Value(self.expression()?))
    }

    /// Names up to `)`.
    fn names(&mut self) -> Result<Vec<String>, Rejection> {
        let mut names = Vec::new();
        while !Self::is_symbol(self.peek(), ")") {
            if !names.is_empty() {
                self.expect(",")?;
            }
            let offset = self.peek().start;
            let name = self.name()?;
            if names.contains(&name) {
                return Err(self.refuse(format!("the name '{}' stands twice", Rejection::quote(&name)), offset));
            }
            names.push(name);
        }
        self.expect(")")?;
        Ok(names)
    }

    /// Whether `f` begins a lambda: names in parentheses and another parenthesis follow.
    fn is_lambda(&self) -> bool {
        let mut skipped = 2;
        if !Self::is_symbol(self.peek_after(1), "(") {
            return false;
        }
        while self.peek_after(skipped).kind == TokenKind::Word || Self::is_symbol(self.peek_after(skipped), ",") {
            skipped += 1;
        }
        Self::is_symbol(self.peek_after(skipped), ")") && Self::is_symbol(self.peek_after(skipped + 1), "(")
    }

    fn lambda(&mut self) -> Result<Lambda, Rejection> {
        self.next();
        self.expect("(")?;
        let parameters = self.names()?;
        self.expect("(")?;
        let body = self.expression()?;
        self.expect(")")?;
        let mut scope = parameters.clone();
        if let Some((name, offset)) = free_name(&body, &mut scope) {
            let message = format!("a function given to a tensor function sees only its parameters, not '{name}'");
            return Err(self.refuse(message, offset));
        }
        Ok(Lambda { parameters, body: Box::new(body), is_compact: false })
    }

    /// The function of this name if the arguments have the shape it takes; they are left alone if not.
    fn function(
        &mut self,
        name: &str,
        given: &mut Vec<CallArgument>,
        offset: usize,
    ) -> Result<Option<TreeKind>, Rejection> {
        let values = given.iter().filter(|given| matches!(given, CallArgument::Value(_))).count();
        if values == given.len() {
            match (Unary::named(name), Binary::named(name, self.dialect), values) {
                (Some(function), _, 1) => {
                    return Ok(take(given).next().map(|tree| TreeKind::Unary(function, Box::new(tree))));
                }
                (_, Some(function), 2) => return Ok(pair(given).map(|operands| TreeKind::Binary(function, operands))),
                _ => {}
            }
        }
        let offsets = given
            .iter()
            .filter_map(|given| if let CallArgument::Value(tree) = given { Some(tree.offset) } else { None });
        let second = offsets.clone().nth(1).unwrap_or(offset);
        let function = self.tensor_function(name, given, second)?;
        match function {
            Some(function) => Ok(Some(TreeKind::Tensor(function))),
            None => self.convenience(name, given, offset),
        }
    }

    /// A convenience function, replaced. Its arguments may be copied: all copies of a text together are bounded.
    fn convenience(
        &mut self,
        name: &str,
        given: &mut Vec<CallArgument>,
        offset: usize,
    ) -> Result<Option<TreeKind>, Rejection> {
        let expanded = convenience::expand(name, given, offset).map_err(|message| self.refuse(message, offset))?;
        let Some(kind) = expanded else { return Ok(None) };
        let tree = Tree::new(kind, offset);
        self.expanded += tree.size();
        if self.expanded > limits::PROGRAM_NODES {
            return Err(self.refuse("the convenience functions stand for too large an expression", offset));
        }
        Ok(Some(tree.kind))
    }

    fn tensor_function(
        &self,
        name: &str,
        given: &mut Vec<CallArgument>,
        second: usize,
    ) -> Result<Option<TensorFunction>, Rejection> {
        if let Some(function) = self.lambda_function(name, given, second)? {
            return Ok(Some(function));
        }
        let words: Vec<Option<String>> = given.iter().map(word).collect();
        let first_is_value = matches!(given.first(), Some(CallArgument::Value(_)));
        let after = |skipped: usize| words.iter().skip(skipped).cloned().collect::<Option<Vec<String>>>();
        let mut first = || take(given).next().map(Box::new);
        Ok(match (name, words.len()) {
            ("reduce", 2..) if first_is_value => {
                let Some(mut names) = after(1) else { return Ok(None) };
                let name = names.remove(0);
                let hint = || did_you_mean(&name, Aggregator::ALL.map(Aggregator::name));
                let unknown = || self.refuse(format!("there is no such aggregator{}", hint()), second);
                let aggregator = Aggregator::named(&name).ok_or_else(unknown)?;
                first().map(|child| TensorFunction::Reduce(child, aggregator, names))
            }
            ("avg" | "count" | "median" | "prod" | "sum", 1..) if first_is_value => {
                let (Some(aggregator), Some(names)) = (Aggregator::named(name), after(1)) else { return Ok(None) };
                first().map(|child| TensorFunction::Reduce(child, aggregator, names))
            }
            ("cell_cast", 2) if first_is_value => {
                let cell = words[1].as_deref().and_then(CellType::from_name);
                let cell = cell.ok_or_else(|| self.refuse("there is no such cell type", second))?;
                first().map(|child| TensorFunction::CellCast(child, cell))
            }
            ("cell_order", 2) if first_is_value => match words[1].as_deref() {
                Some(order @ ("max" | "min")) => first().map(|child| TensorFunction::CellOrder(child, order == "max")),
                _ => return Err(self.refuse("'max' or 'min' expected", second)),
            },
            ("unpack_bits", 1..=3) if first_is_value => {
                let cell = words.get(1).map_or(Some("float"), |word| word.as_deref()).and_then(CellType::from_name);
                let cell = cell.ok_or_else(|| self.refuse("there is no such cell type", second))?;
                match words.get(2).map_or(Some("big"), |word| word.as_deref()) {
                    Some(order @ ("big" | "little")) => {
                        first().map(|child| TensorFunction::UnpackBits(child, cell, order == "big"))
                    }
                    _ => return Err(self.refuse("'big' or 'little' expected", second)),
                }
            }
            ("concat", 3) => match (words[2].clone(), pair(given)) {
                (Some(dimension), Some(operands)) => Some(TensorFunction::Concat(operands, dimension)),
                _ => return Err(self.refuse("concat takes two values and the name of a dimension", second)),
            },
            ("rename", 3) if first_is_value => {
                let (Some(from), Some(to)) = (names_of(&given[1]), names_of(&given[2])) else { return Ok(None) };
                if from.len() != to.len() {
                    return Err(self.refuse("as many new names as old ones expected", second));
                }
                take(given).next().map(|child| TensorFunction::Rename(Box::new(child), from, to))
            }
            _ => None,
        })
    }

    /// The functions that take a lambda last.
    fn lambda_function(
        &self,
        name: &str,
        given: &mut Vec<CallArgument>,
        offset: usize,
    ) -> Result<Option<TensorFunction>, Rejection> {
        let (values, parameters) = match name {
            "map" => (1, 0..=1),
            "map_subspaces" | "filter_subspaces" => (1, 1..=1),
            "join" | "merge" => (2, 0..=2),
            _ => return Ok(None),
        };
        let fits = given.len() == values + 1
            && given.iter().take(values).all(|given| matches!(given, CallArgument::Value(_)))
            && matches!(given.last(), Some(CallArgument::Lambda(_)));
        if !fits {
            return Ok(None);
        }
        let Some(CallArgument::Lambda(lambda)) = given.pop() else { return Ok(None) };
        if !parameters.contains(&lambda.parameters.len()) {
            let message = format!("the function given to {name} has {} parameters", lambda.parameters.len());
            return Err(self.refuse(message, offset));
        }
        if values == 2 {
            let make = if name == "join" { TensorFunction::Join } else { TensorFunction::Merge };
            return Ok(pair(given).map(|operands| make(operands, lambda)));
        }
        let make = match name {
            "map" => TensorFunction::Map,
            "map_subspaces" => TensorFunction::MapSubspaces,
            _ => TensorFunction::FilterSubspaces,
        };
        Ok(take(given).next().map(|child| make(Box::new(child), lambda)))
    }
}

/// The first two values, taken.
pub(super) fn pair(given: &mut Vec<CallArgument>) -> Option<Box<[Tree; 2]>> {
    if given.iter().take(2).filter(|given| matches!(given, CallArgument::Value(_))).count() < 2 {
        return None;
    }
    let mut values = take(given);
    Some(Box::new([values.next()?, values.next()?]))
}

/// A name, or names in parentheses.
fn names_of(given: &CallArgument) -> Option<Vec<String>> {
    match given {
        CallArgument::Names(names) => Some(names.clone()),
        CallArgument::Value(Tree { kind: TreeKind::Parenthesized(inner), .. }) => {
            inner.identifier().map(|name| vec![name.to_owned()])
        }
        CallArgument::Value(tree) => tree.identifier().map(|name| vec![name.to_owned()]),
        _ => None,
    }
}

/// A name that the body of a lambda uses and its parameters do not have.
fn free_name(tree: &Tree, scope: &mut Vec<String>) -> Option<(String, usize)> {
    if let TreeKind::Reference(reference) = &tree.kind {
        let is_bound = reference.identifier().is_some_and(|name| scope.iter().any(|bound| bound == name));
        return (!is_bound).then(|| (Rejection::quote(&tree.to_string()), tree.offset));
    }
    let length = scope.len();
    if let TreeKind::Tensor(TensorFunction::Generate(_, lambda)) = &tree.kind {
        scope.extend(lambda.parameters.iter().cloned());
    }
    let mut found = None;
    tree.parts(&mut |part| {
        if found.is_none() {
            found = free_name(part, scope);
        }
    });
    scope.truncate(length);
    found
}
