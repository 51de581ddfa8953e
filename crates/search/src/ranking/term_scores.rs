//! bm25 of all documents of a view, a term at a time: the postings of each term are walked once, and what it adds stands
//! in an array by document. For scores that ask nothing else of matching; bit by bit what a document at a time yields,
//! because the terms are added in the same order.
use std::cell::OnceCell;

use brooklet_kernel::Posting;
use brooklet_rank::features::FeatureSet;
use brooklet_rank::features::term_sum::{Bm25, Term};
use brooklet_rank::match_data::FieldId;
use brooklet_segment::column::text::{LengthPart, Text};
use brooklet_segment::layout::ColumnSpec;
use brooklet_segment::{ColumnHeader, Gaps, Halt};
use brooklet_task::Block;

use super::bound::{Bound, FeatureOrigin};
use crate::matching::found::{LeafHits, ViewMatch};
use crate::matching::postings::Postings;
use crate::matching::values::blocks_of;
use crate::plan::SchemaPlan;
use crate::plan::condition::Leaf;
use crate::resident::partition::View;
use crate::resident::reads::Reads;

/// Postings walked for a document that is ranked, up to which this is cheaper than to look the document up.
const POSTINGS_PER_DOCUMENT_MAX: usize = 16;

/// The sums of all views that were asked for.
pub(super) struct TermScores {
    /// Requests of the feature set that the score asks for.
    requests: Vec<usize>,
    /// By view: for each of `requests` the sums by ordinal; none if the view's documents are ranked one at a time.
    views: Vec<Option<Vec<Vec<f64>>>>,
}

/// Where a term of a feature is matched.
struct TermPlace<'p> {
    leaf: usize,
    target: usize,
    of: &'p Leaf,
}

impl TermScores {
    /// For a program; nothing if it asks more of matching than bm25.
    pub(super) fn new(kinds: &[FeatureOrigin], score: &Bound, set: &FeatureSet) -> Option<TermScores> {
        let mut requests = Vec::new();
        for kind in &score.kinds {
            if let FeatureOrigin::Match { request, .. } = &kinds[*kind] {
                set.bm25(*request)?;
                requests.push(*request);
            }
        }
        (!requests.is_empty()).then_some(TermScores { requests, views: Vec::new() })
    }

    /// Makes the sums of the views ready of which so many documents are ranked, where that is cheaper than to look at
    /// the documents one at a time. All missing blocks are noted before it halts.
    pub(super) fn sum_up(
        &mut self,
        (views, matches): (&[View], &[ViewMatch]),
        documents: &[usize],
        (plan, set): (&SchemaPlan, &FeatureSet),
        reads: &mut Reads,
    ) -> Result<(), Halt> {
        self.views.resize(views.len(), None);
        let mut gaps = Gaps::default();
        for (number, documents) in documents.iter().enumerate().filter(|(_, documents)| **documents > 0) {
            if self.views[number].is_some() {
                continue;
            }
            let sums = self.sums_of((&views[number], &matches[number]), *documents, (plan, set), reads);
            self.views[number] = gaps.note(sums)?;
        }
        gaps.check()
    }

    /// The sums of a view; none if its documents are better looked at one at a time.
    fn sums_of(
        &self,
        (view, matched): (&View, &ViewMatch),
        documents: usize,
        (plan, set): (&SchemaPlan, &FeatureSet),
        reads: &mut Reads,
    ) -> Result<Vec<Vec<f64>>, Halt> {
        let mut postings = Some(0);
        let mut all = Vec::new();
        for request in &self.requests {
            let Some(bm25) = set.bm25(*request) else { return Ok(Vec::new()) };
            all.push((bm25, places(bm25, plan, matched, &mut postings)));
        }
        let mut sums = Vec::new();
        if postings.is_some_and(|postings| postings <= documents.saturating_mul(POSTINGS_PER_DOCUMENT_MAX)) {
            let mut columns = Columns::of(all.iter().flat_map(|(_, places)| places).flatten(), plan, view, reads)?;
            for (bm25, places) in &all {
                columns.lengths.iter_mut().for_each(|(_, lengths)| lengths.dampings = OnceCell::new());
                let mut of_request = vec![0.0; view.segment.header.documents as usize];
                for (term, place) in bm25.terms.iter().zip(places) {
                    if let Some(place) = place {
                        add_term(bm25, term, place, &columns, matched, &mut of_request)?;
                    }
                }
                sums.push(of_request);
            }
        }
        Ok(sums)
    }

