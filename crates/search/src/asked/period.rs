//! A period of time in which documents were last written.
use brooklet_task::Rejection;

use super::properties::Properties;

/// A period, µs since the epoch; what it leaves open is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Period {
    /// The first moment that belongs to it.
    pub(crate) from: u64,
    /// The first moment after it.
    pub(crate) to: u64,
}

impl Period {
    /// The period that a search is about: `streaming.fromtimestamp` and `streaming.totimestamp`.
    pub(crate) fn from_properties(properties: &Properties) -> Result<Period, Rejection> {
        let moment = |name: &str| -> Result<u64, Rejection> {
            let Some(text) = properties.value(name).filter(|text| !text.is_empty()) else { return Ok(0) };
            let invalid = || properties.refuse(name, &format!("'{}' is not a valid number", Rejection::quote(text)));
            text.trim().parse().map_err(|_| invalid())
        };
        Ok(Period { from: moment("streaming.fromtimestamp")?, to: moment("streaming.totimestamp")? })
    }

    /// Whether all times belong to it, those that are not known too.
    pub(crate) fn is_always(self) -> bool {
        self == Period::default()
    }

    /// Whether it includes a moment.
    pub(crate) fn includes(self, time: u64) -> bool {
        self.from <= time && (self.to == 0 || time < self.to)
    }
}
