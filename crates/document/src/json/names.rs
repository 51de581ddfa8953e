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

#[cfg(test)]
mod tests {
    use super::*;

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
