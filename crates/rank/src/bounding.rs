//! Bounds of what a program yields for one document.
use crate::interval::{Interval, IntervalSource, binary, unary};
use crate::node::{Node, NumberNode};
use crate::operation::Binary;
use crate::program::{Program, Scratch};

/// Bounds a program for one document.
pub(crate) struct Bounding<'a> {
    program: &'a Program,
    source: &'a mut dyn IntervalSource,
    scratch: &'a mut Scratch,
}

impl<'a> Bounding<'a> {
    pub(crate) fn begin(
        program: &'a Program,
        source: &'a mut dyn IntervalSource,
        scratch: &'a mut Scratch,
    ) -> Bounding<'a> {
        scratch.evaluation += 1;
        Bounding { program, source, scratch }
    }

    /// Bounds of a number.
    pub(crate) fn number(&mut self, node: &NumberNode) -> Option<Interval> {
        Some(match node {
            NumberNode::Constant(value) => Interval::exactly(*value),
            NumberNode::Feature(feature) => self.source.interval(*feature)?.or_anything(),
            NumberNode::Memo(slot) => return self.memo(*slot),
            NumberNode::Unary(function, operand) => unary(*function, self.number(operand)?),
            NumberNode::Binary(function, operands) => {
                let left = self.number(&operands[0])?;
                binary(*function, left, self.number(&operands[1])?)
            }
            NumberNode::Chain(first, rest) => {
                let mut left = self.number(first)?;
                for (operator, operand) in rest {
                    left = binary(*operator, left, self.number(operand)?);
                }
                left
            }
            NumberNode::In(value, set) => self.number(value)?.is_in(set),
            NumberNode::If(branches) => {
                let condition = self.number(&branches[0])?;
                let mut reached = Interval::NOTHING;
                if condition.can_be_true() {
                    reached = reached.union(self.number(&branches[1])?);
                }
                if condition.can_be_false() {
                    reached = reached.union(self.number(&branches[2])?);
                }
                reached
            }
            NumberNode::Switch(switch) => {
                let value = self.number(&switch.value)?;
                let mut reached = Interval::NOTHING;
                for (case, result) in &switch.cases {
                    let equal = binary(Binary::Equal, value, self.number(case)?);
                    if equal.can_be_true() {
                        reached = reached.union(self.number(result)?);
                    }
                    if !equal.can_be_false() {
                        return Some(reached);
                    }
                }
                reached.union(self.number(&switch.default)?)
            }
            NumberNode::Forest(node) => {
                let bounds = node.inputs.iter().map(|input| self.number(input).unwrap_or(Interval::ANYTHING));
                let bounds: Vec<Interval> = bounds.collect();
                node.forest.bounds(&bounds)
            }
            NumberNode::Local(_)
            | NumberNode::Apply(..)
            | NumberNode::ModelOutput(_)
            | NumberNode::Reduce(..)
            | NumberNode::ReduceProduct(..)
            | NumberNode::MaxSim(..)
            | NumberNode::Cell(_) => return None,
        })
    }

    fn memo(&mut self, slot: usize) -> Option<Interval> {
        if self.scratch.made[slot] != self.scratch.evaluation {
            let program = self.program;
            self.scratch.memo_intervals[slot] = match &program.memos[slot] {
                Node::Number(number) => self.number(number),
                Node::Tensor(_) => None,
            };
            self.scratch.made[slot] = self.scratch.evaluation;
        }
        self.scratch.memo_intervals[slot]
    }
}
