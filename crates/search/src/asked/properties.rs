//! The parameters of a search by their full names, the URL (or form) and the JSON body together.
use std::borrow::Cow;
use std::cell::OnceCell;

use brooklet_kernel::sort_by_key;
use brooklet_query::Written;
use brooklet_query::surroundings::Parameters;
use brooklet_task::{Code, Rejection, limits};

use super::known_parameters;
use super::property_text::PropertyText;

/// Aliases of parameters, matched in any case (query-api, parameters).
pub(crate) const ALIASES: [(&str, &str); 36] = [
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
    ("nocache", "noCache"),
    ("groupingsessioncache", "groupingSessionCache"),
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

/// Who says what the value of a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The JSON of the body.
    Body,
    /// The URL, or a form.
    Url,
    QueryProfile,
}

/// A parameter and its value.
#[derive(Clone, Debug)]
pub(crate) struct Property {
    pub(crate) name: Cow<'static, str>,
    /// The name as it was given.
    pub(crate) given: String,
    pub(crate) value: PropertyText,
    pub(crate) source: Source,
}

/// The parameters of one request. A later value of a name wins, and the URL wins over the body.
#[derive(Clone, Debug, Default)]
pub(crate) struct Properties {
    pub(crate) entries: Vec<Property>,
    /// Where they stand, in the order of their full names: a request may have thousands.
    by_name: Vec<usize>,
    /// The same in the order of their names as given, made when one is asked for.
    by_given: OnceCell<Vec<usize>>,
    /// Known names of those whose values are no texts, numbers or switches in the body.
    pub(crate) unplain: Vec<(Cow<'static, str>, Written)>,
}

impl Properties {
    /// Reads the body and puts the URL's parameters over it.
    pub(crate) fn read<'a>(
        url: impl IntoIterator<Item = (&'a str, &'a str)>,
        body: &[u8],
    ) -> Result<Properties, Rejection> {
        let mut properties = Properties::default();
        if !body.is_empty() {
            let text = std::str::from_utf8(body)
                .map_err(|_| Rejection::new(Code::IllegalQuery, "Json parse error.: the body is not UTF-8"))?;
            for (given, value, written) in brooklet_query::flatten(text)? {
                let (name, value) = (full_name(&given), PropertyText::from(value));
                // Of two values the last counts.
                properties.unplain.retain(|(known, _)| *known != name);
                if written != Written::Plain && matches!(name, Cow::Borrowed(_)) {
                    properties.unplain.push((name.clone(), written));
                }
                properties.put(Property { name, given, value, source: Source::Body })?;
            }
        }
        for (given, value) in url {
            let (given, value) = (given.to_owned(), PropertyText::from(value.to_owned()));
            properties.put(Property { name: full_name(&given), given, value, source: Source::Url })?;
        }
        Ok(properties)
    }

    /// Puts vectors over what is there, as the digits of their cells would be from the body.
    pub(crate) fn put_vectors(&mut self, vectors: Vec<(&str, Box<[f32]>)>) -> Result<(), Rejection> {
        vectors.into_iter().try_for_each(|(given, cells)| {
            let (name, value) = (full_name(given), PropertyText::of_cells(cells));
            self.put(Property { name, given: given.to_owned(), value, source: Source::Body })
        })
    }

    fn put(&mut self, property: Property) -> Result<(), Rejection> {
        let is_other = |known: &Property| known.value != property.value;
        if SCOPES.contains(&&*property.name) && self.property(&property.name).is_some_and(is_other) {
            let message = format!("Conflicting values of '{}': the group to search must be named once", property.name);
            return Err(Rejection::new(Code::IllegalQuery, message));
        }
        self.set(property);
        Ok(())
    }

    /// Sets a parameter, in the place of the one that has its full name.
    pub(crate) fn set(&mut self, property: Property) {
        match self.place(&self.by_name, full, &property.name) {
            Ok(place) => self.entries[place] = property,
            Err(at) => {
                self.by_name.insert(at, self.entries.len());
                self.entries.push(property);
            }
        }
        self.by_given.take();
    }

    /// To be called when parameters have got other full names.
    pub(crate) fn arrange(&mut self) {
        self.by_name = self.order(full);
    }

