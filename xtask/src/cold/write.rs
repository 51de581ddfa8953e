//! Writes a function anew without its parts, and each part as a function.

use std::collections::BTreeMap;

use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{BlockType, Function, Instruction, ValType};
use wasmparser::Operator;

use super::choose::Part;
use super::code::{Code, Target};

/// The type of a function: what it takes and what it gives.
pub type Kind = (Vec<ValType>, Vec<ValType>);

/// How a part ends: at its end, or in one of its exits. Where there are several ways, the part says which by their number.
#[derive(Clone, Copy)]
enum Way {
    Falls,
    Exit(Target),
}

impl Part {
    fn ways(&self) -> Vec<Way> {
        let falls = self.falls.then_some(Way::Falls);
        falls.into_iter().chain(self.exits.iter().copied().map(Way::Exit)).collect()
    }

    /// The type of what is returned beside the locals, where it returns out of a function that gives something.
    fn returned(&self, code: &Code<'_>) -> Option<ValType> {
        code.results.first().copied().filter(|_| self.exits.contains(&Target::Return))
    }

    /// The type of its function.
    pub fn kind(&self, code: &Code<'_>) -> Kind {
        let of = |locals: &[u32]| -> Vec<ValType> { locals.iter().map(|local| code.locals[*local as usize]).collect() };
        let mut results = Vec::new();
        if self.ways().len() > 1 {
            results.push(ValType::I32);
        }
        results.extend(of(&self.set));
        results.extend(self.returned(code));
        (of(&self.parameters), results)
    }
}

/// The function without its parts, which have these numbers.
pub fn without(code: &Code<'_>, parts: &[(Part, u32)]) -> Result<Function, String> {
    let declared = &code.locals[code.parameters..];
    let way = u32::try_from(code.locals.len()).map_err(|_| "too many locals")?;
    let returned = way + 1;
    let more = [ValType::I32].into_iter().chain(code.results.first().copied());
    let mut function = Function::new_with_locals_types(declared.iter().copied().chain(more));
    let mut at = 0;
    let mut parts = parts.iter().peekable();
    while at < code.operators.len() {
        match parts.next_if(|(part, _)| part.begin == at) {
            Some((part, number)) => {
                call(&mut function, code, part, *number, (way, returned));
                at = part.end;
            }
            None => {
                function.instruction(&instruction(&code.operators[at])?);
                at += 1;
            }
        }
    }
    Ok(function)
}

/// Calls a part, and goes on where it says.
fn call(function: &mut Function, code: &Code<'_>, part: &Part, number: u32, (way, returned): (u32, u32)) {
    for local in &part.parameters {
        function.instruction(&Instruction::LocalGet(*local));
    }
    function.instruction(&Instruction::Call(number));
    let has_value = part.returned(code).is_some();
    if has_value {
        function.instruction(&Instruction::LocalSet(returned));
    }
    for local in part.set.iter().rev() {
        function.instruction(&Instruction::LocalSet(*local));
    }
    let give = |function: &mut Function| {
        if has_value {
            function.instruction(&Instruction::LocalGet(returned));
        }
        function.instruction(&Instruction::Return);
    };
    let depth = |target: Target| code.depth(part.begin, target);
    match part.ways()[..] {
        [] => drop(function.instruction(&Instruction::Unreachable)),
        [Way::Falls] => {}
        [Way::Exit(Target::Return)] => give(function),
        [Way::Exit(target)] => drop(function.instruction(&Instruction::Br(depth(target)))),
        [Way::Falls, Way::Exit(Target::Return)] => {
            function.instruction(&Instruction::If(BlockType::Empty));
            give(function);
            function.instruction(&Instruction::End);
        }
        [Way::Falls, Way::Exit(target)] => drop(function.instruction(&Instruction::BrIf(depth(target)))),
        ref ways => {
            // Two blocks: behind the inner one the function returns, behind the outer one it goes on.
            let labels: Vec<u32> = ways
                .iter()
                .map(|way| match way {
                    Way::Falls => 1,
                    Way::Exit(Target::Return) => 0,
                    Way::Exit(target) => depth(*target) + 2,
                })
                .collect();
            function
                .instruction(&Instruction::LocalSet(way))
                .instruction(&Instruction::Block(BlockType::Empty))
                .instruction(&Instruction::Block(BlockType::Empty))
                .instruction(&Instruction::LocalGet(way));
            let last = labels.last().copied().unwrap_or_default();
            function.instruction(&Instruction::BrTable(labels[..labels.len() - 1].to_vec().into(), last));
            function.instruction(&Instruction::End);
            if part.exits.contains(&Target::Return) {
                give(function);
            } else {
                function.instruction(&Instruction::Unreachable);
            }
            function.instruction(&Instruction::End);
            if !part.falls {
                function.instruction(&Instruction::Unreachable);
            }
        }
    }
}

/// A part as a function.
pub fn part(code: &Code<'_>, part: &Part) -> Result<Function, String> {
    let mut writing = Writing::of(code, part)?;
    let has_exits = !part.exits.is_empty();
    if has_exits {
        writing.put(&Instruction::Block(BlockType::Empty));
    }
    let mut open = 0;
    for at in part.begin..part.end {
        writing.operator(at, open)?;
        match code.operators[at] {
            Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => open += 1,
            Operator::End => open -= 1,
            _ => {}
        }
    }
    if has_exits {
        writing.put(&Instruction::End);
    } else if !part.falls {
        writing.put(&Instruction::Unreachable);
    }
    if part.ways().len() > 1 {
        writing.put(&Instruction::LocalGet(writing.way));
    }
    for local in &part.set {
        let own = writing.own(*local)?;
        writing.put(&Instruction::LocalGet(own));
    }
    if part.returned(code).is_some() {
        writing.put(&Instruction::LocalGet(writing.returned));
    }
    writing.put(&Instruction::End);
    Ok(writing.function)
}

