//! Where a program has the features of a document from.
use std::rc::Rc;
use std::sync::Arc;

use brooklet_document::{CellType, Tensor};

use crate::model_output::ModelOutput;

/// The features of the document being ranked, by their index in [`Program::features`].
///
/// Asked only for what is needed (lazily), and again for each use: a source whose features are dear keeps them.
pub trait FeatureSource {
    /// The value of a feature whose type is a number.
    fn number(&mut self, feature: usize) -> f64;

    /// The value of a feature whose type is a tensor. It has exactly the type the environment said.
    fn tensor(&mut self, feature: usize) -> Rc<Tensor>;

    /// Shows the rows of a tensor feature as they are stored: along its last indexed dimension, in the order of its cells.
    /// Returns whether it could; if not, nothing was shown, and [`FeatureSource::tensor`] is asked instead.
    fn rows(&mut self, feature: usize, show: &mut dyn FnMut(StoredRows<'_>)) -> bool {
        let _ = (feature, show);
        false
    }

    /// Shows the labels of a tensor feature whose rows can be shown, an address after the other in the order of its cells.
    /// Returns whether it could, as [`FeatureSource::rows`] does.
    fn labels(&mut self, feature: usize, show: &mut dyn FnMut(&[&str])) -> bool {
        let _ = (feature, show);
        false
    }

    /// An output of an ONNX model for these inputs, of the output's type; anything of that type while it is not known.
    fn model_output(&mut self, output: &Arc<ModelOutput>, inputs: &[Rc<Tensor>]) -> Rc<Tensor> {
        let _ = inputs;
        Rc::new(Tensor::empty(output.result.clone()))
    }

    /// The number of outputs that were asked for and are not known.
    fn unknown_outputs(&self) -> usize {
        0
    }
}

/// Rows of cells that lie together.
#[derive(Clone, Copy, Debug)]
pub struct StoredRows<'a> {
    /// The type of the cells, little-endian.
    pub cell: CellType,
    /// Cells of a row.
    pub size: usize,
    /// Bytes from one row to the next, at least those of a row.
    pub stride: usize,
    /// The rows; the last may end with its cells.
    pub bytes: &'a [u8],
}
