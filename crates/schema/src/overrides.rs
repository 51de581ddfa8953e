//! validation-overrides.xml: changes that were announced although they lose data.
use brooklet_task::Rejection;
use roxmltree::Node;

use crate::remarks::Remarks;
use crate::services::xml::{XmlFile, text};

/// A change of validation-overrides.xml that may lose data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// What is allowed, such as `schema-removal`.
    pub id: String,
    /// Last day, `YYYY-MM-DD`. The core has no clock: the host says which day it is.
    pub until: String,
    /// The same in days since 1970.
    pub until_day: i64,
}

/// Reads the file.
///
/// # Errors
/// If it is malformed.
#[inline(never)]
pub(crate) fn read(path: &str, content: &str, remarks: &mut Remarks) -> Result<Vec<Override>, Rejection> {
    let file = XmlFile::parse(path, content)?;
    let root = file.root();
    if root.tag_name().name() != "validation-overrides" {
        return Err(file.place(root).reject("<validation-overrides> expected"));
    }
    let mut overrides = Vec::new();
    for node in root.children().filter(Node::is_element) {
        if node.tag_name().name() != "allow" {
            return Err(file.place(node).reject("<allow> expected"));
        }
        let until = file.required_attribute(node, "until")?;
        let Some(until_day) = day_of(until) else {
            let shown = Rejection::quote(until);
            remarks.object(file.place(node).reject(format!("'until' is a date like 2031-01-31, not '{shown}'")));
            continue;
        };
        overrides.push(Override { id: text(node).to_owned(), until: until.to_owned(), until_day });
    }
    Ok(overrides)
}

/// Days from 1970-01-01 to a date `YYYY-MM-DD`.
fn day_of(text: &str) -> Option<i64> {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
    if shape != "9999-99-99" {
        return None;
    }
    let number = |range: std::ops::Range<usize>| text[range].parse::<i64>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, if is_leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before = lengths.get(..usize::try_from(month - 1).ok()?)?;
    let length = *lengths.get(before.len())?;
    if !(1..=length).contains(&day) {
        return None;
    }
    // Days of whole years before: 0000 is a leap year.
    let years = |year: i64| year * 365 + (year + 3) / 4 - (year + 99) / 100 + (year + 399) / 400;
    Some(years(year) - years(1970) + before.iter().sum::<i64>() + day - 1)
}

#[cfg(test)]
mod tests {
    use super::day_of;

    #[test]
    fn days_are_counted_from_1970() {
        let days = [
            ("1970-01-01", 0),
            ("1969-12-31", -1),
            ("2000-02-29", 11_016),
            ("2026-11-23", 20_780),
            ("2100-03-01", 47_541),
        ];
        days.iter().for_each(|(text, day)| assert_eq!(day_of(text), Some(*day), "{text}"));
        for wrong in ["2026-02-29", "2026-13-01", "2026-00-01", "2026-01-00", "26-01-01", "x"] {
            assert_eq!(day_of(wrong), None, "{wrong}");
        }
    }
}
