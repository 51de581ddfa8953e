//! Bounds of a program for a block of documents at a time. Where nothing but what is known goes in, numbers are computed
//! as numbers, and only what depends on a dear feature is bounded.
use crate::block::{Blocks, with_each};
use crate::interval::{Interval, binary, unary};
use crate::node::{ForestNode, Node, NumberNode, SwitchNode};
use crate::operation::{Binary, truth};

/// What is known of a node in some documents.
pub(crate) enum Known {
    /// The values.
    Exactly(Vec<f64>),
    Bounds(Vec<Interval>),
}

impl Known {
    /// Bounds of what stands at `at`.
    fn at(&self, at: usize) -> Interval {
        match self {
            Known::Exactly(values) => Interval::exactly(values[at]),
            Known::Bounds(bounds) => bounds[at],
        }
    }

    fn is_exact(&self) -> bool {
        matches!(self, Known::Exactly(_))
    }

    /// Bounds, which are values if `is_exact`.
    fn from_bounds(bounds: Vec<Interval>, is_exact: bool) -> Known {
        match is_exact {
            true => Known::Exactly(bounds.iter().map(|of| if of.may_be_nan { f64::NAN } else { of.lo }).collect()),
            false => Known::Bounds(bounds),
        }
    }
}

/// What is reached by several ways, put together.
struct Reached {
    bounds: Vec<Interval>,
    is_exact: bool,
}

impl Reached {
    fn new(documents: usize) -> Reached {
        Reached { bounds: vec![Interval::NOTHING; documents], is_exact: true }
    }

    /// What is known of the documents `chosen`.
    fn add(&mut self, chosen: &[u32], known: &Known) {
        self.is_exact &= known.is_exact();
        for (number, at) in chosen.iter().enumerate() {
            let at = *at as usize;
            self.bounds[at] = self.bounds[at].union(known.at(number));
        }
    }
}

