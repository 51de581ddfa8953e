//! Which later phases a query has, and how many hits they look at.
use brooklet_schema::{Phase, RankProfile};
use brooklet_task::{Code, Rejection, limits};

use crate::asked::properties::Properties;

/// Rank property: the second phase honours its `rerank-count`.
pub(crate) const RERANK: &str = "brooklet.rerank";

/// Hits a phase scores, and those of them it drops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Phased {
    /// How many hits, the best of the phase before.
    pub(crate) count: usize,
    /// Hits with this score or less are dropped.
    pub(crate) drop_limit: Option<f64>,
}

/// The later phases of a query for one schema.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Phases {
    /// The second phase, if it is limited to the best hits.
    pub(crate) second: Option<Phased>,
    pub(crate) global: Option<Phased>,
}

impl Phases {
    /// The later phases of a profile, as the request wants them. `reranks`: the second one is limited.
    pub(crate) fn new(profile: &RankProfile, reranks: bool, properties: &Properties) -> Result<Phases, Rejection> {
        let phased = |phase: Option<&Phase>, name: &str| {
            let Some(phase) = phase.filter(|phase| phase.expression.is_some()) else { return Ok(None) };
            let declared = phase.rerank_count.map(|count| usize::try_from(count).unwrap_or(0));
            let count_name = format!("ranking.{name}.rerankCount");
            let count = properties.count(&count_name)?.or(declared).unwrap_or(limits::RERANK_DEFAULT);
            if count > limits::RERANK {
                let message = format!("{count_name} of {count} requested, configured limit: {}", limits::RERANK);
                return Err(Rejection::new(Code::IllegalQuery, message));
            }
            let limit = properties.number(&format!("ranking.{name}.rankScoreDropLimit"))?;
            Ok(Some(Phased { count, drop_limit: limit.or(phase.rank_score_drop_limit) }))
        };
        let second = profile.second_phase.as_ref().filter(|_| reranks);
        Ok(Phases {
            second: phased(second, "secondPhase")?,
            global: phased(profile.global_phase.as_ref(), "globalPhase")?,
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Phases::default()
    }

    /// How many hits must be known for `wanted` to be shown.
    pub(crate) fn kept(&self, wanted: usize) -> usize {
        [self.second, self.global].into_iter().flatten().map(|phase| phase.count).fold(wanted, usize::max)
    }
}
