//! One total of all groups of a table, as a column: counts and sums of whole numbers are plain numbers, all else a state
//! for each group.
use brooklet_query::grouping::GroupValue;
use brooklet_query::grouping::tree::Aggregator;
use brooklet_task::Rejection;
use brooklet_task::bytes::{Reader, Writer};

use super::datum::Datum;
use super::total::State;

/// What was added up, by group.
#[derive(Clone, Debug)]
pub(crate) enum Totals {
    Counts(Vec<u64>),
    /// Sums of whole numbers, as they wrap around; [`Totals::States`] as soon as there is another number.
    Sums(Vec<i64>),
    /// With that of a group to which nothing was added.
    States(State, Vec<State>),
}

impl Totals {
    /// No groups yet.
    pub(crate) fn new(what: &GroupValue) -> Totals {
        let states = |fresh| Totals::States(fresh, Vec::new());
        match what {
            GroupValue::Count | GroupValue::CountGroups(_) => Totals::Counts(Vec::new()),
            GroupValue::Quantiles(..) => states(State::Values(Vec::new())),
            GroupValue::Aggregate(aggregator, _) => match aggregator {
                Aggregator::Sum => Totals::Sums(Vec::new()),
                Aggregator::Avg => states(State::Mean { longs: 0, doubles: None, count: 0 }),
                Aggregator::Min => states(State::Least(Datum::Nothing)),
                Aggregator::Max => states(State::Greatest(Datum::Nothing)),
                Aggregator::Xor => states(State::Xor(0)),
                Aggregator::StdDev => states(State::Deviation(Box::default())),
            },
        }
    }

    /// One more group.
    pub(crate) fn push(&mut self) {
        match self {
            Totals::Counts(counts) => counts.push(0),
            Totals::Sums(sums) => sums.push(0),
            Totals::States(fresh, states) => states.push(fresh.clone()),
        }
    }

    /// Counts a document in every one of these groups.
    pub(crate) fn count(&mut self, groups: impl Iterator<Item = u32>) {
        if let Totals::Counts(counts) = self {
            groups.for_each(|group| counts[group as usize] += 1);
        }
    }

    /// Sets the counts of all groups.
    pub(crate) fn set_counts(&mut self, counts: Vec<u64>) {
        *self = Totals::Counts(counts);
    }

    /// Adds whole numbers to groups.
    pub(crate) fn add_longs(&mut self, values: impl Iterator<Item = (u32, i64)>) -> usize {
        match self {
            Totals::Sums(sums) => {
                for (group, value) in values {
                    let sum = &mut sums[group as usize];
                    *sum = sum.wrapping_add(value);
                }
                0
            }
            _ => values.map(|(group, value)| self.add(group, &Datum::Long(value))).sum(),
        }
    }

    /// Adds a value to a group, every element of it. Returns bytes it takes more.
    #[inline]
    pub(crate) fn add(&mut self, group: u32, value: &Datum) -> usize {
        match self {
            Totals::Counts(counts) => counts[group as usize] += value.elements().len() as u64,
            Totals::Sums(sums) if !has_fractions(value) => {
                let sum = &mut sums[group as usize];
                value.elements().iter().for_each(|element| *sum = sum.wrapping_add(element.long()));
            }
            Totals::Sums(_) => {
                self.spread();
                return self.add(group, value);
            }
            Totals::States(_, states) => return states[group as usize].add(value),
        }
        0
    }

    /// Makes sums of whole numbers states, which others can be added to.
    fn spread(&mut self) {
        if let Totals::Sums(sums) = self {
            *self = Totals::States(State::Longs(0), sums.iter().map(|sum| State::Longs(*sum)).collect());
        }
    }

    /// Gives groups in which nothing was there to compare what the reference begins with: what is beyond all values.
    pub(crate) fn settle(&mut self) {
        let Totals::States(fresh, states) = self else { return };
        let (State::Least(_) | State::Greatest(_)) = fresh else { return };
        let of = |state: &State| match state {
            State::Least(value) | State::Greatest(value) => Some(value.clone()),
            _ => None,
        };
        let like = states.iter().filter_map(of).find(|value| !matches!(value, Datum::Nothing));
        for state in states {
            match state {
                State::Least(value @ Datum::Nothing) => *value = Datum::beyond(like.as_ref(), true),
                State::Greatest(value @ Datum::Nothing) => *value = Datum::beyond(like.as_ref(), false),
                _ => {}
            }
        }
    }

    /// What is shown of a group, and ordered by.
    pub(crate) fn result(&self, group: usize, what: &GroupValue) -> Datum {
        match self {
            Totals::Counts(counts) => Datum::Long(counts[group] as i64),
            Totals::Sums(sums) => Datum::Long(sums[group]),
            Totals::States(_, states) => states[group].result(what),
        }
    }

    /// All of it as whole numbers, if it is that.
    pub(crate) fn longs(&self) -> Option<Vec<i64>> {
        match self {
            Totals::Counts(counts) => Some(counts.iter().map(|count| *count as i64).collect()),
            Totals::Sums(sums) => Some(sums.clone()),
            Totals::States(..) => None,
        }
    }

    pub(crate) fn write(&self, group: usize, writer: &mut Writer) {
        match self {
            Totals::Counts(counts) => writer.varint(counts[group]),
            Totals::Sums(sums) => State::Longs(sums[group]).write(writer),
            Totals::States(_, states) => states[group].write(writer),
        }
    }

    /// Adds what [`Totals::write`] wrote to a group. Returns bytes it takes more.
    pub(crate) fn read(&mut self, group: usize, reader: &mut Reader<'_>) -> Result<usize, Rejection> {
        match self {
            Totals::Counts(counts) => {
                let count = &mut counts[group];
                *count = count.saturating_add(reader.varint()?);
                Ok(0)
            }
            Totals::Sums(sums) => match State::Longs(0).read(reader)? {
                State::Longs(sum) => {
                    sums[group] = sums[group].wrapping_add(sum);
                    Ok(0)
                }
                state => {
                    self.spread();
                    self.merge_state(group, &state)
                }
            },
            Totals::States(fresh, _) => {
                let state = fresh.read(reader)?;
                self.merge_state(group, &state)
            }
        }
    }

    fn merge_state(&mut self, group: usize, state: &State) -> Result<usize, Rejection> {
        match self {
            Totals::States(_, states) => states[group].merge(state),
            _ => Err(Rejection::corrupt("totals of another grouping")),
        }
    }
}

fn has_fractions(value: &Datum) -> bool {
    !value.elements().iter().all(Datum::is_whole)
}
