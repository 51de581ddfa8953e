//! The parameters of a search by their full names, the URL (or form) and the JSON body together.
use std::collections::BTreeSet;

use brooklet_query::Written;
use brooklet_query::surroundings::Parameters;
use brooklet_task::{Code, Rejection, limits};

use super::known_parameters;

/// Aliases of parameters, matched in any case (query-api, parameters).
pub(crate) const ALIASES: [(&str, &str); 45] = [
    ("count", "hits"),
    ("start", "offset"),
    ("default-index", "model.defaultIndex"),
    ("filter", "model.filter"),
    ("lang", "model.language"),
    ("language", "model.language"),
    ("locale", "model.locale"),
    ("restrict", "model.restrict"),
    ("search", "model.sources"),
    ("sources", "model.sources"),
    ("type", "model.type"),
    ("query", "model.queryString"),
    ("ranking", "ranking.profile"),
    ("sorting", "ranking.sorting"),
    ("rankfeatures", "ranking.listFeatures"),
    ("summary", "presentation.summary"),
    ("format", "presentation.format"),
    ("format.tensors", "presentation.format.tensors"),
    ("bolding", "presentation.bolding"),
    ("tracelevel", "trace.level"),
    ("hits", "hits"),
    ("offset", "offset"),
    ("timeout", "timeout"),
    ("yql", "yql"),
    ("queryprofile", "queryProfile"),
    ("searchchain", "searchChain"),
    ("nocache", "noCache"),
    ("hitcountestimate", "hitcountestimate"),
    ("metrics.ignore", "metrics.ignore"),
    ("groupingsessioncache", "groupingSessionCache"),
    ("recall", "recall"),
    ("user", "user"),
    ("jsoncallback", "jsoncallback"),
    ("weakand.replace", "weakAnd.replace"),
    ("location", "ranking.location"),
    ("encoding", "model.encoding"),
    ("searchgroup", "model.searchGroup"),
    ("searchpath", "model.searchPath"),
    ("sortspec", "ranking.sorting"),
    ("datetime", "ranking.freshness"),
    ("timing", "presentation.timing"),
    ("summaryfields", "presentation.summaryFields"),
    ("template", "presentation.format"),
    ("profile", "trace.profile"),
    ("explainlevel", "trace.explainLevel"),
];

/// Prefixes in any case, and those of full names.
pub(crate) const PREFIXES: [(&str, &str); 3] =
    [("rankfeature.", "ranking.features."), ("rankproperty.", "ranking.properties."), ("input.", "input.")];

/// Beginnings of what is an input, which is `input.query(x)` here.
pub(crate) const INPUTS: [&str; 4] = ["ranking.features.query(", "ranking.features.$", "input.query(", "input.$"];

/// Leaf names that are known in lower case too.
pub(crate) const LOWERCASE: &str = "ranking.matching.";

/// Parameters that name the group: two different values of one are never resolved silently.
pub(crate) const SCOPES: [&str; 3] = ["streaming.groupname", "streaming.userid", "streaming.selection"];

/// The parameters of one request. A later value of a name wins, and the URL wins over the body.
#[derive(Clone, Debug, Default)]
pub(crate) struct Properties {
    /// Full name, name as given, value.
    pub(crate) entries: Vec<(String, String, String)>,
    /// Full names of those whose values are of the query profile.
    pub(crate) of_profile: BTreeSet<String>,
    /// Full names of those whose values are no texts, numbers or switches in the body.
    pub(crate) unplain: Vec<(String, Written)>,
    /// Full names of those that the URL or a form has.
    of_url: BTreeSet<String>,
}

impl Properties {
    /// Reads the body and puts the URL's parameters over it.
    pub(crate) fn read(url: &[(String, String)], body: &[u8]) -> Result<Properties, Rejection> {
        let mut properties = Properties::default();
        if !body.is_empty() {
            let text = std::str::from_utf8(body)
                .map_err(|_| Rejection::new(Code::IllegalQuery, "Json parse error.: the body is not UTF-8"))?;
            for (name, value, written) in brooklet_query::flatten(text)? {
                let full = full_name(&name);
                // Of two values the last counts.
                properties.unplain.retain(|(known, _)| *known != full);
                if written != Written::Plain {
                    properties.unplain.push((full, written));
                }
                properties.put(&name, value)?;
            }
        }
        for (name, value) in url {
            properties.of_url.insert(full_name(name));
            properties.put(name, value.clone())?;
        }
        Ok(properties)
    }

