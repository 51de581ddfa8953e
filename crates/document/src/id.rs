//! Document ids: `id:<namespace>:<type>:[n=<number>|g=<group>]:<local>`.
//!
//! An id is its exact text; the parts are read from it once. Which types exist is the schema's business.
use std::borrow::Cow;

use brooklet_task::limits::{GROUP_BYTES, ID_BYTES};
use brooklet_task::{Code, Rejection};

use crate::legal_text::first_illegal;

/// Where a document lives: the key that documents share to be kept and searched together.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Location {
    /// Nowhere in particular.
    None,
    /// `g=<group>`.
    Group(String),
    /// `n=<number>`.
    Number(i64),
}

impl Location {
    /// The name of the partition of all documents at this location: `g:alice`, `n:17`, or `d:` for documents of neither.
    #[must_use]
    pub fn partition_key(&self) -> String {
        match self {
            Location::None => "d:".to_owned(),
            Location::Group(group) => ["g:", group].concat(),
            Location::Number(number) => format!("n:{number}"),
        }
    }
}

/// The id of a document.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DocumentId {
    text: String,
    /// End of the namespace in `text`.
    namespace_end: usize,
    /// End of the document type in `text`.
    type_end: usize,
    /// Start of the local part in `text`.
    local_start: usize,
    location: Location,
}

const NAMESPACE_START: usize = "id:".len();

impl DocumentId {
    /// Reads an id.
    ///
    /// # Errors
    /// If it is not one; messages are those of the reference implementation.
    pub fn parse(text: &str) -> Result<DocumentId, Rejection> {
        if text.len() > ID_BYTES {
            let length = text.len();
            return Err(illegal(format!("Document id length {length} is longer than max length of {ID_BYTES}")));
        }
        if let Some(code) = first_illegal(text) {
            return Err(unparseable(text, &format!("Contains illegal code point 0x{code:X}")));
        }
        let scheme_end = text.find(':').ok_or_else(|| unparseable(text, "Scheme missing"))?;
        let namespace_end = colon(text, scheme_end + 1).ok_or_else(|| unparseable(text, "Namespace missing"))?;
        if namespace_end == scheme_end + 1 {
            return Err(unparseable(text, "Namespace must be non-empty"));
        }
        if &text[..scheme_end] != "id" {
            return Err(illegal(format!("Unknown id scheme '{}'", Rejection::quote(&text[..scheme_end]))));
        }
        let type_end = colon(text, namespace_end + 1).ok_or_else(|| unparseable(text, "Document type missing"))?;
        let keys_end = colon(text, type_end + 1).ok_or_else(|| unparseable(text, "Key/value section missing"))?;
        let location = parse_location(&text[type_end + 1..keys_end])?;
        Ok(DocumentId { text: text.to_owned(), namespace_end, type_end, local_start: keys_end + 1, location })
    }

    /// Reads an id that an operation gives. Its location is written in one way, as the reference implementation and paths
    /// have it: `n=01` and `n=1,` are `n=1`.
    ///
    /// # Errors
    /// As [`DocumentId::parse`].
    pub fn given(text: &str) -> Result<DocumentId, Rejection> {
        let id = DocumentId::parse(text)?;
        let keys = &text[id.type_end + 1..id.local_start - 1];
        let is_canonical = match &id.location {
            Location::None => keys.is_empty(),
            Location::Group(_) => !keys.ends_with(','),
            Location::Number(number) => keys.strip_prefix("n=") == Some(&*number.to_string()),
        };
        if is_canonical {
            return Ok(id);
        }
        DocumentId::new(id.namespace(), id.document_type(), &id.location, id.local())
    }

    /// The id of the document that a path names.
    ///
    /// # Errors
    /// If a part holds a character that would move it into another part, or the whole is not a legal id.
    pub fn new(
        namespace: &str,
        document_type: &str,
        location: &Location,
        local: &str,
    ) -> Result<DocumentId, Rejection> {
        refuse_separator("namespace", namespace, &[':'])?;
        refuse_separator("document type", document_type, &[':'])?;
        let keys = match location {
            Location::None => String::new(),
            Location::Number(number) => format!("n={number}"),
            Location::Group(group) => {
                if let Some(code) = first_illegal(group) {
                    return Err(illegal(format!("Illegal code point U{code:04X} in group")));
                }
                refuse_separator("group", group, &[':', ','])?;
                format!("g={group}")
            }
        };
        DocumentId::parse(&format!("id:{namespace}:{document_type}:{keys}:{local}"))
    }

    /// The whole id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.text[NAMESPACE_START..self.namespace_end]
    }

    /// The name of the document type.
    #[must_use]
    pub fn document_type(&self) -> &str {
        &self.text[self.namespace_end + 1..self.type_end]
    }

    /// Where it lives.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The part the user chose freely.
    #[must_use]
    pub fn local(&self) -> &str {
        &self.text[self.local_start..]
    }

    /// The partition that holds the document: see [`Location::partition_key`].
    #[must_use]
    pub fn partition_key(&self) -> String {
        self.location.partition_key()
    }
}

