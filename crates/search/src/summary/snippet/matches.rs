//! Puts the hits of a query's words together to matches of the query.
//!
//! Every group of the query has a list of candidates: occurrences of the group that still miss some of its parts. A hit
//! begins a candidate in the group of each term it hits, and is then offered to the group's older candidates. A
//! candidate that has got all its parts becomes itself a part of the group above; at the root it is a match. This is
//! one pass over the text with bounded lists, so the matches found are good ones but not all there are.
use std::collections::VecDeque;
use std::rc::Rc;

use brooklet_kernel::sort_by_key;

use super::pattern::{Bond, Group, GroupPart, Pattern};
use super::scan::{Hit, Scan};

/// Work in one text: offers of parts to candidates, those to candidates of many parts counted as several. Beyond, words
/// are found but no more matches: no ordinary text comes near it, but a text that repeats a word that the query repeats
/// would.
const WORK_MAX: usize = 2_000_000;
/// How many parts of a candidate make an offer to it count as one more.
const PARTS_PER_WORK: usize = 8;
/// Matches that are kept for choosing; the worst of more are forgotten.
const MATCHES_MAX: usize = 16_384;

/// What the matches are for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Purpose {
    /// To choose from.
    Excerpt,
    /// To know which words are marked; matches are looked for with this many wanted, but not kept.
    Marks { matches_wanted: usize },
}

/// What of a query is in a text.
#[derive(Debug, Default)]
pub(super) struct SnippetMatches {
    /// From left to right.
    pub hits: Vec<Hit>,
    /// The best first.
    pub matches: Vec<Candidate>,
    /// For every hit whether it belongs to a match; nothing if that does not matter.
    in_match: Option<Vec<bool>>,
}

/// A pass over one text, which may rest.
pub(super) struct Pass {
    scan: Scan,
    matcher: Matcher,
    /// Whether words are all that matters.
    is_plain: bool,
}

impl Pass {
    pub(super) fn new(pattern: &Pattern, purpose: Purpose) -> Pass {
        let is_plain = !pattern.constrained && purpose != Purpose::Excerpt;
        Pass { scan: Scan::new(), matcher: Matcher::new(pattern, purpose), is_plain }
    }

    /// Looks on in the text, for as many bytes as there is work left. Returns whether it was looked through.
    pub(super) fn go_on(&mut self, text: &str, pattern: &Pattern, work: &mut usize) -> bool {
        let (matcher, is_plain) = (&mut self.matcher, self.is_plain);
        self.scan.go_on(text, pattern, work, |hit, terms| {
            if is_plain {
                matcher.hits.push(hit);
                return false;
            }
            matcher.add(pattern, hit, terms)
        })
    }

    pub(super) fn finish(self, pattern: &Pattern) -> SnippetMatches {
        if self.is_plain {
            return SnippetMatches { hits: self.matcher.hits, matches: Vec::new(), in_match: None };
        }
        self.matcher.finish(pattern)
    }
}

impl SnippetMatches {
    /// Whether a hit means anything: words of a phrase do only together.
    pub(super) fn counts(&self, hit: usize) -> bool {
        self.in_match.as_ref().is_none_or(|in_match| in_match[hit])
    }
}

/// Where something is in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Extent {
    /// Its first byte.
    pub start: usize,
    /// The byte after it.
    pub end: usize,
    /// The number of its first token.
    pub first_token: usize,
    /// The number of the token after it.
    pub end_token: usize,
}

/// An occurrence of a group, or of some of its parts.
#[derive(Debug)]
pub(super) struct Candidate {
    /// From its first part to its last; meaningless without parts.
    pub extent: Extent,
    /// The sum over its terms.
    pub weight: i64,
    group: usize,
    /// In the order of the group.
    parts: Vec<(usize, Part)>,
    /// How many of them miss parts themselves.
    partial_parts: usize,
    /// In an ordered group: parts refused because they overlap others, less parts taken.
    refused_less_taken: i64,
}

/// A part of a candidate.
#[derive(Clone, Debug)]
struct Part {
    extent: Extent,
    weight: i64,
    partial: bool,
    what: Member,
}

#[derive(Clone, Debug)]
enum Member {
    /// A hit, by number.
    Hit(usize),
    /// An occurrence of a group; many candidates may hold the same.
    Group(Rc<Candidate>),
}

/// What a candidate says to a part that is offered to it.
#[derive(PartialEq)]
enum Answer {
    Taken,
    /// Not this one, but older candidates may want it.
    Refused,
    /// It has one already, and so have all older ones.
    Held,
}