struct Writing<'w, 'a> {
    code: &'w Code<'a>,
    part: &'w Part,
    /// The function's locals as the part has them.
    own: BTreeMap<u32, u32>,
    /// Locals for which way it ends, for what it returns, and for the number that a table of branches is asked for.
    way: u32,
    returned: u32,
    asked: u32,
    function: Function,
}

impl<'w, 'a> Writing<'w, 'a> {
    fn of(code: &'w Code<'a>, part: &'w Part) -> Result<Self, String> {
        let mut own = BTreeMap::new();
        let mut next = 0;
        for local in &part.parameters {
            own.insert(*local, next);
            next += 1;
        }
        let mut locals = Vec::new();
        for operator in &code.operators[part.begin..part.end] {
            if let Operator::LocalGet { local_index }
            | Operator::LocalSet { local_index }
            | Operator::LocalTee { local_index } = operator
                && !own.contains_key(local_index)
            {
                own.insert(*local_index, next);
                next += 1;
                locals.push(*code.locals.get(*local_index as usize).ok_or("there is no such local")?);
            }
        }
        locals.extend([ValType::I32, ValType::I32]);
        locals.extend(part.returned(code));
        let function = Function::new_with_locals_types(locals);
        Ok(Self { code, part, own, way: next, asked: next + 1, returned: next + 2, function })
    }

    fn put(&mut self, instruction: &Instruction<'_>) {
        self.function.instruction(instruction);
    }

    fn own(&self, local: u32) -> Result<u32, String> {
        self.own.get(&local).copied().ok_or_else(|| format!("local {local} is not of the part"))
    }

    /// Writes an instruction that is in so many blocks of the part.
    fn operator(&mut self, at: usize, open: u32) -> Result<(), String> {
        match &self.code.operators[at] {
            Operator::LocalGet { local_index } => self.put(&Instruction::LocalGet(self.own(*local_index)?)),
            Operator::LocalSet { local_index } => self.put(&Instruction::LocalSet(self.own(*local_index)?)),
            Operator::LocalTee { local_index } => self.put(&Instruction::LocalTee(self.own(*local_index)?)),
            Operator::Br { relative_depth } if *relative_depth >= open => {
                self.leave(self.code.target(at, *relative_depth), open);
            }
            Operator::BrIf { relative_depth } if *relative_depth >= open => {
                self.put(&Instruction::If(BlockType::Empty));
                self.leave(self.code.target(at, *relative_depth), open + 1);
                self.put(&Instruction::End);
            }
            Operator::BrTable { targets } => {
                let mut depths = Vec::new();
                for depth in targets.targets() {
                    depths.push(depth.map_err(|error| error.to_string())?);
                }
                depths.push(targets.default());
                self.table(at, &depths, open);
            }
            Operator::Return => self.leave(Target::Return, open),
            other => self.put(&instruction(other)?),
        }
        Ok(())
    }

    /// Goes out of the part.
    fn leave(&mut self, target: Target, open: u32) {
        if target == Target::Return && self.part.returned(self.code).is_some() {
            self.put(&Instruction::LocalSet(self.returned));
        }
        let ways = self.part.ways();
        let number = ways.iter().position(|way| matches!(way, Way::Exit(exit) if *exit == target));
        if ways.len() > 1
            && let Some(number) = number.and_then(|number| i32::try_from(number).ok())
        {
            self.put(&Instruction::I32Const(number));
            self.put(&Instruction::LocalSet(self.way));
        }
        self.put(&Instruction::Br(open));
    }

    /// A table of branches: those out of the part go by blocks of their own.
    fn table(&mut self, at: usize, depths: &[u32], open: u32) {
        let mut outside: Vec<u32> = depths.iter().copied().filter(|depth| *depth >= open).collect();
        outside.sort_unstable();
        outside.dedup();
        let Ok(count) = u32::try_from(outside.len()) else { return };
        if count > 0 {
            self.put(&Instruction::LocalSet(self.asked));
            for _ in 0..count {
                self.put(&Instruction::Block(BlockType::Empty));
            }
            self.put(&Instruction::LocalGet(self.asked));
        }
        let labels: Vec<u32> = depths
            .iter()
            .map(|depth| match outside.binary_search(depth) {
                Ok(block) => u32::try_from(block).unwrap_or(u32::MAX),
                Err(_) => depth + count,
            })
            .collect();
        let last = labels.last().copied().unwrap_or_default();
        self.put(&Instruction::BrTable(labels[..labels.len() - 1].to_vec().into(), last));
        for (depth, closed) in outside.iter().zip(1..) {
            self.put(&Instruction::End);
            self.leave(self.code.target(at, *depth), open + count - closed);
        }
    }
}

fn instruction<'a>(operator: &Operator<'a>) -> Result<Instruction<'a>, String> {
    RoundtripReencoder.instruction(operator.clone()).map_err(|error| error.to_string())
}
