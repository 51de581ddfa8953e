//! Ranking a block of documents of one view at a time: numbers come by the column, in the order of the documents.
use brooklet_rank::features::age::age;
use brooklet_rank::match_data::MatchData;
use brooklet_rank::{BlockScratch, BlockSource, FeatureSource, Interval, Program, Value};
use brooklet_segment::{Gaps, Halt};

use super::bound::FeatureOrigin;
use super::number_column::NumberColumn;
use super::source::Source;
use super::spot::Spot;
use super::{CELL_WORK, Ranker};
use crate::resident::reads::Reads;

/// Answers a program about the documents of a block.
struct Block<'a> {
    source: Source<'a>,
    /// The documents by their places: of one view, in their order.
    spots: &'a [Spot<'a>],
    /// Their match data; of the first only, if none is needed.
    data: &'a [MatchData],
}

impl Ranker {
    /// Whether the score is better computed for blocks of documents.
    pub(crate) fn suits_blocks(&self) -> bool {
        self.score.which.program(&self.plan.profile).suits_blocks() && !self.knows_sums() && !self.scores_alone
    }

    /// The scores of documents of one view, in their order and at most a block of them: NaN and infinities are −∞.
    pub(crate) fn scores(&mut self, spots: &[Spot<'_>], reads: &mut Reads, scores: &mut [f64]) -> Result<(), Halt> {
        let summed = self.ready_block(spots, reads)?;
        let (mut block, program, scratch) = self.block(summed, spots, reads);
        let scored = program.scores(&mut block, scratch, scores);
        let halted = block.source.halted.take();
        reads.work(CELL_WORK * self.of_blocks.cells());
        halted.map_or(Ok(()), Err)?;
        scored?;
        scores.iter_mut().filter(|score| !score.is_finite()).for_each(|score| *score = f64::NEG_INFINITY);
        Ok(())
    }

    /// Bounds of the scores of such documents when distances are known by their bounds only. False: there are none.
    pub(crate) fn bounds_of_block(
        &mut self,
        spots: &[Spot<'_>],
        reads: &mut Reads,
        bounds: &mut [Interval],
    ) -> Result<bool, Halt> {
        let summed = self.ready_block(spots, reads)?;
        let (mut block, program, scratch) = self.block(summed, spots, reads);
        let are_known = program.intervals(&mut block, scratch, bounds);
        block.source.halted.map_or(Ok(are_known), Err)
    }

    /// Makes ready what the score asks of matching; whether its sums over terms are known. Where that is too much for a step it
    /// rests, and documents are scored alone from then on: it would be too much again.
    fn ready_block(&mut self, spots: &[Spot<'_>], reads: &mut Reads) -> Result<bool, Halt> {
        let Some(first) = spots.first() else { return Ok(false) };
        let summed = self.is_summed(first.view);
        let mut gaps = Gaps::default();
        if !summed && self.score_uses_match_data {
            for (place, spot) in spots.iter().enumerate() {
                gaps.note(self.fill(place, *spot, reads))?;
                // Of long documents one at a time is held, and the deadline is looked at in between.
                if reads.is_tired() && place + 1 < spots.len() {
                    self.scores_alone = true;
                    self.data.truncate(1);
                    return Err(Halt::Missing);
                }
            }
        }
        gaps.check()?;
        Ok(summed)
    }

    fn block<'a>(
        &'a mut self,
        summed: bool,
        spots: &'a [Spot<'a>],
        reads: &'a mut Reads,
    ) -> (Block<'a>, &'a Program, &'a mut BlockScratch) {
        let Ranker { plan, now, kinds, score, set, data, models, term_scores, of_blocks, .. } = self;
        let program = score.which.program(&plan.profile);
        let source = Source {
            plan,
            now: *now,
            kinds,
            bound: &score.kinds,
            types: program.features(),
            set,
            data: &data[0],
            models,
            sums: term_scores.as_ref().filter(|_| summed),
            spot: spots[0],
            reads,
            halted: None,
        };
        (Block { source, spots, data }, program, of_blocks)
    }
}

impl Block<'_> {
    /// A document is asked about from now on.
    fn turn_to(&mut self, place: u32) {
        let place = place as usize;
        self.source.spot = self.spots[place];
        if let Some(data) = self.data.get(place) {
            self.source.data = data;
        }
        self.source.set.turn_to(place);
    }

    /// The numbers of a column, each as `convert` has it.
    fn of_column(
        &mut self,
        column: &NumberColumn,
        places: &[u32],
        values: &mut [f64],
        convert: impl Fn(f64) -> f64,
    ) -> Result<(), Halt> {
        column.numbers(self.spots, places, self.source.reads, values)?;
        values.iter_mut().for_each(|value| *value = convert(*value));
        Ok(())
    }

    fn try_numbers(&mut self, feature: usize, places: &[u32], values: &mut [f64]) -> Result<(), Halt> {
        let (kinds, now) = (self.source.kinds, self.source.now);
        let seconds = |time: f64| age(now, (!time.is_nan()).then_some(time as i64));
        match &kinds[self.source.bound[feature]] {
            FeatureOrigin::Given(Value::Number(number)) => values.fill(*number),
            FeatureOrigin::Number(column) => self.of_column(column, places, values, |number| number)?,
            FeatureOrigin::Age(column) => self.of_column(column, places, values, seconds)?,
            FeatureOrigin::Freshness { time, freshness, logscale: false } => {
                self.of_column(time, places, values, |time| freshness.linear(seconds(time)))?;
            }
            FeatureOrigin::Freshness { time, freshness, logscale: true } => {
                self.of_column(time, places, values, |time| freshness.logscale(seconds(time)))?;
            }
            FeatureOrigin::Match { request, .. } if let Some(sums) = self.source.sums => {
                let sums = sums.of_view(*request, self.spots[0].view).unwrap_or_default();
                for (place, value) in places.iter().zip(values) {
                    let ordinal = self.spots[*place as usize].ordinal as usize;
                    *value = sums.get(ordinal).copied().unwrap_or(0.0);
                }
            }
            _ => {
                for (place, value) in places.iter().zip(values) {
                    self.turn_to(*place);
                    *value = self.source.number(feature);
                }
            }
        }
        Ok(())
    }
}

impl BlockSource for Block<'_> {
    fn numbers(&mut self, feature: usize, places: &[u32], values: &mut [f64]) {
        if let Err(halt) = self.try_numbers(feature, places, values) {
            self.source.note(halt);
            values.fill(0.0);
        }
    }

    fn document(&mut self, place: u32) -> &mut dyn FeatureSource {
        self.turn_to(place);
        &mut self.source
    }

    fn is_dear(&self, feature: usize) -> bool {
        matches!(&self.source.kinds[self.source.bound[feature]], FeatureOrigin::Closeness { items, .. } if !items.is_empty())
    }

    fn bounds(&mut self, feature: usize, places: &[u32], bounds: &mut [Interval]) -> bool {
        let kinds = self.source.kinds;
        let FeatureOrigin::Closeness { items, as_distance } = &kinds[self.source.bound[feature]] else { return false };
        for (place, of) in places.iter().zip(bounds) {
            self.turn_to(*place);
            match self.source.closeness_bounds(items, *as_distance) {
                Ok(Some(known)) => *of = known,
                Ok(None) => return false,
                // Goes on, so that all that is missing is asked for at once.
                Err(halt) => self.source.note(halt),
            }
        }
        true
    }
}