impl Candidate {
    fn new(group: usize) -> Candidate {
        let extent = Extent::default();
        Candidate { extent, weight: 0, group, parts: Vec::new(), partial_parts: 0, refused_less_taken: 0 }
    }

    fn offer(&mut self, number: usize, part: &Part, bond: Bond) -> Answer {
        let at = match self.parts.binary_search_by_key(&number, |(number, _)| *number) {
            // After a refusal older candidates need not have what this one has.
            Ok(_) if self.refused_less_taken != 0 => return Answer::Refused,
            Ok(_) => return Answer::Held,
            Err(at) => at,
        };
        if bond.is_ordered() {
            if part.extent.start < self.extent.end {
                self.refused_less_taken += 1;
                return Answer::Refused;
            }
            self.refused_less_taken -= 1;
        }
        let (own, new) = (&mut self.extent, part.extent);
        if self.parts.is_empty() || new.start < own.start {
            (own.start, own.first_token) = (new.start, new.first_token);
        }
        if new.end > own.end {
            (own.end, own.end_token) = (new.end, new.end_token);
        }
        self.weight += part.weight;
        self.partial_parts += usize::from(part.partial);
        self.parts.insert(at, (number, part.clone()));
        Answer::Taken
    }

    fn is_complete(&self, group: &Group) -> bool {
        self.parts.len() == group.parts && self.partial_parts == 0
    }

    /// Whether a complete candidate meets the condition of its group.
    fn fits(&self, bond: Bond) -> bool {
        let Bond::Close { words_between_max, ordered } = bond else { return true };
        let in_order = |pair: &[(usize, Part)]| pair[0].1.extent.first_token < pair[1].1.extent.first_token;
        if ordered && !self.parts.windows(2).all(in_order) {
            return false;
        }
        let words: i64 = self.parts.iter().map(|(_, part)| part.extent.words()).sum();
        self.extent.words() - words <= words_between_max.saturating_mul(self.parts.len() as i64 - 1)
    }

    /// How many of its group's parts it has.
    pub(super) fn part_count(&self) -> usize {
        self.parts.len()
    }

    /// How many words are between the parts; those of a part that is a group count too.
    fn distance(&self, group: &Group) -> i64 {
        self.extent.words() - (group.parts as i64 - 1)
    }

    /// Tells the number of every hit in it, in any order, some of them perhaps twice.
    pub(super) fn each_hit(&self, tell: &mut impl FnMut(usize)) {
        for (_, part) in &self.parts {
            match &part.what {
                Member::Hit(hit) => tell(*hit),
                Member::Group(candidate) => candidate.each_hit(tell),
            }
        }
    }
}

impl Extent {
    fn words(&self) -> i64 {
        self.end_token as i64 - self.first_token as i64
    }
}

/// The pass over one text.
struct Matcher {
    keeps_matches: bool,
    /// How many more complete candidates are waited for before the window gets small.
    wanted: usize,
    work_left: usize,
    hits: Vec<Hit>,
    in_match: Vec<bool>,
    /// For each group, the oldest first.
    candidates: Vec<VecDeque<Candidate>>,
    matches: Vec<Candidate>,
}

impl Matcher {
    fn new(pattern: &Pattern, purpose: Purpose) -> Matcher {
        let wanted = match purpose {
            Purpose::Excerpt => pattern.settings.matches as usize,
            Purpose::Marks { matches_wanted } => matches_wanted,
        };
        Matcher {
            keeps_matches: purpose == Purpose::Excerpt,
            wanted,
            work_left: WORK_MAX,
            hits: Vec::new(),
            in_match: Vec::new(),
            candidates: pattern.groups.iter().map(|_| VecDeque::new()).collect(),
            matches: Vec::new(),
        }
    }

    /// Returns whether it still matters which terms are hit.
    fn add(&mut self, pattern: &Pattern, hit: Hit, terms: &[usize]) -> bool {
        let number = self.hits.len();
        self.hits.push(hit);
        self.in_match.push(false);
        if self.wanted == 0 {
            self.retire(pattern, hit.start);
        }
        let extent = Extent { start: hit.start, end: hit.end, first_token: hit.token, end_token: hit.token + 1 };
        for term in terms {
            if self.work_left == 0 {
                return false;
            }
            let term = &pattern.terms[*term];
            let part = Part { extent, weight: term.weight, partial: false, what: Member::Hit(number) };
            self.drop_hopeless(pattern, term.place.group, hit.token);
            self.begin_with(pattern, &part, term.place);
        }
        true
    }

