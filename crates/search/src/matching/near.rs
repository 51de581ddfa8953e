//! Terms close to each other in one field: windows over the places where they stand.
//!
//! A window begins at a place of one term and ends at the place of another that is no more than the distance after it,
//! and every term stands in it. Of the windows with one beginning only the shortest counts. Places are ordered by
//! element and position; with an element gap a window may reach into the next element, whose positions then count from
//! the end of this one and the gap on.
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use brooklet_rank::match_data::Occurrence;

use super::occurrences;

/// A place: element and position.
type ElementPosition = (u32, u32);

/// What makes a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// Largest distance from the first place to the last.
    pub(crate) distance: u32,
    /// How far before and after a window negative terms are looked for.
    pub(crate) exclusion_distance: u32,
    /// Words between two elements; nothing if no window reaches over.
    pub(crate) element_gap: Option<u32>,
    /// Whether the terms stand in their order, each after the one before it.
    pub(crate) ordered: bool,
}

/// First and last place of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) first: ElementPosition,
    pub(crate) last: ElementPosition,
}

/// Whether a place is in one of the windows, which are sorted: both of their ends ascend.
pub(crate) fn is_inside(windows: &[Window], occurrence: &Occurrence) -> bool {
    let at = place(occurrence);
    let after = windows.partition_point(|window| window.first <= at);
    windows[..after].last().is_some_and(|window| at <= window.last)
}

fn place(occurrence: &Occurrence) -> ElementPosition {
    (occurrence.element, occurrence.position)
}

impl Rule {
    /// The last place within `distance` after an occurrence.
    fn reach(&self, from: &Occurrence, distance: u32) -> ElementPosition {
        let end = u64::from(from.position) + u64::from(distance);
        let clamp = |position: u64| u32::try_from(position).unwrap_or(u32::MAX);
        match self.element_gap {
            Some(gap) if end >= u64::from(from.element_length) + u64::from(gap) => {
                let over = end - u64::from(from.element_length) - u64::from(gap);
                (from.element.saturating_add(1), clamp(over))
            }
            _ => (from.element, clamp(end)),
        }
    }

    /// All windows, sorted. `terms` and `negatives`: of each its occurrences in the field, sorted.
    pub(crate) fn windows(&self, terms: &[&[Occurrence]], negatives: &[&[Occurrence]]) -> Vec<Window> {
        if terms.is_empty() || terms.iter().any(|term| term.is_empty()) {
            return Vec::new();
        }
        // All of them are one list, unless one that stands later reaches less far: then each is looked at by itself.
        let mut all = negatives.concat();
        all.sort_by_key(occurrences::place);
        let is_one = all.is_sorted_by_key(|at| self.reach(at, self.exclusion_distance));
        let negatives = if is_one { &[&all[..]][..] } else { negatives };
        let mut windows = Vec::new();
        let mut consider = |first: &Occurrence, last: &Occurrence| {
            let reached = self.reach(first, self.distance) >= place(last);
            if reached && !negatives.iter().any(|negative| self.is_disturbed(first, last, negative)) {
                windows.push(Window { first: place(first), last: place(last) });
            }
        };
        if self.ordered {
            each_ordered(terms, &mut consider)
        } else {
            each_unordered(terms, &mut consider)
        }
        windows
    }

    /// Whether a negative term stands in a window or too close to it.
    fn is_disturbed(&self, first: &Occurrence, last: &Occurrence, negative: &[Occurrence]) -> bool {
        let reaches = negative.partition_point(|at| self.reach(at, self.exclusion_distance) < place(first));
        negative.get(reaches).is_some_and(|at| place(at) <= self.reach(last, self.exclusion_distance))
    }
}

/// The shortest stretch from each place on that holds every term, in any order. Each term's next place is in a heap.
fn each_unordered(terms: &[&[Occurrence]], each: &mut dyn FnMut(&Occurrence, &Occurrence)) {
    let mut next = vec![0usize; terms.len()];
    let at = |term: usize, next: &[usize]| terms[term].get(next[term]).map(place);
    let mut least: BinaryHeap<Reverse<(ElementPosition, usize)>> =
        (0..terms.len()).filter_map(|term| Some(Reverse((at(term, &next)?, term)))).collect();
    // Of several terms at one place the first.
    let Some(Reverse(mut most)) = least.iter().max_by_key(|Reverse((at, term))| (*at, Reverse(*term))).copied() else {
        return;
    };
    while let Some(Reverse((begun, first))) = least.peek().copied() {
        each(&terms[first][next[first]], &terms[most.1][next[most.1]]);
        // Other windows begin after this place, whatever stands at it.
        while let Some(mut first) = least.peek_mut().filter(|first| first.0.0 == begun) {
            let term = first.0.1;
            next[term] += 1;
            let Some(at) = at(term, &next) else { return };
            *first = Reverse((at, term));
            if (at, Reverse(term)) > (most.0, Reverse(most.1)) {
                most = (at, term);
            }
        }
    }
}

/// The shortest stretch from each place of the first term on that holds the others in their order: from the last term to
/// the first it is found where what begins at each place ends.
fn each_ordered(terms: &[&[Occurrence]], each: &mut dyn FnMut(&Occurrence, &Occurrence)) {
    let [first, .., last] = terms else { return terms[0].iter().for_each(|at| each(at, at)) };
    let mut ends: Vec<usize> = (0..last.len()).collect();
    for pair in terms.windows(2).rev() {
        let (before, own, mut next) = (pair[0], pair[1], 0);
        let end_of = |from: &Occurrence| {
            next += own[next..].iter().take_while(|at| place(at) <= place(from)).count();
            ends.get(next).copied().unwrap_or(usize::MAX)
        };
        ends = before.iter().map(end_of).collect();
    }
    for (first, end) in first.iter().zip(ends) {
        last.get(end).into_iter().for_each(|last| each(first, last));
    }
}
