//! Small trees over a block of rows without a walk: each test of a tree rules the leaves of its first way out for the rows
//! that go the second; the first leaf that is left is the one a walk ends in (QuickScorer: Lucchese and others, 2015).
//!
//! Inputs are replaced by codes once for all trees: how many of the thresholds that an input is compared with are below it
//! (or not above it). Comparing codes is comparing numbers, and there are no branches that depend on data.
use std::ops::{BitAnd, BitOr};

use brooklet_kernel::sort_by;

use super::grown::Missing;
use super::trees::{Arithmetic, NEARLY_ZERO, Test, Trees};

/// Rows that are coded together.
const ROWS: usize = 64;
/// Rows below which walking is cheaper.
const ROWS_MIN: usize = 8;
/// The code of an input that always goes the second way; 0 always goes the first.
const SECOND: u32 = u32::MAX;

/// What the trees of a forest are made of, where they are small.
#[derive(Debug, Default)]
pub(super) struct Quick {
    /// For each input the thresholds that it is compared with, ascending.
    thresholds: Vec<Vec<f64>>,
    columns: Vec<Column>,
    narrow: Vec<Ruling<u32>>,
    wide: Vec<Ruling<u64>>,
    /// The numbers of nodes that test for categories, and what they rule out.
    categories: Vec<(u32, u64)>,
    trees: Vec<Tree>,
}

/// Codes of an input, and what becomes of those that are missing.
#[derive(Clone, Copy, Debug)]
struct Column {
    input: u32,
    missing: Missing,
    missing_goes_first: bool,
}

/// A test: rows whose code is above the rank keep the leaves of the mask only.
#[derive(Clone, Copy, Debug)]
struct Ruling<Mask> {
    column: u32,
    rank: u32,
    mask: Mask,
}

/// The evaluation of a tree.
#[derive(Clone, Copy, Debug)]
enum Tree {
    /// Up to 32 leaves: its rulings, and those of its categories.
    Narrow { rulings: (u32, u32), categories: (u32, u32), first_leaf: u32 },
    /// Up to 64 leaves.
    Wide { rulings: (u32, u32), categories: (u32, u32), first_leaf: u32 },
    /// A walk.
    Walked,
}

/// A set of leaves.
trait Mask: Copy + BitAnd<Output = Self> + BitOr<Output = Self> {
    const ALL: Self;
    fn from_bits(mask: u64) -> Self;
    /// All leaves, or none: by arithmetic, which compilers turn into vectors where they would keep a choice.
    fn all_unless(condition: bool) -> Self;
    fn first(self) -> usize;
}

impl Mask for u32 {
    const ALL: u32 = u32::MAX;
    fn from_bits(mask: u64) -> u32 {
        mask as u32
    }
    #[inline]
    fn all_unless(condition: bool) -> u32 {
        u32::from(condition).wrapping_sub(1)
    }
    fn first(self) -> usize {
        self.trailing_zeros() as usize
    }
}

impl Mask for u64 {
    const ALL: u64 = u64::MAX;
    fn from_bits(mask: u64) -> u64 {
        mask
    }
    #[inline]
    fn all_unless(condition: bool) -> u64 {
        u64::from(condition).wrapping_sub(1)
    }
    fn first(self) -> usize {
        self.trailing_zeros() as usize
    }
}

/// A tree looked through: the leaves of its first ways, a range for each node.
struct Shape {
    nodes: Vec<(usize, u32, u32)>,
    first_leaf: usize,
    leaves: u32,
}

impl Quick {
    pub(super) fn new(trees: &Trees) -> Quick {
        let width = trees.width();
        let mut quick = Quick { thresholds: vec![Vec::new(); width], ..Quick::default() };
        for node in &trees.nodes {
            if let Test::NotAbove(threshold) | Test::Below(threshold) = node.test {
                quick.thresholds[node.input as usize].push(threshold);
            }
        }
        for of_input in &mut quick.thresholds {
            of_input.retain(|threshold| !threshold.is_nan());
            sort_by(of_input, f64::total_cmp);
            of_input.dedup();
        }
        let mut columns = vec![[None; 6]; width];
        for root in &trees.roots {
            let tree = shape(trees, *root).map_or(Tree::Walked, |shape| quick.add(trees, &shape, &mut columns));
            quick.trees.push(tree);
        }
        quick
    }

    /// Takes a tree in. `columns`: the column of each input for each way that missing values go.
    fn add(&mut self, trees: &Trees, shape: &Shape, columns: &mut [[Option<u32>; 6]]) -> Tree {
        let first_leaf = shape.first_leaf as u32;
        let is_narrow = shape.leaves <= u32::BITS;
        let rulings_before = if is_narrow { self.narrow.len() } else { self.wide.len() } as u32;
        let categories_before = self.categories.len() as u32;
        for (number, from, to) in &shape.nodes {
            let node = &trees.nodes[*number];
            let ruled_out = (u64::MAX >> (64 - (to - from))) << from;
            let threshold = match node.test {
                Test::NotAbove(threshold) | Test::Below(threshold) => threshold,
                Test::OneOf(..) => {
                    self.categories.push((*number as u32, !ruled_out));
                    continue;
                }
            };
            let (missing, missing_goes_first) = (node.missing, node.missing_goes_first);
            let known = &mut columns[node.input as usize][2 * missing as usize + usize::from(missing_goes_first)];
            let column = *known.get_or_insert_with(|| {
                self.columns.push(Column { input: node.input, missing, missing_goes_first });
                self.columns.len() as u32 - 1
            });
            let rank = self.thresholds[node.input as usize].partition_point(|other| *other < threshold) as u32;
            match is_narrow {
                true => self.narrow.push(Ruling { column, rank, mask: Mask::from_bits(!ruled_out) }),
                false => self.wide.push(Ruling { column, rank, mask: !ruled_out }),
            }
        }
        let categories = (categories_before, self.categories.len() as u32);
        match is_narrow {
            true => Tree::Narrow { rulings: (rulings_before, self.narrow.len() as u32), categories, first_leaf },
            false => Tree::Wide { rulings: (rulings_before, self.wide.len() as u32), categories, first_leaf },
        }
    }

