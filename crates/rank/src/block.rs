//! A program evaluated for a block of documents at a time: a node at a time for all of them, a column of numbers for each.
//!
//! Every number is the one that a document at a time would get, bit by bit: the same operations in the same order. Nor
//! is more asked for: a branch is evaluated for the documents that take it, and for no others. What is made of tensors is
//! evaluated a document at a time, in between.
use brooklet_task::{Code, Rejection};

use crate::evaluate::Run;
use crate::interval::Interval;
use crate::node::{ForestNode, Node, NumberNode, SwitchNode};
use crate::operation::{Binary, truth};
use crate::program::{FeatureSource, Program, Scratch};

/// Documents of a block, at most.
pub const BLOCK: usize = 64;

/// The features of a block of documents, which go by their places in it: from 0, below [`BLOCK`].
pub trait BlockSource {
    /// The values of a number feature in the documents at these places, which ascend: one for each, in their order.
    fn numbers(&mut self, feature: usize, places: &[u32], values: &mut [f64]);

    /// The features of one of the documents.
    fn document(&mut self, place: u32) -> &mut dyn FeatureSource;

    /// Whether a feature is dear and has bounds that are not: [`BlockSource::bounds`] is asked where they are enough.
    fn is_dear(&self, feature: usize) -> bool {
        let _ = feature;
        false
    }

    /// Bounds of a number feature in the documents at these places. False: they are not known.
    fn bounds(&mut self, feature: usize, places: &[u32], bounds: &mut [Interval]) -> bool {
        let _ = (feature, places, bounds);
        false
    }
}

/// What a program remembers while it is evaluated for blocks; kept by the caller, so that evaluating does not allocate.
#[derive(Debug, Default)]
pub struct BlockScratch {
    /// What belongs to each place.
    pub(crate) places: Vec<Scratch>,
    /// Documents of the latest block.
    documents: usize,
    columns: Vec<Vec<f64>>,
    lists: Vec<Vec<u32>>,
}

/// Whether evaluating blocks is worth it: there are trees, or nothing but numbers.
pub(crate) fn is_worth_it(root: &Node, memos: &[Node]) -> bool {
    let (mut has_trees, mut has_more) = (false, false);
    let mut open = Vec::new();
    for node in memos.iter().chain([root]) {
        match node {
            Node::Number(number) => open.push(number),
            Node::Tensor(_) => has_more = true,
        }
    }
    while let Some(node) = open.pop() {
        use NumberNode as N;
        has_trees |= matches!(node, N::Forest(_));
        has_more |= matches!(
            node,
            N::Local(_)
                | N::Apply(..)
                | N::Reduce(..)
                | N::ReduceProduct(..)
                | N::MaxSim(_)
                | N::Cell(_)
                | N::ModelOutput(_)
        );
        node.for_each_part(&mut |part| open.push(part));
    }
    has_trees || !has_more
}

impl BlockScratch {
    /// How much was done for the latest block, in cells of tensors ([`Scratch::cells`]).
    #[must_use]
    pub fn cells(&self) -> usize {
        self.places.iter().take(self.documents).map(Scratch::cells).sum()
    }
}

/// The evaluation of one block.
pub(crate) struct Blocks<'a> {
    pub(crate) program: &'a Program,
    pub(crate) source: &'a mut dyn BlockSource,
    pub(crate) scratch: &'a mut BlockScratch,
}

