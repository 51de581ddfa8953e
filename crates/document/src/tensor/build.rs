//! Puts tensors together from cells and blocks that come in any order.
//!
//! What is given is a list, sorted by address when all of it is there: a map would be searched for each cell, and have its pieces in memory.
use std::cmp::Ordering;
use std::sync::Arc;

use brooklet_kernel::sort_by;
use brooklet_task::limits::{TENSOR_CELLS, TENSOR_LABEL};
use brooklet_task::{Code, Rejection};

use super::places::Places;
use super::{Tensor, TensorType};

/// Collects the cells of one tensor, refuses what its type does not have and what is given twice.
#[derive(Clone, Debug)]
pub struct TensorBuilder {
    tensor_type: Arc<TensorType>,
    runs: Vec<Run>,
    /// The cells of whole subspaces, one after the other.
    whole: Vec<f64>,
    /// Place in its subspace and value of each cell that was given alone.
    single: Vec<(usize, f64)>,
    dense_size: usize,
    cells_at_most: usize,
    code: Code,
}

/// What was given for an address in a row: a subspace, or cells one by one.
#[derive(Clone, Debug)]
struct Run {
    /// The begin of the address, as a number in the same order: it tells most addresses apart.
    begin: u64,
    /// The labels of the mapped dimensions.
    address: Vec<String>,
    is_whole: bool,
    /// Where its cells stand among those of its kind.
    start: usize,
    end: usize,
}

impl Run {
    fn order(&self, other: &Run) -> Ordering {
        self.begin.cmp(&other.begin).then_with(|| self.address.cmp(&other.address))
    }
}

/// What is handed the address and the cells of each subspace, and which of these were given.
type EachSubspace<'a> = dyn FnMut(Vec<String>, &[f64], &[bool]) + 'a;

/// Labels of an address, one for each dimension of the type in order; a missing one is none.
pub(crate) type Labels = Vec<Option<String>>;

