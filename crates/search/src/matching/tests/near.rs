//! Windows over places as they are found, against the definition taken word by word: terms that stand at the same places,
//! places of values that differ in their length.
use brooklet_rank::match_data::Occurrence;

use super::super::near::{Rule, Window, is_inside};
use super::random::Random;

const CASES: u64 = 20_000;

type Place = (u32, u32);
type Places = Vec<Occurrence>;

fn place(occurrence: &Occurrence) -> Place {
    (occurrence.element, occurrence.position)
}

fn reach(rule: &Rule, from: &Occurrence, distance: u32) -> Place {
    let end = from.position + distance;
    match rule.element_gap {
        Some(gap) if end >= from.element_length + gap => (from.element + 1, end - from.element_length - gap),
        _ => (from.element, end),
    }
}

fn windows(rule: &Rule, terms: &[Places], negatives: &[Places]) -> Vec<Window> {
    let mut windows = Vec::new();
    if terms.iter().any(|term| term.is_empty()) {
        return windows;
    }
    let mut consider = |first: &Occurrence, last: &Occurrence| {
        let disturbs = |negative: &Places| {
            let reaches = negative.partition_point(|at| reach(rule, at, rule.exclusion_distance) < place(first));
            negative.get(reaches).is_some_and(|at| place(at) <= reach(rule, last, rule.exclusion_distance))
        };
        if reach(rule, first, rule.distance) >= place(last) && !negatives.iter().any(disturbs) {
            windows.push(Window { first: place(first), last: place(last) });
        }
    };
    if rule.ordered {
        each_ordered(terms, &mut consider)
    } else {
        each_unordered(terms, &mut consider)
    }
    windows
}

/// The shortest stretch from each place on that holds every term, in any order.
fn each_unordered(terms: &[Places], each: &mut dyn FnMut(&Occurrence, &Occurrence)) {
    let mut next = vec![0usize; terms.len()];
    loop {
        let (mut least, mut most) = (0, 0);
        for term in 1..terms.len() {
            let at = place(&terms[term][next[term]]);
            if at < place(&terms[least][next[least]]) {
                least = term;
            }
            if at > place(&terms[most][next[most]]) {
                most = term;
            }
        }
        each(&terms[least][next[least]], &terms[most][next[most]]);
        // Other windows begin after this place, whatever stands at it.
        let begun = place(&terms[least][next[least]]);
        for (term, next) in terms.iter().zip(&mut next) {
            while place(&term[*next]) == begun {
                *next += 1;
                if *next == term.len() {
                    return;
                }
            }
        }
    }
}

/// The shortest stretch from each place of the first term on that holds the others in their order.
fn each_ordered(terms: &[Places], each: &mut dyn FnMut(&Occurrence, &Occurrence)) {
    let mut next = vec![0usize; terms.len()];
    for first in terms[0].iter() {
        let mut last = first;
        for (term, next) in terms.iter().zip(&mut next).skip(1) {
            while term.get(*next).is_some_and(|at| place(at) <= place(last)) {
                *next += 1;
            }
            let Some(at) = term.get(*next) else { return };
            last = at;
        }
        each(first, last);
    }
}

fn places(random: &mut Random) -> Places {
    let count = random.below(12);
    let mut places: Vec<Occurrence> = (0..count)
        .map(|_| {
            let (element, position) = (random.below(3) as u32, random.below(8) as u32);
            let element_length = 8 + random.below(3) as u32;
            Occurrence { element, position, element_length, element_weight: 1 }
        })
        .collect();
    places.sort_by_key(|at| (at.element, at.position, at.element_length));
    places
}

fn lists(all: &[Places]) -> Vec<&[Occurrence]> {
    all.iter().map(Vec::as_slice).collect()
}

fn some(random: &mut Random, most: usize) -> Vec<Places> {
    let mut all: Vec<Places> = Vec::new();
    for _ in 0..random.below(most + 1) {
        let next =
            if !all.is_empty() && random.once_in(3) { all[random.below(all.len())].clone() } else { places(random) };
        all.push(next);
    }
    all
}

#[test]
fn windows_are_those_of_the_definition() {
    let (mut found, mut kept) = (0, 0);
    for case in 0..CASES {
        let random = &mut Random::new(case);
        let rule = Rule {
            distance: random.below(12) as u32,
            exclusion_distance: random.below(4) as u32,
            element_gap: random.once_in(2).then(|| random.below(3) as u32),
            ordered: random.once_in(2),
        };
        let mut terms = some(random, 4);
        terms.push(places(random));
        let negatives = some(random, 3);
        let expected = windows(&rule, &terms, &negatives);
        let all = rule.windows(&lists(&terms), &lists(&negatives));
        assert_eq!(all, expected, "{rule:?} {terms:?} {negatives:?}");
        for at in terms.iter().flatten() {
            let inside = all.iter().any(|window| window.first <= place(at) && place(at) <= window.last);
            assert_eq!(is_inside(&all, at), inside, "{all:?}");
            kept += usize::from(inside);
        }
        found += all.len();
    }
    assert!(found > CASES as usize / 4 && kept > found, "{found} windows with {kept} places");
}