    /// Where the parameters stand, in the order of a name; of several of a name the first counts.
    fn order(&self, name: fn(&Property) -> &str) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.entries.len()).collect();
        sort_by_key(&mut places, |place| name(&self.entries[*place]));
        places
    }

    /// Where the one with a name stands, or where it would stand in the order of those.
    fn place(&self, order: &[usize], name: fn(&Property) -> &str, wanted: &str) -> Result<usize, usize> {
        let at = order.partition_point(|place| name(&self.entries[*place]) < wanted);
        order.get(at).copied().filter(|place| name(&self.entries[*place]) == wanted).ok_or(at)
    }

    /// A parameter by its full name.
    pub(super) fn property(&self, name: &str) -> Option<&Property> {
        Some(&self.entries[self.place(&self.by_name, full, name).ok()?])
    }

    /// The value of a parameter by its full name.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.property(name).map(|known| &*known.value)
    }

    /// Whether a value is said by the query profile, by its full name.
    pub(crate) fn is_of_profile(&self, name: &str) -> bool {
        self.property(name).is_some_and(|known| known.source == Source::QueryProfile)
    }

    /// Whether a value is said by the body, and not by the URL, which goes before it.
    pub(crate) fn is_of_body(&self, name: &str) -> bool {
        self.property(name).is_some_and(|known| known.source == Source::Body)
    }

    /// Why a parameter cannot have its value.
    pub(crate) fn refuse(&self, name: &str, reason: &str) -> Rejection {
        let given = self.property(name).map_or("", |known| known.given.as_str());
        Rejection::new(Code::IllegalQuery, format!("Could not set '{given}': {reason}"))
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

    /// Whether the answer is to be markup.
    pub(crate) fn is_markup(&self) -> bool {
        matches!(self.value("presentation.format"), Some("xml" | "XmlRenderer"))
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

    /// The given query features: name as given, name of the feature, value.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = (&str, &str, &PropertyText)> {
        self.entries.iter().filter_map(|known| {
            let feature = known.name.strip_prefix("input.query(")?.strip_suffix(')')?;
            Some((known.given.as_str(), feature, &known.value))
        })
    }

    /// The rank properties of the request: name as given, name of the property, text.
    pub(crate) fn rank_properties(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.entries.iter().filter_map(|Property { name, given, value, .. }| {
            Some((given.as_str(), name.strip_prefix("ranking.properties.")?, &**value))
        })
    }

    /// Values for features that the core would compute: name of the feature, text; the name as given.
    pub(crate) fn overrides(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.entries.iter().filter_map(|Property { name, given, value, .. }| {
            let feature = ["ranking.features.", "input."].iter().find_map(|prefix| name.strip_prefix(prefix))?;
            // A name without parentheses is no feature but somebody's own parameter.
            let is_feature = feature.contains('(') && !feature.starts_with("query(") || name.starts_with("ranking.");
            is_feature.then_some((feature, &**value, given.as_str()))
        })
    }

    /// Parameters whose names begin so, without that beginning.
    pub(crate) fn beginning<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.entries.iter().filter_map(move |known| Some((known.name.strip_prefix(prefix)?, &*known.value)))
    }
}

impl Parameters for Properties {
    fn get(&self, name: &str) -> Option<&str> {
        // `@name` means the parameter as it was written in the request.
        let by_given = self.by_given.get_or_init(|| self.order(|known| &known.given));
        let as_given = self.place(by_given, |known| &known.given, name).ok();
        as_given.map(|place| &self.entries[place]).or_else(|| self.property(name)).map(|known| &*known.value)
    }
}

fn full(property: &Property) -> &str {
    &property.name
}