impl TensorBuilder {
    /// Nothing given yet. What is refused gets `code`.
    #[must_use]
    pub fn new(tensor_type: Arc<TensorType>, code: Code) -> TensorBuilder {
        let dense_size = tensor_type.dense_size();
        let (runs, whole, single) = (Vec::new(), Vec::new(), Vec::new());
        TensorBuilder { tensor_type, runs, whole, single, dense_size, cells_at_most: TENSOR_CELLS, code }
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
    /// If the number of cells is another, or a limit is passed.
    pub fn block(&mut self, address: Vec<String>, mut cells: Vec<f64>) -> Result<(), Rejection> {
        if cells.len() != self.dense_size {
            let message = format!("Expected {} values, but got {}", self.dense_size, cells.len());
            return Err(self.refuse(format!("{}{message}", self.place(&address))));
        }
        self.add(address, true, cells.len())?;
        self.tensor_type.cell.round_all(&mut cells);
        if self.whole.is_empty() {
            self.whole = cells;
        } else {
            self.whole.extend_from_slice(&cells);
        }
        Ok(())
    }

    /// Adds one cell.
    ///
    /// # Errors
    /// If a label is missing or out of bounds, or a limit is passed.
    pub(crate) fn cell(&mut self, labels: Labels, value: f64) -> Result<(), Rejection> {
        let (address, offset) = self.locate(labels)?;
        match self.runs.last_mut() {
            Some(last) if !last.is_whole && last.address == address => last.end += 1,
            _ => self.add(address, false, 1)?,
        }
        self.single.push((offset, self.tensor_type.cell.round(value)));
        Ok(())
    }

    /// Adds a run of so many cells, which are to follow.
    fn add(&mut self, address: Vec<String>, is_whole: bool, cells: usize) -> Result<(), Rejection> {
        if let Some(label) = address.iter().find(|label| label.len() > TENSOR_LABEL) {
            let message = format!("A label of {} bytes is longer than the limit of {TENSOR_LABEL}", label.len());
            return Err(self.refuse(message));
        }
        self.has_room(self.whole.len() + self.single.len() + cells)?;
        let mut begin = [0; 8];
        begin.iter_mut().zip(address.iter().take(1).flat_map(|label| label.bytes())).for_each(|(to, byte)| *to = byte);
        let start = if is_whole { self.whole.len() } else { self.single.len() };
        self.runs.push(Run { begin: u64::from_be_bytes(begin), address, is_whole, start, end: start + cells });
        Ok(())
    }

    fn has_room(&self, cells: usize) -> Result<(), Rejection> {
        if cells > self.cells_at_most {
            return Err(self.refuse(format!("The tensor has more cells than the limit of {}", self.cells_at_most)));
        }
        Ok(())
    }

    /// Hands over each subspace in the order of the addresses: its cells, and which of them were given one by one; no such list of a
    /// subspace that was given as a whole.
    fn each_subspace(mut self, each: &mut EachSubspace<'_>) -> Result<(), Rejection> {
        let mut runs = std::mem::take(&mut self.runs);
        sort_by(&mut runs, Run::order);
        let again = runs.windows(2).filter(|pair| pair[0].address == pair[1].address).count();
        self.has_room((runs.len() - again).saturating_mul(self.dense_size))?;
        let has_single = !self.single.is_empty();
        let room = if has_single { self.dense_size } else { 0 };
        let (mut cells, mut given) = (vec![0.0; room], vec![false; room]);
        let mut is_begun = false;
        let mut runs = runs.into_iter().peekable();
        while let Some(Run { address, is_whole, start, end, .. }) = runs.next() {
            let goes_on = runs.peek().is_some_and(|next| next.address == address);
            if is_whole {
                if is_begun || goes_on {
                    return Err(self.twice(&self.show(&address, None)));
                }
                each(address, &self.whole[start..end], &[]);
                continue;
            }
            for (offset, value) in &self.single[start..end] {
                if std::mem::replace(&mut given[*offset], true) {
                    return Err(self.twice(&self.show(&address, Some(*offset))));
                }
                cells[*offset] = *value;
            }
            is_begun = goes_on;
            if !goes_on {
                each(address, &cells, &given);
                cells.fill(0.0);
                given.fill(false);
            }
        }
        Ok(())
    }

    /// The cells that were given, by address and place; those of a whole subspace all.
    ///
    /// # Errors
    /// As [`TensorBuilder::finish`].
    pub(crate) fn given_cells(self) -> Result<Vec<GivenCell>, Rejection> {
        let mut all = Vec::with_capacity(self.whole.len() + self.single.len());
        self.each_subspace(&mut |address, cells, given| {
            for (offset, value) in cells.iter().enumerate() {
                if given.get(offset).copied().unwrap_or(true) {
                    all.push(GivenCell { address: address.clone(), offset, value: *value });
                }
            }
        })?;
        Ok(all)
    }

    /// The tensor. A type without mapped dimensions has zeros where nothing was given.
    ///
    /// # Errors
    /// If a cell was given twice, or a limit is passed.
    pub fn finish(mut self) -> Result<Tensor, Rejection> {
        let tensor_type = self.tensor_type.clone();
        let (addresses, cells) = match &mut self.runs[..] {
            [] => return Ok(Tensor::empty(tensor_type)),
            // The usual vector is not copied.
            [run] if run.is_whole => (vec![std::mem::take(&mut run.address)], self.whole),
            runs => {
                let (mut addresses, mut all) = (Vec::with_capacity(runs.len()), Vec::new());
                self.each_subspace(&mut |address, cells, _| {
                    addresses.push(address);
                    all.extend_from_slice(cells);
                })?;
                (addresses, all)
            }
        };
        Ok(Tensor { tensor_type, addresses, cells })
    }

    /// Splits labels into those of mapped dimensions and the offset of the cell in its dense subspace.
    fn locate(&self, labels: Labels) -> Result<(Vec<String>, usize), Rejection> {
        let dimensions = &self.tensor_type.dimensions;
        if let Some(missing) = labels.iter().position(Option::is_none) {
            let dimension = &dimensions[missing].name;
            return Err(self.refuse(format!("Missing a label for dimension '{dimension}' for {}", self.tensor_type)));
        }
        let mut offset = 0;
        let mut outside = false;
        for (dimension, label) in dimensions.iter().zip(labels.iter().flatten()) {
            let Some(size) = dimension.size else { continue };
            match parse_index(label, size) {
                Some(index) => offset = offset * size + index,
                None => outside = true,
            }
        }
        if outside {
            let labels: Vec<String> = labels.iter().flatten().map(|label| Rejection::quote(label)).collect();
            let message =
                format!("cell address ({}) is not within the bounds of {}", labels.join(","), self.tensor_type);
            return Err(self.refuse(message));
        }
        // In the room of the labels.
        let mapped = labels.into_iter().zip(dimensions).filter_map(|(label, of)| label.filter(|_| of.is_mapped()));
        Ok((mapped.collect(), offset))
    }

    fn place(&self, address: &[String]) -> String {
        if address.is_empty() { String::new() } else { format!("At {}: ", self.show(address, None)) }
    }

    /// An address as `{k:a,x:0}`; indexed dimensions where a cell is shown.
    fn show(&self, address: &[String], cell: Option<usize>) -> String {
        let places = Places::of(&self.tensor_type);
        let mut indexes = cell.into_iter().flat_map(|offset| places.indexes(offset));
        let mut labels = address.iter();
        let shown = self.tensor_type.dimensions.iter().filter_map(|dimension| {
            let label = if dimension.is_mapped() { labels.next()?.clone() } else { indexes.next()?.to_string() };
            Some(format!("{}:{}", dimension.name, Rejection::quote(&label)))
        });
        format!("{{{}}}", shown.collect::<Vec<_>>().join(","))
    }

    fn twice(&self, address: &str) -> Rejection {
        self.refuse(format!("Multiple entries with same key: a cell at {address} is given more than once"))
    }
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
        builder.finish()
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
        let tensor = builder.finish().unwrap();
        assert_eq!(tensor.addresses, [["a"], ["b"]]);
        assert_eq!(tensor.cells, [1.0, 2.0, 3.0, f64::from(0.1f32), 0.0, 4.0, 3.0, 0.0]);
    }

