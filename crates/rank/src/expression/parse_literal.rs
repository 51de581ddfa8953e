//! Parses tensor types, tensor literals and generated tensors.
use std::collections::BTreeMap;

use brooklet_document::{CellType, Dimension, TensorType};
use brooklet_task::{Rejection, limits};

use super::lex::TokenKind;
use super::parse::Parser;
use super::syntax_tree::{Lambda, TensorFunction, Tree, TreeKind};
use crate::tensor::result_type::check_size;

/// A tensor type with its dimensions in the order they were written.
struct Written {
    tensor_type: TensorType,
    order: Vec<Dimension>,
}

/// Cells in the order of their first mention; a later value for the same address replaces the earlier.
#[derive(Default)]
struct Cells {
    cells: Vec<(Vec<String>, Tree)>,
    known: BTreeMap<Vec<String>, usize>,
}

impl Cells {
    fn set(&mut self, address: Vec<String>, value: Tree) {
        match self.known.get(&address) {
            Some(&at) => self.cells[at].1 = value,
            None => {
                self.known.insert(address.clone(), self.cells.len());
                self.cells.push((address, value));
            }
        }
    }
}

type Parsed<T> = Result<T, Rejection>;

impl Parser<'_> {
    /// Whether `tensor` begins a type rather than being a name.
    pub(super) fn is_tensor_type(&self) -> bool {
        let word = |skipped| self.peek_after(skipped).kind == TokenKind::Word;
        let symbol = |skipped, symbol| Self::is_symbol(self.peek_after(skipped), symbol);
        let after_type = symbol(1, "<") && word(2) && symbol(3, ">") && symbol(4, "(");
        let is_dimension = word(2) && (symbol(3, "[") || symbol(3, "{"));
        after_type || symbol(1, "(") && (symbol(2, ")") || is_dimension)
    }

    /// A tensor literal or a generated tensor.
    pub(super) fn tensor(&mut self) -> Parsed<Tree> {
        let start = self.peek().start;
        let written = self.tensor_type()?;
        let function = if self.accept(":") {
            let cells = if Self::is_symbol(self.peek(), "[") { self.dense(&written)? } else { self.sparse(&written)? };
            TensorFunction::Literal(written.tensor_type, cells)
        } else {
            self.expect("(")?;
            if written.order.iter().any(Dimension::is_mapped) {
                return Err(self.refuse("a generated tensor has indexed dimensions only", start));
            }
            let body = Box::new(self.expression()?);
            self.expect(")")?;
            let parameters = written.tensor_type.dimensions.iter().map(|dimension| dimension.name.clone()).collect();
            TensorFunction::Generate(written.tensor_type, Lambda { parameters, body, is_compact: false })
        };
        Ok(Tree::new(TreeKind::Tensor(function), start))
    }

    #[inline(never)]
    fn tensor_type(&mut self) -> Parsed<Written> {
        let start = self.next().start;
        let mut cell = CellType::Double;
        if self.accept("<") {
            let name = self.name()?;
            let found = CellType::from_name(&name);
            cell = found.ok_or_else(|| self.refuse(format!("'{}' is no cell type", Rejection::quote(&name)), start))?;
            self.expect(">")?;
        }
        self.expect("(")?;
        let mut order: Vec<Dimension> = Vec::new();
        while !Self::is_symbol(self.peek(), ")") {
            if !order.is_empty() {
                self.expect(",")?;
            }
            let dimension = self.dimension()?;
            if order.iter().any(|known| known.name == dimension.name) {
                return Err(self.refuse(format!("the dimension '{}' stands twice", dimension.name), start));
            }
            order.push(dimension);
        }
        self.expect(")")?;
        let tensor_type = TensorType::new(cell, order.clone());
        check_size(&tensor_type).map_err(|rejection| self.refuse(rejection.message, start))?;
        Ok(Written { tensor_type, order })
    }

    fn dimension(&mut self) -> Parsed<Dimension> {
        let name = self.name()?;
        if self.accept("{") {
            self.expect("}")?;
            return Ok(Dimension { name, size: None });
        }
        self.expect("[")?;
        let token = self.peek();
        let size = self.slice(token).parse().ok().filter(|size| (1..=limits::INTERMEDIATE_CELLS).contains(size));
        if token.kind != TokenKind::Integer || size.is_none() {
            return Err(self.unexpected_token("the size of the dimension, at least 1,"));
        }
        self.next();
        self.expect("]")?;
        Ok(Dimension { name, size })
    }

    /// `[[1,2],[3,4]]` or `[1,2,3,4]`: all cells in the order of the dimensions as written.
    fn dense(&mut self, written: &Written) -> Parsed<Vec<(Vec<String>, Tree)>> {
        let start = self.peek().start;
        if written.order.iter().any(Dimension::is_mapped) {
            return Err(self.refuse("a list of cells cannot fill a mapped dimension", start));
        }
        let mut cells = Cells::default();
        self.dense_block(written, &BTreeMap::new(), &mut cells)?;
        Ok(cells.cells)
    }

    /// The cells of one dense subspace; `labels` are those of the mapped dimensions.
    fn dense_block(&mut self, written: &Written, labels: &BTreeMap<String, String>, cells: &mut Cells) -> Parsed<()> {
        let start = self.peek().start;
        let mut values = Vec::new();
        self.numbers(&mut values)?;
        let expected = written.tensor_type.dense_size();
        if values.len() != expected {
            return Err(self.refuse(format!("{expected} cells expected, {} found", values.len()), start));
        }
        let mut values: Vec<Option<Tree>> = values.into_iter().map(Some).collect();
        for cell in 0..expected {
            let coordinates = coordinates(&written.tensor_type, cell);
            let at = written.order.iter().filter_map(|dimension| {
                coordinates.get(dimension.name.as_str()).map(|coordinate| (*coordinate, dimension.size.unwrap_or(1)))
            });
            let at = at.fold(0, |at, (coordinate, size)| at * size + coordinate);
            let address = written.tensor_type.dimensions.iter().map(|dimension| {
                let coordinate = coordinates.get(dimension.name.as_str()).map(usize::to_string);
                coordinate.or_else(|| labels.get(&dimension.name).cloned()).unwrap_or_default()
            });
            if let Some(value) = values[at].take() {
                cells.set(address.collect(), value);
            }
        }
        Ok(())
    }

    /// Numbers in brackets, in brackets.
    fn numbers(&mut self, values: &mut Vec<Tree>) -> Parsed<()> {
        self.expect("[")?;
        if self.accept("]") {
            return Ok(());
        }
        loop {
            if Self::is_symbol(self.peek(), "[") {
                self.deeper(|parser| parser.numbers(values))?;
            } else {
                values.push(self.expression()?);
            }
            if !self.accept(",") {
                return self.expect("]");
            }
        }
    }

    /// `{{x:a,y:0}:1}` or `{a:1}` or `{a:[1,2]}`.
    #[inline(never)]
    fn sparse(&mut self, written: &Written) -> Parsed<Vec<(Vec<String>, Tree)>> {
        let mut cells = Cells::default();
        if !Self::is_symbol(self.peek_after(1), "{") {
            self.parse_labelled(written, &mut BTreeMap::new(), &mut cells)?;
            return Ok(cells.cells);
        }
        self.expect("{")?;
        loop {
            let address = self.address(&written.tensor_type)?;
            self.expect(":")?;
            let value = self.expression()?;
            cells.set(address, value);
            if !self.accept(",") {
                self.expect("}")?;
                return Ok(cells.cells);
            }
        }
    }

    /// `{label: …}` for the next mapped dimension that has no label yet.
    fn parse_labelled(
        &mut self,
        written: &Written,
        labels: &mut BTreeMap<String, String>,
        cells: &mut Cells,
    ) -> Parsed<()> {
        self.expect("{")?;
        if labels.is_empty() && self.accept("}") {
            return Ok(());
        }
        let unlabelled = |labels: &BTreeMap<String, String>| {
            written.order.iter().find(|dimension| dimension.is_mapped() && !labels.contains_key(&dimension.name))
        };
        let Some(dimension) = unlabelled(labels) else {
            return Err(self.refuse("every mapped dimension has its label already", self.peek().start));
        };
        loop {
            let label = self.label()?;
            self.expect(":")?;
            labels.insert(dimension.name.clone(), label);
            if unlabelled(labels).is_some() {
                self.deeper(|parser| parser.parse_labelled(written, labels, cells))?;
            } else if written.tensor_type.indexed().next().is_some() {
                self.dense_block(written, labels, cells)?;
            } else {
                let value = self.expression()?;
                cells.set(labels.values().cloned().collect(), value);
            }
            labels.remove(&dimension.name);
            if !self.accept(",") {
                return self.expect("}");
            }
        }
    }

    /// `{x:a,y:0}`: a label for each dimension.
    fn address(&mut self, tensor_type: &TensorType) -> Parsed<Vec<String>> {
        let start = self.peek().start;
        self.expect("{")?;
        let mut labels = BTreeMap::new();
        while !Self::is_symbol(self.peek(), "}") {
            if !labels.is_empty() {
                self.expect(",")?;
            }
            let name = self.name()?;
            self.expect(":")?;
            labels.insert(name, self.label()?);
        }
        self.expect("}")?;
        let fits = |dimension: &Dimension| match (labels.get(&dimension.name), dimension.size) {
            (Some(_), None) => true,
            (Some(label), Some(size)) => {
                label.parse::<usize>().is_ok_and(|index| index < size && index.to_string() == *label)
            }
            (None, _) => false,
        };
        if labels.len() != tensor_type.dimensions.len() || !tensor_type.dimensions.iter().all(fits) {
            return Err(self.refuse(format!("this is no address in {tensor_type}"), start));
        }
        Ok(labels.into_values().collect())
    }
}

/// The coordinate of a cell of a dense subspace in each indexed dimension.
fn coordinates(tensor_type: &TensorType, mut cell: usize) -> BTreeMap<&str, usize> {
    let indexed: Vec<&Dimension> = tensor_type.indexed().collect();
    let mut coordinates = BTreeMap::new();
    for dimension in indexed.into_iter().rev() {
        let size = dimension.size.unwrap_or(1);
        coordinates.insert(dimension.name.as_str(), cell % size);
        cell /= size;
    }
    coordinates
}
