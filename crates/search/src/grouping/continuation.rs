//! Continuations: where the lists of an answer begin. They are sealed with a key of the host's for the searched groups and
//! the requests they were made by, so that nobody makes one up or takes one elsewhere, and say nothing of documents.
use std::collections::BTreeMap;

use brooklet_document::json::{decode_base64url, encode_base64url};
use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Code, Rejection};
use siphasher::sip::SipHasher24;

const FORM: u8 = 1;
const TAG_BYTES: usize = 8;
/// Offsets and steps a continuation may have; text of one, bytes.
const OFFSETS_MAX: usize = 1_000;
const TEXT_BYTES: usize = 16 << 10;

/// A list of an answer: from the root by turns the number of a list in its group and of a group in its list.
pub(crate) type ListPath = Vec<u32>;

/// Where lists of one request begin. Those that are not named begin at their first element.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Offsets(BTreeMap<ListPath, u32>);

/// What a continuation is bound to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seal {
    /// The host's key.
    pub(crate) key: [u8; 16],
    /// The searched groups and the requests.
    pub(crate) about: Vec<u8>,
}

impl Offsets {
    /// Where a list begins.
    pub(crate) fn start(&self, path: &[u32]) -> usize {
        self.0.get(path).map_or(0, |offset| *offset as usize)
    }

    /// The greatest of all.
    pub(crate) fn largest(&self) -> usize {
        self.0.values().max().map_or(0, |offset| *offset as usize)
    }

    /// The continuation of the answer as it is; nothing where all lists begin at their first element.
    pub(crate) fn this(&self, request: usize, seal: &Seal) -> String {
        if self.0.is_empty() { String::new() } else { write(request, false, &self.0, seal) }
    }

    /// The continuation that moves one list.
    pub(crate) fn moved_page(path: &[u32], offset: usize, request: usize, seal: &Seal) -> String {
        let offsets = BTreeMap::from([(path.to_vec(), u32::try_from(offset).unwrap_or(u32::MAX))]);
        write(request, true, &offsets, seal)
    }

    /// Applies continuations of a request in their order. Empty ones, and those of other requests, change nothing.
    ///
    /// # Errors
    /// If one was not made here for this query.
    pub(crate) fn read(texts: &[String], request: usize, seal: &Seal) -> Result<Offsets, Rejection> {
        let mut offsets = Offsets::default();
        for text in texts.iter().filter(|text| !text.is_empty()) {
            let (of, moves, named) = read(text, seal).ok_or_else(|| {
                Rejection::new(Code::IllegalQuery, "A continuation is not one of this query: ask without it again")
            })?;
            if of != request {
                continue;
            }
            for (path, offset) in named {
                if moves {
                    // The lists inside have other groups around them now.
                    offsets.0.retain(|known, _| !(known.len() > path.len() && known.starts_with(&path)));
                }
                offsets.0.insert(path, offset);
            }
        }
        offsets.0.retain(|_, offset| *offset > 0);
        Ok(offsets)
    }
}

fn write(request: usize, moves: bool, offsets: &BTreeMap<ListPath, u32>, seal: &Seal) -> String {
    let mut writer = Writer::new();
    writer.u8(FORM);
    writer.u8(u8::from(moves));
    writer.varint(request as u64);
    writer.varint(offsets.len() as u64);
    for (path, offset) in offsets {
        writer.varint(path.len() as u64);
        path.iter().for_each(|step| writer.varint(u64::from(*step)));
        writer.varint(u64::from(*offset));
    }
    let payload = writer.finish();
    let tag = seal.tag(&payload).to_le_bytes();
    encode_base64url(&[&tag[..], &payload].concat())
}

type Named = Vec<(ListPath, u32)>;