    fn put(&mut self, given: &str, value: String) -> Result<(), Rejection> {
        let name = full_name(given);
        if let Some(entry) = self.entries.iter_mut().find(|(known, _, _)| *known == name) {
            if SCOPES.contains(&name.as_str()) && entry.2 != value {
                let message = format!("Conflicting values of '{name}': the group to search must be named once");
                return Err(Rejection::new(Code::IllegalQuery, message));
            }
            (entry.1, entry.2) = (given.to_owned(), value);
        } else {
            self.entries.push((name, given.to_owned(), value));
        }
        Ok(())
    }

    /// The value of a parameter by its full name.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.entries.iter().find(|(known, _, _)| known == name).map(|(_, _, value)| value.as_str())
    }

    /// The name a parameter was given by.
    fn given(&self, name: &str) -> &str {
        self.entries.iter().find(|(known, _, _)| known == name).map_or("", |(_, given, _)| given.as_str())
    }

    /// Whether the value of a parameter is that of the body, which the URL goes before.
    pub(crate) fn is_of_body(&self, name: &str) -> bool {
        !self.of_url.contains(name)
    }

    /// Why a parameter cannot have its value.
    pub(crate) fn refuse(&self, name: &str, reason: &str) -> Rejection {
        Rejection::new(Code::IllegalQuery, format!("Could not set '{}': {reason}", self.given(name)))
    }

    /// A value that is no empty text, which is none where a number is wanted.
    fn number_text(&self, name: &str) -> Option<&str> {
        self.value(name).filter(|text| !text.is_empty())
    }

    /// A count: a whole number that is not negative.
    pub(crate) fn count(&self, name: &str) -> Result<Option<usize>, Rejection> {
        let Some(number) = self.integer(name)? else { return Ok(None) };
        match usize::try_from(number) {
            Ok(count) => Ok(Some(count)),
            Err(_) => Err(self.refuse(name, &format!("'{name}' must be a positive number, not {number}"))),
        }
    }

    /// A whole number.
    pub(crate) fn integer(&self, name: &str) -> Result<Option<i32>, Rejection> {
        let Some(text) = self.number_text(name) else { return Ok(None) };
        // Blanks around it are no part of a number: `hits=+5` is a blank and a 5.
        let number = text.parse().map(Some);
        number.map_err(|_| self.refuse(name, &format!("'{}' is not a valid integer", Rejection::quote(text))))
    }

    /// A switch: given without a value it is on, with any value but `true` off.
    pub(crate) fn is_on(&self, name: &str, default: bool) -> bool {
        self.value(name).map_or(default, |text| text.is_empty() || text.eq_ignore_ascii_case("true"))
    }

    /// A number.
    pub(crate) fn number(&self, name: &str) -> Result<Option<f64>, Rejection> {
        let Some(text) = self.number_text(name) else { return Ok(None) };
        let number = text.trim().parse().ok().filter(|number: &f64| !number.is_nan());
        number
            .map(Some)
            .ok_or_else(|| self.refuse(name, &format!("'{}' is not a valid number", Rejection::quote(text))))
    }

    /// The time budget, milliseconds: a number and a unit, seconds if there is none.
    pub(crate) fn timeout_ms(&self) -> Result<Option<u32>, Rejection> {
        let Some(text) = self.value("timeout") else { return Ok(None) };
        let trimmed = text.trim();
        let end = trimmed.find(|c: char| c.is_ascii_alphabetic() && c != 'e' && c != 'E' || c == 'µ');
        let (number, unit) = trimmed.split_at(end.unwrap_or(trimmed.len()));
        let invalid = |what: &str| {
            let quoted = Rejection::quote(text);
            self.refuse("timeout", &format!("Error parsing '{quoted}': Invalid {what} '{quoted}'"))
        };
        let number: f64 = number.trim().parse().map_err(|_| invalid("number"))?;
        let factor = match unit.trim() {
            "" | "s" => 1_000.0,
            "ms" => 1.0,
            "ks" => 1_000_000.0,
            "µs" | "us" => 0.001,
            _ => return Err(invalid("unit")),
        };
        let milliseconds = number * factor;
        if !milliseconds.is_finite() || milliseconds < 0.0 {
            return Err(invalid("number"));
        }
        Ok(Some((milliseconds.ceil() as u32).min(limits::TIMEOUT_MAX_MS)))
    }

    /// The given query features: name as given, name of the feature, text.
    pub(crate) fn inputs(&self) -> Vec<(String, String, String)> {
        let inputs = self.entries.iter().filter_map(|(name, given, value)| {
            let feature = name.strip_prefix("input.query(")?.strip_suffix(')')?;
            Some((given.clone(), feature.to_owned(), value.clone()))
        });
        inputs.collect()
    }

    /// The rank properties of the request: name as given, name of the property, text.
    pub(crate) fn rank_properties(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.entries.iter().filter_map(|(name, given, value)| {
            Some((given.as_str(), name.strip_prefix("ranking.properties.")?, value.as_str()))
        })
    }

    /// Values for features that the core would compute: name of the feature, text; the name as given.
    pub(crate) fn overrides(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.entries.iter().filter_map(|(name, given, value)| {
            let feature = ["ranking.features.", "input."].iter().find_map(|prefix| name.strip_prefix(prefix))?;
            // A name without parentheses is no feature but somebody's own parameter.
            let is_feature = feature.contains('(') && !feature.starts_with("query(") || name.starts_with("ranking.");
            is_feature.then_some((feature, value.as_str(), given.as_str()))
        })
    }

    /// Parameters whose names begin so, without that beginning.
    pub(crate) fn beginning<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.entries.iter().filter_map(move |(name, _, value)| Some((name.strip_prefix(prefix)?, value.as_str())))
    }
}

