//! The convenience functions of tensors, replaced by the primitive functions they stand for (ranking.md §2), in the
//! very form the reference prints them.
use brooklet_document::{CellType, Dimension, TensorType};
use brooklet_task::limits;

use super::syntax_tree::{Lambda, Reference, Slice, TensorFunction, Tree, TreeKind};
use crate::expression::arguments::{CallArgument, take, word};
use crate::operation::{Binary, Unary};
use crate::tensor::Aggregator;
use crate::tensor::result_type::check_size;

/// What the call stands for, if it is one of a convenience function; the arguments are left alone if not.
///
/// Arguments that are used more than once are copied, so the result is bounded: a sentence is returned if it is larger.
pub(super) fn expand(name: &str, given: &mut Vec<CallArgument>, offset: usize) -> Result<Option<TreeKind>, String> {
    if matches!(name, "diag" | "random" | "range") {
        return Ok(generate(name, given, offset)?.map(TreeKind::Tensor));
    }
    let values = match name {
        "argmax" | "argmin" | "expand" | "l1_normalize" | "l2_normalize" | "softmax" => 1,
        "cosine_similarity" | "euclidean_distance" | "matmul" | "top" => 2,
        "xw_plus_b" => 3,
        _ => return Ok(None),
    };
    let names: Option<Vec<String>> = given.iter().skip(values).map(word).collect();
    let Some(names) = names else { return Ok(None) };
    let are_values = given.len() >= values && given.iter().all(|given| matches!(given, CallArgument::Value(_)));
    let wanted = match name {
        "argmax" | "argmin" => true,
        "top" => names.is_empty(),
        _ => names.len() == 1,
    };
    if !are_values || !wanted {
        return Ok(None);
    }
    let trees: Vec<Tree> = take(given).take(values).collect();
    if trees.iter().map(Tree::size).sum::<usize>() * 4 > limits::PROGRAM_NODES {
        return Err(format!("{name} of too large an expression"));
    }
    Ok(compose(name, &Make { offset }, trees, &names))
}

/// The functions that are composed of others.
#[inline(never)]
fn compose(name: &str, make: &Make, trees: Vec<Tree>, names: &[String]) -> Option<TreeKind> {
    let mut trees = trees.into_iter();
    let a = trees.next()?;
    let tree = match name {
        "argmax" | "argmin" => {
            let extreme = make.reduce(a.clone(), Aggregator::named(&name[3..])?, names);
            make.join_compact(a, extreme, Binary::Equal)
        }
        "expand" => {
            let name = names.first()?;
            let dimension = Dimension { name: name.clone(), size: Some(1) };
            let one = Tree::new(TreeKind::Number(1.0, "1.0".to_owned()), make.offset);
            let lambda = make.lambda(&[name], one, true);
            let ones = TensorFunction::Generate(TensorType::new(CellType::Int8, vec![dimension]), lambda);
            make.join(Tree::new(TreeKind::Tensor(ones), make.offset), a, Binary::Multiply)
        }
        "l1_normalize" => make.join(a.clone(), make.reduce(a, Aggregator::Sum, names), Binary::Divide),
        "l2_normalize" => {
            let squares = make.reduce(make.square(a.clone()), Aggregator::Sum, names);
            make.join(a, make.root(squares), Binary::Divide)
        }
        "softmax" => {
            let exponents = make.map(a, |make, x| TreeKind::Unary(Unary::Exp, Box::new(make.name(x))));
            make.join(exponents.clone(), make.reduce(exponents, Aggregator::Sum, names), Binary::Divide)
        }
        "matmul" => make.matmul(a, trees.next()?, names),
        "xw_plus_b" => {
            let product = make.matmul(a, trees.next()?, names);
            make.join(product, trees.next()?, Binary::Add)
        }
        "euclidean_distance" => {
            let squares = make.square(make.join(a, trees.next()?, Binary::Subtract));
            make.root(make.reduce(squares, Aggregator::Sum, names))
        }
        "cosine_similarity" => {
            let b = trees.next()?;
            let norms = make.join(
                make.matmul(a.clone(), a.clone(), names),
                make.matmul(b.clone(), b.clone(), names),
                Binary::Multiply,
            );
            make.join(make.matmul(a, b, names), make.root(norms), Binary::Divide)
        }
        _ => {
            let input = trees.next()?;
            let order =
                Tree::new(TreeKind::Tensor(TensorFunction::CellOrder(Box::new(input.clone()), true)), make.offset);
            let is_best = make.join(order, a, Binary::Less);
            let lambda = make.lambda(&["s"], make.name("s"), false);
            let best = TensorFunction::FilterSubspaces(Box::new(is_best), lambda);
            make.join(input, Tree::new(TreeKind::Tensor(best), make.offset), Binary::Multiply)
        }
    };
    Some(tree.kind)
}

/// Makes trees at one place of the text.
struct Make {
    offset: usize,
}