fn read(text: &str, seal: &Seal) -> Option<(usize, bool, Named)> {
    let bytes = bytes(text)?;
    let (tag, payload) = bytes.split_at_checked(TAG_BYTES)?;
    // Two numbers are compared at once: the time it takes does not tell how much of a tag was guessed.
    if u64::from_le_bytes(tag.try_into().ok()?) != seal.tag(payload) {
        return None;
    }
    let mut reader = Reader::new(payload);
    if reader.u8().ok()? != FORM {
        return None;
    }
    let moves = reader.u8().ok()? == 1;
    let request = usize::try_from(reader.varint().ok()?).ok()?;
    let mut named = Vec::new();
    for _ in 0..reader.count(2).ok().filter(|count| *count <= OFFSETS_MAX)? {
        let mut path = Vec::new();
        for _ in 0..reader.count(1).ok()? {
            path.push(u32::try_from(reader.varint().ok()?).ok()?);
        }
        named.push((path, u32::try_from(reader.varint().ok()?).ok()?));
    }
    reader.end().ok()?;
    Some((request, moves, named))
}

impl Seal {
    fn tag(&self, payload: &[u8]) -> u64 {
        let mut sealed = (self.about.len() as u64).to_le_bytes().to_vec();
        sealed.extend_from_slice(&self.about);
        sealed.extend_from_slice(payload);
        // SipHash-2-4: who does not have the key cannot make the hash of a text.
        SipHasher24::new_with_key(&self.key).hash(&sealed)
    }
}

/// Continuations that are longer are none.
fn bytes(text: &str) -> Option<Vec<u8>> {
    if text.len() > TEXT_BYTES { None } else { decode_base64url(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first values of the reference's test vectors: key 00..0f, texts 00, 00 01, …
    #[test]
    fn hashes_as_published() {
        let key: [u8; 16] = std::array::from_fn(|index| index as u8);
        let text: Vec<u8> = (0..15).collect();
        let hash = |text: &[u8]| SipHasher24::new_with_key(&key).hash(text);
        assert_eq!(hash(&[]), 0x726f_db47_dd0e_0e31);
        assert_eq!(hash(&text), 0xa129_ca61_49be_45e5);
    }

    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

    #[test]
    fn every_changed_letter_is_noticed() {
        let seal = Seal { key: [7; 16], about: b"g:alice all(group(a))".to_vec() };
        let text = Offsets::moved_page(&[1, 4, 0], 20, 2, &seal);
        assert!(text.bytes().all(|byte| ALPHABET.contains(&byte)));
        let read = |text: &str, seal: &Seal| Offsets::read(&[text.to_owned()], 2, seal);
        assert_eq!(read(&text, &seal).unwrap().start(&[1, 4, 0]), 20);
        for at in 0..text.len() {
            for letter in ALPHABET.iter().filter(|letter| **letter != text.as_bytes()[at]) {
                let mut changed = text.clone().into_bytes();
                changed[at] = *letter;
                assert!(read(&String::from_utf8(changed).unwrap(), &seal).is_err());
            }
        }
        assert!(read(&text, &Seal { key: [8; 16], ..seal.clone() }).is_err());
        assert!(read(&text, &Seal { about: b"g:bob all(group(a))".to_vec(), ..seal.clone() }).is_err());
        assert!(read(&text[1..], &seal).is_err());
        assert_eq!(Offsets::read(&[text], 1, &seal).unwrap(), Offsets::default());
    }

    #[test]
    fn moving_a_list_forgets_those_inside() {
        let seal = Seal::default();
        let texts = [
            Offsets::moved_page(&[0], 10, 0, &seal),
            Offsets::moved_page(&[0, 3, 1], 5, 0, &seal),
            Offsets::moved_page(&[1], 7, 0, &seal),
        ];
        let offsets = Offsets::read(&texts, 0, &seal).unwrap();
        assert_eq!((offsets.start(&[0]), offsets.start(&[0, 3, 1]), offsets.start(&[1])), (10, 5, 7));
        let this = offsets.this(0, &seal);
        assert_eq!(Offsets::read(std::slice::from_ref(&this), 0, &seal).unwrap(), offsets);
        let next = Offsets::moved_page(&[0], 20, 0, &seal);
        let moved = Offsets::read(&[this, next], 0, &seal).unwrap();
        assert_eq!((moved.start(&[0]), moved.start(&[0, 3, 1]), moved.start(&[1]), moved.largest()), (20, 0, 7, 20));
        assert_eq!(Offsets::default().this(0, &seal), "");
    }
}
