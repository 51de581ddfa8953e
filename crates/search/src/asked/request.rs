//! A request as it crossed the border: its parameters are read, completed by its query profile, and checked.
use brooklet_query::Written;
use brooklet_task::bytes::Reader;
use brooklet_task::{Code, Rejection};

use super::known_parameters::{self, Effect, GROUPS, KNOWN, Takes};
use super::properties::{Properties, Property, Source};
use crate::deployed::Deployed;
use crate::render::Rendering;

/// A request as it crossed the border.
pub(crate) struct Request {
    /// Its parameters, as far as they could be read.
    pub(crate) properties: Properties,
    /// What is wrong with them.
    pub(crate) refusal: Option<Rejection>,
    /// How its answer is written, whatever the answer is.
    pub(crate) rendering: Rendering,
}

impl Request {
    /// Reads the properties and body of a request at the border (docs/abi.md, the query).
    ///
    /// # Errors
    /// If the bytes are cut short; what is wrong with what they say becomes the refusal.
    pub(crate) fn read(deployed: &Deployed, reader: &mut Reader) -> Result<Request, Rejection> {
        let mut given = Vec::new();
        for _ in 0..reader.count(2)? {
            given.push((reader.text()?, reader.text()?));
        }
        let (body, accept) = (reader.bytes()?, reader.text()?);
        let vectors = if reader.remaining() > 0 { vectors(reader)? } else { Vec::new() };
        let rendering = Rendering::of_accept_header(accept);
        let read = Properties::read(given, body)
            .and_then(|mut properties| properties.put_vectors(vectors).map(|()| properties));
        let (properties, read) = match read {
            Ok(properties) => (properties, Ok(())),
            Err(rejection) => (Properties::default(), Err(rejection)),
        };
        let mut request = Request { properties, refusal: None, rendering };
        request.refusal = read.and_then(|()| request.check(deployed, accept)).err();
        Ok(request)
    }

    /// Adds the values of the query profile, and refuses what is not understood.
    fn check(&mut self, deployed: &Deployed, accept: &str) -> Result<(), Rejection> {
        // What is wrong with a parameter is told in the format that another names.
        if let Ok(rendering) = Rendering::new(&self.properties, accept) {
            self.rendering = rendering;
        }
        check_body(&self.properties)?;
        self.properties.apply(&deployed.application.query_profiles)?;
        check(&self.properties)?;
        self.rendering = Rendering::new(&self.properties, accept)?;
        Ok(())
    }
}

/// An input by its name, as cells.
type Vector<'a> = (&'a str, Box<[f32]>);

/// Inputs by their names, as cells.
fn vectors<'a>(reader: &mut Reader<'a>) -> Result<Vec<Vector<'a>>, Rejection> {
    let cells = |bytes: &[u8]| match bytes.as_chunks::<4>() {
        (cells, []) => Ok(cells.iter().map(|cell| f32::from_le_bytes(*cell)).collect()),
        _ => Err(Rejection::new(Code::Internal, "a vector ends within a cell")),
    };
    (0..reader.count(2)?).map(|_| Ok((reader.text()?, cells(reader.bytes()?)?))).collect()
}

/// Checks how the values of a body are written, before anything is made of them.
pub(crate) fn check_body(properties: &Properties) -> Result<(), Rejection> {
    properties.unplain.iter().try_for_each(|(name, written)| check_written(properties, name, *written))
}

/// Checks the parameters that a request itself names.
pub(crate) fn check(properties: &Properties) -> Result<(), Rejection> {
    let own = properties.entries.iter().filter(|known| known.source != Source::QueryProfile);
    for Property { name, given, value, .. } in own {
        check_dots(given)?;
        let Some((_, takes, effect)) = known_parameters::known_parameter(name) else {
            check_unknown(properties, name)?;
            continue;
        };
        if let Effect::Refused(instead) = effect {
            let message = format!("The parameter '{}' is not supported: {instead}", Rejection::quote(given));
            return Err(Rejection::new(Code::Unsupported, message));
        }
        if let Some(reason) = misfit(name, *takes, value) {
            return Err(properties.refuse(name, &reason));
        }
    }
    Ok(())
}

