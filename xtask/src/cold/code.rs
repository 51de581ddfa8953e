//! A function's instructions with what has to be known to take some of them out: which block each is in, what is on the stack
//! before it, and which straight stretch it is of.

use wasm_encoder::ValType;
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasmparser::{
    BinaryReaderError, BlockType, FuncToValidate, FuncType, FuncValidatorAllocations, FunctionBody, Operator, Parser,
    ValidPayload, Validator, ValidatorResources, WasmFeatures,
};

use crate::stages::Outline;

/// The instructions of one function.
pub struct Code<'a> {
    pub operators: Vec<Operator<'a>>,
    /// Where in the module each begins, and where the last ends.
    pub places: Vec<usize>,
    /// The types of parameters and locals.
    pub locals: Vec<ValType>,
    /// How many of them are parameters.
    pub parameters: usize,
    /// The types of results.
    pub results: Vec<ValType>,
    /// What is on the stack before each.
    pub stack: Vec<Stack>,
    /// Whether each is reached, as far as validation knows.
    pub reached: Vec<bool>,
    /// The stretch of each; nothing for what is never reached, and for the ends of blocks.
    pub stretches: Vec<Option<usize>>,
    /// How many stretches there are.
    pub count: usize,
    /// Where the block ends that each begins, if it does.
    ends: Vec<Option<usize>>,
    /// The `else` of each `if` that has one.
    elses: Vec<Option<usize>>,
    /// What begins the innermost block that each is in. An `end` is in its block.
    parents: Vec<Option<usize>>,
}

/// The stack before an instruction.
#[derive(Clone, Copy)]
pub struct Stack {
    /// How many values are on it.
    pub height: usize,
    /// How many of them the instruction takes.
    pub popped: usize,
}

/// Where a branch leads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Target {
    /// To the block that begins with this instruction: its begin if it is a loop, or else its end.
    Block(usize),
    /// Out of the function.
    Return,
}

/// Reads the functions that `module` defines, and does something with each, in their order.
pub fn each_code<'a>(
    module: &'a [u8],
    outline: &Outline,
    mut done: impl FnMut(usize, Code<'a>) -> Result<(), String>,
) -> Result<(), String> {
    let mut validator = Validator::new_with_features(WasmFeatures::WASM2);
    let mut number = 0;
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload.map_err(|error| error.to_string())?;
        let valid = validator.payload(&payload).map_err(|error| error.to_string())?;
        if let ValidPayload::Func(function, body) = valid {
            let kind = outline.type_of(function.index)?;
            let kind = outline.types.get(kind as usize).ok_or("a function has no type")?;
            done(number, Code::read(kind, function, &body).map_err(|error| error.to_string())?)?;
            number += 1;
        }
    }
    Ok(())
}

impl<'a> Code<'a> {
    fn read(
        kind: &FuncType,
        function: FuncToValidate<ValidatorResources>,
        body: &FunctionBody<'a>,
    ) -> Result<Self, BinaryReaderError> {
        let mut validator = function.into_validator(FuncValidatorAllocations::default());
        let mut declared = body.get_locals_reader()?;
        for _ in 0..declared.get_count() {
            let place = declared.original_position();
            let (count, kind) = declared.read()?;
            validator.define_locals(place, count, kind)?;
        }
        let mut code = Self {
            operators: Vec::new(),
            places: Vec::new(),
            locals: (0..validator.len_locals()).filter_map(|at| validator.get_local_type(at)).map(encoded).collect(),
            parameters: kind.params().len(),
            results: kind.results().iter().copied().map(encoded).collect(),
            stack: Vec::new(),
            reached: Vec::new(),
            stretches: Vec::new(),
            count: 0,
            ends: Vec::new(),
            elses: Vec::new(),
            parents: Vec::new(),
        };
        let mut structure = Structure::default();
        let mut operators = body.get_operators_reader()?;
        while !operators.eof() {
            let (operator, place) = operators.read_with_offset()?;
            let height = validator.operand_stack_height() as usize;
            let reached = validator.get_control_frame(0).is_some_and(|frame| !frame.unreachable);
            let popped = operator.operator_arity(&validator.visitor(place)).map_or(0, |(popped, _)| popped as usize);
            validator.op(place, &operator)?;
            code.places.push(place);
            code.stack.push(Stack { height, popped });
            code.reached.push(reached);
            structure.add(&mut code, &operator);
            code.operators.push(operator);
        }
        code.places.push(body.range().end);
        Ok(code)
    }

    /// The instruction after this one, or after the block that it begins.
    pub fn after(&self, at: usize) -> usize {
        self.ends[at].unwrap_or(at) + 1
    }