/// What stands between a document type and a content cluster where an id says which of several has the document
/// (docs/decisions/0166). No id that is given may have it: it is an illegal code point.
pub const CLUSTER_MARK: char = '\u{1}';

/// An id as it is shown: without the content cluster that it may name.
#[must_use]
pub fn shown_id(id: &str) -> Cow<'_, str> {
    match id.split_once(CLUSTER_MARK) {
        None => Cow::Borrowed(id),
        Some((before, cluster)) => {
            let rest = cluster.find(':').map_or("", |end| &cluster[end..]);
            Cow::Owned([before, rest].concat())
        }
    }
}

/// The content cluster that an id names.
#[must_use]
pub fn cluster_of_id(id: &str) -> Option<&str> {
    let (_, cluster) = id.split_once(CLUSTER_MARK)?;
    Some(&cluster[..cluster.find(':').unwrap_or(cluster.len())])
}

/// An id that names none, with a content cluster.
#[must_use]
pub fn id_in_cluster(id: &str, cluster: &str) -> String {
    let ends = id.match_indices(':').nth(2);
    let (before, rest) = id.split_at(ends.map_or(id.len(), |(end, _)| end));
    format!("{before}{CLUSTER_MARK}{cluster}{rest}")
}

impl std::fmt::Display for DocumentId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::str::FromStr for DocumentId {
    type Err = Rejection;

    fn from_str(text: &str) -> Result<DocumentId, Rejection> {
        DocumentId::parse(text)
    }
}

fn illegal(message: String) -> Rejection {
    Rejection::new(Code::InvalidDocument, message)
}

fn unparseable(text: &str, cause: &str) -> Rejection {
    illegal(format!("Unparseable id '{}': {cause}", Rejection::quote(text)))
}

fn colon(text: &str, from: usize) -> Option<usize> {
    text.as_bytes()[from..].iter().position(|byte| *byte == b':').map(|offset| from + offset)
}

/// Reads `n=<number>` or `g=<group>`. Empty pairs at the end are overlooked, as the reference implementation does.
fn parse_location(keys: &str) -> Result<Location, Rejection> {
    let pairs = keys.trim_end_matches(',');
    if pairs.is_empty() {
        return Ok(Location::None);
    }
    let mut location = Location::None;
    for pair in pairs.split(',') {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(illegal(format!("Illegal key-value pair '{}'", Rejection::quote(pair))));
        };
        let found = match key {
            "n" | "g" if value.is_empty() => {
                return Err(illegal(format!("ID location value for '{key}=' key is empty")));
            }
            "n" => Location::Number(parse_number(value)?),
            "g" => Location::Group(checked_group(value)?),
            _ => return Err(illegal(format!("Illegal key '{}'", Rejection::quote(key)))),
        };
        if location != Location::None {
            return Err(illegal(format!("Illegal key combination in {}", Rejection::quote(keys))));
        }
        location = found;
    }
    Ok(location)
}

fn parse_number(value: &str) -> Result<i64, Rejection> {
    value.parse().map_err(|_| illegal(format!("For input string: \"{}\"", Rejection::quote(value))))
}

fn checked_group(group: &str) -> Result<String, Rejection> {
    if group.len() > GROUP_BYTES {
        let length = group.len();
        return Err(illegal(format!("Group name length {length} is longer than max length of {GROUP_BYTES}")));
    }
    Ok(group.to_owned())
}