impl Blocks<'_> {
    /// Bounds of the values of all documents of the block. False: they are not known.
    pub(crate) fn intervals(mut self, intervals: &mut [Interval]) -> bool {
        let program = self.program;
        let Node::Number(root) = &program.root else { return false };
        let places = self.all(intervals.len());
        let known = self.bounds_of(root, &places);
        self.let_go(places);
        let Some(known) = known else { return false };
        intervals.iter_mut().enumerate().for_each(|(at, interval)| *interval = known.at(at));
        if let Known::Exactly(values) = known {
            self.put_back(values);
        }
        true
    }

    /// What is known of a node in the documents at these places; nothing if it has no bounds.
    fn bounds_of(&mut self, node: &NumberNode, places: &[u32]) -> Option<Known> {
        Some(match node {
            NumberNode::Constant(value) => {
                let mut values = self.room(places.len());
                values.fill(*value);
                Known::Exactly(values)
            }
            NumberNode::Feature(feature) => return self.feature(*feature, places),
            NumberNode::Memo(slot) => return self.known_memo(*slot, places),
            NumberNode::Unary(function, operand) => match self.bounds_of(operand, places)? {
                Known::Exactly(mut values) => {
                    values.iter_mut().for_each(|value| *value = function.apply(*value));
                    Known::Exactly(values)
                }
                Known::Bounds(mut bounds) => {
                    bounds.iter_mut().for_each(|of| *of = unary(*function, *of));
                    Known::Bounds(bounds)
                }
            },
            NumberNode::Binary(function, operands) => {
                let left = self.bounds_of(&operands[0], places)?;
                let right = self.bounds_of(&operands[1], places)?;
                self.both(*function, left, right)
            }
            NumberNode::Chain(first, rest) => {
                let mut left = self.bounds_of(first, places)?;
                for (operator, operand) in rest {
                    left = match (operator, left) {
                        (Binary::And | Binary::Or, Known::Exactly(values)) => {
                            self.known_logic(*operator, values, operand, places)?
                        }
                        (operator, left) => {
                            let right = self.bounds_of(operand, places)?;
                            self.both(*operator, left, right)
                        }
                    };
                }
                left
            }
            NumberNode::In(value, set) => match self.bounds_of(value, places)? {
                Known::Exactly(mut values) => {
                    values.iter_mut().for_each(|value| *value = truth(set.contains(value)));
                    Known::Exactly(values)
                }
                Known::Bounds(mut bounds) => {
                    bounds.iter_mut().for_each(|of| *of = of.is_in(set));
                    Known::Bounds(bounds)
                }
            },
            NumberNode::If(branches) => return self.known_branch(branches, places),
            NumberNode::Switch(switch) => return self.known_switch(switch, places),
            NumberNode::Forest(node) => self.known_forest(node, places),
            _ => return None,
        })
    }

    fn feature(&mut self, feature: usize, places: &[u32]) -> Option<Known> {
        if self.source.is_dear(feature) {
            let mut bounds = vec![Interval::NOTHING; places.len()];
            let are_known = self.source.bounds(feature, places, &mut bounds);
            bounds.iter_mut().for_each(|of| *of = of.or_anything());
            return are_known.then_some(Known::Bounds(bounds));
        }
        let mut values = self.room(places.len());
        self.source.numbers(feature, places, &mut values);
        Some(Known::Exactly(values))
    }

    /// A function of two nodes.
    fn both(&mut self, function: Binary, left: Known, right: Known) -> Known {
        match (left, right) {
            (Known::Exactly(mut left), Known::Exactly(right)) => {
                with_each(function, &mut left, right.iter());
                self.put_back(right);
                Known::Exactly(left)
            }
            (Known::Bounds(mut left), Known::Exactly(right)) => {
                let pairs = left.iter_mut().zip(&right);
                pairs.for_each(|(left, right)| *left = binary(function, *left, Interval::exactly(*right)));
                self.put_back(right);
                Known::Bounds(left)
            }
            (Known::Exactly(left), Known::Bounds(mut right)) => {
                let pairs = left.iter().zip(&mut right);
                pairs.for_each(|(left, right)| *right = binary(function, Interval::exactly(*left), *right));
                self.put_back(left);
                Known::Bounds(right)
            }
            (Known::Bounds(mut left), Known::Bounds(right)) => {
                let pairs = left.iter_mut().zip(&right);
                pairs.for_each(|(left, right)| *left = binary(function, *left, *right));
                Known::Bounds(left)
            }
        }
    }

    /// `&&` and `||` of known values and a node, which is looked at where it matters.
    fn known_logic(&mut self, operator: Binary, left: Vec<f64>, operand: &NumberNode, places: &[u32]) -> Option<Known> {
        let is_and = operator == Binary::And;
        let mut reached = Reached::new(places.len());
        let mut open = self.list();
        for (at, value) in left.iter().enumerate() {
            if (*value != 0.0) == is_and {
                open.push(at as u32);
            } else {
                reached.bounds[at] = Interval::exactly(truth(!is_and));
            }
        }
        self.put_back(left);
        if !open.is_empty() {
            let of_open = match self.known_of(operand, places, &open)? {
                Known::Exactly(values) => Known::Exactly(values.iter().map(|value| truth(*value != 0.0)).collect()),
                Known::Bounds(bounds) => Known::Bounds(bounds.iter().map(Interval::as_truth).collect()),
            };
            reached.add(&open, &of_open);
        }
        self.let_go(open);
        Some(Known::from_bounds(reached.bounds, reached.is_exact))
    }

    /// What is known of a node in some of the documents: those `chosen`, by their number in `places`.
    fn known_of(&mut self, node: &NumberNode, places: &[u32], chosen: &[u32]) -> Option<Known> {
        let mut of_chosen = self.list();
        of_chosen.extend(chosen.iter().map(|at| places[*at as usize]));
        let known = self.bounds_of(node, &of_chosen);
        self.let_go(of_chosen);
        known
    }

    fn known_branch(&mut self, [condition, yes, no]: &[NumberNode; 3], places: &[u32]) -> Option<Known> {
        let condition = self.bounds_of(condition, places)?;
        let mut reached = Reached::new(places.len());
        let mut chosen = self.list();
        for (branch, is_yes) in [(yes, true), (no, false)] {
            chosen.clear();
            chosen.extend((0..places.len()).filter_map(|at| {
                let of = condition.at(at);
                let can_be = if is_yes { of.can_be_true() } else { of.can_be_false() };
                can_be.then_some(at as u32)
            }));
            if !chosen.is_empty() {
                let known = self.known_of(branch, places, &chosen)?;
                reached.add(&chosen, &known);
            }
        }
        self.let_go(chosen);
        Some(Known::from_bounds(reached.bounds, reached.is_exact && condition.is_exact()))
    }

    fn known_switch(&mut self, switch: &SwitchNode, places: &[u32]) -> Option<Known> {
        let value = self.bounds_of(&switch.value, places)?;
        let mut reached = Reached::new(places.len());
        let mut are_exact = value.is_exact();
        let mut open: Vec<u32> = (0..places.len() as u32).collect();
        for (case, result) in &switch.cases {
            if open.is_empty() {
                break;
            }
            let case = self.known_of(case, places, &open)?;
            are_exact &= case.is_exact();
            let (mut chosen, mut left) = (Vec::new(), Vec::new());
            for (number, at) in open.iter().enumerate() {
                let equal = binary(Binary::Equal, value.at(*at as usize), case.at(number));
                if equal.can_be_true() {
                    chosen.push(*at);
                }
                if equal.can_be_false() {
                    left.push(*at);
                }
            }
            if !chosen.is_empty() {
                reached.add(&chosen, &self.known_of(result, places, &chosen)?);
            }
            open = left;
        }
        if !open.is_empty() {
            reached.add(&open, &self.known_of(&switch.default, places, &open)?);
        }
        Some(Known::from_bounds(reached.bounds, reached.is_exact && are_exact))
    }

    fn known_memo(&mut self, slot: usize, places: &[u32]) -> Option<Known> {
        let program = self.program;
        let mut lacking = self.list();
        lacking.extend(places.iter().filter(|place| !self.scratch.places[**place as usize].has(slot)));
        if !lacking.is_empty() {
            let Node::Number(number) = &program.memos[slot] else { return None };
            let known = self.bounds_of(number, &lacking)?;
            for (number, place) in lacking.iter().enumerate() {
                let place = &mut self.scratch.places[*place as usize];
                place.memo_intervals[slot] = Some(known.at(number));
                place.made[slot] = place.evaluation;
            }
            // The first who asks mostly asks for all.
            if lacking.len() == places.len() && known.is_exact() {
                self.let_go(lacking);
                return Some(known);
            }
        }
        self.let_go(lacking);
        let bounds = places.iter().map(|place| self.scratch.places[*place as usize].memo_intervals[slot]);
        let bounds = bounds.collect::<Option<Vec<Interval>>>()?;
        let is_exact = bounds.iter().all(Interval::is_exact);
        Some(Known::from_bounds(bounds, is_exact))
    }

    /// Trees over what is known; an input without bounds may be anything.
    fn known_forest(&mut self, node: &ForestNode, places: &[u32]) -> Known {
        let width = node.inputs.len();
        let inputs: Vec<Option<Known>> = node.inputs.iter().map(|input| self.bounds_of(input, places)).collect();
        let at = |input: &Option<Known>, at: usize| input.as_ref().map_or(Interval::ANYTHING, |known| known.at(at));
        if inputs.iter().any(|input| !input.as_ref().is_some_and(Known::is_exact)) {
            let mut row = Vec::with_capacity(width);
            let bounds = (0..places.len()).map(|document| {
                row.clear();
                row.extend(inputs.iter().map(|input| at(input, document)));
                node.forest.bounds(&row)
            });
            return Known::Bounds(bounds.collect());
        }
        let (mut rows, mut sums) = (self.room(width * places.len()), self.room(places.len()));
        for (number, input) in inputs.into_iter().enumerate() {
            let Some(Known::Exactly(values)) = input else { continue };
            rows.chunks_exact_mut(width.max(1)).zip(&values).for_each(|(row, value)| row[number] = *value);
            self.put_back(values);
        }
        node.forest.predict(&rows, width, &mut sums);
        self.put_back(rows);
        Known::Exactly(sums)
    }
}
