//! Fills the match data of a document: what each term found in it, and what its attributes hold.
use brooklet_rank::match_data::{AttributeContent, FieldId, MatchData, Occurrence};
use brooklet_segment::Halt;
use brooklet_segment::layout::ColumnKind;
use brooklet_task::{Code, Rejection, limits};

use super::Ranker;
use super::spot::Spot;
use super::values::value_weights;
use crate::matching::found::{LeafHits, LeafMatch};
use crate::matching::occurrences::{leaf_hits, occurrences};
use crate::matching::weighted::{ranked_occurrences, raw_score};
use crate::plan::condition::{Leaf, Scoring, Test};
use crate::resident::reads::Reads;

/// Refuses to rank a document by more places than are held.
fn check_places(places: usize) -> Result<(), Rejection> {
    let most = limits::TERM_PLACES;
    if places <= most {
        return Ok(());
    }
    let message =
        format!("The terms of the query stand in more than {most} places of one document (L-places): name fewer");
    Err(Rejection::new(Code::BadRequest, message))
}

impl Ranker {
    /// Tells the features which terms matched the document, and where.
    /// `place`: that of the document in its block.
    pub(super) fn fill(&mut self, place: usize, spot: Spot<'_>, reads: &mut Reads) -> Result<(), Halt> {
        while self.data.len() <= place {
            self.data.push(MatchData::new(&self.plan.terms));
        }
        self.data[place].reset();
        self.set.next_document(place);
        let plan = self.plan.clone();
        let mut first_target = 0;
        let matches = &spot.matches[spot.view];
        for (number, (leaf, matched)) in plan.leaves.iter().zip(&matches.leaves).enumerate() {
            if matched.documents.get(spot.ordinal as usize) && matches.counted.has_leaf(number, spot.ordinal) {
                let before = self.data[place].occurrences();
                self.fill_leaf(place, (leaf, matched), first_target, spot, reads)?;
                let after = self.data[place].occurrences();
                check_places(after)?;
                reads.work(after - before);
            }
            first_target += leaf.targets.len();
        }
        for field in self.counted.clone() {
            if let Some(content) = self.content(field, spot, reads)? {
                self.data[place].record_content(field, content);
            }
        }
        Ok(())
    }

    /// Tells what a leaf found in the document.
    fn fill_leaf(
        &mut self,
        place: usize,
        (leaf, matched): (&Leaf, &LeafMatch),
        first_target: usize,
        spot: Spot<'_>,
        reads: &mut Reads,
    ) -> Result<(), Halt> {
        let (view, ordinal) = (spot.at(), spot.ordinal);
        let data = &mut self.data[place];
        let counts_only = self.counts_only;
        let record = |data: &mut MatchData, slot, shown: &[Occurrence], length| match counts_only {
            true => data.record_count(slot, shown.len() as u32, length),
            false => data.record(slot, shown, length),
        };
        let blind = |field: FieldId| !leaf.positions || self.plan.profile.fields[field.0 as usize].is_filter;
        if leaf.shares_fields {
            for hits in leaf_hits(leaf, matched, view, ordinal, reads)? {
                let Some(slot) = self.plan.terms.slot(leaf.term, hits.field) else { continue };
                let shown = if blind(hits.field) { &[][..] } else { &hits.occurrences[..] };
                record(data, slot, shown, hits.length);
            }
            return Ok(());
        }
        for (number, (target, found)) in leaf.targets.iter().zip(&matched.found).enumerate() {
            let Some(slot) = self.plan.terms.slot(leaf.term, target.field) else { continue };
            let blind = blind(target.field);
            if let (true, LeafHits::Words { postings, .. }) = (self.counts_only || blind, found) {
                let counting = &mut self.counting[first_target + number];
                if let Some((count, length)) = counting.count(&target.spec, postings, spot, reads)? {
                    data.record_count(slot, if blind { 0 } else { count }, length);
                }
                continue;
            }
            let column = view.segment.header.column(&target.spec);
            self.occurrences.clear();
            let length = match found {
                LeafHits::Weighted(hits) => {
                    self.occurrences.extend(ranked_occurrences(hits, ordinal));
                    (!self.occurrences.is_empty()).then_some(0)
                }
                _ => occurrences(column, found, view, ordinal, reads, &mut self.occurrences)?,
            };
            let Some(length) = length else { continue };
            let shows = match &target.test {
                Test::Weighted(test) => test.scoring == Scoring::Weights,
                Test::Position(_) => false,
                _ => true,
            };
            let shown = if blind || !shows { &[][..] } else { &self.occurrences[..] };
            record(data, slot, shown, length);
            if let (Test::Weighted(test), LeafHits::Weighted(hits)) = (&target.test, found) {
                data.record_raw_score(slot, raw_score(test, hits, ordinal).unwrap_or(0.0));
            }
        }
        Ok(())
    }

    /// How many values an attribute of the document has, and their weights.
    fn content(&self, field: FieldId, spot: Spot<'_>, reads: &mut Reads) -> Result<Option<AttributeContent>, Halt> {
        let name = &self.plan.profile.fields[field.0 as usize].name;
        let schema = &self.plan.schema;
        let spec = schema.column(name, |kind| matches!(kind, ColumnKind::Numbers { .. } | ColumnKind::Strings { .. }));
        let Some(column) = spec.and_then(|spec| spot.at().segment.header.column(spec)) else { return Ok(None) };
        let (values, weights) = value_weights(column, spot, reads)?;
        Ok(Some(AttributeContent { values, weights }))
    }
}
