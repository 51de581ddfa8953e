//! Runs a program over a value, all ways at once: its time is linear in the value, and it can rest after every character.
use super::program::{Instruction, Program};

/// How far a search got in a value.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The byte of the value it goes on at; the beginning if none is under way.
    at: usize,
    /// Steps that ask for the character there, and those that ask for the next.
    threads: Vec<u32>,
    next: Vec<u32>,
    /// Steps that are to be looked at.
    rest: Vec<u32>,
    /// At which place each step was reached last, counting all places there ever were: once a place is enough.
    reached: Vec<u64>,
    place: u64,
}

impl Progress {
    /// Whether the program finds something in a value. Takes about so much from `work`: steps that are looked at.
    /// Nothing if that was not enough; asked again about the same value it goes on. `read` says as which character one of
    /// the value is compared.
    pub(super) fn find(
        &mut self,
        program: &Program,
        value: &str,
        work: &mut usize,
        read: impl Fn(char) -> char,
    ) -> Option<bool> {
        let found = self.go_on(program, value, work, read);
        if found.is_some() {
            self.at = 0;
        }
        found
    }

    fn go_on(&mut self, program: &Program, value: &str, work: &mut usize, read: impl Fn(char) -> char) -> Option<bool> {
        self.reached.resize(program.steps.len(), 0);
        let mut rest = value.get(self.at..).unwrap_or_default().chars();
        let mut current = rest.next().map(&read);
        if self.at == 0 {
            self.threads.clear();
            self.place += 1;
            if self.reach(program, program.start, (None, current), work) {
                return Some(true);
            }
        }
        while let Some(character) = current {
            let mut at = value.len() - rest.as_str().len();
            let mut before = character;
            let mut after = rest.next().map(&read);
            if self.step(program, character, after, work) {
                return Some(true);
            }
            if self.threads.is_empty() && program.only_at_start {
                return Some(false);
            }
            if let (true, Some(firsts)) = (self.threads.is_empty(), &program.firsts) {
                // Nothing has begun: what nothing begins with is passed over.
                let from = at;
                while let Some(other) = after.filter(|other| !firsts.contains(*other)) {
                    before = other;
                    at = value.len() - rest.as_str().len();
                    after = rest.next().map(&read);
                }
                *work = work.saturating_sub(at - from);
                self.place += 1;
            }
            if self.reach(program, program.start, (Some(before), after), work) {
                return Some(true);
            }
            (self.at, current) = (at, after);
            if *work == 0 && current.is_some() {
                return None;
            }
        }
        Some(false)
    }

    /// Passes a character: whether something ends behind it.
    fn step(&mut self, program: &Program, character: char, after: Option<char>, work: &mut usize) -> bool {
        self.place += 1;
        let threads = std::mem::replace(&mut self.threads, std::mem::take(&mut self.next));
        self.threads.clear();
        *work = work.saturating_sub(1 + threads.len());
        let passes = |thread: &u32| match program.steps[*thread as usize] {
            Instruction::Class { class, next } if program.classes[class as usize].contains(character) => Some(next),
            _ => None,
        };
        let found =
            threads.iter().filter_map(passes).any(|next| self.reach(program, next, (Some(character), after), work));
        self.next = threads;
        found
    }

    /// Adds the steps that ask for the next character and are reached from `step` between two characters; whether the
    /// end is reached.
    fn reach(
        &mut self,
        program: &Program,
        step: u32,
        (before, after): (Option<char>, Option<char>),
        work: &mut usize,
    ) -> bool {
        self.rest.clear();
        self.rest.push(step);
        while let Some(step) = self.rest.pop() {
            if self.reached[step as usize] == self.place {
                continue;
            }
            self.reached[step as usize] = self.place;
            *work = work.saturating_sub(1);
            match program.steps[step as usize] {
                Instruction::Class { .. } => self.threads.push(step),
                Instruction::Split(one, other) => self.rest.extend([other, one]),
                Instruction::Look { look, next } if look.holds(before, after) => self.rest.push(next),
                Instruction::Look { .. } => {}
                Instruction::Match => return true,
            }
        }
        false
    }
}