    /// Whether the sums of a view are known.
    #[inline]
    pub(super) fn knows(&self, view: usize) -> bool {
        self.views.get(view).and_then(Option::as_ref).is_some_and(|sums| !sums.is_empty())
    }

    /// The values of a request by ordinal of a view; nothing if they are not known.
    #[inline]
    pub(super) fn of_view(&self, request: usize, view: usize) -> Option<&[f64]> {
        let place = self.requests.iter().position(|of| *of == request)?;
        self.views.get(view)?.as_ref()?.get(place).map(Vec::as_slice)
    }

    /// Forgets the sums: what they are made of has changed.
    pub(super) fn forget(&mut self) {
        self.views.clear();
    }

    /// The value of a request in a document of a view whose sums are known.
    #[inline]
    pub(super) fn score(&self, request: usize, view: usize, ordinal: u32) -> f64 {
        self.of_view(request, view).and_then(|sums| sums.get(ordinal as usize)).copied().unwrap_or(0.0)
    }
}

/// Where each term of a feature is matched, nothing for one that is not. Adds the postings to be walked: nothing if what
/// was found is not counts.
fn places<'p>(
    bm25: &Bm25,
    plan: &'p SchemaPlan,
    matched: &ViewMatch,
    postings: &mut Option<usize>,
) -> Vec<Option<TermPlace<'p>>> {
    let place = |term: &Term| {
        let mut of_term = plan.leaves.iter().enumerate().flat_map(|(leaf, of)| {
            let targets = of.targets.iter().enumerate();
            targets
                .map(move |(target, wanted)| (TermPlace { leaf, target, of }, plan.terms.slot(of.term, wanted.field)))
        });
        let (place, _) = of_term.find(|(_, slot)| *slot == Some(term.slot))?;
        let found = match &matched.leaves[place.leaf].found[place.target] {
            LeafHits::Words { postings, .. } => Some(postings.len()),
            LeafHits::Places(places) => Some(places.len()),
            LeafHits::None => Some(0),
            LeafHits::Documents(documents) if documents.is_empty() => Some(0),
            _ => None,
        };
        let found = found.filter(|_| !place.of.shares_fields);
        *postings = postings.zip(found).map(|(postings, found)| postings + found);
        Some(place)
    };
    bm25.terms.iter().map(place).collect()
}

/// How many words the documents have, for each column a term is searched in and its hits may be counted.
struct Columns<'p> {
    lengths: Vec<(&'p ColumnSpec, Lengths)>,
    /// Fields of which only the match counts.
    filters: Vec<FieldId>,
}

impl<'p> Columns<'p> {
    fn of<'a>(
        places: impl Iterator<Item = &'a TermPlace<'p>>,
        plan: &SchemaPlan,
        view: &View,
        reads: &mut Reads,
    ) -> Result<Columns<'p>, Halt>
    where
        'p: 'a,
    {
        let mut columns = Columns { lengths: Vec::new(), filters: Vec::new() };
        let mut gaps = Gaps::default();
        for target in places.map(|place| &place.of.targets[place.target]) {
            if plan.profile.fields[target.field.0 as usize].is_filter {
                columns.filters.push(target.field);
            }
            let known = columns.lengths.iter().any(|(spec, _)| **spec == target.spec);
            let Some(column) = view.segment.header.column(&target.spec).filter(|_| !known) else { continue };
            if let Some(lengths) = gaps.note(Lengths::from_column(column, view, reads))? {
                columns.lengths.push((&target.spec, lengths));
            }
        }
        gaps.check()?;
        Ok(columns)
    }
}

