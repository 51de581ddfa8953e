//! Sorted words searched by automata: an automaton tells where the next word can stand that it accepts, and what stands
//! before that is passed over. What is looked at is bounded by what can be accepted, not by how many words there are.
//!
//! Automata may accept more than is wanted, never less: what they lead to is compared by others.

/// Takes the letters of a word one after the other, and knows which can come next.
pub(crate) trait Automaton {
    /// Takes a letter. False, and it takes none, if no word is accepted that begins so.
    fn push(&mut self, letter: char) -> bool;
    /// Gives the last letter back.
    fn pop(&mut self);
    /// The first letter from this one on that it may take next.
    fn next(&self, from: char) -> Option<char>;
    /// Whether a letter may come as often as one likes: then no word is the first of those that go on with it.
    fn is_endless(&self, _letter: char) -> bool {
        false
    }
    /// Whether the letters it took are a word that is accepted.
    fn accepts(&self) -> bool;
    /// Whether all words are accepted that begin with them.
    fn accepts_all(&self) -> bool;
}

/// The way of an automaton through sorted words.
pub(crate) struct Path {
    automaton: Box<dyn Automaton>,
    /// What it took.
    letters: Vec<char>,
    /// The first word it may accept, of those from the word on that was asked last.
    bound: String,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    NotAsked,
    Asked,
    /// There are no more words.
    AtEnd,
}

impl Path {
    /// The path of an automaton that took nothing yet.
    pub(crate) fn new(automaton: impl Automaton + 'static) -> Path {
        Path { automaton: Box::new(automaton), letters: Vec::new(), bound: String::new(), state: State::NotAsked }
    }

    /// What no word stands before that is accepted and does not stand before `word`: `word` itself, if it may be accepted.
    /// Each word that is asked stands behind those before it.
    pub(crate) fn bound(&mut self, word: &str) -> Option<&str> {
        if self.state == State::NotAsked || self.state == State::Asked && self.bound.as_str() < word {
            self.state = if self.seek(word) { State::Asked } else { State::AtEnd };
        }
        (self.state == State::Asked).then_some(self.bound.as_str())
    }

    fn seek(&mut self, word: &str) -> bool {
        let shared = self.letters.iter().zip(word.chars()).take_while(|(own, letter)| *own == letter).count();
        (shared..self.letters.len()).for_each(|_| self.automaton.pop());
        self.letters.truncate(shared);
        for letter in word.chars().skip(shared) {
            if self.automaton.accepts_all() {
                return self.stop_at(word);
            }
            if !self.push(letter) {
                return self.seek_behind(letter);
            }
        }
        if self.automaton.accepts() || self.automaton.accepts_all() {
            return self.stop_at(word);
        }
        self.complete();
        true
    }

    fn stop_at(&mut self, word: &str) -> bool {
        self.bound.clear();
        self.bound.push_str(word);
        true
    }

    fn push(&mut self, letter: char) -> bool {
        let takes = self.automaton.push(letter);
        self.letters.extend(takes.then_some(letter));
        takes
    }

    /// Seeks behind all words that begin with what was taken and a letter.
    fn seek_behind(&mut self, letter: char) -> bool {
        let mut last = Some(letter);
        while let Some(letter) = last {
            if let Some(next) = successor(letter).and_then(|from| self.automaton.next(from)) {
                if self.push(next) {
                    self.complete();
                } else {
                    self.set_bound(Some(next));
                }
                return true;
            }
            last = self.letters.pop();
            last.iter().for_each(|_| self.automaton.pop());
        }
        false
    }

    /// Takes the first letter that can come next, and the one after it, as long as that is one of a few.
    fn complete(&mut self) {
        while !self.automaton.accepts() && !self.automaton.accepts_all() {
            match self.automaton.next('\0') {
                Some('\0') | None => break,
                Some(next) if self.automaton.is_endless(next) || !self.push(next) => {
                    return self.set_bound(Some(next));
                }
                Some(_) => {}
            }
        }
        self.set_bound(None);
    }

    fn set_bound(&mut self, last: Option<char>) {
        self.bound.clear();
        self.bound.extend(self.letters.iter().copied().chain(last));
    }
}

fn successor(letter: char) -> Option<char> {
    let next = letter as u32 + 1;
    // Where the surrogates are there are no letters.
    char::from_u32(next).or_else(|| char::from_u32(next + 0x800))
}

/// Words and beginnings of words, sorted.
pub(crate) struct Ranges {
    all: Vec<Range>,
    /// Those before it end before the word that was asked last.
    next: usize,
}

/// A word, or all words that begin with it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Range {
    pub(crate) word: String,
    pub(crate) begins: bool,
}

impl Range {
    /// One word.
    pub(crate) fn word(word: impl Into<String>) -> Range {
        Range { word: word.into(), begins: false }
    }

    /// All words that begin so.
    pub(crate) fn beginning(word: impl Into<String>) -> Range {
        Range { word: word.into(), begins: true }
    }
}

impl Ranges {
    pub(crate) fn new(mut all: Vec<Range>) -> Ranges {
        all.sort_unstable();
        Ranges { all, next: 0 }
    }

    /// As [`Path::bound`]: where the first of the ranges is that does not end before a word; `true` if the word is in it.
    pub(crate) fn bound(&mut self, word: &str) -> Option<(&str, bool)> {
        let holds = |range: &Range| *range.word == *word || range.begins && word.starts_with(&range.word);
        let passed = |range: &Range| *range.word < *word && !holds(range);
        self.next += self.all[self.next..].iter().take_while(|range| passed(range)).count();
        // What is passed ends for good. A range inside of another one may end first.
        let range = self.all.get(self.next)?;
        Some((&range.word, holds(range)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_passed_in_order() {
        let ranges = [Range::beginning("in'"), Range::word("in"), Range::beginning("ing"), Range::word("ins")];
        let mut ranges = Ranges::new(ranges.into());
        assert_eq!(ranges.bound(""), Some(("in", false)));
        assert_eq!(ranges.bound("in"), Some(("in", true)));
        assert_eq!(ranges.bound("in's"), Some(("in'", true)));
        assert_eq!(ranges.bound("inert"), Some(("ing", false)));
        assert_eq!(ranges.bound("ings"), Some(("ing", true)));
        assert_eq!(ranges.bound("insert"), None);
    }

    #[test]
    fn letters_have_successors() {
        assert_eq!(successor('a'), Some('b'));
        assert_eq!(successor('\u{d7ff}'), Some('\u{e000}'));
        assert_eq!(successor(char::MAX), None);
    }
}
