//! Models of decision trees, as the readers of the dumps make them.
use super::quick::Quick;
use super::trees::Trees;
use crate::interval::Interval;

/// A model as it was read.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) forest: Forest,
    /// What each input is, as a ranking expression.
    pub(crate) inputs: Vec<String>,
    /// The sum goes through the sigmoid, times this; nothing: it is the value.
    pub(crate) sigmoid: Option<f64>,
}

/// Trees whose leaves are added up.
#[derive(Debug)]
pub(crate) struct Forest {
    trees: Trees,
    /// The same trees for many rows at a time.
    quick: Quick,
}

impl Forest {
    /// The forest of these trees, all of which are planted.
    pub(super) fn new(trees: Trees) -> Forest {
        Forest { quick: Quick::new(&trees), trees }
    }

    /// The sums for rows of `width` inputs, one after the other in `rows`: a tree at a time for all of them.
    pub(crate) fn predict(&self, rows: &[f64], width: usize, sums: &mut [f64]) {
        sums.fill(self.trees.start);
        if Quick::is_worth_it(sums.len()) {
            self.quick.add_leaves(&self.trees, rows, width, sums);
        } else {
            self.trees.roots.iter().for_each(|root| self.trees.walk(*root, rows, width, sums));
        }
        if self.trees.divisor != 1.0 {
            sums.iter_mut().for_each(|sum| *sum /= self.trees.divisor);
        }
    }

    /// Between which sums the trees yield for inputs within these bounds.
    pub(crate) fn bounds(&self, inputs: &[Interval]) -> Interval {
        self.trees.bounds(inputs)
    }
}