/// Adds what a term adds to each document it was found in.
fn add_term(
    bm25: &Bm25,
    term: &Term,
    place: &TermPlace<'_>,
    columns: &Columns<'_>,
    matched: &ViewMatch,
    sums: &mut [f64],
) -> Result<(), Halt> {
    let found = &matched.leaves[place.leaf].found[place.target];
    let target = &place.of.targets[place.target];
    let counted = matched.counted.of_leaf(place.leaf);
    let counts = |ordinal: u32| counted.is_none_or(|counted| counted.get(ordinal as usize));
    if !place.of.positions || columns.filters.contains(&target.field) {
        let mut last = None;
        found.for_each_document(|ordinal| {
            if last.replace(ordinal) != Some(ordinal) && counts(ordinal) {
                sums[ordinal as usize] += bm25.somewhere(term);
            }
        });
        return Ok(());
    }
    let Some((_, lengths)) = columns.lengths.iter().find(|(spec, _)| **spec == target.spec) else { return Ok(()) };
    match found {
        LeafHits::Words { postings, .. } if counted.is_some() => {
            let mut kept = Vec::new();
            postings.for_each(|ordinal, count| kept.extend(counts(ordinal).then_some([ordinal, count])));
            lengths.each_with(&kept, |ordinal, count, length| {
                sums[ordinal as usize] += bm25.count_term(term, count, length);
            })?
        }
        LeafHits::Words { postings, .. } => match &**postings {
            Postings::Counted { counts, .. } => {
                bm25.saturation(term).add_all(counts, lengths.dampings(bm25, sums.len())?, sums);
            }
            Postings::Listed(listed) => lengths.each_with(listed, |ordinal, count, length| {
                sums[ordinal as usize] += bm25.count_term(term, count, length);
            })?,
        },
        LeafHits::Places(places) => {
            let documents = places.chunk_by(|a, b| a.0 == b.0).filter(|of_document| counts(of_document[0].0));
            for of_document in documents {
                let ordinal = of_document[0].0;
                let length = lengths.of_document(ordinal)?;
                sums[ordinal as usize] += bm25.count_term(term, of_document.len() as u32, length);
            }
        }
        _ => {}
    }
    Ok(())
}

/// How many words the documents of a column have.
struct Lengths {
    of: LengthPart,
    blocks: Vec<Block>,
    dampings: OnceCell<Vec<f64>>,
}

impl Lengths {
    fn from_column(column: &ColumnHeader, view: &View, reads: &mut Reads) -> Result<Lengths, Halt> {
        let of = Text::from_column(column)?.lengths();
        let blocks = blocks_of(&of.part, view, reads)?;
        Ok(Lengths { of, blocks, dampings: OnceCell::new() })
    }

    /// What the lengths of documents damp, by ordinal: found out for the first of a feature's terms that asks.
    fn dampings(&self, bm25: &Bm25, documents: usize) -> Result<&[f64], Halt> {
        if let Some(dampings) = self.dampings.get() {
            return Ok(dampings);
        }
        let mut dampings = Vec::with_capacity(documents);
        for (index, block) in self.blocks.iter().enumerate() {
            self.of.read(index as u32, block.bytes())?.extend(&mut dampings, |length| bm25.damping(length));
        }
        dampings.resize(documents, bm25.damping(0));
        Ok(self.dampings.get_or_init(|| dampings))
    }

    /// Calls `each` with ordinal, count and length of each posting.
    fn each_with(&self, mut postings: &[Posting], mut each: impl FnMut(u32, u32, u32)) -> Result<(), Halt> {
        for (index, block) in self.blocks.iter().enumerate() {
            let (first, rows) = self.of.part.span_of(index as u32);
            let lengths = self.of.read(index as u32, block.bytes())?;
            let (here, rest) = postings.split_at(postings.partition_point(|[ordinal, _]| *ordinal < first + rows));
            for [ordinal, count] in here {
                each(*ordinal, *count, lengths.length((ordinal - first) as usize));
            }
            postings = rest;
        }
        Ok(())
    }

    fn of_document(&self, ordinal: u32) -> Result<u32, Halt> {
        let index = self.of.part.index_of(ordinal);
        let row = (ordinal - self.of.part.span_of(index).0) as usize;
        Ok(self.of.read(index, self.blocks[index as usize].bytes())?.length(row))
    }
}
