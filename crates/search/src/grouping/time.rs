//! Parts of a time given in seconds since 1970, UTC.
use brooklet_query::grouping::tree::Time;

use super::datum::Datum;

const DAY: i64 = 86_400;

/// The part of a time.
pub(crate) fn part(of: Time, seconds: i64) -> Datum {
    let (days, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    Datum::Long(match of {
        Time::Date => {
            let (year, month, day) = civil(days);
            // Without padding, as the content node writes it.
            return Datum::text(&format!("{year}-{month}-{day}"));
        }
        Time::Year => civil(days).0,
        Time::MonthOfYear => civil(days).1,
        Time::DayOfMonth => civil(days).2,
        // Sunday is 0, as in C; 1970 began on a Thursday.
        Time::DayOfWeek => (days + 4).rem_euclid(7),
        Time::DayOfYear => days - days_before(civil(days).0),
        Time::HourOfDay => second / 3_600,
        Time::MinuteOfHour => second / 60 % 60,
        Time::SecondOfMinute => second % 60,
    })
}

/// Days from 1970 to the first of January of a year.
fn days_before(year: i64) -> i64 {
    let before = year - 1;
    365 * (year - 1970) + (before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400)) - 477
}

/// Year, month and day of the month of a day counted from 1970, in the calendar of Gregory without a beginning. Counted
/// in years that begin in March, the leap day is the last one, and months before a day are a line through the days
/// (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", 2013).
fn civil(days: i64) -> (i64, i64, i64) {
    let since_march = days + 719_468;
    let (era, day) = (since_march.div_euclid(146_097), since_march.rem_euclid(146_097) as u32);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + i64::from(year) + next, i64::from(month), i64::from(day))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(seconds: i64) -> Vec<i64> {
        use Time::{DayOfMonth, DayOfWeek, DayOfYear, HourOfDay, MinuteOfHour, MonthOfYear, SecondOfMinute, Year};
        [Year, MonthOfYear, DayOfMonth, DayOfWeek, DayOfYear, HourOfDay, MinuteOfHour, SecondOfMinute]
            .map(|of| part(of, seconds).long())
            .to_vec()
    }

    /// Every day of 800 years comes after the one before it.
    #[test]
    fn days_follow_each_other() {
        let mut before = civil(-146_098);
        for days in -146_097..=146_097 {
            let (year, month, day) = civil(days);
            let leap = before.0 % 4 == 0 && (before.0 % 100 != 0 || before.0 % 400 == 0);
            let length =
                [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][before.1 as usize - 1];
            let next = match before {
                (year, 12, 31) => (year + 1, 1, 1),
                (year, month, day) if day == length => (year, month + 1, 1),
                (year, month, day) => (year, month, day + 1),
            };
            assert_eq!((year, month, day), next);
            before = next;
        }
    }

    #[test]
    fn times_are_taken_apart() {
        assert_eq!(parts(0), [1970, 1, 1, 4, 0, 0, 0, 0]);
        assert_eq!(parts(-1), [1969, 12, 31, 3, 364, 23, 59, 59]);
        assert_eq!(parts(1_157_500_800), [2006, 9, 6, 3, 248, 0, 0, 0]);
        assert_eq!(parts(951_782_400), [2000, 2, 29, 2, 59, 0, 0, 0]);
        assert_eq!(parts(4_107_542_399), [2100, 2, 28, 0, 58, 23, 59, 59]);
        assert_eq!(parts(1_790_000_000), [2026, 9, 21, 1, 263, 14, 13, 20]);
        assert_eq!(parts(-62_135_596_800), [1, 1, 1, 1, 0, 0, 0, 0]);
        assert_eq!(part(Time::Date, 1_157_500_800).bytes()[..], b"2006-9-6"[..]);
        for seconds in [i64::MIN, i64::MAX] {
            part(Time::Year, seconds);
        }
    }
}