    #[test]
    fn nothing_is_given_twice_or_out_of_bounds() {
        let mut builder = builder("tensor(k{},x[2])");
        builder.cell(labels(&["a", "1"]), 1.0).unwrap();
        builder.cell(labels(&["a", "0"]), 1.0).unwrap();
        builder.block(vec!["b".into()], vec![0.0; 2]).unwrap();
        builder.cell(labels(&["c", "1"]), 1.0).unwrap();
        assert_eq!(builder.clone().finish().unwrap().cells, [1.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
        let refused = |given: &dyn Fn(&mut TensorBuilder)| {
            let mut builder = builder.clone();
            given(&mut builder);
            assert_eq!(builder.clone().given_cells().is_err(), builder.clone().finish().is_err());
            builder.finish().unwrap_err().message
        };
        let again = |cell: &'static [&str]| refused(&|builder| builder.cell(labels(cell), 1.0).unwrap());
        assert!(again(&["a", "1"]).contains("a cell at {k:a,x:1} is given more than once"));
        assert!(again(&["c", "1"]).contains("a cell at {k:c,x:1} is given more than once"));
        assert!(again(&["b", "0"]).contains("a cell at {k:b} is given more than once"));
        for address in ["a", "b", "c"] {
            let block = refused(&|builder| builder.block(vec![address.into()], vec![0.0; 2]).unwrap());
            assert!(block.contains("is given more than once"), "{block}");
        }
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
        let mut cells = builder.clone();
        for label in ["b", "c"] {
            cells.cell(labels(&[label, "0"]), 1.0).unwrap();
        }
        assert!(cells.finish().unwrap_err().message.contains("limit of 8"), "three subspaces");
        builder.block(vec!["l".repeat(TENSOR_LABEL)], vec![0.0; 4]).unwrap();
        assert!(builder.block(vec!["c".into()], vec![0.0; 4]).unwrap_err().message.contains("limit of 8"));
    }

    #[test]
    fn addresses_are_in_the_order_of_their_labels() {
        let mut given = Vec::new();
        for first in ["", "a", "a\0", "ab", "é", "12345678", "123456789", "1234567", "12345678\0", "😀", "\u{fffd}"]
        {
            for second in ["b", "", "a"] {
                given.push(vec![first.to_owned(), second.to_owned()]);
            }
        }
        let mut builder = builder("tensor(k{},l{})");
        for (at, address) in given.iter().enumerate() {
            if at % 2 == 0 {
                builder.block(address.clone(), vec![at as f64]).unwrap();
            } else {
                builder.cell(address.iter().cloned().map(Some).collect(), at as f64).unwrap();
            }
        }
        let tensor = builder.finish().unwrap();
        let cells: Vec<f64> =
            tensor.addresses.iter().map(|at| given.iter().position(|own| own == at).unwrap() as f64).collect();
        assert_eq!(tensor.cells, cells);
        given.sort();
        assert_eq!(tensor.addresses, given);
    }
}
