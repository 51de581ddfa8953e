//! Puts tensors together from cells and blocks that come in any order.
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use brooklet_task::limits::{TENSOR_CELLS, TENSOR_LABEL};
use brooklet_task::{Code, Rejection};

use super::{Dimension, Tensor, TensorType};

/// Collects the cells of one tensor, refuses what its type does not have and what is given twice.
#[derive(Clone, Debug)]
pub struct TensorBuilder {
    tensor_type: Arc<TensorType>,
    /// By labels of the mapped dimensions; sorted, as [`Tensor`] wants them.
    subspaces: BTreeMap<Vec<String>, Subspace>,
    dense_size: usize,
    cells_at_most: usize,
    code: Code,
}

#[derive(Clone, Debug)]
struct Subspace {
    cells: Vec<f64>,
    /// Which cells were given one by one; empty if the subspace was given as a whole.
    given: Vec<bool>,
}

/// Labels of an address, one for each dimension of the type in order; a missing one is none.
pub(crate) type Labels = Vec<Option<String>>;

impl TensorBuilder {
    /// Nothing given yet. What is refused gets `code`.
    #[must_use]
    pub fn new(tensor_type: Arc<TensorType>, code: Code) -> TensorBuilder {
        let dense_size = tensor_type.dense_size();
        TensorBuilder { tensor_type, subspaces: BTreeMap::new(), dense_size, cells_at_most: TENSOR_CELLS, code }
    }

    /// The same with another limit of cells.
    #[must_use]
    pub fn at_most(mut self, cells: usize) -> TensorBuilder {
        self.cells_at_most = cells;
        self
    }

    /// The type.
    #[must_use]
    pub fn tensor_type(&self) -> &Arc<TensorType> {
        &self.tensor_type
    }

    /// Cells of one dense subspace.
    #[must_use]
    pub fn dense_size(&self) -> usize {
        self.dense_size
    }

    /// A rejection with the builder's code.
    pub(crate) fn refuse(&self, message: String) -> Rejection {
        Rejection::new(self.code, message)
    }

    /// Adds the dense subspace at `address`, which has a label for each mapped dimension.
    ///
    /// # Errors
    /// If the address was given before, the number of cells is another, or a limit is passed.
    pub fn block(&mut self, address: Vec<String>, mut cells: Vec<f64>) -> Result<(), Rejection> {
        if cells.len() != self.dense_size {
            let message = format!("Expected {} values, but got {}", self.dense_size, cells.len());
            return Err(self.refuse(format!("{}{message}", self.place(&address))));
        }
        room_at(&address, (self.subspaces.len() + 1).saturating_mul(self.dense_size), self.cells_at_most)
            .map_err(|message| self.refuse(message))?;
        if self.subspaces.contains_key(&address) {
            return Err(self.twice(&self.show(&address)));
        }
        self.tensor_type.cell.round_all(&mut cells);
        self.subspaces.insert(address, Subspace { cells, given: Vec::new() });
        Ok(())
    }

    /// Adds one cell.
    ///
    /// # Errors
    /// If a label is missing or out of bounds, the cell was given before, or a limit is passed.
    pub(crate) fn cell(&mut self, labels: Labels, value: f64) -> Result<(), Rejection> {
        let (address, offset) = self.locate(&labels)?;
        let (size, given) = (self.dense_size, self.subspaces.len());
        let subspace = match self.subspaces.entry(address) {
            Entry::Occupied(subspace) => subspace.into_mut(),
            Entry::Vacant(place) => {
                room_at(place.key(), (given + 1).saturating_mul(size), self.cells_at_most)
                    .map_err(|message| Rejection::new(self.code, message))?;
                place.insert(Subspace { cells: vec![0.0; size], given: vec![false; size] })
            }
        };
        let given_before = |given: &mut bool| std::mem::replace(given, true);
        if subspace.given.get_mut(offset).is_none_or(given_before) {
            let dimensions = self.tensor_type.dimensions.iter();
            return Err(self.twice(&address_text(dimensions.zip(labels.iter().flatten()))));
        }
        subspace.cells[offset] = self.tensor_type.cell.round(value);
        Ok(())
    }

    /// The cells that were given, by address and place; those of a whole subspace all.
    pub(crate) fn given_cells(self) -> Vec<GivenCell> {
        let mut cells = Vec::new();
        for (address, subspace) in self.subspaces {
            for (offset, value) in subspace.cells.into_iter().enumerate() {
                if subspace.given.get(offset).copied().unwrap_or(true) {
                    cells.push(GivenCell { address: address.clone(), offset, value });
                }
            }
        }
        cells
    }

