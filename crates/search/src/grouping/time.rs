//! Parts of a time given in seconds since 1970, UTC.
use brooklet_query::grouping::tree::Time;

use super::datum::Datum;

const DAY: i64 = 86_400;

/// The part of a time.
pub(crate) fn part(of: Time, seconds: i64) -> Datum {
    let (days, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let (year, month, day) = civil(days);
    Datum::Long(match of {
        // Without padding, as the content node writes it.
        Time::Date => return Datum::text(&format!("{year}-{month}-{day}")),
        Time::Year => year,
        Time::MonthOfYear => month,
        Time::DayOfMonth => day,
        // Sunday is 0, as in C; 1970 began on a Thursday.
        Time::DayOfWeek => (days + 4).rem_euclid(7),
        Time::DayOfYear => days - days_before(year),
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

/// Year, month and day of the month of a day counted from 1970, in the calendar of Gregory without a beginning.
fn civil(days: i64) -> (i64, i64, i64) {
    let mut year = 1970 + days.div_euclid(146_097) * 400;
    year += days.rem_euclid(146_097) / 366;
    while days_before(year + 1) <= days {
        year += 1;
    }
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut day = days - days_before(year);
    for (month, length) in lengths.iter().enumerate() {
        if day < *length {
            return (year, month as i64 + 1, day + 1);
        }
        day -= length;
    }
    (year, 12, 31)
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