    /// Candidates that began too far before `start` get no more parts.
    fn retire(&mut self, pattern: &Pattern, start: usize) {
        for group in 0..self.candidates.len() {
            let window = pattern.settings.window as usize;
            while self.candidates[group].front().is_some_and(|first| start >= first.extent.start + window) {
                let Some(candidate) = self.candidates[group].pop_front() else { break };
                self.give_up(pattern, candidate);
            }
        }
    }

    /// In a group of words that must be close, a candidate that lacks words so late will never fit. Older candidates
    /// began no later, so only the oldest are looked at.
    fn drop_hopeless(&mut self, pattern: &Pattern, group: usize, token: usize) {
        let Group { parts, bond: Bond::Close { words_between_max, .. }, flat: true, .. } = pattern.groups[group] else {
            return;
        };
        let parts = parts as i64;
        let words_max = words_between_max.saturating_mul(parts - 1).saturating_add(parts);
        let is_hopeless = |candidate: &Candidate| token as i64 + 1 - candidate.extent.first_token as i64 > words_max;
        let candidates = &mut self.candidates[group];
        while candidates.front().is_some_and(is_hopeless) {
            candidates.pop_front();
        }
    }

    /// Begins a candidate with a part, and offers the part to older candidates of the group.
    fn begin_with(&mut self, pattern: &Pattern, part: &Part, place: GroupPart) {
        if self.work_left == 0 {
            return;
        }
        let settings = &pattern.settings;
        // Until enough matches are complete, they may begin further apart.
        let first_window = (f64::from(settings.window) * settings.window_factor) as usize;
        let candidates = &mut self.candidates[place.group];
        if candidates.len() < settings.candidates as usize {
            candidates.push_back(Candidate::new(place.group));
        }
        let group = &pattern.groups[place.group];
        let mut at = self.candidates[place.group].len();
        while at > 0 && self.work_left > 0 {
            at -= 1;
            let candidates = &mut self.candidates[place.group];
            let candidate = &mut candidates[at];
            self.work_left = self.work_left.saturating_sub(1 + candidate.parts.len() / PARTS_PER_WORK);
            if candidate.offer(place.part, part, group.bond) == Answer::Held {
                break;
            }
            if part.extent.start >= candidate.extent.start + first_window {
                candidates.remove(at);
            } else if candidate.is_complete(group)
                && let Some(complete) = candidates.remove(at)
                && complete.fits(group.bond)
            {
                self.wanted = self.wanted.saturating_sub(1);
                self.pass_on(pattern, complete);
            }
        }
    }

    /// A candidate that will not be complete is better than nothing, unless its group has a condition.
    fn give_up(&mut self, pattern: &Pattern, candidate: Candidate) {
        if pattern.groups[candidate.group].bond == Bond::Loose {
            self.pass_on(pattern, candidate);
        }
    }

    /// A candidate is finished: it becomes a part of the group above, or a match.
    fn pass_on(&mut self, pattern: &Pattern, candidate: Candidate) {
        let group = &pattern.groups[candidate.group];
        match group.place {
            Some(place) => {
                let (extent, weight) = (candidate.extent, candidate.weight);
                let partial = !candidate.is_complete(group);
                let part = Part { extent, weight, partial, what: Member::Group(Rc::new(candidate)) };
                self.begin_with(pattern, &part, place);
            }
            None => {
                candidate.each_hit(&mut |hit| self.in_match[hit] = true);
                self.keep(pattern, candidate);
            }
        }
    }

    fn keep(&mut self, pattern: &Pattern, candidate: Candidate) {
        if !self.keeps_matches {
            return;
        }
        self.matches.push(candidate);
        if self.matches.len() == 2 * MATCHES_MAX {
            self.sort(pattern);
            self.matches.truncate(MATCHES_MAX);
        }
    }

    /// The best first: the heaviest, then the most compact, then the first.
    fn sort(&mut self, pattern: &Pattern) {
        let groups = &pattern.groups;
        sort_by_key(&mut self.matches, |found| {
            (std::cmp::Reverse(found.weight), found.distance(&groups[found.group]), found.extent.start)
        });
    }

    fn finish(mut self, pattern: &Pattern) -> SnippetMatches {
        for group in 0..self.candidates.len() {
            for candidate in std::mem::take(&mut self.candidates[group]) {
                self.give_up(pattern, candidate);
            }
        }
        self.sort(pattern);
        let in_match = pattern.constrained.then_some(self.in_match);
        SnippetMatches { hits: self.hits, matches: self.matches, in_match }
    }
}