    /// The tensor. A type without mapped dimensions has zeros where nothing was given.
    #[must_use]
    pub fn finish(self) -> Tensor {
        if self.subspaces.is_empty() {
            return Tensor::empty(self.tensor_type);
        }
        let mut addresses = Vec::with_capacity(self.subspaces.len());
        let mut subspaces = self.subspaces.into_iter();
        let Some((address, Subspace { mut cells, .. })) = subspaces.next() else {
            return Tensor::empty(self.tensor_type);
        };
        addresses.push(address);
        for (address, subspace) in subspaces {
            addresses.push(address);
            cells.extend(subspace.cells);
        }
        Tensor { tensor_type: self.tensor_type, addresses, cells }
    }

    /// Splits labels into those of mapped dimensions and the offset of the cell in its dense subspace.
    fn locate(&self, labels: &Labels) -> Result<(Vec<String>, usize), Rejection> {
        if let Some(missing) = labels.iter().position(Option::is_none) {
            let dimension = &self.tensor_type.dimensions[missing].name;
            return Err(self.refuse(format!("Missing a label for dimension '{dimension}' for {}", self.tensor_type)));
        }
        let mut offset = 0;
        let mut address = Vec::new();
        let mut outside = false;
        for (dimension, label) in self.tensor_type.dimensions.iter().zip(labels.iter().flatten()) {
            match dimension.size {
                None => address.push(label.clone()),
                Some(size) => match parse_index(label, size) {
                    Some(index) => offset = offset * size + index,
                    None => outside = true,
                },
            }
        }
        if outside {
            let labels: Vec<String> = labels.iter().flatten().map(|label| Rejection::quote(label)).collect();
            let message =
                format!("cell address ({}) is not within the bounds of {}", labels.join(","), self.tensor_type);
            return Err(self.refuse(message));
        }
        Ok((address, offset))
    }

    fn place(&self, address: &[String]) -> String {
        if address.is_empty() { String::new() } else { format!("At {}: ", self.show(address)) }
    }

    fn show(&self, address: &[String]) -> String {
        address_text(self.tensor_type.mapped().zip(address))
    }

    fn twice(&self, address: &str) -> Rejection {
        self.refuse(format!("Multiple entries with same key: a cell at {address} is given more than once"))
    }
}

/// Checks the limits before a subspace is added at `address`, with which there are so many cells. What is refused is told.
fn room_at(address: &[String], cells: usize, cells_at_most: usize) -> Result<(), String> {
    if let Some(label) = address.iter().find(|label| label.len() > TENSOR_LABEL) {
        return Err(format!("A label of {} bytes is longer than the limit of {TENSOR_LABEL}", label.len()));
    }
    if cells > cells_at_most {
        return Err(format!("The tensor has more cells than the limit of {cells_at_most}"));
    }
    Ok(())
}

/// An address as `{x:0,y:a}`.
fn address_text<'a>(named: impl Iterator<Item = (&'a Dimension, &'a String)>) -> String {
    let parts: Vec<_> =
        named.map(|(dimension, label)| format!("{}:{}", dimension.name, Rejection::quote(label))).collect();
    format!("{{{}}}", parts.join(","))
}

impl Tensor {
    /// A tensor of the given subspaces, in any order: labels of the mapped dimensions, and dense cells.
    ///
    /// # Errors
    /// If an address comes twice or has another number of labels, a subspace another number of cells, or the tensor is
    /// larger than a document may hold.
    pub fn from_subspaces(
        tensor_type: Arc<TensorType>,
        subspaces: impl IntoIterator<Item = (Vec<String>, Vec<f64>)>,
    ) -> Result<Tensor, Rejection> {
        let labels = tensor_type.mapped().count();
        let mut builder = TensorBuilder::new(tensor_type, Code::BadRequest);
        for (address, cells) in subspaces {
            if address.len() != labels {
                return Err(builder.refuse(format!("Expected {labels} labels, but got {}", address.len())));
            }
            builder.block(address, cells)?;
        }
        Ok(builder.finish())
    }

    /// A tensor of a type without mapped dimensions.
    ///
    /// # Errors
    /// If the type has mapped dimensions or another number of cells.
    pub fn dense(tensor_type: Arc<TensorType>, cells: Vec<f64>) -> Result<Tensor, Rejection> {
        Tensor::from_subspaces(tensor_type, [(Vec::new(), cells)])
    }
}

