//! When the time of a query is over, by the clock that its host tells: how long the query took since it arrived, in queues
//! too. What is done too late is refused like what is not done, so that nothing but the clock decides.
use brooklet_task::{Code, Rejection};

use crate::plan::Plan;

/// How far a query came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Waiting,
    Begun,
    Done,
}

/// Whether the time of a query was over after so many milliseconds.
pub(crate) fn is_over(plan: &Plan, elapsed_ms: f64) -> bool {
    elapsed_ms >= f64::from(plan.timeout_ms)
}

/// Why a query is refused that ran out of time; nothing if it did not. What takes a part of an answer (an extension) is
/// given what is done all the same.
pub(crate) fn refusal(plan: &Plan, elapsed_ms: f64, progress: Progress) -> Option<Rejection> {
    let takes_part = plan.soft_timeout_ms.is_some();
    match progress {
        Progress::Done if takes_part || !is_over(plan, elapsed_ms) => None,
        // Vespa counts what has begun.
        Progress::Waiting => {
            let waited = elapsed_ms.max(1.0) as u64;
            let message = format!("No time left after waiting for {waited}ms to execute query");
            Some(Rejection::new(Code::TimedOut, message))
        }
        Progress::Begun | Progress::Done => {
            Some(Rejection::new(Code::TimedOut, "Query timed out in streaming visitor"))
        }
    }
}
