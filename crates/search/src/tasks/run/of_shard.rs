//! The run of one shard of a group, which must match and rank as if it saw the documents of all. What it lacks for that it
//! counts in its own documents.
use std::rc::Rc;

use brooklet_kernel::{map_of, sort};
use brooklet_segment::{Halt, find_ids, gather, read_id};
use brooklet_task::Rejection;

use super::Run;
use crate::found::group_facts::{SchemaFacts, ShardFacts};
use crate::ranking::{GroupStatistics, Ranker};
use crate::resident::partition::View;
use crate::resident::reads::Reads;

/// Looking for an id in a segment is about as much work as so many documents that are scanned.
const SCANNED_PER_LOOK: usize = 8;

impl Run {
    /// Makes it the run of a shard, with what its group agreed on.
    ///
    /// # Errors
    /// If that is of a leaf that the query does not have.
    #[inline(never)]
    pub(crate) fn share(&mut self, agreed: SchemaFacts, now: i64) -> Result<(), Rejection> {
        if agreed.slips.keys().any(|leaf| *leaf >= self.plan.leaves.len()) {
            return Err(Rejection::corrupt("facts of a leaf that there is not"));
        }
        let leaves = self.plan.leaves.iter().enumerate().filter(|(_, leaf)| !leaf.otherwise.is_empty());
        let slips = map_of(leaves.map(|(leaf, _)| (leaf, 0)));
        let own = SchemaFacts { slips, agrees: true, ..SchemaFacts::default() };
        // In the order in which one partition finds them out.
        for round in 0..agreed.slips.values().copied().max().unwrap_or_default() {
            for (leaf, _) in agreed.slips.iter().filter(|(_, slips)| **slips > round) {
                Rc::make_mut(&mut self.plan).forgive(*leaf);
            }
        }
        let own = if agreed.agrees { SchemaFacts { slips: agreed.slips.clone(), ..own } } else { own };
        if agreed.slips.values().any(|slips| *slips > 0) {
            self.ranker = Ranker::new(&self.plan, now)?;
        }
        let lacks = !own.slips.is_empty() && !agreed.agrees;
        self.shared = Some(ShardFacts { agreed, own, lacks, presumes: false });
        Ok(())
    }

    /// What was counted here and has to be agreed on; nothing if nothing has.
    pub(crate) fn take_facts(&mut self) -> Option<SchemaFacts> {
        self.shared.take().filter(|shared| shared.lacks).map(|shared| shared.own)
    }

    pub(super) fn lacks_facts(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.lacks)
    }

    /// Whether it is agreed how many slips are forgiven.
    pub(super) fn knows_slips(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.agreed.agrees)
    }

    /// Notes that a leaf is asked otherwise.
    pub(super) fn note_slip(&mut self, leaf: usize) {
        if let Some(shared) = &mut self.shared {
            *shared.own.slips.entry(leaf).or_default() += 1;
        }
    }

    /// The statistics of the group, of which these are its own.
    pub(super) fn statistics_of_all(&mut self, own: GroupStatistics) -> GroupStatistics {
        let Some(shared) = &mut self.shared else { return own };
        if let Some(agreed) = &shared.agreed.statistics {
            return agreed.clone();
        }
        shared.own.statistics = Some(own.clone());
        shared.lacks = true;
        own
    }

    /// Leaves of the candidates those that are among the nearest of the group, where that is agreed on already: all of them were
    /// scanned for that, and are not once more. A document that came meanwhile need not be found.
    #[inline(never)]
    pub(super) fn narrow_to_agreed(&mut self, reads: &mut Reads) -> Result<(), Halt> {
        let (Some(shared), Some(resolving)) = (&self.shared, &mut self.resolving) else { return Ok(()) };
        let agreed = self.unresolved.front().and_then(|operator| shared.agreed.nearest.get(operator));
        let Some((_, neighbours)) = agreed.filter(|_| resolving.may_narrow()) else { return Ok(()) };
        if neighbours.len() * self.views.len() * SCANNED_PER_LOOK > resolving.candidates() {
            return Ok(());
        }
        let mut ids: Vec<&str> = neighbours.iter().map(|(_, id)| id.as_str()).collect();
        sort(&mut ids);
        let of_views = gather(&self.views, |View { segment, .. }| {
            find_ids(&segment.header, ids.iter().copied(), &mut reads.segment(segment))
        })?;
        resolving.narrow(&of_views);
        Ok(())
    }

    /// Leaves those of the nearest documents that are among the nearest of the group, or notes the nearest that there are.
    #[inline(never)]
    pub(super) fn agree_on_nearest(&mut self, reads: &mut Reads) -> Result<(), Halt> {
        let (Some(shared), Some(resolving)) = (&mut self.shared, &mut self.resolving) else { return Ok(()) };
        let Some(operator) = self.unresolved.front().copied() else { return Ok(()) };
        let nearest = &self.plan.nearest[operator];
        if !nearest.competes {
            return Ok(());
        }
        let views = &self.views;
        let id_of = |view: u32, ordinal: u32, reads: &mut Reads| {
            let segment = &views[view as usize].segment;
            read_id(&segment.header, ordinal, &mut reads.segment(segment))
        };
        match shared.agreed.last_nearest(operator) {
            Some(None) => Ok(()),
            Some(Some((last, last_id))) => {
                let measured = resolving.nearest_found();
                let ids = gather(measured.iter().filter(|(distance, ..)| distance == last), |(_, view, ordinal)| {
                    Ok(((*view, *ordinal), id_of(*view, *ordinal, reads)?))
                })?;
                let beyond = |view, ordinal| ids.iter().any(|(place, id)| *place == (view, ordinal) && id > last_id);
                resolving
                    .leave(|distance, view, ordinal| distance < *last || distance == *last && !beyond(view, ordinal));
                Ok(())
            }
            None => {
                shared.lacks = true;
                if !std::mem::replace(&mut shared.presumes, true) {
                    let mut neighbours = gather(resolving.nearest_found(), |(distance, view, ordinal)| {
                        Ok((distance, id_of(view, ordinal, reads)?))
                    })
                    .inspect_err(|_| shared.presumes = false)?;
                    sort(&mut neighbours);
                    shared.own.nearest.insert(operator, (nearest.target_hits, neighbours));
                }
                Ok(())
            }
        }
    }
}