impl Make {
    fn name(&self, name: &str) -> Tree {
        Tree::new(TreeKind::Reference(Reference::bare(name)), self.offset)
    }

    fn lambda(&self, parameters: &[&str], body: Tree, is_compact: bool) -> Lambda {
        let parameters = parameters.iter().map(|parameter| (*parameter).to_owned()).collect();
        Lambda { parameters, body: Box::new(body), is_compact }
    }

    fn operation(&self, operator: Binary, names: &[&str]) -> Tree {
        let mut operands = names.iter().map(|name| self.name(name));
        let first = operands.next().unwrap_or_else(|| self.name(""));
        let rest = operands.map(|operand| (operator, operand)).collect();
        Tree::new(TreeKind::Chain(Box::new(first), rest), self.offset)
    }

    fn join(&self, a: Tree, b: Tree, operator: Binary) -> Tree {
        let lambda = self.lambda(&["a", "b"], self.operation(operator, &["a", "b"]), false);
        Tree::new(TreeKind::Tensor(TensorFunction::Join(Box::new([a, b]), lambda)), self.offset)
    }

    fn join_compact(&self, a: Tree, b: Tree, operator: Binary) -> Tree {
        let lambda = self.lambda(&["a", "b"], self.operation(operator, &["a", "b"]), true);
        Tree::new(TreeKind::Tensor(TensorFunction::Join(Box::new([a, b]), lambda)), self.offset)
    }

    fn map(&self, a: Tree, body: impl Fn(&Make, &str) -> TreeKind) -> Tree {
        let lambda = self.lambda(&["a"], Tree::new(body(self, "a"), self.offset), false);
        Tree::new(TreeKind::Tensor(TensorFunction::Map(Box::new(a), lambda)), self.offset)
    }

    fn square(&self, a: Tree) -> Tree {
        self.map(a, |make, x| make.operation(Binary::Multiply, &[x, x]).kind)
    }

    fn root(&self, a: Tree) -> Tree {
        self.map(a, |make, x| TreeKind::Unary(Unary::Sqrt, Box::new(make.name(x))))
    }

    fn reduce(&self, a: Tree, aggregator: Aggregator, dimensions: &[String]) -> Tree {
        let function = TensorFunction::Reduce(Box::new(a), aggregator, dimensions.to_vec());
        Tree::new(TreeKind::Tensor(function), self.offset)
    }

    fn matmul(&self, a: Tree, b: Tree, dimensions: &[String]) -> Tree {
        self.reduce(self.join(a, b, Binary::Multiply), Aggregator::Sum, dimensions)
    }
}

/// `diag`, `random` and `range`: tensors generated from their dimensions.
#[inline(never)]
fn generate(name: &str, given: &[CallArgument], offset: usize) -> Result<Option<TensorFunction>, String> {
    let dimensions: Option<Vec<Dimension>> = given.iter().map(dimension).collect();
    let Some(dimensions) = dimensions.filter(|dimensions| !dimensions.is_empty()) else { return Ok(None) };
    let tensor_type = TensorType::new(CellType::Double, dimensions);
    if tensor_type.dimensions.windows(2).any(|pair| pair[0].name == pair[1].name) {
        return Err(format!("{name} has a dimension twice"));
    }
    check_size(&tensor_type).map_err(|rejection| rejection.message)?;
    let make = Make { offset };
    let names: Vec<&str> = tensor_type.dimensions.iter().map(|dimension| dimension.name.as_str()).collect();
    let body = match (name, names.as_slice()) {
        ("random", _) => make.name("random"),
        ("range", [only]) => make.name(only),
        ("range", names) => make.operation(Binary::Add, names),
        (_, [_]) => Tree::new(TreeKind::Number(1.0, "1".to_owned()), offset),
        (_, [_, _]) => make.operation(Binary::Equal, &names),
        (_, names) => {
            let equal = names.windows(2).map(|pair| make.operation(Binary::Equal, pair));
            let mut equal = equal.map(|tree| Tree::new(TreeKind::Parenthesized(Box::new(tree)), offset));
            let first = equal.next().unwrap_or_else(|| make.name("1"));
            let rest = equal.map(|operand| (Binary::Multiply, operand)).collect();
            Tree::new(TreeKind::Chain(Box::new(first), rest), offset)
        }
    };
    let lambda = make.lambda(&names, body, true);
    Ok(Some(TensorFunction::Generate(tensor_type, lambda)))
}

/// `x[3]` read as a slice.
fn dimension(given: &CallArgument) -> Option<Dimension> {
    let CallArgument::Value(Tree { kind: TreeKind::Tensor(TensorFunction::Slice(child, Slice::Index(size))), .. }) =
        given
    else {
        return None;
    };
    let TreeKind::Number(_, text) = &size.kind else { return None };
    let size = text.parse().ok().filter(|size| (1..=limits::INTERMEDIATE_CELLS).contains(size))?;
    Some(Dimension { name: child.identifier()?.to_owned(), size: Some(size) })
}