/// The full name of a parameter, which is known by others too.
pub(crate) fn full_name(given: &str) -> Cow<'static, str> {
    // Full names are as they are written, their aliases in any case.
    if let Some((known, ..)) = known_parameters::known_parameter(given) {
        return Cow::Borrowed(known);
    }
    if let Some((_, full)) = ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(given)) {
        return Cow::Borrowed(full);
    }
    let begins = |prefix: &str| given.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    let known = PREFIXES.iter().find(|(prefix, _)| begins(prefix));
    let name = known.map_or_else(|| given.to_owned(), |(prefix, full)| format!("{full}{}", &given[prefix.len()..]));
    if let Some(rest) = INPUTS.iter().find_map(|prefix| name.strip_prefix(prefix)) {
        return Cow::Owned(format!("input.query({})", rest.strip_suffix(')').unwrap_or(rest)));
    }
    match name.starts_with(LOWERCASE) {
        true => known_parameters::in_any_case(&name).map_or(Cow::Owned(name), Cow::Borrowed),
        false => Cow::Owned(name),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn properties(pairs: &[(&str, &str)]) -> Properties {
        Properties::read(pairs.iter().copied(), b"").unwrap()
    }

    #[test]
    fn aliases_mean_their_full_names_in_any_case() {
        let properties =
            properties(&[("Count", "5"), ("ranking.features.query(q)", "1"), ("rankfeature.query(w)", "2")]);
        assert_eq!(properties.count("hits").unwrap(), Some(5));
        assert_eq!(properties.inputs().count(), 2);
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
        let twice = [("streaming.groupname", "a"), ("streaming.groupname", "b")];
        assert!(Properties::read(twice, b"").is_err());
    }

    /// Names that mean each other in some cases, and names of the group.
    const NAMES: [&str; 12] = [
        "hits",
        "Count",
        "COUNT",
        "a",
        "A",
        "input.query(q)",
        "ranking.features.query(q)",
        "rankfeature.query(q)",
        "query(q)",
        "streaming.groupname",
        "streaming.userid",
        "timeout",
    ];

    /// The parameters, looked through one by one.
    fn one_by_one(pairs: &[(&str, &str, Source)]) -> Result<Vec<(String, String, String, Source)>, String> {
        let mut kept: Vec<(String, String, String, Source)> = Vec::new();
        for (given, value, source) in pairs {
            let entry = (full_name(given).into_owned(), given.to_string(), value.to_string(), *source);
            match kept.iter_mut().find(|known| known.0 == entry.0) {
                None => kept.push(entry),
                Some(known) if SCOPES.contains(&&*entry.0) && known.2 != entry.2 => return Err(entry.0),
                Some(known) => *known = entry,
            }
        }
        Ok(kept)
    }

    proptest! {
        #[test]
        fn parameters_are_those_that_are_found_one_by_one(
            body in proptest::collection::vec((0..NAMES.len(), 0u8..4), 0..12),
            url in proptest::collection::vec((0..NAMES.len(), 0u8..4), 0..12),
        ) {
            let member = |(name, value): &(usize, u8)| format!("\"{}\":\"{value}\"", NAMES[*name]);
            let json = format!("{{{}}}", body.iter().map(member).collect::<Vec<_>>().join(","));
            let texts = ["0", "1", "2", "3"];
            let pairs = |given: &[(usize, u8)], source| -> Vec<_> {
                given.iter().map(|(name, value)| (NAMES[*name], texts[usize::from(*value)], source)).collect()
            };
            let all = [pairs(&body, Source::Body), pairs(&url, Source::Url)].concat();
            let read = Properties::read(all[body.len()..].iter().map(|(name, value, _)| (*name, *value)), json.as_bytes());
            match (read, one_by_one(&all)) {
                (Err(rejection), Err(name)) => prop_assert!(rejection.message.contains(&name)),
                (Ok(properties), Ok(kept)) => {
                    for name in NAMES {
                        let full = kept.iter().find(|known| known.0 == name);
                        prop_assert_eq!(properties.value(name), full.map(|known| &*known.2));
                        let any = kept.iter().find(|known| known.1 == name).or(full);
                        prop_assert_eq!(properties.get(name), any.map(|known| &*known.2));
                    }
                    let entries = properties.entries.into_iter();
                    let entries = entries.map(|it| (it.name.into_owned(), it.given, it.value.to_string(), it.source));
                    prop_assert_eq!(entries.collect::<Vec<_>>(), kept);
                }
                (read, kept) => prop_assert!(false, "{read:?} {kept:?}"),
            }
        }
    }
}