impl Parameters for Properties {
    fn get(&self, name: &str) -> Option<&str> {
        // `@name` means the parameter as it was written in the request.
        let as_given = self.entries.iter().find(|(_, given, _)| given == name).map(|(_, _, value)| value.as_str());
        as_given.or_else(|| self.value(name))
    }
}

pub(crate) fn full_name(given: &str) -> String {
    let lower = given.to_ascii_lowercase();
    if let Some((_, full)) = ALIASES.iter().find(|(alias, _)| *alias == lower) {
        return (*full).to_owned();
    }
    let known = PREFIXES.iter().find(|(prefix, _)| lower.starts_with(prefix));
    let name = known.map_or_else(|| given.to_owned(), |(prefix, full)| format!("{full}{}", &given[prefix.len()..]));
    if let Some(rest) = INPUTS.iter().find_map(|prefix| name.strip_prefix(prefix)) {
        return format!("input.query({})", rest.strip_suffix(')').unwrap_or(rest));
    }
    match name.starts_with(LOWERCASE) {
        true => known_parameters::in_any_case(&name).unwrap_or(&name).to_owned(),
        false => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(pairs: &[(&str, &str)]) -> Properties {
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Properties::read(&pairs, b"").unwrap()
    }

    #[test]
    fn aliases_mean_their_full_names_in_any_case() {
        let properties =
            properties(&[("Count", "5"), ("ranking.features.query(q)", "1"), ("rankfeature.query(w)", "2")]);
        assert_eq!(properties.count("hits").unwrap(), Some(5));
        assert_eq!(properties.inputs().len(), 2);
    }

    #[test]
    fn timeouts_have_units_and_a_largest_value() {
        assert_eq!(properties(&[("timeout", "2")]).timeout_ms().unwrap(), Some(2_000));
        assert_eq!(properties(&[("timeout", "50 ms")]).timeout_ms().unwrap(), Some(50));
        assert_eq!(properties(&[("timeout", "1ks")]).timeout_ms().unwrap(), Some(limits::TIMEOUT_MAX_MS));
        assert!(properties(&[("timeout", "abc")]).timeout_ms().is_err());
        assert!(properties(&[("timeout", "5parsecs")]).timeout_ms().is_err());
    }

    #[test]
    fn a_group_named_twice_differently_is_refused() {
        let twice =
            [("streaming.groupname".to_owned(), "a".to_owned()), ("streaming.groupname".to_owned(), "b".to_owned())];
        assert!(Properties::read(&twice, b"").is_err());
    }
}
