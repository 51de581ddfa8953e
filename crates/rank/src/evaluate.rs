//! Evaluates a program for one document. Branches not taken are not evaluated.
use std::rc::Rc;
use std::sync::Arc;

use brooklet_document::{CellType, Tensor, TensorType};
use brooklet_task::{Code, Rejection};

use crate::node::{
    CellFunction, CoordinateNode, ForestNode, ModelNode, Node, NumberNode, PairFunction, ProductNode, SliceNode,
    SubspacesNode, SwitchNode, TensorKind, TensorNode, TokenSequence, TokensNode,
};
use crate::operation::{Binary, truth};
use crate::program::{FeatureSource, Program, Scratch, Value};
use crate::tensor::sum::sum_of;
use crate::tensor::{
    Accumulator, Aggregator, Coordinate, JoinPlan, MergePlan, SubspacesPlan, cell_order, map, subspace,
};

/// One evaluation.
pub(crate) struct Run<'a> {
    pub(crate) program: &'a Program,
    pub(crate) source: &'a mut dyn FeatureSource,
    pub(crate) scratch: &'a mut Scratch,
}

type Made = Result<Rc<Tensor>, Rejection>;

impl<'a> Run<'a> {
    pub(crate) fn begin(program: &'a Program, source: &'a mut dyn FeatureSource, scratch: &'a mut Scratch) -> Run<'a> {
        scratch.begin();
        Run { program, source, scratch }
    }

    /// The program's value.
    pub(crate) fn value(mut self) -> Result<Value, Rejection> {
        let program = self.program;
        let value = self.node(&program.root)?;
        self.scratch.failure.take().map_or(Ok(value), Err)
    }

    /// The program's value as a score.
    pub(crate) fn score(mut self) -> Result<f64, Rejection> {
        let program = self.program;
        let score = match &program.root {
            Node::Number(root) => self.number(root),
            Node::Tensor(root) => self.tensor_score(root)?,
        };
        self.scratch.failure.take().map_or(Ok(score), Err)
    }

    /// A tensor as a score: its only cell.
    pub(crate) fn tensor_score(&mut self, root: &TensorNode) -> Result<f64, Rejection> {
        let tensor = self.tensor(root)?;
        Ok(if let [cell] = tensor.cells.as_slice() { *cell } else { f64::NAN })
    }

    fn node(&mut self, node: &Node) -> Result<Value, Rejection> {
        Ok(match node {
            Node::Number(number) => Value::Number(self.number(number)),
            Node::Tensor(tensor) => Value::Tensor(self.tensor(tensor)?),
        })
    }

    /// A number. If a tensor in it fails, the failure is kept, and the number is NaN.
    #[inline]
    pub(crate) fn number(&mut self, node: &NumberNode) -> f64 {
        match node {
            NumberNode::Constant(value) => *value,
            NumberNode::Feature(feature) => self.source.number(*feature),
            NumberNode::Local(local) => self.scratch.local_numbers[*local],
            node => self.compute(node),
        }
    }

    /// A number that is not simply there.
    fn compute(&mut self, node: &NumberNode) -> f64 {
        match node {
            NumberNode::Constant(_) | NumberNode::Feature(_) | NumberNode::Local(_) => self.number(node),
            NumberNode::Memo(slot) => self.memo_number(*slot),
            NumberNode::Unary(function, operand) => function.apply(self.number(operand)),
            NumberNode::Binary(function, operands) => {
                let left = self.number(&operands[0]);
                function.apply(left, self.number(&operands[1]))
            }
            NumberNode::Chain(first, rest) => {
                let mut left = self.number(first);
                for (operator, operand) in rest {
                    left = self.operate(*operator, left, operand);
                }
                left
            }
            NumberNode::In(value, set) => {
                let value = self.number(value);
                truth(set.contains(&value))
            }
            NumberNode::If(branches) => {
                let condition = self.number(&branches[0]);
                self.number(if condition != 0.0 { &branches[1] } else { &branches[2] })
            }
            NumberNode::Switch(switch) => self.switch(switch),
            NumberNode::Apply(arguments, body) => {
                for (local, argument) in arguments {
                    self.scratch.local_numbers[*local] = self.number(argument);
                }
                self.number(body)
            }
            NumberNode::Reduce(aggregator, child) => match self.tensor(child) {
                Ok(tensor) => aggregate(*aggregator, tensor.tensor_type.cell, &tensor.cells),
                Err(failure) => self.fail(failure),
            },
            NumberNode::ReduceProduct(aggregator, product) => self.reduce_product(*aggregator, product),
            NumberNode::MaxSim(node) => match self.max_sim(node) {
                Ok((_, best)) => best.first().copied().unwrap_or(0.0),
                Err(failure) => self.fail(failure),
            },
            NumberNode::Cell(slice) => match self.slice(slice) {
                Ok(cell) => cell.cells.first().copied().unwrap_or(0.0),
                Err(failure) => self.fail(failure),
            },
            NumberNode::Forest(forest) => self.forest(forest),
            NumberNode::ModelOutput(model) => match self.model_output(model) {
                Ok(output) => output.cells.first().copied().unwrap_or(f64::NAN),
                Err(failure) => self.fail(failure),
            },
        }
    }

    fn forest(&mut self, node: &ForestNode) -> f64 {
        // Taken, for an input may be another forest.
        let mut row = std::mem::take(&mut self.scratch.row);
        row.clear();
        for input in &node.inputs {
            row.push(self.number(input));
        }
        let mut sum = [0.0];
        node.forest.predict(&row, node.inputs.len(), &mut sum);
        self.scratch.row = row;
        sum[0]
    }

    /// An operator; the right operand of `&&` and `||` only if it matters.
    #[inline]
    fn operate(&mut self, operator: Binary, left: f64, operand: &NumberNode) -> f64 {
        match operator {
            Binary::And if left == 0.0 => 0.0,
            Binary::Or if left != 0.0 => 1.0,
            _ => operator.apply(left, self.number(operand)),
        }
    }

    fn switch(&mut self, switch: &SwitchNode) -> f64 {
        let value = self.number(&switch.value);
        for (case, result) in &switch.cases {
            if value == self.number(case) {
                return self.number(result);
            }
        }
        self.number(&switch.default)
    }

    fn fail(&mut self, failure: Rejection) -> f64 {
        self.scratch.failure.get_or_insert(failure);
        f64::NAN
    }

    fn memo_number(&mut self, slot: usize) -> f64 {
        if self.scratch.made[slot] != self.scratch.evaluation {
            let program = self.program;
            let value = match &program.memos[slot] {
                Node::Number(number) => self.number(number),
                Node::Tensor(_) => self.fail(Rejection::new(Code::Internal, "a tensor where a number was compiled")),
            };
            self.scratch.memo_numbers[slot] = value;
            self.scratch.made[slot] = self.scratch.evaluation;
        }
        self.scratch.memo_numbers[slot]
    }

    fn memo_tensor(&mut self, slot: usize) -> Made {
        if self.scratch.made[slot] != self.scratch.evaluation {
            let program = self.program;
            let Node::Tensor(tensor) = &program.memos[slot] else { return Err(missing("memo")) };
            self.scratch.memo_tensors[slot] = Some(self.tensor(tensor)?);
            self.scratch.made[slot] = self.scratch.evaluation;
        }
        self.scratch.memo_tensors[slot].clone().ok_or_else(|| missing("memo"))
    }

    /// A tensor.
    pub(crate) fn tensor(&mut self, node: &TensorNode) -> Made {
        let budget = self.scratch.budget.clone();
        let result = &node.tensor_type;
        Ok(Rc::new(match node.kind.as_ref() {
            TensorKind::Constant(tensor) => return Ok(tensor.clone()),
            TensorKind::Feature(feature) => return self.feature(*feature, result),
            TensorKind::Local(local) => {
                return self.scratch.local_tensors[*local].clone().ok_or_else(|| missing("variable"));
            }
            TensorKind::Memo(slot) => return self.memo_tensor(*slot),
            TensorKind::If(branches) => {
                let (condition, if_true, if_false) = branches.as_ref();
                let is_true = self.number(condition) != 0.0;
                return self.tensor(if is_true { if_true } else { if_false });
            }
            TensorKind::Map(child, function) => {
                let tensor = self.tensor(child)?;
                self.map(&tensor, result, function)?
            }
            TensorKind::MapWith(operands, function, is_first) => {
                let tensor = self.tensor(&operands.0)?;
                let number = self.number(&operands.1);
                self.map_with(&tensor, number, result, function, *is_first)?
            }
            TensorKind::Join(operands, plan, function) => {
                let (left, right) = (self.tensor(&operands[0])?, self.tensor(&operands[1])?);
                self.join(plan, &left, &right, function)?
            }
            TensorKind::Merge(operands, plan, function) => {
                let (left, right) = (self.tensor(&operands[0])?, self.tensor(&operands[1])?);
                self.merge(plan, &left, &right, function)?
            }
            TensorKind::Reduce(child, plan) => plan.run(&*self.tensor(child)?, &budget)?,
            TensorKind::MaxSim(node) => self.max_sim_tensor(result, node)?,
            TensorKind::Rename(child, plan) => plan.run(&*self.tensor(child)?, &budget)?,
            TensorKind::Concat(operands, plan) => {
                let (left, right) = (self.operand(&operands[0])?, self.operand(&operands[1])?);
                plan.run(&left, &right, &budget)?
            }
            TensorKind::Slice(slice) => self.slice(slice)?,
            TensorKind::Cast(child) => map(&*self.tensor(child)?, result, &budget, |cell| cell)?,
            TensorKind::Order(child, is_descending) => {
                cell_order(&*self.tensor(child)?, result, *is_descending, &budget)?
            }
            TensorKind::Unpack(child, plan) => plan.run(&*self.tensor(child)?, &budget)?,
            TensorKind::MapSubspaces(node, plan) => self.map_subspaces(node, plan)?,
            TensorKind::FilterSubspaces(node) => self.filter_subspaces(node)?,
            TensorKind::ModelOutput(model) => return self.model_output(model),
            TensorKind::Tokens(tokens) => self.tokens(result, tokens)?,
            TensorKind::Generate(locals, body) => self.generate(result, locals, body)?,
            TensorKind::Literal(empty, cells) => {
                let mut tensor = Tensor::clone(empty);
                budget.take(tensor.cells.len(), 1)?;
                for (place, cell) in cells {
                    tensor.cells[*place] = result.cell.round(self.number(cell));
                }
                tensor
            }
        }))
    }

    fn feature(&mut self, feature: usize, expected: &Arc<TensorType>) -> Made {
        let tensor = self.source.tensor(feature);
        if tensor.tensor_type == *expected {
            return Ok(tensor);
        }
        let name = &self.program.features()[feature].0;
        let message = format!("the feature {name} yielded a {}, not a {expected}", tensor.tensor_type);
        Err(Rejection::new(Code::Internal, message))
    }

    /// What the model yields for its inputs. While an output that these depend on is not known, neither is this one.
    fn model_output(&mut self, node: &ModelNode) -> Made {
        let unknown = self.source.unknown_outputs();
        let inputs = node.inputs.iter().map(|input| self.operand(input)).collect::<Result<Vec<_>, _>>()?;
        if self.source.unknown_outputs() != unknown || self.scratch.failure.is_some() {
            return Ok(Rc::new(Tensor::empty(node.output.result.clone())));
        }
        let output = self.source.model_output(&node.output, &inputs);
        match output.tensor_type == node.output.result {
            true => Ok(output),
            false => Err(Rejection::new(Code::Internal, "a model yielded a tensor of another type")),
        }
    }

    /// Tokens of texts, or what goes with them. A text has as many tokens as it has ids above 0 (Vespa's cross-encoders).
    fn tokens(&mut self, result: &Arc<TensorType>, node: &TokensNode) -> Result<Tensor, Rejection> {
        self.scratch.budget.take(1, result.dense_size())?;
        let mut cells = Vec::with_capacity(result.dense_size());
        let mark = |ids: f64, ordinal: usize| match node.sequence {
            TokenSequence::Ids { .. } => ids,
            TokenSequence::Types => f64::from(u8::from(ordinal > 0)),
            TokenSequence::Mask => 1.0,
        };
        let (start, separator) = match node.sequence {
            TokenSequence::Ids { start, separator } => (start, separator),
            _ => (0.0, 0.0),
        };
        cells.push(mark(start, 0));
        for (ordinal, text) in node.texts.iter().enumerate() {
            let text = self.tensor(text)?;
            let length = text.cells.iter().filter(|id| **id > 0.0).count();
            cells.extend(text.cells[..length].iter().map(|id| mark(*id, ordinal)));
            cells.push(mark(separator, ordinal));
        }
        cells.resize(result.dense_size(), 0.0);
        cells.iter_mut().for_each(|cell| *cell = result.cell.round(*cell));
        Ok(Tensor { tensor_type: result.clone(), addresses: vec![Vec::new()], cells })
    }

    /// An operand as a tensor, a number as one without dimensions.
    fn operand(&mut self, node: &Node) -> Made {
        Ok(match self.node(node)? {
            Value::Number(number) => Rc::new(Tensor::scalar(number)),
            Value::Tensor(tensor) => tensor,
        })
    }

    fn map(&mut self, tensor: &Tensor, result: &Arc<TensorType>, function: &CellFunction) -> Result<Tensor, Rejection> {
        let budget = self.scratch.budget.clone();
        match function {
            CellFunction::Unary(function) => map(tensor, result, &budget, |cell| function.apply(cell)),
            CellFunction::In(set) => map(tensor, result, &budget, |cell| truth(set.contains(&cell))),
            CellFunction::Lambda(local, body) => {
                let weight = body.weight();
                map(tensor, result, &budget, |cell| {
                    self.scratch.local_numbers[*local] = cell;
                    self.of_cell(body, weight)
                })
            }
        }
    }

    fn map_with(
        &mut self,
        tensor: &Tensor,
        number: f64,
        result: &Arc<TensorType>,
        function: &PairFunction,
        is_first: bool,
    ) -> Result<Tensor, Rejection> {
        let (budget, weight) = (self.scratch.budget.clone(), function.weight());
        match (function, is_first) {
            (function, true) => map(tensor, result, &budget, |cell| self.pair(function, weight, number, cell)),
            (PairFunction::Binary(Binary::Multiply), _) => map(tensor, result, &budget, |cell| cell * number),
            (function, false) => map(tensor, result, &budget, |cell| self.pair(function, weight, cell, number)),
        }
    }

    fn pair(&mut self, function: &PairFunction, weight: usize, left: f64, right: f64) -> f64 {
        match function {
            PairFunction::Binary(function) => function.apply(left, right),
            PairFunction::Lambda([first, second], body) => {
                self.scratch.local_numbers[*first] = left;
                self.scratch.local_numbers[*second] = right;
                self.of_cell(body, weight)
            }
        }
    }

    /// The body of a function that is evaluated for each cell: one that is long takes as long as several cells.
    fn of_cell(&mut self, body: &NumberNode, weight: usize) -> f64 {
        if weight > 0 {
            if self.scratch.failure.is_some() {
                return f64::NAN;
            }
            if let Err(failure) = self.scratch.budget.spend(weight) {
                return self.fail(failure);
            }
        }
        self.number(body)
    }

    fn join(
        &mut self,
        plan: &JoinPlan,
        left: &Tensor,
        right: &Tensor,
        function: &PairFunction,
    ) -> Result<Tensor, Rejection> {
        let (budget, weight) = (self.scratch.budget.clone(), function.weight());
        match function {
            PairFunction::Binary(Binary::Multiply) => plan.run(left, right, &budget, |a, b| a * b),
            PairFunction::Binary(Binary::Add) => plan.run(left, right, &budget, |a, b| a + b),
            PairFunction::Binary(Binary::Subtract) => plan.run(left, right, &budget, |a, b| a - b),
            function => plan.run(left, right, &budget, |a, b| self.pair(function, weight, a, b)),
        }
    }

    fn merge(
        &mut self,
        plan: &MergePlan,
        left: &Tensor,
        right: &Tensor,
        function: &PairFunction,
    ) -> Result<Tensor, Rejection> {
        let (budget, weight) = (self.scratch.budget.clone(), function.weight());
        plan.run(left, right, &budget, |a, b| self.pair(function, weight, a, b))
    }

    fn reduce_product(&mut self, aggregator: Aggregator, node: &ProductNode) -> f64 {
        let (left, right) = match (self.tensor(&node.left), self.tensor(&node.right)) {
            (Ok(left), Ok(right)) => (left, right),
            (Err(failure), _) | (_, Err(failure)) => return self.fail(failure),
        };
        let cell = node.product.cell;
        let product = |(a, b): (&f64, &f64)| cell.round(a * b);
        if aggregator != Aggregator::Sum {
            let product: Vec<f64> = left.cells.iter().zip(&right.cells).map(product).collect();
            return aggregate(aggregator, cell, &product);
        }
        let size = left.cells.len().min(right.cells.len());
        let (left, right) = (&left.cells[..size], &right.cells[..size]);
        match cell {
            CellType::Double => sum_of(cell, size, |at| left[at] * right[at]),
            _ => sum_of(cell, size, |at| f64::from((left[at] * right[at]) as f32)),
        }
    }

    fn slice(&mut self, node: &SliceNode) -> Result<Tensor, Rejection> {
        let tensor = self.tensor(&node.child)?;
        let places: Vec<Coordinate> = node
            .places
            .iter()
            .map(|place| match place {
                CoordinateNode::Label(label) => Coordinate::Label(label.clone()),
                CoordinateNode::Computed(number) => Coordinate::Number(self.number(number)),
            })
            .collect();
        node.plan.run(&tensor, &places, &self.scratch.budget)
    }

    /// The body's value for one subspace.
    fn subspace_value(&mut self, node: &SubspacesNode, tensor: &Tensor, number: usize) -> Result<Value, Rejection> {
        if node.subspace_type.dimensions.is_empty() {
            self.scratch.local_numbers[node.local] = tensor.cells[number];
        } else {
            self.scratch.budget.take(1, node.subspace_type.dense_size())?;
            self.scratch.local_tensors[node.local] = Some(Rc::new(subspace(tensor, &node.subspace_type, number)));
        }
        let value = self.node(&node.body)?;
        match &self.scratch.failure {
            None => Ok(value),
            Some(failure) => Err(failure.clone()),
        }
    }

    fn map_subspaces(&mut self, node: &SubspacesNode, plan: &SubspacesPlan) -> Result<Tensor, Rejection> {
        let tensor = self.tensor(&node.child)?;
        let mut cells = Vec::new();
        for number in 0..tensor.addresses.len() {
            self.scratch.budget.take(1, plan.result.dense_size())?;
            match self.subspace_value(node, &tensor, number)? {
                Value::Number(number) => cells.push(number),
                Value::Tensor(inner) => cells.extend_from_slice(&inner.cells),
            }
        }
        plan.assemble(tensor.addresses.clone(), cells)
    }

    fn filter_subspaces(&mut self, node: &SubspacesNode) -> Result<Tensor, Rejection> {
        let tensor = self.tensor(&node.child)?;
        let mut kept = Tensor { tensor_type: tensor.tensor_type.clone(), addresses: Vec::new(), cells: Vec::new() };
        for (number, (address, cells)) in tensor.subspaces().enumerate() {
            let is_kept = match self.subspace_value(node, &tensor, number)? {
                Value::Number(number) => number != 0.0,
                Value::Tensor(value) => value.cells.iter().any(|cell| *cell != 0.0),
            };
            if is_kept {
                kept.addresses.push(address.to_vec());
                kept.cells.extend_from_slice(cells);
            }
        }
        Ok(kept)
    }

    /// A dense tensor: the body for every place, the last dimension running fastest.
    fn generate(&mut self, result: &Arc<TensorType>, locals: &[usize], body: &NumberNode) -> Result<Tensor, Rejection> {
        let size = result.dense_size();
        self.scratch.budget.take(1, size)?;
        let mut tensor = Tensor::empty(result.clone());
        let weight = body.weight();
        for place in 0..size {
            let mut rest = place;
            for (dimension, local) in result.dimensions.iter().zip(locals).rev() {
                let size = dimension.size.unwrap_or(1);
                self.scratch.local_numbers[*local] = (rest % size) as f64;
                rest /= size;
            }
            tensor.cells[place] = result.cell.round(self.of_cell(body, weight));
            if let Some(failure) = &self.scratch.failure {
                return Err(failure.clone());
            }
        }
        Ok(tensor)
    }
}

/// All cells made one number.
fn aggregate(aggregator: Aggregator, cell: CellType, cells: &[f64]) -> f64 {
    if aggregator == Aggregator::Sum {
        return sum_of(cell, cells.len(), |at| cells[at]);
    }
    let mut accumulator = Accumulator::default();
    cells.iter().for_each(|cell| accumulator.add(aggregator, *cell));
    accumulator.result(aggregator)
}

fn missing(what: &str) -> Rejection {
    Rejection::new(Code::Internal, format!("a {what} of a ranking expression holds no tensor"))
}