    /// What is in the block that this instruction begins: one list of instructions, or both of an `if`.
    pub fn inside(&self, at: usize) -> impl Iterator<Item = (usize, usize)> {
        let end = self.ends[at].unwrap_or(at + 1);
        let (first, second) = match self.elses[at] {
            Some(otherwise) => ((at + 1, otherwise), Some((otherwise + 1, end))),
            None => ((at + 1, end), None),
        };
        std::iter::once(first).chain(second)
    }

    /// Whether this instruction begins a block.
    pub fn is_block(&self, at: usize) -> bool {
        self.ends[at].is_some()
    }

    /// What a branch of this instruction by so many blocks leads to.
    pub fn target(&self, at: usize, depth: u32) -> Target {
        let mut block = self.parents[at];
        for _ in 0..depth {
            block = block.and_then(|block| self.parents[block]);
        }
        block.map_or(Target::Return, Target::Block)
    }

    /// By how many blocks an instruction has to branch to get there.
    pub fn depth(&self, at: usize, target: Target) -> u32 {
        let (mut block, mut depth) = (self.parents[at], 0);
        while let Some(begin) = block {
            if target == Target::Block(begin) {
                break;
            }
            block = self.parents[begin];
            depth += 1;
        }
        depth
    }

    /// How many values a branch to there takes along; nothing where that is not known.
    pub fn taken_along(&self, target: Target) -> Option<usize> {
        let Target::Block(begin) = target else { return Some(self.results.len()) };
        match &self.operators[begin] {
            Operator::Loop { blockty: BlockType::Empty | BlockType::Type(_) }
            | Operator::Block { blockty: BlockType::Empty }
            | Operator::If { blockty: BlockType::Empty } => Some(0),
            Operator::Block { blockty: BlockType::Type(_) } | Operator::If { blockty: BlockType::Type(_) } => Some(1),
            _ => None,
        }
    }

    /// Where the branches of an instruction lead.
    pub fn targets(&self, at: usize) -> Vec<Target> {
        match &self.operators[at] {
            Operator::Br { relative_depth } | Operator::BrIf { relative_depth } => {
                vec![self.target(at, *relative_depth)]
            }
            Operator::BrTable { targets } => {
                let listed = targets.targets().filter_map(Result::ok).chain([targets.default()]);
                listed.map(|depth| self.target(at, depth)).collect()
            }
            Operator::Return => vec![Target::Return],
            _ => Vec::new(),
        }
    }

    /// The instruction that a branch there goes on with, if that is not outside of the function.
    pub fn place(&self, target: Target) -> Option<usize> {
        let Target::Block(begin) = target else { return None };
        let is_loop = matches!(self.operators[begin], Operator::Loop { .. });
        Some(if is_loop { begin } else { self.after(begin) })
    }

    /// The instructions that may come next.
    pub fn next(&self, at: usize) -> Vec<usize> {
        let mut next: Vec<usize> = self.targets(at).into_iter().filter_map(|target| self.place(target)).collect();
        match &self.operators[at] {
            Operator::Br { .. } | Operator::BrTable { .. } | Operator::Return | Operator::Unreachable => {}
            Operator::If { .. } => {
                next.push(at + 1);
                next.push(self.elses[at].map_or(self.after(at), |otherwise| otherwise + 1));
            }
            // What stands before an `else` goes on behind the `end`.
            Operator::Else => next.extend(self.parents[at].map(|begin| self.after(begin))),
            _ => next.push(at + 1),
        }
        next.retain(|next| *next < self.operators.len());
        next
    }
}

pub fn encoded(kind: wasmparser::ValType) -> ValType {
    RoundtripReencoder.val_type(kind).unwrap_or(ValType::EXTERNREF)
}

/// What is open while instructions are read one after the other.
#[derive(Default)]
struct Structure {
    open: Vec<usize>,
    /// The stretch that goes on.
    stretch: Option<usize>,
}

impl Structure {
    fn add(&mut self, code: &mut Code<'_>, operator: &Operator<'_>) {
        let at = code.operators.len();
        code.ends.push(None);
        code.elses.push(None);
        code.parents.push(self.open.last().copied());
        let is_closing = matches!(operator, Operator::End | Operator::Else) && at > 0;
        if is_closing || !code.reached[at] {
            self.stretch = None;
        } else if self.stretch.is_none() {
            self.stretch = Some(code.count);
            code.count += 1;
        }
        code.stretches.push(self.stretch);
        if matches!(operator, Operator::If { .. } | Operator::BrIf { .. }) {
            self.stretch = None;
        }
        match operator {
            Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => self.open.push(at),
            Operator::Else => {
                if let Some(begin) = self.open.last() {
                    code.elses[*begin] = Some(at);
                }
            }
            Operator::End => {
                if let Some(begin) = self.open.pop() {
                    code.ends[begin] = Some(at);
                }
            }
            _ => {}
        }
    }
}
