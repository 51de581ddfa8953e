//! Words that are spellings of another one: for each of its letters those that may stand for it, with any accents.
use super::path::Automaton;
use crate::spelling::{Spelling, accents_of, without_accents};

/// Letters that are followed. Behind them all is accepted.
const LETTERS_MAX: usize = 120;
/// What stands behind a letter that has an accent.
const MARKS: [char; 2] = ['\u{300}', '\u{36f}'];

/// An automaton of the spellings of a word.
pub(crate) struct Spellings {
    letters: Vec<Letter>,
    is_cut: bool,
    begins: bool,
    states: Vec<State>,
}

/// A letter, and those that may come behind it and stand for it together.
struct Letter {
    first: char,
    /// What may stand for it with an accent.
    accented: &'static str,
    seconds: Vec<char>,
}

impl Letter {
    fn new(first: char, seconds: Vec<char>) -> Letter {
        Letter { first, accented: accents_of(first), seconds }
    }
}

/// Bits for each letter: whether the word may go on with it, and whether with one of its seconds.
#[derive(Clone, Copy)]
struct State {
    firsts: u128,
    seconds: u128,
}

impl Spellings {
    /// Of the spellings of a word, or the words that begin with one if `begins`.
    pub(crate) fn new(spelling: &Spelling, begins: bool) -> Spellings {
        let mut letters = Vec::new();
        for place in spelling.places() {
            match &place[..] {
                [only] => letters.extend(only.chars().map(|first| Letter::new(first, Vec::new()))),
                // All of them begin with the same letter.
                several => {
                    let first = several[0].chars().next();
                    let seconds: Vec<char> = several.iter().filter_map(|of| of.chars().nth(1)).collect();
                    letters.extend(first.map(|first| Letter::new(first, seconds)));
                }
            }
        }
        let is_cut = letters.len() > LETTERS_MAX;
        letters.truncate(LETTERS_MAX);
        Spellings { letters, is_cut, begins, states: vec![State { firsts: 1, seconds: 0 }] }
    }

    fn state(&self) -> State {
        self.states.last().copied().unwrap_or(State { firsts: 0, seconds: 0 })
    }

    fn is_at_end(&self, state: State) -> bool {
        state.firsts >> self.letters.len() & 1 == 1
    }

    /// What follows where a letter without an accent comes.
    fn after(&self, state: State, letter: char) -> State {
        let mut after = State { firsts: 0, seconds: 0 };
        for (at, own) in self.at(state.firsts) {
            if own.first == letter {
                after.firsts |= 2 << at;
                after.seconds |= u128::from(!own.seconds.is_empty()) << at;
            }
        }
        for (at, own) in self.at(state.seconds) {
            after.firsts |= u128::from(own.seconds.contains(&letter)) << (at + 1);
        }
        after
    }

    /// The letters that have a bit.
    fn at(&self, mut bits: u128) -> impl Iterator<Item = (usize, &Letter)> {
        std::iter::from_fn(move || {
            let at = bits.trailing_zeros() as usize;
            bits &= bits.wrapping_sub(1);
            Some((at, self.letters.get(at)?))
        })
    }
}

impl Automaton for Spellings {
    fn push(&mut self, letter: char) -> bool {
        let mut state = self.state();
        let mut bytes = [0; 4];
        // Nothing, where it is an accent of the letter before it; two, of which the second may be behind the beginning.
        for letter in without_accents(letter.encode_utf8(&mut bytes)).chars() {
            let is_begun = (self.begins || self.is_cut) && self.is_at_end(state);
            state = if is_begun { state } else { self.after(state, letter) };
        }
        let goes_on = state.firsts != 0 || state.seconds != 0;
        self.states.extend(goes_on.then_some(state));
        goes_on
    }

    fn pop(&mut self) {
        self.states.pop();
    }

    fn next(&self, from: char) -> Option<char> {
        let state = self.state();
        let mut least = (from <= MARKS[1]).then(|| from.max(MARKS[0]));
        let mut offer = |letter: char| {
            if letter >= from && least.is_none_or(|so_far| letter < so_far) {
                least = Some(letter);
            }
        };
        for (_, own) in self.at(state.firsts) {
            offer(own.first);
            // A letter of ASCII stands before all that have an accent.
            if own.first < from || !own.first.is_ascii() {
                own.accented.chars().for_each(&mut offer);
            }
        }
        for second in self.at(state.seconds).flat_map(|(_, own)| &own.seconds) {
            offer(*second);
            accents_of(*second).chars().for_each(&mut offer);
        }
        least
    }

    fn is_endless(&self, letter: char) -> bool {
        (MARKS[0]..=MARKS[1]).contains(&letter)
    }

    fn accepts(&self) -> bool {
        self.is_at_end(self.state())
    }

    fn accepts_all(&self) -> bool {
        (self.begins || self.is_cut) && self.accepts()
    }
}