/// Refuses a name with a part that is empty: it would be another parameter than was meant, of which nobody asks.
fn check_dots(given: &str) -> Result<(), Rejection> {
    let reason = match given {
        _ if given.ends_with('.') => "Names cannot end with a dot.",
        _ if given.starts_with('.') || given.contains("..") => "Consecutive, leading or trailing dots are not allowed.",
        _ => return Ok(()),
    };
    let message = format!("'{}' is not a legal compound name. {reason}", Rejection::quote(given));
    Err(Rejection::new(Code::IllegalQuery, message))
}

/// Refuses JSON that is no value of a parameter: taken as its text it would be another value than was meant.
pub(crate) fn check_written(properties: &Properties, name: &str, written: Written) -> Result<(), Rejection> {
    let takes_text = |known: &(&str, Takes, Effect)| known.1 != Takes::Anything && known.2 != Effect::None;
    let what = match written {
        _ if !known_parameters::known_parameter(name).is_some_and(takes_text) => return Ok(()),
        Written::Plain => return Ok(()),
        Written::Null => "null",
        Written::Array => "an array",
        Written::Object => "an object",
    };
    // The URL may have said another, which counts.
    match properties.is_of_body(name) {
        true => Err(properties.refuse(name, &format!("it takes a text or a number, not {what}"))),
        false => Ok(()),
    }
}

/// Refuses a name below a group of names that has no such part, the group itself, and one below a parameter that has no parts: an object
/// stood where a value is wanted.
pub(crate) fn check_unknown(properties: &Properties, name: &str) -> Result<(), Rejection> {
    let below = |group: &str| match name.strip_prefix(group) {
        None if name == group.trim_end_matches('.') => Some(""),
        rest => rest,
    };
    if let Some((group, open, rest)) = GROUPS.iter().find_map(|(group, open)| Some((group, open, below(group)?))) {
        if open.iter().any(|open| rest.len() > open.len() && rest.starts_with(open)) {
            return Ok(());
        }
        let (group, rest) = (group.trim_end_matches('.'), Rejection::quote(rest));
        let reason = format!(
            "'{rest}' is not a valid property in '{group}'. See the query api for valid keys starting by '{group}'."
        );
        return Err(properties.refuse(name, &reason));
    }
    let has_part = |known: &str| name.strip_prefix(known).is_some_and(|rest| rest.starts_with('.'));
    let whole = KNOWN.iter().filter(|(known, takes, effect)| {
        *effect == Effect::Done && *takes != Takes::Anything && !["select", "collapsesize"].contains(known)
    });
    match whole.map(|(known, _, _)| *known).find(|known| has_part(known)) {
        Some(known) => Err(properties.refuse(name, &format!("'{known}' takes a text or a number, not an object"))),
        None => Ok(()),
    }
}

