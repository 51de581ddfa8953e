//! Keys of objects whose members are named: each once, and a hint for a misspelt one.
use std::collections::BTreeSet;

/// Names that are compared one by one. Most objects have no more, and a tree of them costs more than it saves.
const FEW: usize = 8;
/// Room for most of them, made at once.
const FEW_BYTES: usize = 64;

/// The keys of one object seen so far.
#[derive(Clone, Debug, Default)]
pub struct UniqueNames {
    /// The first of them, one after the other, and where each ends.
    few: String,
    ends: [usize; FEW],
    more: BTreeSet<String>,
    count: usize,
}

impl UniqueNames {
    /// Takes note of `name`; false if it was seen before.
    pub fn first_time(&mut self, name: &str) -> bool {
        let mut start = 0;
        for end in &self.ends[..self.count.min(FEW)] {
            if &self.few[start..*end] == name {
                return false;
            }
            start = *end;
        }
        if self.count < FEW {
            if self.count == 0 {
                self.few.reserve(FEW_BYTES);
            }
            self.few.push_str(name);
            self.ends[self.count] = self.few.len();
        } else if !self.more.insert(name.to_owned()) {
            return false;
        }
        self.count += 1;
        true
    }

    /// The number of different keys that were seen.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }
}

/// The one of `names` that `name` is probably meant to be: nearest by insertions, deletions, replacements and swaps of
/// neighbours, and at most a third of its letters away (at least one). Of equally near ones the first.
pub fn nearest_name<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted: Vec<char> = name.chars().take(NAME_CHARACTERS + 1).collect();
    if wanted.len() > NAME_CHARACTERS {
        return None;
    }
    let furthest = (wanted.len() / 3).max(1);
    let near = |candidate: &'a str| Some((distance(&wanted, candidate), candidate));
    let nearest = names.into_iter().filter_map(near).min_by_key(|(distance, _)| *distance)?;
    (nearest.0 <= furthest).then_some(nearest.1)
}

/// Names longer than this get no hint.
const NAME_CHARACTERS: usize = 64;

/// Insertions, deletions, replacements and swaps of neighbours between two names, a row of the table at a time.
fn distance(from: &[char], to: &str) -> usize {
    let mut row: Vec<usize> = (0..=from.len()).collect();
    let mut row_before = row.clone();
    let mut letter_before = None;
    for (i, c) in to.chars().enumerate() {
        let mut next = vec![i + 1; row.len()];
        for (j, d) in from.iter().enumerate() {
            let replaced = row[j] + usize::from(c != *d);
            next[j + 1] = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            if j > 0 && letter_before == Some(*d) && from[j - 1] == c {
                next[j + 1] = next[j + 1].min(row_before[j - 1] + 1);
            }
        }
        row_before = std::mem::replace(&mut row, next);
        letter_before = Some(c);
    }
    row[from.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_finds_its_neighbour() {
        let names = ["body", "subject", "sender"];
        assert_eq!(nearest_name("subjct", names), Some("subject"));
        assert_eq!(nearest_name("sbuject", names), Some("subject"));
        assert_eq!(nearest_name("boyd", names), Some("body"));
        assert_eq!(nearest_name("Body", names), Some("body"));
        assert_eq!(nearest_name("__proto__", names), None);
        assert_eq!(nearest_name("", names), None);
        assert_eq!(distance(&['k', 'i', 't', 't', 'e', 'n'], "sitting"), 3);
    }

    #[test]
    fn a_name_comes_once() {
        let mut names = UniqueNames::default();
        assert!(names.first_time("a") && names.first_time("b") && !names.first_time("a"));
        assert_eq!(names.count(), 2);
        assert!(names.first_time("ab") && names.first_time("") && !names.first_time(""));
        let all: Vec<String> = (0..3 * FEW).map(|number| format!("name {number}")).collect();
        assert!(all.iter().all(|name| names.first_time(name)));
        assert!(all.iter().chain([&"b".to_owned()]).all(|name| !names.first_time(name)));
        assert_eq!(names.count(), 4 + 3 * FEW);
    }
}
