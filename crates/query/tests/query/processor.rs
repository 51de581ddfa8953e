//! Whether eight times as much takes eight times as long, or 64 times, by the time of the processor: what else the machine does is not in it.

use std::time::Instant;

/// What the machine does beside a test it does not do each time.
const TRIES: usize = 20;
/// How many times longer than eight of an eighth a whole may take. Where it is read once for each of its parts, it takes eight times as long.
const UNEVEN: u64 = 3;

/// Whether `work` on a whole takes about as long as on eight of an eighth. Both may be too short for the system to tell.
pub fn is_even<T: ?Sized>(work: impl Fn(&T), whole: &T, eighth: &T) -> bool {
    let began = Instant::now();
    let time = |of: &T, times: usize| {
        let start = nanoseconds(began);
        (0..times).for_each(|_| work(of));
        nanoseconds(began) - start
    };
    (0..TRIES).any(|_| time(whole, 1) <= UNEVEN * time(eighth, 8))
}

/// Nanoseconds of the processor that this thread has taken; of the clock, where the system does not tell.
fn nanoseconds(began: Instant) -> u64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let of_thread = told.and_then(|told| told.split(' ').next()?.parse().ok());
    of_thread.unwrap_or_else(|| began.elapsed().as_nanos() as u64)
}
