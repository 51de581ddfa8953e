//! Words that are a few slips away from another one: the rows of the usual table, one for each letter that was taken. A
//! row of which all cells are too many ends the way.
use super::path::Automaton;

/// An automaton of the words that are few slips away from a word.
pub(crate) struct Slips {
    word: Vec<char>,
    most: u8,
    /// What the words must begin with.
    first: Option<char>,
    /// From which cell of a row on few slips are enough, whatever comes behind.
    enough: Option<usize>,
    letters: Vec<char>,
    /// A row for each letter that was taken, and the one before all.
    rows: Vec<u8>,
    /// The least of each row.
    least: Vec<u8>,
}

impl Slips {
    /// Words that are so many slips away, or begin with such a word if `begins`.
    pub(crate) fn of_word(word: &[char], most: usize, begins: bool) -> Slips {
        Slips::new(word, most, None, begins.then_some(word.len()))
    }

    /// Words that begin with a letter and with all but `written` letters of something that is so many slips away from a
    /// stem.
    pub(crate) fn of_stem(stem: &[char], most: usize, first: Option<char>, written: usize) -> Slips {
        Slips::new(stem, most, first, Some(stem.len().saturating_sub(written + most)))
    }

    fn new(word: &[char], most: usize, first: Option<char>, enough: Option<usize>) -> Slips {
        let most = most.min(usize::from(u8::MAX - 1)) as u8;
        let rows = (0..=word.len()).map(|slips| slips.min(usize::from(most) + 1) as u8).collect();
        Slips { word: word.to_vec(), most, first, enough, letters: Vec::new(), rows, least: vec![0] }
    }

    /// The row of the last letter, or one of a letter before it.
    fn row(&self, back: usize) -> &[u8] {
        let width = self.word.len() + 1;
        let end = self.rows.len() - back * width;
        &self.rows[end - width..end]
    }

    /// The first letter from one on that it takes where no more slips are allowed than there are: one that comes next, or
    /// the first of two that are swapped.
    fn next_of_word(&self, from: char) -> Option<char> {
        let (most, depth) = (usize::from(self.most), self.letters.len());
        // Cells further away are too many.
        let near = depth.saturating_sub(most);
        let cells = self.word.iter().zip(self.row(0)).skip(near).take(2 * most + 1);
        let next = cells.filter(|(_, slips)| **slips <= self.most).map(|(own, _)| *own);
        let last = self.letters.last();
        let before: &[u8] = if depth > 0 { self.row(1) } else { &[] };
        let pairs = self.word.windows(2).zip(before).skip(near.saturating_sub(1)).take(2 * most + 1);
        let is_swapped = |(pair, slips): &(&[char], &u8)| **slips < self.most && pair.get(1) == last;
        let swapped = pairs.filter(is_swapped).map(|(pair, _)| pair[0]);
        next.chain(swapped).filter(|letter| *letter >= from).min()
    }
}

impl Automaton for Slips {
    fn push(&mut self, letter: char) -> bool {
        let depth = self.letters.len();
        // Words with digits are no slips of each other.
        if letter.is_ascii_digit() || depth == 0 && self.first.is_some_and(|first| first != letter) {
            return false;
        }
        let (width, most, too_many) = (self.word.len() + 1, usize::from(self.most), self.most + 1);
        let start = self.rows.len();
        self.rows.resize(start + width, too_many);
        let (rows, row) = self.rows.split_at_mut(start);
        let above = &rows[start - width..];
        row[0] = (depth + 1).min(most + 1) as u8;
        let mut least = row[0];
        // Cells further away are too many.
        for at in (depth + 1).saturating_sub(most).max(1)..width.min(depth + most + 2) {
            let own = self.word[at - 1];
            let mut slips = (above[at - 1] + u8::from(own != letter)).min(above[at] + 1).min(row[at - 1] + 1);
            if at > 1 && self.letters.last() == Some(&own) && self.word[at - 2] == letter {
                slips = slips.min(rows[start - 2 * width + at - 2] + 1);
            }
            row[at] = slips.min(too_many);
            least = least.min(slips);
        }
        if least > self.most {
            self.rows.truncate(start);
            return false;
        }
        self.least.push(least);
        self.letters.push(letter);
        true
    }

    fn pop(&mut self) {
        if self.letters.pop().is_some() {
            self.least.pop();
            self.rows.truncate(self.rows.len() - (self.word.len() + 1));
        }
    }

    fn next(&self, from: char) -> Option<char> {
        let from = if from.is_ascii_digit() { ':' } else { from };
        if let (true, Some(first)) = (self.letters.is_empty(), self.first) {
            return Some(first).filter(|first| *first >= from);
        }
        if self.least.last().is_some_and(|least| *least < self.most) {
            return Some(from);
        }
        self.next_of_word(from)
    }

    fn accepts(&self) -> bool {
        self.row(0).last().is_some_and(|slips| *slips <= self.most)
    }

    fn accepts_all(&self) -> bool {
        let began = self.first.is_none() || !self.letters.is_empty();
        began && self.enough.is_some_and(|enough| self.row(0)[enough..].iter().any(|slips| *slips <= self.most))
    }
}
