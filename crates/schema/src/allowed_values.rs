//! Texts that a field may have, where a schema lists them: the rank property `brooklet.values(state): "open done"` of the
//! profile `default`, each text with `%` and two hexadecimal digits for every byte but letters, digits, `_`, `.` and `-`. A
//! schema file has no place of its own for it; a rank property is what any Vespa takes (docs/decisions/0115).
use brooklet_document::{DataType, Value};
use brooklet_task::{Code, Rejection};

use crate::place::SourcePlace;
use crate::schema::Schema;

const PROPERTY: &str = "brooklet.values";

/// What one field, or part of a field, may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedValues {
    /// Its name; of a part the whole dotted path.
    field: String,
    values: Vec<String>,
}

impl Schema {
    /// The fields of which the texts are listed.
    #[must_use]
    pub fn allowed_values(&self) -> Vec<AllowedValues> {
        let properties = self.rank_profile("default").map_or(&[][..], |profile| &profile.properties[..]);
        properties
            .iter()
            .filter_map(|(name, value)| {
                Some(AllowedValues { field: field_of(name)?.to_owned(), values: texts(value)? })
            })
            .collect()
    }

    /// Refuses lists that mean nothing, `place` being where the schema stands.
    pub(crate) fn check_allowed_values(&self, place: &SourcePlace) -> Result<(), Rejection> {
        let properties = self.rank_profiles.iter().flat_map(|profile| &profile.properties);
        for (name, value) in properties.filter(|(name, _)| name.starts_with(PROPERTY)) {
            let about = format!("Rank property '{}'", Rejection::quote(name));
            let Some(field) = field_of(name) else {
                return Err(place.reject(format!("{about} names no field: write {PROPERTY}(field)")));
            };
            if self.field(field).is_none_or(|field| !has_texts(&field.data_type)) {
                return Err(place.reject(format!("{about}: there is no field '{}' of texts", Rejection::quote(field))));
            }
            if texts(value).is_none() {
                let message =
                    "must be texts with spaces between, with %XX for all but letters, digits, '_', '.' and '-'";
                return Err(place.reject(format!("{about} {message}, not '{}'", Rejection::quote(value))));
            }
        }
        Ok(())
    }
}

impl AllowedValues {
    /// The field of the document that has them.
    #[must_use]
    pub fn top(&self) -> &str {
        self.field.split('.').next().unwrap_or(&self.field)
    }

    /// Refuses a document with another text in the field.
    ///
    /// # Errors
    /// `INVALID_DOCUMENT`, which names the field, the text, and what it may be.
    pub fn check(&self, fields: &[(String, Value)]) -> Result<(), Rejection> {
        let Some((_, value)) = fields.iter().find(|(name, _)| name == self.top()) else { return Ok(()) };
        let path: Vec<&str> = self.field.split('.').skip(1).collect();
        let Some(other) = self.other_in(value, &path) else { return Ok(()) };
        let known: Vec<String> = self.values.iter().map(|text| format!("'{}'", Rejection::quote(text))).collect();
        let (field, other) = (&self.field, Rejection::quote(other));
        let message = format!("Field '{field}' cannot be '{other}': it is one of {}", known.join(", "));
        Err(Rejection::new(Code::InvalidDocument, message))
    }

    /// A text at the path that is not listed.
    fn other_in<'value>(&self, value: &'value Value, path: &[&str]) -> Option<&'value str> {
        match (value, path) {
            (Value::Array(elements), _) => elements.iter().find_map(|element| self.other_in(element, path)),
            (Value::Map(entries), ["key", rest @ ..]) => entries.iter().find_map(|(key, _)| self.other_in(key, rest)),
            (Value::Map(entries), ["value", rest @ ..]) => {
                entries.iter().find_map(|(_, value)| self.other_in(value, rest))
            }
            (Value::Struct(members), [member, rest @ ..]) => {
                let member = members.iter().find(|(name, _)| name == member);
                member.and_then(|(_, value)| self.other_in(value, rest))
            }
            (Value::WeightedSet(entries), []) => entries.iter().find_map(|(key, _)| self.other_in(key, path)),
            (Value::String(text), []) => {
                Some(text.as_str()).filter(|text| self.values.iter().all(|known| known != text))
            }
            _ => None,
        }
    }
}

/// The field that a property is about.
fn field_of(property: &str) -> Option<&str> {
    property.strip_prefix(PROPERTY)?.strip_prefix('(')?.strip_suffix(')').map(str::trim)
}

fn has_texts(data_type: &DataType) -> bool {
    matches!(data_type.element(), DataType::String)
}

/// The texts of a list; nothing if it is none.
fn texts(list: &str) -> Option<Vec<String>> {
    let texts: Option<Vec<String>> = list.split_ascii_whitespace().map(text).collect();
    texts.filter(|texts| !texts.is_empty())
}

fn text(written: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(written.len());
    let mut rest = written.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => digit(rest.next()?)? << 4 | digit(rest.next()?)?,
            b'_' | b'.' | b'-' => byte,
            _ if byte.is_ascii_alphanumeric() => byte,
            _ => return None,
        });
    }
    String::from_utf8(bytes).ok()
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_allowed(field: &str, list: &str) -> AllowedValues {
        AllowedValues { field: field.to_owned(), values: texts(list).expect("a list") }
    }

    fn string(text: &str) -> Value {
        Value::String(text.to_owned())
    }

    #[test]
    fn lists_are_texts_with_spaces_between() {
        assert_eq!(texts("open  done"), Some(vec!["open".to_owned(), "done".to_owned()]));
        assert_eq!(texts("on%20hold %C3%A9t%c3%a9"), Some(vec!["on hold".to_owned(), "été".to_owned()]));
        for wrong in ["", "  ", "a%2", "a%zz", "%ff", "a,b", "é"] {
            assert_eq!(texts(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_text_that_is_not_listed_is_found_wherever_it_stands() {
        let person =
            |role: &str| Value::Struct(vec![("name".to_owned(), string("x")), ("role".to_owned(), string(role))]);
        let cases = [
            ("state", string("open"), string("lost")),
            ("state", Value::Array(vec![]), Value::Array(vec![string("open"), string("lost")])),
            ("state", Value::WeightedSet(vec![(string("open"), 1)]), Value::WeightedSet(vec![(string("lost"), 1)])),
            ("state.role", person("open"), Value::Array(vec![person("open"), person("lost")])),
            (
                "state.key",
                Value::Map(vec![(string("open"), string("lost"))]),
                Value::Map(vec![(string("lost"), string("open"))]),
            ),
            (
                "state.value",
                Value::Map(vec![(string("lost"), string("open"))]),
                Value::Map(vec![(string("open"), string("lost"))]),
            ),
            (
                "state.value.role",
                Value::Map(vec![(string("lost"), person("open"))]),
                Value::Map(vec![(string("open"), person("lost"))]),
            ),
        ];
        for (field, right, wrong) in cases {
            let of = parse_allowed(field, "open done");
            assert_eq!(of.check(&[("state".to_owned(), right)]), Ok(()), "{field}");
            assert_eq!(of.check(&[("other".to_owned(), wrong.clone())]), Ok(()), "{field}");
            let rejection = of.check(&[("state".to_owned(), wrong)]).expect_err(field);
            assert_eq!(rejection.code, Code::InvalidDocument);
            assert_eq!(rejection.message, format!("Field '{field}' cannot be 'lost': it is one of 'open', 'done'"));
        }
    }
}
