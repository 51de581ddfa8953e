//! Decision trees, flattened, and walking them.
use brooklet_kernel::sort_by;

use super::grown;
use super::grown::{Grown, Missing};
use crate::interval::Interval;

/// How numbers are held while they are compared and added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    /// LightGBM: float64.
    Double,
    /// XGBoost: float32 inputs, thresholds and sums.
    Single,
}

/// What decides which way a row goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Test {
    /// First if not above the threshold.
    NotAbove(f64),
    /// First if below the threshold.
    Below(f64),
    /// First if it is one of the categories from … to ….
    OneOf(u32, u32),
}

/// A node: where its test leads. A child below zero is the leaf of that number, counted from −1 down.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) input: u32,
    pub(super) missing: Missing,
    pub(super) missing_goes_first: bool,
    pub(super) test: Test,
    pub(super) first: i32,
    pub(super) second: i32,
}

/// Trees whose leaves are added up.
#[derive(Debug)]
pub(super) struct Trees {
    pub(super) arithmetic: Arithmetic,
    pub(super) nodes: Vec<Node>,
    pub(super) leaves: Vec<f64>,
    /// Where each tree begins: a node, or a leaf.
    pub(super) roots: Vec<i32>,
    /// Categories of tests: whole numbers, hashes of texts. Sorted within each test.
    pub(super) categories: Vec<f64>,
    /// The sum begins with this.
    pub(super) start: f64,
    /// The sum is divided by this.
    pub(super) divisor: f64,
}

/// What LightGBM takes for zero.
pub(super) const NEARLY_ZERO: f64 = 1e-35f32 as f64;

impl Trees {
    pub(super) fn new(arithmetic: Arithmetic, start: f64) -> Trees {
        Trees {
            arithmetic,
            nodes: Vec::new(),
            leaves: Vec::new(),
            roots: Vec::new(),
            categories: Vec::new(),
            start,
            divisor: 1.0,
        }
    }

    /// Adds a tree.
    pub(super) fn plant(&mut self, tree: Grown) {
        let root = self.flatten(tree);
        self.roots.push(root);
    }

    /// Flattens a tree without recursion, parents before their children.
    fn flatten(&mut self, tree: Grown) -> i32 {
        let mut open = vec![(tree, None)];
        let mut root = 0;
        while let Some((tree, parent)) = open.pop() {
            let place = match tree {
                Grown::Leaf(value) => {
                    self.leaves.push(value);
                    -(self.leaves.len() as i32)
                }
                Grown::Split(split) => {
                    let test = match split.test {
                        grown::Test::NotAbove(threshold) => Test::NotAbove(threshold),
                        grown::Test::Below(threshold) => Test::Below(threshold),
                        grown::Test::OneOf(mut categories) => {
                            sort_by(&mut categories, f64::total_cmp);
                            let from = self.categories.len() as u32;
                            self.categories.extend(categories);
                            Test::OneOf(from, self.categories.len() as u32)
                        }
                    };
                    let (missing, missing_goes_first) = (split.missing, split.missing_goes_first);
                    self.nodes.push(Node {
                        input: split.input,
                        missing,
                        missing_goes_first,
                        test,
                        first: 0,
                        second: 0,
                    });
                    let at = self.nodes.len() as i32 - 1;
                    open.push((split.second, Some((at, false))));
                    open.push((split.first, Some((at, true))));
                    at
                }
            };
            match parent {
                None => root = place,
                Some((at, true)) => self.nodes[at as usize].first = place,
                Some((at, false)) => self.nodes[at as usize].second = place,
            }
        }
        root
    }

    /// Adds the leaves that rows end in.
    pub(super) fn walk(&self, root: i32, rows: &[f64], width: usize, sums: &mut [f64]) {
        for (number, sum) in sums.iter_mut().enumerate() {
            *sum = self.add(*sum, self.leaves[self.leaf(root, &rows[number * width..][..width])]);
        }
    }

