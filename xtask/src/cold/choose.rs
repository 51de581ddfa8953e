//! Which instructions of a function are taken out of it: those that a start does not run, where they are many enough.

use std::collections::BTreeSet;

use wasmparser::Operator;

use super::code::{Code, Target};
use super::live::Live;

/// Bytes that a call takes for each value that goes to it or comes back, and how many times what it takes has to be saved.
const BYTES_OF_VALUE: usize = 3;
const GAIN: usize = 3;
/// The most values that a call takes along, and brings back.
const TAKEN_MAX: usize = 40;
const BROUGHT_MAX: usize = 16;

/// Instructions that follow each other in one block.
pub struct Part {
    pub begin: usize,
    pub end: usize,
    /// The locals that are read in it before it sets them.
    pub parameters: Vec<u32>,
    /// The locals that it sets and that are read behind it.
    pub set: Vec<u32>,
    /// Where it leaves for other places than its end.
    pub exits: Vec<Target>,
    /// Whether its end is reached.
    pub falls: bool,
}

/// The parts of a function that `run` none of its stretches, each of at least `bytes_min`, the first of them first.
pub fn choose(code: &Code<'_>, run: &[bool], bytes_min: usize) -> Vec<Part> {
    let mut hot = vec![0];
    for stretch in &code.stretches {
        let was_run = stretch.is_some_and(|stretch| run.get(stretch).copied().unwrap_or(true));
        hot.push(hot.last().copied().unwrap_or(0) + usize::from(was_run));
    }
    if hot.last() == Some(&0) {
        return Vec::new();
    }
    let mut choosing = Choosing { code, live: Live::of(code), hot, bytes_min, parts: Vec::new() };
    choosing.list(0, code.operators.len() - 1);
    choosing.parts
}

struct Choosing<'c, 'a> {
    code: &'c Code<'a>,
    live: Live,
    /// How many instructions before each were run.
    hot: Vec<usize>,
    bytes_min: usize,
    parts: Vec<Part>,
}

/// Instructions that may become a part.
struct Run {
    begin: usize,
    /// The last place where as much is on the stack as at the begin.
    end: usize,
    height: usize,
}

impl Choosing<'_, '_> {
    /// Looks through the instructions of one block.
    fn list(&mut self, begin: usize, end: usize) {
        let mut run: Option<Run> = None;
        let mut at = begin;
        while at < end && self.code.reached[at] {
            let (next, stack) = (self.code.after(at), self.code.stack[at]);
            if !self.may_leave(at, next) {
                self.close(run.take());
                self.blocks(at, next);
                at = next;
                continue;
            }
            if run.as_ref().is_some_and(|run| stack.height - stack.popped < run.height) {
                self.close(run.take());
            }
            if run.is_none() && stack.popped == 0 {
                run = Some(Run { begin: at, end: at, height: stack.height });
            }
            if let Some(run) = &mut run
                && (!self.code.reached[next] || self.code.stack[next].height == run.height)
            {
                run.end = next;
            }
            at = next;
        }
        self.close(run);
    }

    /// Looks into the blocks among these instructions.
    fn blocks(&mut self, begin: usize, end: usize) {
        let mut at = begin;
        while at < end {
            if self.code.is_block(at) {
                for (begin, end) in self.code.inside(at) {
                    self.list(begin, end);
                }
            }
            at = self.code.after(at);
        }
    }

    /// Whether an instruction, with all that is in its block, was not run and can stand in a function of its own.
    fn may_leave(&self, begin: usize, end: usize) -> bool {
        self.hot[begin] == self.hot[end]
            && (begin..end).all(|at| {
                let is_conditional =
                    matches!(self.code.operators[at], Operator::BrIf { .. } | Operator::BrTable { .. });
                self.exits(at, begin, end).into_iter().all(|target| match target {
                    Target::Return => self.code.results.len() <= usize::from(!is_conditional),
                    Target::Block(_) => self.code.taken_along(target) == Some(0),
                })
            })
    }

    /// Where an instruction leads outside of the stretch of instructions that it is in.
    fn exits(&self, at: usize, begin: usize, end: usize) -> Vec<Target> {
        let mut targets = self.code.targets(at);
        targets.retain(|target| !matches!(target, Target::Block(block) if (begin..end).contains(block)));
        targets
    }

    fn close(&mut self, run: Option<Run>) {
        let Some(Run { begin, end, .. }) = run.filter(|run| run.end > run.begin) else { return };
        let bytes = self.code.places[end] - self.code.places[begin];
        if bytes < self.bytes_min {
            return;
        }
        let part = self.part(begin, end);
        let (taken, brought) = (part.parameters.len(), part.set.len());
        if taken > TAKEN_MAX || brought > BROUGHT_MAX {
            self.blocks(begin, end);
        } else if bytes >= self.bytes_min + GAIN * BYTES_OF_VALUE * (taken + brought + part.exits.len()) {
            self.parts.push(part);
        }
    }

    fn part(&self, begin: usize, end: usize) -> Part {
        let (mut read, mut set, mut exits) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for at in begin..end {
            match self.code.operators[at] {
                Operator::LocalGet { local_index } => drop(read.insert(local_index)),
                Operator::LocalSet { local_index } | Operator::LocalTee { local_index } => {
                    set.insert(local_index);
                }
                _ => exits.extend(self.exits(at, begin, end)),
            }
        }
        let falls = self.code.reached[end];
        read.retain(|local| self.live.has(begin, *local));
        set.retain(|local| {
            (falls && self.live.has(end, *local))
                || exits.iter().filter_map(|exit| self.code.place(*exit)).any(|place| self.live.has(place, *local))
        });
        // What it sets on one way only has to come along for the others.
        read.extend(set.iter().filter(|local| self.live.has(begin, **local)));
        let list = |locals: BTreeSet<u32>| locals.into_iter().collect();
        Part { begin, end, parameters: list(read), set: list(set), exits: exits.into_iter().collect(), falls }
    }
}