impl<'a> Blocks<'a> {
    /// The evaluation of a block of so many documents.
    pub(crate) fn begin(
        program: &'a Program,
        source: &'a mut dyn BlockSource,
        scratch: &'a mut BlockScratch,
        documents: usize,
    ) -> Blocks<'a> {
        while scratch.places.len() < documents {
            scratch.places.push(program.scratch());
        }
        for place in &mut scratch.places[..documents] {
            place.begin();
        }
        scratch.documents = documents;
        Blocks { program, source, scratch }
    }

    /// The scores of all documents of the block.
    pub(crate) fn scores(mut self, scores: &mut [f64]) -> Result<(), Rejection> {
        let program = self.program;
        let places = self.all(scores.len());
        match &program.root {
            Node::Number(root) => self.column(root, &places, scores),
            Node::Tensor(root) => {
                for (place, score) in places.iter().zip(&mut *scores) {
                    *score = self.document(*place).tensor_score(root)?;
                }
            }
        }
        self.let_go(places);
        let failures = self.scratch.places[..scores.len()].iter_mut().filter_map(|place| place.failure.take());
        failures.map(Err).next().unwrap_or(Ok(()))
    }

    /// The list of all places.
    pub(crate) fn all(&mut self, documents: usize) -> Vec<u32> {
        let mut places = self.list();
        places.extend(0..documents as u32);
        places
    }

    /// An empty list.
    pub(crate) fn list(&mut self) -> Vec<u32> {
        let mut list = self.scratch.lists.pop().unwrap_or_default();
        list.clear();
        list
    }

    /// Keeps a list for later use.
    pub(crate) fn let_go(&mut self, list: Vec<u32>) {
        self.scratch.lists.push(list);
    }

    /// A column of this length.
    pub(crate) fn room(&mut self, length: usize) -> Vec<f64> {
        let mut column = self.scratch.columns.pop().unwrap_or_default();
        column.resize(length, 0.0);
        column
    }

    /// Keeps a column for later use.
    pub(crate) fn put_back(&mut self, column: Vec<f64>) {
        self.scratch.columns.push(column);
    }

    fn document(&mut self, place: u32) -> Run<'_> {
        let Blocks { program, source, scratch } = self;
        Run { program, source: source.document(place), scratch: &mut scratch.places[place as usize] }
    }

    /// The values of a node in the documents at these places.
    fn column(&mut self, node: &NumberNode, places: &[u32], out: &mut [f64]) {
        if places.is_empty() {
            return;
        }
        match node {
            NumberNode::Constant(value) => out.fill(*value),
            NumberNode::Feature(feature) => self.source.numbers(*feature, places, out),
            NumberNode::Memo(slot) => self.memo(*slot, places, out),
            NumberNode::Unary(function, operand) => {
                self.column(operand, places, out);
                out.iter_mut().for_each(|value| *value = function.apply(*value));
            }
            NumberNode::Binary(function, operands) => {
                self.column(&operands[0], places, out);
                self.apply(*function, &operands[1], places, out);
            }
            NumberNode::Chain(first, rest) => {
                self.column(first, places, out);
                for (operator, operand) in rest {
                    match operator {
                        Binary::And | Binary::Or => self.logic(*operator, operand, places, out),
                        operator => self.apply(*operator, operand, places, out),
                    }
                }
            }
            NumberNode::In(value, set) => {
                self.column(value, places, out);
                out.iter_mut().for_each(|value| *value = truth(set.contains(value)));
            }
            NumberNode::If(branches) => self.branch(branches, places, out),
            NumberNode::Switch(switch) => self.switch(switch, places, out),
            NumberNode::Forest(node) => self.forest(node, places, out),
            node => {
                for (place, value) in places.iter().zip(out) {
                    *value = self.document(*place).number(node);
                }
            }
        }
    }

    /// A function of what stands in `out` and of another node.
    fn apply(&mut self, function: Binary, operand: &NumberNode, places: &[u32], out: &mut [f64]) {
        if let NumberNode::Constant(constant) = operand {
            return with_each(function, out, std::iter::repeat(constant));
        }
        let mut right = self.room(out.len());
        self.column(operand, places, &mut right);
        with_each(function, out, right.iter());
        self.put_back(right);
    }

    /// `&&` and `||` of what stands in `out` and of another node, which is evaluated where it matters.
    fn logic(&mut self, operator: Binary, operand: &NumberNode, places: &[u32], out: &mut [f64]) {
        let is_and = operator == Binary::And;
        let mut open = self.list();
        for (at, value) in out.iter_mut().enumerate() {
            if (*value != 0.0) == is_and {
                open.push(at as u32);
            } else {
                *value = truth(!is_and);
            }
        }
        self.some(operand, places, &open, out);
        open.iter().for_each(|at| out[*at as usize] = truth(out[*at as usize] != 0.0));
        self.let_go(open);
    }

    /// Evaluates a node for some of the documents: those `chosen`, by their number in `places`.
    fn some(&mut self, node: &NumberNode, places: &[u32], chosen: &[u32], out: &mut [f64]) {
        if chosen.len() == places.len() {
            return self.column(node, places, out);
        }
        let (mut of_chosen, mut values) = (self.list(), self.room(chosen.len()));
        of_chosen.extend(chosen.iter().map(|at| places[*at as usize]));
        self.column(node, &of_chosen, &mut values);
        chosen.iter().zip(&values).for_each(|(at, value)| out[*at as usize] = *value);
        self.let_go(of_chosen);
        self.put_back(values);
    }

    fn branch(&mut self, [condition, if_true, if_false]: &[NumberNode; 3], places: &[u32], out: &mut [f64]) {
        self.column(condition, places, out);
        let (mut yes, mut no) = (self.list(), self.list());
        for (at, value) in out.iter().enumerate() {
            if *value != 0.0 { yes.push(at as u32) } else { no.push(at as u32) }
        }
        self.some(if_true, places, &yes, out);
        self.some(if_false, places, &no, out);
        self.let_go(yes);
        self.let_go(no);
    }

    fn switch(&mut self, switch: &SwitchNode, places: &[u32], out: &mut [f64]) {
        let (mut values, mut cases) = (self.room(places.len()), self.room(places.len()));
        self.column(&switch.value, places, &mut values);
        let (mut open, mut equal) = (self.list(), self.list());
        open.extend(0..places.len() as u32);
        for (case, result) in &switch.cases {
            self.some(case, places, &open, &mut cases);
            equal.clear();
            open.retain(|at| {
                let is_equal = values[*at as usize] == cases[*at as usize];
                if is_equal {
                    equal.push(*at);
                }
                !is_equal
            });
            self.some(result, places, &equal, out);
        }
        self.some(&switch.default, places, &open, out);
        self.let_go(open);
        self.let_go(equal);
        self.put_back(values);
        self.put_back(cases);
    }

    fn memo(&mut self, slot: usize, places: &[u32], out: &mut [f64]) {
        let program = self.program;
        let mut lacking = self.list();
        lacking.extend(places.iter().filter(|place| !self.scratch.places[**place as usize].has(slot)));
        if !lacking.is_empty() {
            let mut values = self.room(lacking.len());
            match &program.memos[slot] {
                Node::Number(number) => self.column(number, &lacking, &mut values),
                Node::Tensor(_) => values.fill(f64::NAN),
            }
            let is_tensor = matches!(&program.memos[slot], Node::Tensor(_));
            for (place, value) in lacking.iter().zip(&values) {
                let place = &mut self.scratch.places[*place as usize];
                place.memo_numbers[slot] = *value;
                place.made[slot] = place.evaluation;
                if is_tensor {
                    let message = "a tensor where a number was compiled";
                    place.failure.get_or_insert_with(|| Rejection::new(Code::Internal, message));
                }
            }
            self.put_back(values);
        }
        self.let_go(lacking);
        for (place, value) in places.iter().zip(out) {
            *value = self.scratch.places[*place as usize].memo_numbers[slot];
        }
    }

    fn forest(&mut self, node: &ForestNode, places: &[u32], out: &mut [f64]) {
        let width = node.inputs.len();
        let (mut rows, mut input) = (self.room(width * places.len()), self.room(places.len()));
        for (number, of) in node.inputs.iter().enumerate() {
            self.column(of, places, &mut input);
            for (row, value) in rows.chunks_exact_mut(width.max(1)).zip(&input) {
                row[number] = *value;
            }
        }
        node.forest.predict(&rows, width, out);
        self.put_back(rows);
        self.put_back(input);
    }
}

/// A function of each value and of another, which goes by the value's place.
pub(crate) fn with_each<'v>(function: Binary, values: &mut [f64], others: impl Iterator<Item = &'v f64>) {
    let pairs = values.iter_mut().zip(others);
    match function {
        Binary::Add => pairs.for_each(|(value, other)| *value += other),
        Binary::Subtract => pairs.for_each(|(value, other)| *value -= other),
        Binary::Multiply => pairs.for_each(|(value, other)| *value *= other),
        Binary::Divide => pairs.for_each(|(value, other)| *value /= other),
        Binary::Power | Binary::Pow => powers(pairs),
        function => pairs.for_each(|(value, other)| *value = function.apply(*value, *other)),
    }
}

/// Powers of each value. Many documents have the same one, as those without a word of the query: it is raised once.
fn powers<'a, 'v>(pairs: impl Iterator<Item = (&'a mut f64, &'v f64)>) {
    let mut last: Option<((u64, u64), f64)> = None;
    for (value, exponent) in pairs {
        let operands = (value.to_bits(), exponent.to_bits());
        *value = match last {
            Some((same, power)) if same == operands => power,
            _ => Binary::Pow.apply(*value, *exponent),
        };
        last = Some((operands, *value));
    }
}