    pub(super) fn add(&self, sum: f64, leaf: f64) -> f64 {
        match self.arithmetic {
            Arithmetic::Double => sum + leaf,
            Arithmetic::Single => f64::from(sum as f32 + leaf as f32),
        }
    }

    /// The leaf a row ends in.
    fn leaf(&self, root: i32, row: &[f64]) -> usize {
        let mut at = root;
        while at >= 0 {
            let node = &self.nodes[at as usize];
            at = if self.goes_first(node, row[node.input as usize]) { node.first } else { node.second };
        }
        (-1 - at) as usize
    }

    #[inline]
    pub(super) fn goes_first(&self, node: &Node, input: f64) -> bool {
        let input = match self.arithmetic {
            Arithmetic::Double => input,
            Arithmetic::Single => f64::from(input as f32),
        };
        if let Test::OneOf(from, to) = node.test {
            return self.is_one_of(node, from, to, input);
        }
        let input = if node.missing != Missing::NaN && input.is_nan() { 0.0 } else { input };
        let is_missing = match node.missing {
            Missing::None => false,
            Missing::Zero => input.abs() <= NEARLY_ZERO,
            Missing::NaN => input.is_nan(),
        };
        match node.test {
            _ if is_missing => node.missing_goes_first,
            Test::NotAbove(threshold) => input <= threshold,
            Test::Below(threshold) => input < threshold,
            Test::OneOf(..) => false,
        }
    }

    /// Whether a category is one of the test's. A number is cut off to a whole one, unless it stands for a text.
    fn is_one_of(&self, node: &Node, from: u32, to: u32, input: f64) -> bool {
        if input.is_nan() {
            return node.missing_goes_first;
        }
        let categories = &self.categories[from as usize..to as usize];
        let holds = |value: f64| categories.binary_search_by(|category| category.total_cmp(&value)).is_ok();
        // −0.5 is cut off to −0, which is 0.
        holds(input) || holds(input.trunc() + 0.0)
    }

    /// Between which sums the trees yield for inputs within these bounds.
    pub(super) fn bounds(&self, inputs: &[Interval]) -> Interval {
        let (mut low, mut high) = (self.start, self.start);
        let mut open: Vec<i32> = Vec::new();
        for root in &self.roots {
            let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
            open.push(*root);
            while let Some(at) = open.pop() {
                if at < 0 {
                    let value = self.leaves[(-1 - at) as usize];
                    (least, most) = (least.min(value), most.max(value));
                    continue;
                }
                let node = &self.nodes[at as usize];
                let (may_go_first, may_go_second) = self.ways(node, &inputs[node.input as usize]);
                open.extend(
                    [(may_go_first, node.first), (may_go_second, node.second)]
                        .iter()
                        .filter_map(|(may, child)| may.then_some(*child)),
                );
            }
            // Adding rounds, and rounding keeps the order: these are bounds of the sums bit by bit.
            (low, high) = (self.add(low, least), self.add(high, most));
        }
        Interval::between(low / self.divisor, high / self.divisor)
    }

    /// Which ways a node can lead for an input within these bounds.
    fn ways(&self, node: &Node, input: &Interval) -> (bool, bool) {
        let has_numbers = input.lo <= input.hi;
        if input.lo == input.hi && !input.may_be_nan {
            let first = self.goes_first(node, input.lo);
            return (first, !first);
        }
        let simple = matches!(node.test, Test::NotAbove(_) | Test::Below(_)) && node.missing != Missing::Zero;
        if !simple {
            return (true, true);
        }
        // Both tests are monotone: who goes first at the upper end goes first everywhere.
        let (at_low, at_high) = (self.goes_first(node, input.lo), self.goes_first(node, input.hi));
        let of_nan = self.goes_first(node, f64::NAN);
        let first = has_numbers && at_low || input.may_be_nan && of_nan;
        let second = has_numbers && !at_high || input.may_be_nan && !of_nan;
        (first, second)
    }

    /// The number of inputs a row needs at least.
    pub(super) fn width(&self) -> usize {
        self.nodes.iter().map(|node| node.input as usize + 1).max().unwrap_or(0)
    }
}
