//! Drives a target: its regressions, its corpus as it is, then changed inputs.
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::Target;
use crate::mutate::Mutator;

/// What takes longer is tried again, so often.
const SLOW: Duration = Duration::from_millis(2);
const AGAIN: usize = 4;

/// What a run saw.
#[derive(Clone, Debug)]
pub struct Report {
    /// Inputs tried.
    pub inputs: usize,
    /// The time of the slowest.
    pub slowest: Duration,
    /// The slowest input.
    pub slowest_input: Vec<u8>,
    /// The first input that panicked, if one did.
    pub failed: Option<Vec<u8>>,
}

/// Tries `target` with its regressions, its corpus, and `inputs` changed inputs. Ends at the first panic.
pub fn run(target: &mut Target, inputs: usize, seed: u64) -> Report {
    let mut report = Report { inputs: 0, slowest: Duration::ZERO, slowest_input: Vec::new(), failed: None };
    let mut mutator = Mutator::new(seed ^ u64::from(target.name.len() as u32));
    let corpus = target.corpus.clone();
    let known = regressions(target.name).into_iter().chain(corpus.iter().cloned());
    let changed = (0..inputs).map(|_| mutator.input(&corpus));
    for input in known.chain(changed) {
        report.inputs += 1;
        let mut attempt = || {
            let started = Instant::now();
            let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
            (outcome, started.elapsed())
        };
        let (outcome, mut taken) = attempt();
        // The machine may have done something else meanwhile: what seems slow is tried again.
        for _ in 0..AGAIN {
            if outcome.is_ok() && taken > report.slowest.max(SLOW) {
                taken = taken.min(attempt().1);
            }
        }
        if taken > report.slowest {
            report.slowest = taken;
            report.slowest_input.clone_from(&input);
        }
        if outcome.is_err() {
            report.failed = Some(input);
            return report;
        }
    }
    report
}

/// The inputs that once failed.
fn regressions(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions").join(name);
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.sort();
    paths.into_iter().map(|path| std::fs::read(path).expect("a readable file")).collect()
}