/// The index that a label of a dimension of that size stands for. Only its usual spelling counts: `0`, not `00` or `+0`.
fn parse_index(label: &str, size: usize) -> Option<usize> {
    let canonical = !label.is_empty()
        && label.bytes().all(|byte| byte.is_ascii_digit())
        && (label.len() == 1 || !label.starts_with('0'));
    label.parse().ok().filter(|index| canonical && *index < size)
}

/// One cell of a modify update.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenCell {
    /// The labels of the mapped dimensions, in order.
    pub address: Vec<String>,
    /// The place in the dense subspace.
    pub offset: usize,
    /// The operand.
    pub value: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builder(text: &str) -> TensorBuilder {
        TensorBuilder::new(Arc::new(TensorType::parse(text).unwrap()), Code::InvalidDocument)
    }

    fn labels(labels: &[&str]) -> Labels {
        labels.iter().map(|label| Some((*label).to_owned())).collect()
    }

    #[test]
    fn cells_find_their_place_whatever_their_order() {
        let mut builder = builder("tensor<float>(k{},x[2],y[2])");
        builder.cell(labels(&["b", "1", "0"]), 3.0).unwrap();
        builder.block(vec!["a".into()], vec![1.0, 2.0, 3.0, 0.1]).unwrap();
        builder.cell(labels(&["b", "0", "1"]), 4.0).unwrap();
        let tensor = builder.finish();
        assert_eq!(tensor.addresses, [["a"], ["b"]]);
        assert_eq!(tensor.cells, [1.0, 2.0, 3.0, f64::from(0.1f32), 0.0, 4.0, 3.0, 0.0]);
    }

    #[test]
    fn nothing_is_given_twice_or_out_of_bounds() {
        let mut builder = builder("tensor(k{},x[2])");
        builder.cell(labels(&["a", "1"]), 1.0).unwrap();
        builder.cell(labels(&["a", "0"]), 1.0).unwrap();
        assert!(builder.cell(labels(&["a", "1"]), 1.0).unwrap_err().message.contains("more than once"));
        assert!(builder.block(vec!["a".into()], vec![0.0; 2]).is_err());
        builder.block(vec!["b".into()], vec![0.0; 2]).unwrap();
        assert!(builder.cell(labels(&["b", "0"]), 1.0).is_err());
        for index in ["2", "-1", "00", "+1", "", "x", "99999999999999999999"] {
            let message = builder.cell(labels(&["a", index]), 1.0).unwrap_err().message;
            assert_eq!(message, format!("cell address (a,{index}) is not within the bounds of tensor(k{{}},x[2])"));
        }
        let missing = builder.cell(vec![None, Some("0".into())], 1.0).unwrap_err();
        assert_eq!(missing.message, "Missing a label for dimension 'k' for tensor(k{},x[2])");
        assert_eq!(
            builder.block(vec!["c".into()], vec![]).unwrap_err().message,
            "At {k:c}: Expected 2 values, but got 0"
        );
    }

    #[test]
    fn subspaces_are_sorted_and_checked() {
        let tensor_type: Arc<TensorType> = Arc::new("tensor<int8>(k{},x[1])".parse().unwrap());
        let from = |subspaces: &[(&[&str], f64)]| {
            let owned =
                |(labels, cell): &(&[&str], f64)| (labels.iter().map(ToString::to_string).collect(), vec![*cell]);
            Tensor::from_subspaces(Arc::clone(&tensor_type), subspaces.iter().map(owned).collect::<Vec<_>>())
        };
        let tensor = from(&[(&["b"], 2.9), (&["a"], 1.0)]).unwrap();
        assert_eq!(
            (tensor.addresses, tensor.cells),
            (vec![vec!["a".to_owned()], vec!["b".to_owned()]], vec![1.0, 2.0])
        );
        assert!(from(&[(&["a"], 1.0), (&["a"], 1.0)]).is_err());
        assert!(from(&[(&[], 1.0)]).is_err());
        assert!(Tensor::dense(Arc::clone(&tensor_type), vec![1.0]).is_err());
        assert!(Tensor::dense(Arc::new("tensor(x[2])".parse().unwrap()), vec![1.0]).is_err());
    }

    #[test]
    fn limits_hold() {
        let mut builder = builder("tensor(k{},x[4])").at_most(8);
        builder.block(vec!["a".into()], vec![0.0; 4]).unwrap();
        assert!(builder.block(vec!["l".repeat(TENSOR_LABEL + 1)], vec![0.0; 4]).is_err());
        builder.block(vec!["l".repeat(TENSOR_LABEL)], vec![0.0; 4]).unwrap();
        assert!(builder.block(vec!["c".into()], vec![0.0; 4]).unwrap_err().message.contains("limit of 8"));
    }
}
