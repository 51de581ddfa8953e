//! Chooses which parts of a text are shown: the best matches that do not overlap, with some text around their hits.
use std::ops::Range;

use brooklet_kernel::sort;
use brooklet_schema::SnippetSettings;

use super::matches::{Candidate, SnippetMatches};

/// How much longer a text may be and still be shown whole, bytes.
const LENGTH_TOLERANCE_BYTES: usize = 32;
/// Least text on each side of a hit, bytes.
const CONTEXT_MIN_BYTES: i64 = 10;
/// A gap between two contexts that is not worth a separator, bytes.
const GAP_MIN_BYTES: i64 = 8;
/// What a hit's length is taken for before it is known, bytes.
const HIT_BYTES: i64 = 5;

/// The parts of a text that are shown. Nothing in it overlaps or touches.
#[derive(Debug, PartialEq)]
pub(super) struct Excerpt {
    /// From left to right; they may begin and end within words, and within characters.
    pub segments: Vec<Range<usize>>,
    /// What is marked, from left to right: all within segments.
    pub marks: Vec<Range<usize>>,
}

/// Whether a text with hits is shown whole.
pub(super) fn is_short(text: &str, settings: &SnippetSettings) -> bool {
    text.len() < settings.length as usize + LENGTH_TOLERANCE_BYTES
}

/// Nothing if there is no match.
pub(super) fn choose(text: &str, found: &SnippetMatches, settings: &SnippetSettings) -> Option<Excerpt> {
    let choice = Choice::new(found, settings);
    if choice.hits.is_empty() {
        return None;
    }
    let context = choice.context_bytes(text.len(), settings);
    Some(collect(segments(&choice.hits, context as usize, text.len()), found))
}

/// Most text on each side of a hit, bytes.
fn context_max(settings: &SnippetSettings) -> i64 {
    i64::from(settings.context_max).max(CONTEXT_MIN_BYTES)
}

/// The matches that are shown.
struct Choice {
    /// Their hits, from left to right.
    hits: Vec<Range<usize>>,
    /// The byte after the last match.
    end: usize,
    /// Parts of the matches.
    parts: i64,
    /// How long the excerpt will be about, bytes.
    length: i64,
}

impl Choice {
    fn new(found: &SnippetMatches, settings: &SnippetSettings) -> Choice {
        let context_max = context_max(settings);
        let mut chosen: Vec<&Candidate> = Vec::new();
        let mut choice = Choice { hits: Vec::new(), end: 0, parts: 0, length: 0 };
        for candidate in &found.matches {
            if chosen.iter().any(|other| overlap(candidate, other)) {
                continue;
            }
            chosen.push(candidate);
            // Text missing before a match is taken off. Tokens are counted here, not bytes, as the reference does.
            let missing = (context_max - candidate.extent.first_token as i64).max(0);
            let size = (candidate.extent.end - candidate.extent.start) as i64;
            choice.length += size - missing + 2 * context_max + GAP_MIN_BYTES;
            choice.parts += candidate.part_count() as i64;
            if choice.length >= i64::from(settings.length_min) && chosen.len() >= settings.matches as usize {
                break;
            }
        }
        let mut hits = Vec::new();
        chosen.iter().for_each(|candidate| candidate.each_hit(&mut |hit| hits.push(hit)));
        sort(&mut hits);
        hits.dedup();
        choice.hits = hits.into_iter().map(|hit| found.hits[hit].start..found.hits[hit].end).collect();
        choice.end = chosen.iter().max_by_key(|last| last.extent.first_token).map_or(0, |last| last.extent.end);
        choice
    }

    /// How much text is shown on each side of a hit.
    fn context_bytes(&self, text_bytes: usize, settings: &SnippetSettings) -> i64 {
        let wanted = i64::from(settings.length);
        if self.length <= wanted {
            return context_max(settings);
        }
        let share = |hit_bytes: i64| ((wanted - hit_bytes) / (2 * self.parts)).max(CONTEXT_MIN_BYTES);
        let estimate = self.estimate(share(HIT_BYTES * self.parts), text_bytes as i64);
        let context = share(estimate.hit_bytes);
        let spare = wanted - estimate.context_bytes - CONTEXT_MIN_BYTES;
        if estimate.cut_sides == 0 || spare <= 0 {
            return context;
        }
        (context + (spare - estimate.hit_bytes) / estimate.cut_sides).max(CONTEXT_MIN_BYTES)
    }

