//! Variants of a word in a dictionary.
use brooklet_segment::column::dictionary::DictionaryBlock;
use brooklet_segment::column::text;
use brooklet_segment::column::text::Text;
use brooklet_segment::{BlockSource, Gaps, Halt};
use brooklet_text::{Cursor, Variants};

use super::found::Word;
use crate::resident::partition::View;
use crate::resident::reads::Reads;

/// Adds the words that are variants of a word. Dictionary and cursor are walked together: blocks that cannot hold a
/// variant are not read, and of the others few words are looked at.
pub(super) fn find_variants(
    text: &Text<'_>,
    variants: &Variants,
    view: &View,
    reads: &mut Reads,
    words: &mut Vec<Word>,
) -> Result<(), Halt> {
    let part = text.part(text::DICTIONARY);
    let mut cursor = variants.cursor();
    let (mut index, mut gaps) = (0, Gaps::default());
    // No word of a block stands before its key.
    let mut key: &[u8] = &[];
    while let Some(bound) = cursor.bound(key) {
        index = part.index_of_key(bound).unwrap_or(0).max(index);
        if index >= part.blocks() {
            break;
        }
        if let Some(block) = gaps.note(reads.segment(&view.segment).block(part.first_block + index))? {
            let dictionary = DictionaryBlock::read(block.bytes())?;
            let number = part.span_of(index).0;
            let word = |at: usize| Word { number: number + at as u32, times: 1, entry: dictionary.entry(at) };
            each_variant(&dictionary, variants, &mut cursor, |at| words.push(word(at)));
        }
        index += 1;
        let Some(next) = part.keys.get(index as usize) else { break };
        key = next;
    }
    gaps.check()
}

/// Calls `each` with where the variants of a block are.
fn each_variant(block: &DictionaryBlock<'_>, variants: &Variants, cursor: &mut Cursor, mut each: impl FnMut(usize)) {
    let mut at = 0;
    while at < block.len() {
        let word = block.word(at);
        match cursor.bound(word) {
            None => return,
            Some(bound) if bound > word => at = block.find_from(at + 1, bound),
            Some(_) => {
                if std::str::from_utf8(word).is_ok_and(|word| variants.has(word)) {
                    each(at);
                }
                at += 1;
            }
        }
    }
}
