//! A request together with the query profile it chooses: what the request does not say itself, the profile says.
use std::borrow::Cow;

use brooklet_query::surroundings::Parameters;
use brooklet_schema::{FieldType, QueryProfile, QueryProfiles};
use brooklet_task::{Code, Rejection};

use super::properties::{Properties, Property, Source, full_name};

/// The profile of requests that name none.
const DEFAULT: &str = "default";

/// Substitutions within each other.
const DEPTH_MAX: usize = 16;

/// Substitutions of one request.
const SUBSTITUTIONS_MAX: usize = 10_000;

/// Longest value after substitution, bytes.
const VALUE_BYTES: usize = 1 << 16;

/// Parameters that every request may have, beside those whose name begins with one of [`NATIVE_PREFIXES`].
const NATIVE: [&str; 20] = [
    "hits",
    "offset",
    "timeout",
    "yql",
    "query",
    "queryProfile",
    "searchChain",
    "noCache",
    "hitcountestimate",
    "metrics.ignore",
    "groupingSessionCache",
    "recall",
    "user",
    "jsoncallback",
    "timezone",
    "maxHits",
    "maxOffset",
    "select",
    "continue",
    "unique",
];

const NATIVE_PREFIXES: [&str; 16] = [
    "model.",
    "ranking.",
    "presentation.",
    "trace.",
    "select.",
    "input.",
    "streaming.",
    "grouping.",
    "renderer.",
    "collapse",
    "dispatch.",
    "weakAnd.",
    "wand.",
    "brooklet.",
    "pos.",
    "sorting.",
];

/// Beginnings that inputs of ranking have beside `input.`.
const INPUT_PREFIXES: [&str; 2] = ["ranking.features.", "rankfeature."];

/// Whether a parameter may be given whatever a strict type declares: what names the group, and the profile itself.
fn is_always_allowed(name: &str) -> bool {
    name.starts_with("streaming.") || name == "queryProfile"
}

/// What a type may call a parameter: by its full name, and inputs of ranking by the other beginnings they may have.
fn names_of_types(full: &str) -> Vec<String> {
    let mut names = vec![full.to_owned()];
    let input = full.strip_prefix("input.");
    names.extend(input.iter().flat_map(|input| INPUT_PREFIXES.map(|prefix| format!("{prefix}{input}"))));
    names
}

fn is_native(name: &str) -> bool {
    let full = full_name(name);
    NATIVE.contains(&&*full) || NATIVE_PREFIXES.iter().any(|prefix| full.starts_with(prefix))
}

impl Properties {
    /// Adds what the profile of the request says. Its values count where the request has none, or where the profile says
    /// that they may not be overridden.
    ///
    /// # Errors
    /// If there is no profile of the name, or its type does not allow a value of the request.
    pub(crate) fn apply(&mut self, profiles: &QueryProfiles) -> Result<(), Rejection> {
        let named = self.value("queryProfile").filter(|name| !name.is_empty());
        let Some(profile) = profiles.find(named.unwrap_or(DEFAULT)) else {
            return match named {
                Some(name) if name != DEFAULT => {
                    let message = format!("Could not resolve query profile '{}'", Rejection::quote(name));
                    Err(Rejection::new(Code::IllegalQuery, message))
                }
                _ => Ok(()),
            };
        };
        self.check_types(profiles, profile)?;
        let given = |name: &str| self.get(name).map(str::to_owned);
        for value in profiles.values(profile, &given) {
            let name = full_name(&value.name);
            let property = Property { name, given: value.name, value: value.text.into(), source: Source::QueryProfile };
            let stays = |known: &Property| value.overridable && known.source != Source::QueryProfile;
            if !self.property(&property.name).is_some_and(stays) {
                self.set(property);
            }
        }
        self.substitute()?;
        for Property { name, value, .. } in &mut self.entries {
            if profiles.field_type(profile, name) == Some(&FieldType::Boolean) {
                *value = value.eq_ignore_ascii_case("true").to_string().into();
            }
        }
        let has = |name: &str| self.value(&full_name(name)).is_some_and(|value| !value.is_empty());
        if let Some((field, of)) = profiles.missing(profile, &has) {
            let name = &profile.name;
            let message = format!(
                "Incomplete query: Parameter '{field}' is mandatory in query profile '{name}' of type '{of}' but is not set"
            );
            return Err(Rejection::new(Code::InvalidQueryParameter, message));
        }
        Ok(())
    }

    /// Other names that the profile's type has for its fields become their names; values that do not fit are refused.
    #[inline(never)]
    fn check_types(&mut self, profiles: &QueryProfiles, profile: &QueryProfile) -> Result<(), Rejection> {
        for Property { name, given, .. } in &mut self.entries {
            if let Some(full) = profiles.alias(profile, given) {
                *name = Cow::Owned(full.to_owned());
            }
        }
        self.arrange();
        for Property { name, given, value, .. } in &self.entries {
            let declared = names_of_types(name).into_iter().find(|name| profiles.field_type(profile, name).is_some());
            let declared = declared.as_deref().unwrap_or(name);
            let reason = match profiles.refuse(profile, declared, value, &is_native) {
                Some(_) if is_always_allowed(name) => None,
                reason => reason,
            };
            if let Some(reason) = reason {
                let (given, value) = (Rejection::quote(given), Rejection::quote(value));
                let message = format!("Could not set '{given}' to '{value}': {reason}");
                return Err(Rejection::new(Code::IllegalQuery, message));
            }
        }
        Ok(())
    }