fn refuse_separator(part: &str, value: &str, separators: &[char]) -> Result<(), Rejection> {
    match value.find(separators) {
        None => Ok(()),
        Some(at) => {
            let separator = &value[at..=at];
            Err(illegal(format!("Illegal character '{separator}' in {part} '{}'", Rejection::quote(value))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        DocumentId::parse(text).unwrap_err().message
    }

    #[test]
    fn a_cluster_stands_behind_the_type_and_is_not_shown() {
        for id in ["id:n:t::", "id:n:t:g=a:1", "id:n:t:n=7:a:b:c", "id:n:t:g=t:id:n:t::x"] {
            assert_eq!((shown_id(id).as_ref(), cluster_of_id(id)), (id, None));
            let stored = id_in_cluster(id, "hot-1");
            assert!(stored.starts_with("id:n:t\u{1}hot-1:"), "{stored:?}");
            assert_eq!((shown_id(&stored).as_ref(), cluster_of_id(&stored)), (id, Some("hot-1")));
            assert!(DocumentId::parse(&stored).is_err(), "no id that is given can name one");
        }
        // Of what is no id nothing is made that is one.
        for text in ["", "\u{1}", "a\u{1}b", "id:n:t\u{1}", "id:n\u{1}x"] {
            assert!(DocumentId::parse(&shown_id(text)).is_err(), "{text:?}");
        }
    }

    #[test]
    fn parts_are_read_and_the_text_is_kept() {
        let id = DocumentId::parse("id:ns:mail:g=al=ice:a/b:c ?").unwrap();
        assert_eq!((id.namespace(), id.document_type(), id.local()), ("ns", "mail", "a/b:c ?"));
        assert_eq!(id.location(), &Location::Group("al=ice".to_owned()));
        assert_eq!(id.partition_key(), "g:al=ice");
        assert_eq!(id.to_string(), "id:ns:mail:g=al=ice:a/b:c ?");
        let number = DocumentId::parse("id:ns:mail:n=0017:").unwrap();
        assert_eq!(
            (number.partition_key().as_str(), number.local(), number.as_str()),
            ("n:17", "", "id:ns:mail:n=0017:")
        );
    }

    #[test]
    fn a_location_that_is_given_is_written_in_one_way() {
        let given = |keys: &str| DocumentId::given(&format!("id:ns:mail:{keys}:a,b:n=01")).unwrap().to_string();
        for keys in ["n=01", "n=+1", "n=1,", "n=1"] {
            assert_eq!(given(keys), "id:ns:mail:n=1:a,b:n=01");
        }
        assert_eq!(
            (given("n=-0"), given("n=-07")),
            ("id:ns:mail:n=0:a,b:n=01".into(), "id:ns:mail:n=-7:a,b:n=01".into())
        );
        assert_eq!((given("g=01,,"), given(",")), ("id:ns:mail:g=01:a,b:n=01".into(), "id:ns:mail::a,b:n=01".into()));
        let object = br#"{"remove":"id:ns:mail:n=007:1"}"#;
        assert_eq!(crate::operation::operation_target(object).unwrap().1.as_str(), "id:ns:mail:n=7:1");
    }

    #[test]
    fn each_defect_has_its_message() {
        assert_eq!(message("x"), "Unparseable id 'x': Scheme missing");
        assert_eq!(message("id:ns"), "Unparseable id 'id:ns': Namespace missing");
        assert_eq!(message("id::t::x"), "Unparseable id 'id::t::x': Namespace must be non-empty");
        assert_eq!(message("id:ns:type"), "Unparseable id 'id:ns:type': Document type missing");
        assert_eq!(message("id:ns:type:"), "Unparseable id 'id:ns:type:': Key/value section missing");
        assert_eq!(message("ns:type::x"), "Unknown id scheme 'ns'");
        assert_eq!(message("id:a:b:n:x"), "Illegal key-value pair 'n'");
        assert_eq!(message("id:a:b:n=1,n=2:x"), "Illegal key combination in n=1,n=2");
        assert_eq!(message("id:a:b:g=:x"), "ID location value for 'g=' key is empty");
        assert_eq!(message("id:a:b:n=9223372036854775808:x"), "For input string: \"9223372036854775808\"");
        assert_eq!(
            message("id:a:b::\u{fdd0}"),
            "Unparseable id 'id:a:b::\u{fdd0}': Contains illegal code point 0xFDD0"
        );
    }

    #[test]
    fn limits_hold_to_the_byte() {
        let prefix = "id:ns:mail::";
        let longest = format!("{prefix}{}", "x".repeat(ID_BYTES - prefix.len()));
        assert!(DocumentId::parse(&longest).is_ok());
        assert_eq!(message(&format!("{longest}x")), "Document id length 4097 is longer than max length of 4096");
        assert!(DocumentId::parse(&format!("id:a:b:g={}:x", "g".repeat(GROUP_BYTES))).is_ok());
        assert!(message(&format!("id:a:b:g={}:x", "g".repeat(GROUP_BYTES + 1))).contains("513"));
    }

    #[test]
    fn no_part_of_a_path_can_reach_into_another_part() {
        let group = |name: &str| DocumentId::new("ns", "mail", &Location::Group(name.to_owned()), "1");
        assert_eq!(group("u1").unwrap().as_str(), "id:ns:mail:g=u1:1");
        assert_eq!(group("u1:x").unwrap_err().message, "Illegal character ':' in group 'u1:x'");
        assert_eq!(group("u1,n=2").unwrap_err().message, "Illegal character ',' in group 'u1,n=2'");
        assert_eq!(group("u\0").unwrap_err().message, "Illegal code point U0000 in group");
        assert!(group("").is_err());
        assert!(DocumentId::new("a:b", "mail", &Location::None, "1").is_err());
        assert!(DocumentId::new("a", "b:c", &Location::None, "1").is_err());
        assert_eq!(DocumentId::new("a", "b", &Location::Number(7), "../u2/x").unwrap().local(), "../u2/x");
    }
}
