//! The canonical text of an expression, as the reference's container prints it; parsing it yields the same tree.
use std::fmt::{self, Display, Formatter, Write};

use super::feature_name::write_quoted;
use super::lex::is_word;
use super::syntax_tree::{Argument, Expression, Lambda, Reference, Slice, SliceLabel, TensorFunction, Tree, TreeKind};

impl Display for Expression {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.root.fmt(f)
    }
}

impl Display for Tree {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            TreeKind::Number(_, text) => f.write_str(text),
            TreeKind::Boolean(truth) => write!(f, "{truth}"),
            TreeKind::Text(text) => write_quoted(f, text),
            TreeKind::Reference(reference) => reference.fmt(f),
            TreeKind::Parenthesized(inner) => write!(f, "({inner})"),
            TreeKind::Unary(function, operand) if function.name().starts_with(['-', '!']) => {
                write!(f, "{}{operand}", function.name())
            }
            TreeKind::Unary(function, operand) => write!(f, "{}({operand})", function.name()),
            TreeKind::Binary(function, operands) => write!(f, "{}({},{})", function.name(), operands[0], operands[1]),
            TreeKind::Chain(first, rest) => {
                first.fmt(f)?;
                rest.iter().try_for_each(|(operator, operand)| write!(f, " {} {operand}", operator.name()))
            }
            TreeKind::In(value, set) => {
                write!(f, "{value} in [")?;
                print_separated(f, set, ", ")?;
                f.write_str("]")
            }
            TreeKind::If(branches, probability) => {
                write!(f, "if ({}, {}, {}", branches[0], branches[1], branches[2])?;
                if let Some(probability) = probability {
                    write!(f, ", {probability}")?;
                }
                f.write_str(")")
            }
            TreeKind::Switch(switch) => {
                write!(f, "switch({}) {{ ", switch.value)?;
                switch.cases.iter().try_for_each(|(case, result)| write!(f, "case {case}: {result}, "))?;
                write!(f, "default: {} }}", switch.default)
            }
            TreeKind::Tensor(function) => function.fmt(f),
        }
    }
}

impl Display for Reference {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if !self.arguments.is_empty() {
            f.write_str("(")?;
            print_separated(f, &self.arguments, ",")?;
            f.write_str(")")?;
        }
        self.output.as_ref().map_or(Ok(()), |output| write!(f, ".{output}"))
    }
}

impl Display for Argument {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{name}:{}", self.value),
            None => self.value.fmt(f),
        }
    }
}

impl Display for TensorFunction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        use TensorFunction as F;
        match self {
            F::Map(child, lambda) => write!(f, "map({child}, {lambda})"),
            F::MapSubspaces(child, lambda) => write!(f, "map_subspaces({child}, {lambda})"),
            F::FilterSubspaces(child, lambda) => write!(f, "filter_subspaces({child}, {lambda})"),
            F::Reduce(child, aggregator, dimensions) => {
                write!(f, "reduce({child}, {}", aggregator.name())?;
                dimensions.iter().try_for_each(|dimension| write!(f, ", {dimension}"))?;
                f.write_str(")")
            }
            F::Join(operands, lambda) => write!(f, "join({}, {}, {lambda})", operands[0], operands[1]),
            F::Merge(operands, lambda) => write!(f, "merge({}, {}, {lambda})", operands[0], operands[1]),
            F::Rename(child, from, to) if from.len() == 1 => write!(f, "rename({child}, {}, {})", from[0], to[0]),
            F::Rename(child, from, to) => write!(f, "rename({child}, ({}), ({}))", from.join(", "), to.join(", ")),
            F::Concat(operands, dimension) => write!(f, "concat({}, {}, {dimension})", operands[0], operands[1]),
            F::CellCast(child, cell) => write!(f, "cell_cast({child}, {})", cell.name()),
            F::CellOrder(child, is_descending) => {
                write!(f, "cell_order({child}, {})", if *is_descending { "max" } else { "min" })
            }
            F::UnpackBits(child, cell, is_big) => {
                write!(f, "unpack_bits({child},{},{})", cell.name(), if *is_big { "big" } else { "little" })
            }
            F::Generate(tensor_type, lambda) if lambda.is_compact => {
                write!(f, "{tensor_type}({})", Compact(&lambda.body))
            }
            F::Generate(tensor_type, lambda) => write!(f, "{tensor_type}({})", Enclosed(&lambda.body)),
            F::Literal(tensor_type, cells) => {
                write!(f, "{tensor_type}:{{")?;
                for (i, (address, cell)) in cells.iter().enumerate() {
                    f.write_str(if i == 0 { "{" } else { ",{" })?;
                    for (j, (dimension, label)) in tensor_type.dimensions.iter().zip(address).enumerate() {
                        write!(f, "{}{}:{}", if j == 0 { "" } else { "," }, dimension.name, Label(label))?;
                    }
                    write!(f, "}}:{}", Enclosed(cell))?;
                }
                f.write_str("}")
            }
            F::Slice(child, slice) => write!(f, "{child}{slice}"),
        }
    }
}