    /// Puts values in the place of `%{name}` in what the profile said; what the request said stays as it is.
    fn substitute(&mut self) -> Result<(), Rejection> {
        let mut budget = SUBSTITUTIONS_MAX;
        for index in 0..self.entries.len() {
            let Property { value, source, .. } = &self.entries[index];
            if *source == Source::QueryProfile && value.contains("%{") {
                self.entries[index].value = self.substituted(value, DEPTH_MAX, &mut budget)?.into();
            }
        }
        Ok(())
    }

    fn substituted(&self, text: &str, depth: usize, budget: &mut usize) -> Result<String, Rejection> {
        let endless = "Values of the query profile are substituted into each other too often, or in a circle";
        let refused = |message: &str| Rejection::new(Code::IllegalQuery, message.to_owned());
        let depth = depth.checked_sub(1).ok_or_else(|| refused(endless))?;
        let (mut out, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once("%{") {
            let Some((name, after)) = after.split_once('}') else { break };
            *budget = budget.checked_sub(1).ok_or_else(|| refused(endless))?;
            out.push_str(before);
            let full = full_name(name);
            let value = self.value(&full).unwrap_or("");
            if self.is_of_profile(&full) {
                out.push_str(&self.substituted(value, depth, budget)?);
            } else {
                out.push_str(value);
            }
            if out.len() > VALUE_BYTES {
                return Err(refused("A value of the query profile is too long"));
            }
            rest = after;
        }
        out.push_str(rest);
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use brooklet_schema::Application;
    use serde_json::Value;

    use super::*;

    /// Rows that are not compared, and why.
    const SKIPS: [(&str, &str); 7] = [
        (
            "profile-inherits-cycle",
            "the recorded version's stack overflows where a circle is used, ours is not deployed",
        ),
        ("profile-substitution-cycle", "the recorded version's stack overflows"),
        ("profile-type", "other forms of numbers are not rewritten"),
        ("profile-type-tensor", "a tensor keeps the form it is written in until it is bound to a rank profile"),
        ("profile-full-name-over-alias", "a timeout keeps its unit"),
        (
            "profile-type-mandatory",
            "what is mandatory is looked at when the query is made, not when a value is asked for",
        ),
        ("profile-wrong-hits", "a count is read where it is needed"),
    ];

    const PACKAGE: [(&str, &str); 2] = [
        (
            "services.xml",
            r#"<services version="1.0"><content id="c" version="1.0"><redundancy>1</redundancy><documents><document type="t" mode="streaming"/></documents></content></services>"#,
        ),
        ("schemas/t.sd", "schema t { document t { field a type int { indexing: attribute } } }"),
    ];

    fn deploy(row: &Value) -> Result<Application, Rejection> {
        let files = PACKAGE.map(|(path, content)| (path.to_owned(), content.as_bytes().to_vec()));
        let own = row["files"].as_object().unwrap().iter();
        let own = own.map(|(path, content)| (path.clone(), content.as_str().unwrap().as_bytes().to_vec()));
        Application::deploy(&files.into_iter().chain(own).collect::<Vec<_>>())
    }

    fn asked(request: &Value) -> Result<Properties, Rejection> {
        let params = request["params"].as_object().unwrap().iter();
        let params = params.map(|(name, value)| (name.as_str(), value.as_str().unwrap()));
        Properties::read(params.chain([("queryProfile", request["profile"].as_str().unwrap())]), b"")
    }

    fn differences(row: &Value, application: &Application) -> Vec<String> {
        let mut found = Vec::new();
        for request in row["requests"].as_array().unwrap() {
            let applied = asked(request).and_then(|mut properties| {
                properties.apply(&application.query_profiles)?;
                Ok(properties)
            });
            match (applied, request["error"].as_str()) {
                (Err(_), Some(_)) => {}
                (Err(rejection), None) => found.push(format!("{request}: refused: {}", rejection.message)),
                (Ok(_), Some(error)) => found.push(format!("{request}: accepted, should be: {error}")),
                (Ok(properties), None) => {
                    for (name, expected) in request["values"].as_object().unwrap() {
                        let got = properties.value(&full_name(name));
                        if got != expected.as_str() {
                            found.push(format!("{request}: {name} is {got:?}"));
                        }
                    }
                }
            }
        }
        found
    }

    #[test]
    fn recorded_profiles() {
        let text = include_str!("../../../../test-vectors/query-profile/recorded.jsonl");
        let mut failures = Vec::new();
        for line in text.lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            let id = row["id"].as_str().unwrap();
            if SKIPS.iter().any(|(skipped, _)| *skipped == id) {
                continue;
            }
            match (deploy(&row), row["error"].as_str()) {
                (Err(rejection), Some(_)) => assert!(rejection.span.is_some(), "{id}: {rejection}"),
                (Err(rejection), None) => failures.push(format!("{id}: refused: {}", rejection.message)),
                (Ok(_), Some(error)) => failures.push(format!("{id}: deployed, should be: {error}")),
                (Ok(application), None) => {
                    failures.extend(differences(&row, &application).into_iter().map(|it| format!("{id}: {it}")));
                }
            }
        }
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    }
}