/// Why a value is not what a parameter takes. An empty one is none where a number is wanted.
pub(crate) fn misfit(name: &str, takes: Takes, value: &str) -> Option<String> {
    let integer = || value.parse::<i32>().map_err(|_| format!("'{}' is not a valid integer", Rejection::quote(value)));
    let number = || value.trim().parse::<f64>().ok().filter(|number| !number.is_nan()).ok_or("Not a valid double");
    match takes {
        Takes::Anything | Takes::Text | Takes::Switch => None,
        _ if value.is_empty() => None,
        Takes::Tag => value.contains(char::is_whitespace).then(|| {
            let quoted = Rejection::quote(value);
            format!("Illegal language tag '{quoted}', language tags corresponding to RFC5646 cannot contain whitespace")
        }),
        Takes::Integer => integer().err(),
        Takes::Positive => match integer() {
            Ok(number) if number < 1 => Some(format!("'{name}' must be at least 1, but is {number}")),
            read => read.err(),
        },
        Takes::Long => value.parse::<i64>().is_err().then(|| "Not a valid long".to_owned()),
        Takes::Number => number().err().map(str::to_owned),
        Takes::Share => match number() {
            Ok(number) if !(0.0..=1.0).contains(&number) => {
                Some(format!("'{name}' must be in the range [0.0, 1.0], but is {number:?}"))
            }
            read => read.err().map(str::to_owned),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(name: &str, value: &str) -> Result<(), String> {
        let properties = Properties::read([(name, value)], b"").unwrap();
        check(&properties).map_err(|rejection| rejection.message)
    }

    #[test]
    fn names_are_known_and_values_fit() {
        assert!(KNOWN.windows(2).all(|two| two[0].0 < two[1].0), "in order, each once");
        for (name, value) in [
            ("ranking", "bm25"),
            ("rankfeature.query(a)", "1"),
            ("input.query(a)", "1"),
            ("rankproperty.x", "y"),
            ("ranking.elementGap.f", "3"),
            ("trace.profile", "x"),
            ("ranking.rankScoreDropLimit", "-1e3"),
            ("ranking.rankScoreDropLimit", ""),
            ("ranking.matching.termwiselimit", "1"),
            ("tracelevel", "3"),
            ("my.own", "abc"),
            ("input.query(a.)", "1"),
            ("language", ""),
            ("lang", "zh-hant"),
        ] {
            assert_eq!(outcome(name, value), Ok(()), "{name}");
        }
        for (name, value, reason) in [
            ("ranking.profle", "a", "'profle' is not a valid property in 'ranking'."),
            ("ranking.features", "a", "'features' is not a valid property in 'ranking'."),
            ("ranking.listfeatures", "true", "'listfeatures' is not a valid property in 'ranking'."),
            ("trace.nosuch", "a", "Could not set 'trace.nosuch': 'nosuch' is not a valid property in 'trace'."),
            ("trace", "5", "Could not set 'trace': '' is not a valid property in 'trace'."),
            ("presentation", "", "'' is not a valid property in 'presentation'."),
            ("my.", "1", "'my.' is not a legal compound name. Names cannot end with a dot."),
            (".hits", "1", "'.hits' is not a legal compound name. Consecutive, leading or trailing dots"),
            ("input.query(a..b)", "1", "Consecutive, leading or trailing dots are not allowed."),
            ("lang", "en ", "Could not set 'lang': Illegal language tag 'en ', language tags"),
            ("model.locale", "e\tn", "language tags corresponding to RFC5646 cannot contain whitespace"),
            ("ranking.matchPhase.maxHits", "1.5", "Not a valid long"),
            ("ranking.rankScoreDropLimit", "NaN", "Not a valid double"),
            ("ranking.keepRankCount", "3000000000", "'3000000000' is not a valid integer"),
            ("ranking.keepRankCount", " 3", "' 3' is not a valid integer"),
            ("ranking.matching.termwiselimit", "2", "must be in the range [0.0, 1.0], but is 2.0"),
            ("ranking.matching.numThreadsPerSearch", "0", "must be at least 1, but is 0"),
            ("location", "(2,1,1,1)", "'location' is not supported"),
            ("streaming.groupname.a", "x", "'streaming.groupname' takes a text or a number, not an object"),
        ] {
            let message = outcome(name, value).unwrap_err();
            assert!(message.contains(reason), "{name}: {message}");
        }
    }

    /// What the rows of the vectors say of each parameter is what is said here.
    #[test]
    fn every_parameter_has_a_row() {
        let rows: serde_json::Value =
            serde_json::from_str(include_str!("../../../../test-vectors/parameters.json")).unwrap();
        let rows = rows["parameters"].as_array().unwrap();
        let effect =
            |name: &str| rows.iter().find(|row| row["name"] == name).map(|row| row["effect"].as_str().unwrap());
        for (name, _, said) in KNOWN {
            let said = match said {
                Effect::Done => "done",
                Effect::None => "none",
                Effect::Refused(_) => "refused",
            };
            assert_eq!(effect(name), Some(said), "{name}");
        }
    }
}
