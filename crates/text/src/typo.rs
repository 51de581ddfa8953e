//! Typing errors: words that are a few slips away from one that was typed. A slip leaves out a letter, adds one, takes
//! another, or swaps two neighbours.

/// Longest word that is compared, bytes.
const WORD_BYTES_MAX: usize = 100;
/// Letters from which on one slip is forgiven, and two.
const LETTERS_OF_SLIPS: [usize; 2] = [4, 8];
/// Letters a stem must have to be compared.
const STEM_LETTERS_MIN: usize = 4;

/// A word that was typed, perhaps with slips.
#[derive(Clone, Debug)]
pub struct Typo {
    word: Vec<char>,
    letters: u32,
    slips_max: usize,
}

/// A bit for each letter of ASCII that a word has, and one for all others together.
fn letters_of(letters: impl Iterator<Item = char>) -> u32 {
    letters.fold(0, |bits, letter| {
        bits | if letter.is_ascii_lowercase() { 1 << (letter as u32 - 'a' as u32) } else { 1 << 31 }
    })
}

/// How many slips of a folded word are forgiven: none in short ones, in numbers, and in CJK.
#[must_use]
pub fn slips_forgiven(word: &str) -> usize {
    let is_word = word.len() <= WORD_BYTES_MAX && word.chars().all(char::is_alphabetic) && !crate::has_cjk(word);
    let letters = if is_word { word.chars().count() } else { 0 };
    LETTERS_OF_SLIPS.iter().filter(|least| letters >= **least).count()
}

impl Typo {
    /// The slips of a folded word.
    #[must_use]
    pub fn new(word: &str, slips_max: usize) -> Typo {
        Typo { word: word.chars().collect(), letters: letters_of(word.chars()), slips_max }
    }

    /// That of a stem; none if it is too short to tell.
    #[must_use]
    pub fn of_stem(stem: &str, slips_max: usize) -> Option<Typo> {
        (stem.chars().count() >= STEM_LETTERS_MIN).then(|| Typo::new(stem, slips_max))
    }

    /// The letters of the word.
    pub(crate) fn letters(&self) -> &[char] {
        &self.word
    }

    /// Whether a folded word is what was meant, or begins with it if `begins`.
    #[must_use]
    pub fn is_of(&self, word: &str, begins: bool) -> bool {
        let (least, most) = (self.word.len().saturating_sub(self.slips_max), self.word.len() + self.slips_max);
        // A letter has four bytes at most.
        if word.len() < least || word.len() > WORD_BYTES_MAX || (!begins && word.len() > 4 * most) {
            return false;
        }
        if word.is_ascii() && !begins && word.len() > most || word.bytes().any(|byte| byte.is_ascii_digit()) {
            return false;
        }
        // A slip adds one letter at most that the other does not have, and takes one.
        let letters = letters_of(word.chars());
        let too_many = |missing: u32| missing.count_ones() as usize > self.slips_max;
        if too_many(self.letters & !letters) || !begins && too_many(letters & !self.letters) {
            return false;
        }
        self.slips_to(word, begins) <= self.slips_max
    }

    /// The slips between the word and another, or its nearest beginning; more than are allowed if there are more.
    ///
    /// The rows of the usual table, with the one before the last for letters that were swapped; only the cells that can
    /// be few enough.
    fn slips_to(&self, other: &str, begins: bool) -> usize {
        let (length, most) = (self.word.len(), self.slips_max);
        let too_many = most + 1;
        if length == 0 {
            return if begins { 0 } else { other.chars().count() };
        }
        let mut rows = [[0u8; WORD_BYTES_MAX + 1]; 3];
        let capped = |slips: usize| slips.min(too_many) as u8;
        for (at, cell) in rows[0][..=length].iter_mut().enumerate() {
            *cell = capped(at);
        }
        let mut best = rows[0][length];
        let mut last = None;
        let (mut row, mut count) = (0, 0);
        for (number, letter) in other.chars().enumerate() {
            count = number + 1;
            let (above, before) = (row, (row + 2) % 3);
            row = (row + 1) % 3;
            let (from, to) = (count.saturating_sub(most).max(1), (count + most).min(length));
            if from > to {
                return if begins { usize::from(best) } else { too_many };
            }
            let mut least = capped(count);
            rows[row][from - 1] = if from == 1 { least } else { too_many as u8 };
            for at in from..=to {
                let own = self.word[at - 1];
                // Cells outside of the band of the row above are never few enough.
                let up = if at < number + most + 1 { rows[above][at] } else { too_many as u8 };
                let mut slips = (rows[above][at - 1] + u8::from(own != letter)).min(rows[row][at - 1] + 1).min(up + 1);
                if at > 1 && number > 0 && last == Some(own) && self.word[at - 2] == letter {
                    slips = slips.min(rows[before][at - 2] + 1);
                }
                rows[row][at] = slips.min(too_many as u8);
                least = least.min(slips);
            }
            if to == length {
                best = best.min(rows[row][length]);
            }
            if least > most as u8 {
                return if begins { usize::from(best) } else { too_many };
            }
            last = Some(letter);
        }
        let whole = if length <= count + most { rows[row][length] } else { too_many as u8 };
        usize::from(if begins { best } else { whole })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn forgiven(typed: &str, meant: &str) -> bool {
        Typo::new(typed, slips_forgiven(typed)).is_of(meant, false)
    }

    #[test]
    fn slips_are_forgiven_by_length() {
        assert!(forgiven("invoce", "invoice") && forgiven("recieve", "receive") && forgiven("wrok", "work"));
        assert!(forgiven("acomodation", "accommodation") && forgiven("definately", "definitely"));
        assert!(!forgiven("invce", "invoice") && !forgiven("cat", "car") && forgiven("cat", "cat"));
        for (word, slips) in [("abc", 0), ("abcd", 1), ("abcdefg", 1), ("abcdefgh", 2), ("abcd1", 0), ("東京都庁", 0)]
        {
            assert_eq!(slips_forgiven(word), slips, "{word}");
        }
        assert!(!Typo::new("abcde", 1).is_of("abcd5", false));
        assert!(Typo::new("invoc", 1).is_of("invoicing", true) && Typo::new("unvoi", 1).is_of("invoice", true));
        assert!(!Typo::new("invoc", 1).is_of("inxxcing", true));
    }

    /// The whole table.
    fn slips(a: &[char], b: &[char]) -> Vec<usize> {
        let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                let mut slips = if i == 0 { j } else { usize::MAX };
                if i > 0 {
                    slips = rows[i - 1][j] + 1;
                }
                if j > 0 {
                    slips = slips.min(rows[i][j - 1] + 1);
                }
                if i > 0 && j > 0 {
                    slips = slips.min(rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]));
                }
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    slips = slips.min(rows[i - 2][j - 2] + 1);
                }
                rows[i][j] = slips;
            }
        }
        rows[a.len()].clone()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(4_000)))]
        #[test]
        fn slips_are_those_of_the_whole_table(word in "[abé]{0,7}", other in "[abé]{0,9}", most in 0usize..4) {
            let (a, b): (Vec<char>, Vec<char>) = (word.chars().collect(), other.chars().collect());
            let table = slips(&a, &b);
            let typo = Typo::new(&word, most);
            prop_assert_eq!(typo.is_of(&other, false), table[b.len()] <= most);
            prop_assert_eq!(typo.is_of(&other, true), table.iter().min().is_some_and(|least| *least <= most));
        }
    }
}