    /// What the excerpt would be with so much text on each side of a hit.
    fn estimate(&self, context: i64, text_bytes: i64) -> Estimate {
        let mut estimate = Estimate { context_bytes: 0, hit_bytes: 0, cut_sides: 0 };
        let mut shown = 0;
        for hit in &self.hits {
            let gap = hit.start as i64 - shown;
            // A hit with nothing before it is not counted.
            if gap <= 0 {
                continue;
            }
            estimate.hit_bytes += (hit.end - hit.start) as i64;
            let is_first = shown == 0;
            let sides = if is_first { 1 } else { 2 };
            let is_cut = gap > sides * context;
            estimate.cut_sides += if is_cut { sides } else { 0 };
            estimate.context_bytes += match (is_cut, is_first) {
                (false, _) => gap,
                (true, true) => context,
                (true, false) => 2 * context + GAP_MIN_BYTES,
            };
            shown = hit.end as i64;
        }
        let rest = text_bytes - self.end as i64;
        estimate.cut_sides += i64::from(rest >= context);
        estimate.context_bytes += rest.min(context);
        estimate
    }
}

struct Estimate {
    /// The text around hits.
    context_bytes: i64,
    /// The hits themselves.
    hit_bytes: i64,
    /// Ends of contexts where there would be more text.
    cut_sides: i64,
}

/// Whether two matches are too close to show both. The end of the first, in bytes, is compared with the number of the
/// other's first token: the reference does so, and which parts of a long text are shown depends on it.
fn overlap(one: &Candidate, other: &Candidate) -> bool {
    let in_order = other.extent.first_token < one.extent.first_token;
    let (first, second) = if in_order { (other, one) } else { (one, other) };
    first.extent.end > second.extent.first_token
}

/// The hits with the text around them.
fn segments(hits: &[Range<usize>], context: usize, text_bytes: usize) -> Vec<Range<usize>> {
    let mut segments: Vec<Range<usize>> = Vec::new();
    for hit in hits {
        match segments.last_mut() {
            Some(last) if hit.start - last.end <= 2 * context + GAP_MIN_BYTES as usize => last.end = hit.end,
            Some(last) => {
                last.end += context;
                segments.push(hit.start - context..hit.end);
            }
            None => segments.push(hit.start.saturating_sub(context)..hit.end),
        }
    }
    if let Some(last) = segments.last_mut() {
        last.end = (last.end + context).min(text_bytes);
    }
    segments
}

/// Marks all hits within the segments, and takes in those that a segment cuts.
fn collect(mut segments: Vec<Range<usize>>, found: &SnippetMatches) -> Excerpt {
    let mut marks: Vec<Range<usize>> = Vec::new();
    for segment in &mut segments {
        let first = found.hits.partition_point(|hit| hit.end <= segment.start);
        for (number, hit) in found.hits.iter().enumerate().skip(first) {
            if hit.start >= segment.end {
                break;
            }
            let cut_at_end = hit.end > segment.end;
            if !found.counts(number) && !cut_at_end {
                continue;
            }
            segment.start = segment.start.min(hit.start);
            segment.end = segment.end.max(hit.end);
            if marks.last().is_none_or(|last| last.start < hit.start) {
                marks.push(hit.start..hit.end);
            }
        }
    }
    Excerpt { segments: join_segments(segments), marks }
}

/// The segments without those that touch others.
pub(super) fn join_segments(segments: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(segments.len());
    for segment in segments {
        match joined.last_mut() {
            Some(last) if segment.start <= last.end => last.end = last.end.max(segment.end),
            _ => joined.push(segment),
        }
    }
    joined
}
