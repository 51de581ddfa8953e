//! Rank properties as features read them: text under a key of the form `feature(parameters).name`.

use crate::features::environment::FeatureEnvironment;
use crate::match_data::RankProperties;
use brooklet_task::{Code, Rejection};

/// The properties that belong to one feature.
pub struct Properties<'a> {
    all: &'a RankProperties,
    feature: String,
}

impl<'a> Properties<'a> {
    /// Those whose keys begin with `feature.`.
    pub fn new(environment: &FeatureEnvironment<'a>, feature: String) -> Properties<'a> {
        Properties { all: environment.properties, feature }
    }

    /// The text of `feature.name`.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.texts(name).first().map(|text| text.trim())
    }

    /// All values of `feature.name`.
    pub fn texts(&self, name: &str) -> &'a [String] {
        self.all.values(&format!("{}.{name}", self.feature))
    }

    /// The number of `feature.name`, or `default` if it is not set.
    pub fn number(&self, name: &str, default: f64) -> Result<f64, Rejection> {
        let Some(text) = self.text(name) else { return Ok(default) };
        parse_number(text).ok_or_else(|| self.refuse(name, text, "a number"))
    }

    /// The whole number of `feature.name`, or `default` if it is not set.
    pub fn whole_number(&self, name: &str, default: u32) -> Result<u32, Rejection> {
        let Some(text) = self.text(name) else { return Ok(default) };
        text.parse().map_err(|_| self.refuse(name, text, "a whole number"))
    }

    /// The yes or no of `feature.name`, or `default` if it is not set.
    pub fn flag(&self, name: &str, default: bool) -> Result<bool, Rejection> {
        match self.text(name) {
            None => Ok(default),
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            Some(text) => Err(self.refuse(name, text, "'true' or 'false'")),
        }
    }

    fn refuse(&self, name: &str, text: &str, wanted: &str) -> Rejection {
        let message =
            format!("Rank property '{}.{name}' must be {wanted}, but is '{}'", self.feature, Rejection::quote(text));
        Rejection::new(Code::InvalidApplication, message)
    }
}

/// A finite decimal number.
pub fn parse_number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// An application that cannot be deployed.
pub fn refuse(message: impl Into<String>) -> Rejection {
    Rejection::new(Code::InvalidApplication, message)
}