impl Display for Slice {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            // Without quotes it would be an index.
            Slice::Label(label) if label.bytes().all(|byte| byte.is_ascii_digit()) => write!(f, "{{'{label}'}}"),
            Slice::Label(label) => write!(f, "{{{}}}", Label(label)),
            Slice::Index(index) => write!(f, "[{}]", Enclosed(index)),
            Slice::Dimensions(labels) => {
                f.write_str("{")?;
                for (i, (dimension, label)) in labels.iter().enumerate() {
                    write!(f, "{}{dimension}:", if i == 0 { "" } else { ", " })?;
                    match label {
                        SliceLabel::Verbatim(label) => Label(label).fmt(f)?,
                        SliceLabel::Computed(tree) => tree.fmt(f)?,
                    }
                }
                f.write_str("}")
            }
        }
    }
}

impl Display for Lambda {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "f({})", self.parameters.join(","))?;
        if self.is_compact { write!(f, "({})", Compact(&self.body)) } else { write!(f, "({})", self.body) }
    }
}

/// A tree in parentheses, unless it is a constant, a name, or in parentheses already.
struct Enclosed<'a>(&'a Tree);

impl Display for Enclosed<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let stands_alone = match &self.0.kind {
            TreeKind::Number(..) | TreeKind::Boolean(_) | TreeKind::Text(_) | TreeKind::Parenthesized(_) => true,
            TreeKind::Reference(reference) => reference.arguments.is_empty(),
            _ => false,
        };
        if stands_alone { self.0.fmt(f) } else { write!(f, "({})", self.0) }
    }
}

/// Names with operators between them, without spaces.
struct Compact<'a>(&'a Tree);

impl Display for Compact<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.0.kind {
            TreeKind::Chain(first, rest) => {
                Compact(first).fmt(f)?;
                rest.iter().try_for_each(|(operator, operand)| write!(f, "{}{}", operator.name(), Compact(operand)))
            }
            TreeKind::Parenthesized(inner) => write!(f, "({})", Compact(inner)),
            _ => self.0.fmt(f),
        }
    }
}

/// A label, in quotes where it is not a word or an index.
struct Label<'a>(&'a str);

impl Display for Label<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let digits = self.0.strip_prefix('-').unwrap_or(self.0);
        let is_index = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let is_name = !self.0.is_empty() && self.0.bytes().all(is_word) && !self.0.starts_with('$');
        if is_name || is_index && digits.bytes().next() != Some(b'.') && digits.matches('.').count() <= 1 {
            return f.write_str(self.0);
        }
        if self.0.contains('\'') && !self.0.contains('"') {
            return write_quoted(f, self.0);
        }
        f.write_str("'")?;
        for character in self.0.chars() {
            match character {
                '\'' | '\\' => write!(f, "\\{character}")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                _ => f.write_char(character)?,
            }
        }
        f.write_str("'")
    }
}

fn print_separated<T: Display>(f: &mut Formatter<'_>, items: &[T], separator: &str) -> fmt::Result {
    items.iter().enumerate().try_for_each(|(i, item)| write!(f, "{}{item}", if i == 0 { "" } else { separator }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_quoted_where_needed() {
        let texts = ["a", "12", "-1", "1.5", "b c", "a'b", "", "'\""].map(|label| Label(label).to_string());
        assert_eq!(texts, ["a", "12", "-1", "1.5", "'b c'", "\"a'b\"", "''", "'\\'\"'"]);
    }
}