    /// The code of an input.
    fn code(&self, column: Column, arithmetic: Arithmetic, input: f64) -> u32 {
        let of_missing = if column.missing_goes_first { 0 } else { SECOND };
        let input = match (column.missing, arithmetic) {
            (Missing::NaN, _) if input.is_nan() => return of_missing,
            (Missing::Zero, _) if input.is_nan() || input.abs() <= NEARLY_ZERO => return of_missing,
            _ if input.is_nan() => 0.0,
            (_, Arithmetic::Double) => input,
            (_, Arithmetic::Single) => f64::from(input as f32),
        };
        let thresholds = &self.thresholds[column.input as usize];
        // LightGBM's trees go first if not above a threshold, XGBoost's if below.
        (match arithmetic {
            Arithmetic::Double => thresholds.partition_point(|threshold| *threshold < input),
            Arithmetic::Single => thresholds.partition_point(|threshold| *threshold <= input),
        }) as u32
    }

    /// Whether so many rows are better added here than walked.
    pub(super) fn is_worth_it(rows: usize) -> bool {
        rows >= ROWS_MIN
    }

    /// Adds the leaves of each row to its sum, tree by tree.
    pub(super) fn add_leaves(&self, trees: &Trees, rows: &[f64], width: usize, sums: &mut [f64]) {
        let mut codes = vec![[0; ROWS]; self.columns.len()];
        for (number, sums) in sums.chunks_mut(ROWS).enumerate() {
            let rows = &rows[number * ROWS * width..][..sums.len() * width];
            for (column, codes) in self.columns.iter().zip(&mut codes) {
                for (at, code) in codes.iter_mut().take(sums.len()).enumerate() {
                    *code = self.code(*column, trees.arithmetic, rows[at * width + column.input as usize]);
                }
            }
            for (tree, root) in self.trees.iter().zip(&trees.roots) {
                match *tree {
                    Tree::Narrow { rulings, categories, first_leaf } => {
                        let left = left(&self.narrow[rulings.0 as usize..rulings.1 as usize], &codes);
                        self.add_tree(trees, (left, categories, first_leaf), rows, width, sums);
                    }
                    Tree::Wide { rulings, categories, first_leaf } => {
                        let left = left(&self.wide[rulings.0 as usize..rulings.1 as usize], &codes);
                        self.add_tree(trees, (left, categories, first_leaf), rows, width, sums);
                    }
                    Tree::Walked => trees.walk(*root, rows, width, sums),
                }
            }
        }
    }

    /// Adds the first of the leaves that are left to each row, once its categories have been looked at.
    fn add_tree<M: Mask>(
        &self,
        trees: &Trees,
        (mut left, categories, first_leaf): ([M; ROWS], (u32, u32), u32),
        rows: &[f64],
        width: usize,
        sums: &mut [f64],
    ) {
        for (number, mask) in &self.categories[categories.0 as usize..categories.1 as usize] {
            let node = &trees.nodes[*number as usize];
            for (at, left) in left.iter_mut().take(sums.len()).enumerate() {
                if !trees.goes_first(node, rows[at * width + node.input as usize]) {
                    *left = *left & M::from_bits(*mask);
                }
            }
        }
        for (sum, left) in sums.iter_mut().zip(left) {
            *sum = trees.add(*sum, trees.leaves[first_leaf as usize + left.first()]);
        }
    }
}

/// The leaves that are left to each row by these rulings.
#[inline]
fn left<M: Mask>(rulings: &[Ruling<M>], codes: &[[u32; ROWS]]) -> [M; ROWS] {
    let mut left = [M::ALL; ROWS];
    for ruling in rulings {
        let codes = &codes[ruling.column as usize];
        for (left, code) in left.iter_mut().zip(codes) {
            *left = *left & (ruling.mask | M::all_unless(*code > ruling.rank));
        }
    }
    left
}

/// The shape of a tree; nothing if it has more leaves than a mask has bits, or a threshold that is no number.
fn shape(trees: &Trees, root: i32) -> Option<Shape> {
    let mut shape = Shape { nodes: Vec::new(), first_leaf: 0, leaves: 0 };
    // A node comes again when the leaves of its first way are counted.
    let mut open = vec![(root, None)];
    while let Some((at, counted_from)) = open.pop() {
        if at < 0 {
            if shape.leaves == 0 {
                shape.first_leaf = (-1 - at) as usize;
            }
            shape.leaves += 1;
            if shape.leaves > u64::BITS {
                return None;
            }
            continue;
        }
        let node = &trees.nodes[at as usize];
        match counted_from {
            None => {
                if matches!(node.test, Test::NotAbove(threshold) | Test::Below(threshold) if threshold.is_nan()) {
                    return None;
                }
                open.push((at, Some(shape.leaves)));
                open.push((node.first, None));
            }
            Some(from) => {
                shape.nodes.push((at as usize, from, shape.leaves));
                open.push((node.second, None));
            }
        }
    }
    Some(shape)
}
