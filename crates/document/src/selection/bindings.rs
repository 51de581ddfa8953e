//! Outcomes under bindings of variables: `people[$x].name == "bob" and people[$x].age == 30` is true if one index makes
//! both true.
use std::cell::Cell;
use std::collections::BTreeMap;

use brooklet_task::limits::PATTERN_STEPS;
use brooklet_task::{Code, Rejection};
use brooklet_text::Pattern;

use super::Outcome;

/// Combinations of elements one document may ask for: about two seconds.
const COMBINATIONS: usize = 1 << 20;
/// Elements that are compared in the time of a combination, where no variable stands for one.
pub(super) const PLAIN_ELEMENTS: usize = 16;
/// Bytes of a text that a function is applied to in that time, and those that are compared with a text with wildcards.
pub(super) const FUNCTION_BYTES: usize = 128;
pub(super) const WILDCARD_BYTES: usize = 1 << 10;

/// What a variable stands for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Binding {
    Index(usize),
    /// The encoded key of a map or weighted set.
    Key(Vec<u8>),
}

/// Variables with what they stand for, by name; without variables there is one way only, the empty one.
pub(super) type Bindings = BTreeMap<String, Binding>;

/// Both together, unless they contradict each other.
pub(super) fn merge(left: &Bindings, right: &Bindings) -> Option<Bindings> {
    if left.iter().any(|(name, binding)| right.get(name).is_some_and(|other| other != binding)) {
        return None;
    }
    let mut both = left.clone();
    both.extend(right.iter().map(|(name, binding)| (name.clone(), binding.clone())));
    Some(both)
}

/// Counts the combinations that one evaluation looks at.
#[derive(Default)]
pub(super) struct Budget(usize);

impl Budget {
    pub(super) fn take(&mut self, combinations: usize) -> Result<(), Rejection> {
        self.0 = self.0.saturating_add(combinations);
        if self.0 <= COMBINATIONS {
            return Ok(());
        }
        let message = format!(
            "A selection compares more than {COMBINATIONS} combinations of elements of one document, or as much of its texts"
        );
        Err(Rejection::new(Code::TooLarge, message))
    }
}

/// What the regular expressions of a selection may still cost for a document, in steps that are looked at.
pub(super) struct PatternWork(Cell<usize>);

impl Default for PatternWork {
    fn default() -> PatternWork {
        PatternWork(Cell::new(PATTERN_STEPS))
    }
}

impl PatternWork {
    /// Whether an expression is found in a text. When all was taken it is not found, and [`check`](PatternWork::check)
    /// refuses the whole.
    pub(super) fn is_in(&self, pattern: &Pattern, text: &str) -> bool {
        let mut left = self.0.get();
        let found = left > 0 && pattern.is_in(text, &mut left) == Some(true);
        self.0.set(left);
        found
    }

    /// Refuses a document for which it was too much.
    pub(super) fn check(&self) -> Result<(), Rejection> {
        if self.0.get() > 0 {
            return Ok(());
        }
        let message =
            format!("A selection takes more than {PATTERN_STEPS} steps of regular expressions for one document");
        Err(Rejection::new(Code::TooLarge, message))
    }
}

/// The outcome under each way to bind the variables.
#[derive(Clone, Debug)]
pub(super) struct Outcomes(BTreeMap<Bindings, Outcome>);

impl From<Outcome> for Outcomes {
    fn from(outcome: Outcome) -> Outcomes {
        Outcomes(BTreeMap::from([(Bindings::new(), outcome)]))
    }
}

impl Outcomes {
    pub(super) fn none() -> Outcomes {
        Outcomes(BTreeMap::new())
    }

    /// Adds an outcome; of several under the same bindings one that is true wins, then one that is false.
    pub(super) fn add(&mut self, bindings: Bindings, outcome: Outcome) {
        let found = self.0.entry(bindings).or_insert(outcome);
        *found = (*found).min(outcome);
    }

    /// True if it is true under some bindings, else false if under some, else invalid.
    pub(super) fn combine(&self) -> Outcome {
        self.0.values().copied().min().unwrap_or(Outcome::Invalid)
    }

    /// Both sides under all bindings that agree.
    pub(super) fn with(
        &self,
        other: &Outcomes,
        combine: fn(Outcome, Outcome) -> Outcome,
        budget: &mut Budget,
    ) -> Result<Outcomes, Rejection> {
        let mut both = Outcomes::none();
        if let (Some(left), Some(right)) = (self.variables(), other.variables())
            && left.eq(right)
        {
            // The same variables on both sides, the common case: only equal bindings agree.
            for (bindings, outcome) in &self.0 {
                if let Some(found) = other.0.get(bindings) {
                    both.add(bindings.clone(), combine(*outcome, *found));
                }
            }
            return Ok(both);
        }
        budget.take(self.0.len().saturating_mul(other.0.len()))?;
        for (bindings, outcome) in &self.0 {
            for (others, found) in &other.0 {
                if let Some(merged) = merge(bindings, others) {
                    both.add(merged, combine(*outcome, *found));
                }
            }
        }
        Ok(both)
    }

    /// The names of the variables, if every way binds the same ones.
    fn variables(&self) -> Option<impl Iterator<Item = &String>> {
        let first = self.0.keys().next()?;
        let same = self.0.keys().all(|bindings| bindings.keys().eq(first.keys()));
        same.then(|| first.keys())
    }
}

/// True and false as usual; false wins over invalid, invalid over true.
pub(super) fn and(left: Outcome, right: Outcome) -> Outcome {
    match (left, right) {
        (Outcome::False, _) | (_, Outcome::False) => Outcome::False,
        (Outcome::Invalid, _) | (_, Outcome::Invalid) => Outcome::Invalid,
        _ => Outcome::True,
    }
}

/// True wins over invalid, invalid over false.
pub(super) fn or(left: Outcome, right: Outcome) -> Outcome {
    match (left, right) {
        (Outcome::True, _) | (_, Outcome::True) => Outcome::True,
        (Outcome::Invalid, _) | (_, Outcome::Invalid) => Outcome::Invalid,
        _ => Outcome::False,
    }
}
