//! Bytes of a feed → the operations in them, each with the partition it is for. What they say is read when they are
//! loaded; here only as far as the id of the document.
use std::collections::HashMap;
use std::ops::Range;

use brooklet_document::json::{NextObject, next_object};
use brooklet_document::operation_target;
use brooklet_task::bytes::Writer;
use brooklet_task::{Code, Rejection, limits};

/// Operations of one partition, in the order they came.
#[derive(Default)]
struct Group {
    key: String,
    /// The ids of their documents, one after the other.
    ids: String,
    /// Length of that in UTF-16 units.
    ids_length: u32,
    /// Of each: which of the chunk it is (from 0), the end of its id in UTF-16 units, where it begins, its length.
    numbers: Vec<u32>,
}

impl Group {
    fn push(&mut self, number: u32, id: &str, range: &Range<usize>) {
        self.ids.push_str(id);
        self.ids_length += id.encode_utf16().count() as u32;
        self.numbers.extend([number, self.ids_length, range.start as u32, range.len() as u32]);
    }
}

/// The operations that stand whole in `chunk` (docs/abi.md, split). What is left after them begins the next chunk.
///
/// # Errors
/// If something else than an object stands where one should begin, or one is longer than an operation may be.
pub fn split(chunk: &[u8]) -> Result<Vec<u8>, Rejection> {
    let mut groups: Vec<Group> = Vec::new();
    let mut group_of = HashMap::new();
    let mut refused = Vec::new();
    let (mut number, mut at) = (0, 0);
    let fault = loop {
        let range = match next_object(chunk, at) {
            Ok(NextObject::Object(range)) if range.len() <= limits::OPERATION_BYTES => range,
            Ok(NextObject::Begun(begin)) if chunk.len() - begin <= limits::OPERATION_BYTES => {
                at = begin;
                break None;
            }
            Ok(NextObject::Nothing) => {
                at = chunk.len();
                break None;
            }
            Ok(_) => break Some(too_long()),
            Err(rejection) => break Some(rejection),
        };
        at = range.end;
        match operation_target(&chunk[range.clone()]) {
            Ok((_, id)) => {
                let key = id.partition_key();
                let index = *group_of.entry(key).or_insert_with_key(|key| {
                    groups.push(Group { key: key.clone(), ..Group::default() });
                    groups.len() - 1
                });
                groups[index].push(number, id.as_str(), &range);
            }
            Err(rejection) => refused.push((number, rejection)),
        }
        number += 1;
    };
    // What stands before the fault is still taken; the fault is met again, and told, when nothing else is left.
    match fault {
        Some(rejection) if number == 0 => Err(rejection),
        _ => Ok(answer(at, &groups, &refused)),
    }
}

fn answer(consumed: usize, groups: &[Group], refused: &[(u32, Rejection)]) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.u32(consumed as u32);
    writer.varint(groups.len() as u64);
    for group in groups {
        writer.text(&group.key);
        // The ids are one text and the numbers one array: the host takes them apart much faster than it decodes each.
        writer.text(&group.ids);
        writer.varint(group.numbers.len() as u64);
        group.numbers.iter().for_each(|number| writer.u32(*number));
    }
    writer.varint(refused.len() as u64);
    for (number, rejection) in refused {
        writer.varint(u64::from(*number));
        write_rejection(rejection, &mut writer);
    }
    writer.finish()
}

/// A refusal of one operation among many: `u16` status, `text` code, `text` message.
pub(crate) fn write_rejection(rejection: &Rejection, writer: &mut Writer) {
    writer.u16(rejection.code.status());
    writer.text(rejection.code.name());
    writer.text(&rejection.message);
}

fn too_long() -> Rejection {
    let limit = limits::OPERATION_BYTES;
    Rejection::new(Code::TooLarge, format!("An operation is longer than {limit} bytes, or does not end"))
}
