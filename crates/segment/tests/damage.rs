//! Bytes that are not what was written are refused or read as something else, but never bring a reader down: the
//! checksum stands before all of this, and is left out here.
mod fixture;

use brooklet_segment::column::dictionary::{DictionaryBlock, Entry};
use brooklet_segment::column::number::{SeveralBlock, SingleBlock};
use brooklet_segment::column::positions::read_positions;
use brooklet_segment::column::postings::{read_counts, read_postings};
use brooklet_segment::column::stored;
use brooklet_segment::column::text::{self, Text};
use brooklet_segment::column::vector::{self, Vectors};
use brooklet_segment::layout::{Collection, ColumnKind, NumberKind};
use brooklet_segment::{
    BlockSource, ColumnHeader, Header, Manifest, PartitionVersion, StoredOperation, find_id, read_document, read_id,
    seal, vector_rows,
};
use brooklet_task::Block;
use brooklet_task::bytes::Reader;
use fixture::{Payloads, Random, build, config, documents};
use proptest::prelude::*;

/// Rows read of every column at most: a damaged header may announce any number.
const ROWS_MAX: u32 = 200;

/// Reads all there is; what comes out does not matter, only that it ends.
fn read_everything(header: &Header, blocks: &mut Payloads) -> usize {
    let mut understood = 0;
    for ordinal in 0..header.documents.min(ROWS_MAX) {
        understood += usize::from(read_document(header, ordinal, &|_| true, blocks).is_ok());
        let id = read_id(header, ordinal, blocks).unwrap_or_default();
        understood += usize::from(find_id(header, &id, blocks).is_ok());
    }
    for column in &header.columns {
        understood += read_column(column, header.documents.min(ROWS_MAX), blocks).unwrap_or(0);
    }
    understood
}

fn read_column(column: &ColumnHeader, documents: u32, blocks: &mut Payloads) -> Option<usize> {
    let mut seen = 0;
    match &column.spec.kind {
        ColumnKind::Text { .. } => {
            let text = Text::from_column(column).ok()?;
            let part = text.part(text::DICTIONARY);
            for index in 0..part.blocks().min(ROWS_MAX) {
                let block = blocks.block(part.first_block + index).ok()?;
                let Ok(dictionary) = DictionaryBlock::read(block.bytes()) else { continue };
                seen += (0..dictionary.len()).map(|at| dictionary.word(at).len()).sum::<usize>();
                seen += dictionary.find(b"word").unwrap_or_else(|after| after);
                for at in 0..dictionary.len() {
                    let entry = dictionary.entry(at);
                    let number = text.part(text::POSTINGS).first_block.saturating_add(entry.block);
                    let Ok(postings) = blocks.block(number) else { continue };
                    let mut read = Vec::new();
                    let _ =
                        read_postings(postings.bytes(), entry, documents, |several| read.extend_from_slice(several));
                    seen += read.len();
                }
            }
            let lengths = text.lengths();
            for index in 0..lengths.part.blocks().min(ROWS_MAX) {
                let block = blocks.block(lengths.part.first_block + index).ok()?;
                let Ok(read) = lengths.read(index, block.bytes()) else { continue };
                seen += (0..ROWS_MAX as usize).map(|row| read.length(row) as usize).sum::<usize>();
            }
            let part = text.part(text::WORDS);
            for index in 0..part.blocks().min(ROWS_MAX) {
                let block = blocks.block(part.first_block + index).ok()?;
                let mut words = Vec::new();
                let _ = text.read_words(block.bytes(), 0..part.span_of(index).1 as usize, &mut words);
                seen += words.len();
            }
            for number in 0..text.positions.map_or(0, |part| part.rows.min(ROWS_MAX)) {
                seen += read_list(&text, number, blocks).unwrap_or(0);
            }
        }
        ColumnKind::Strings { collection } => {
            seen += read_numbers(column.parts.last()?, NumberKind::Int32, *collection, blocks)?;
        }
        ColumnKind::Numbers { number, collection } => {
            seen += read_numbers(column.parts.first()?, *number, *collection, blocks)?;
        }
        ColumnKind::Positions { collection } => {
            seen += read_numbers(column.parts.first()?, NumberKind::Int64, *collection, blocks)?;
        }
        ColumnKind::Vectors { .. } => {
            let vectors = Vectors::from_column(column).ok()?;
            for ordinal in 0..documents {
                for row in vector_rows(&vectors, ordinal, blocks).unwrap_or_default().take(ROWS_MAX as usize) {
                    let part = vectors.part(vector::EXACT);
                    if part.rows == 0 {
                        continue;
                    }
                    let index = part.index_of(row);
                    let Ok(block) = blocks.block(part.first_block.saturating_add(index)) else { continue };
                    seen +=
                        usize::from(vectors.exact(row.saturating_sub(part.span_of(index).0), block.bytes()).is_ok());
                }
            }
            let part = vectors.part(vector::CODES);
            for index in 0..part.blocks().min(ROWS_MAX) {
                let block = blocks.block(part.first_block + index).ok()?;
                seen += usize::from(vectors.codes(part.span_of(index).1, block.bytes()).is_ok());
            }
        }
        ColumnKind::Tensors | ColumnKind::Times | ColumnKind::Source | ColumnKind::Ids => {
            let part = column.parts.first()?;
            for row in 0..documents {
                let numbers = stored::blocks_of(part, row).take(ROWS_MAX as usize);
                let held: Vec<Block> =
                    numbers.map_while(|index| blocks.block(part.first_block.saturating_add(index)).ok()).collect();
                let payloads: Vec<&[u8]> = held.iter().map(Block::bytes).collect();
                seen += stored::row(part, row, &payloads).map_or(0, |row| row.len());
            }
        }
    }
    Some(seen)
}

/// How often a word stands among the words.
fn read_list(text: &Text<'_>, number: u32, blocks: &mut Payloads) -> Option<usize> {
    let part = text.positions?;
    let indexes = stored::blocks_of(part, number).take(ROWS_MAX as usize);
    let held: Option<Vec<Block>> = indexes.map(|index| blocks.block(part.first_block + index).ok()).collect();
    let held = held?;
    let payloads: Vec<&[u8]> = held.iter().map(Block::bytes).collect();
    let list = stored::row(part, number, &payloads).ok()?;
    let mut places = Vec::new();
    let read = read_positions(&list, text.words, |place| places.push(place));
    assert!(places.is_sorted_by(|a, b| a < b) && places.last().is_none_or(|last| *last < text.words));
    read.ok().map(|()| places.len())
}

fn read_numbers(
    part: &brooklet_segment::Part,
    number: NumberKind,
    collection: Collection,
    blocks: &mut Payloads,
) -> Option<usize> {
    let mut seen = 0;
    for index in 0..part.blocks().min(ROWS_MAX) {
        let rows = part.span_of(index).1;
        let block = blocks.block(part.first_block + index).ok()?;
        if collection == Collection::Single {
            let Ok(block) = SingleBlock::read(block.bytes(), rows, number) else { continue };
            seen += (0..rows as usize).filter(|row| block.has(*row) && block.values.integer(*row) != 0).count();
        } else {
            let Ok(block) = SeveralBlock::read(block.bytes(), rows, number, collection) else { continue };
            let all = (0..rows as usize).flat_map(|row| block.range(row));
            seen += all.filter(|at| block.values.float(*at) != 0.0).count();
        }
    }
    Some(seen)
}

/// Changes some bytes, cuts, or appends.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..1 + random.below(3) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes.truncate(at),
            1 => bytes.extend((0..random.below(40)).map(|byte| byte as u8)),
            2 if !bytes.is_empty() => bytes[at] = 0xff,
            3 if at + 4 <= bytes.len() => bytes[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes()),
            4 if at + 4 <= bytes.len() => {
                bytes[at..at + 4].copy_from_slice(&(random.below(1 << 20) as u32).to_le_bytes())
            }
            _ if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn damaged_blocks_are_survived(seed in any::<u64>(), count in 1usize..30) {
        let mut segment = build(&documents(seed, count));
        let mut random = Random(seed ^ 1);
        for _ in 0..1 + random.below(8) {
            let block = random.below(segment.payloads.len());
            damage(&mut segment.payloads[block], &mut random);
        }
        read_everything(&segment.header, &mut Payloads::from_segment(&segment));
    }

    #[test]
    fn a_damaged_header_is_survived(seed in any::<u64>(), count in 1usize..30) {
        let segment = build(&documents(seed, count));
        let encoded = segment.header.encode();
        let mut random = Random(seed ^ 2);
        for _ in 0..20 {
            let mut bytes = encoded.clone();
            damage(&mut bytes, &mut random);
            if let Ok(header) = Header::decode(&bytes) {
                read_everything(&header, &mut Payloads::from_segment(&segment));
            }
        }
    }

    #[test]
    fn arbitrary_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400), rows in 0u32..300, at in 0u32..400) {
        let block = Block::copy_of(&bytes);
        let bytes = block.bytes();
        let _ = Header::decode(bytes);
        let _ = Manifest::read("g:u", bytes);
        let _ = PartitionVersion::read(&mut Reader::new(bytes));
        let _ = StoredOperation::decode("g:u", bytes);
        let _ = StoredOperation::decode("g:u", &seal("g:u", u32::MAX, u32::MAX, bytes.to_vec()));
        let _ = DictionaryBlock::read(bytes).map(|words| (0..words.len()).map(|at| words.word(at).len()).sum::<usize>());
        for number in [NumberKind::Bool, NumberKind::Int8, NumberKind::Int32, NumberKind::Int64, NumberKind::Float64] {
            let _ = SingleBlock::read(bytes, rows, number);
            for collection in [Collection::Array, Collection::WeightedSet] {
                let _ = SeveralBlock::read(bytes, rows, number, collection);
            }
        }
        let entry = Entry { documents: u32::MAX, block: 0, offset: at, length: rows };
        let _ = read_postings(bytes, entry, rows, |several| assert!(several.iter().all(|[ordinal, _]| *ordinal < rows)));
        let length = (bytes.len() as u32).saturating_sub(at);
        let entry = Entry { documents: length / 3, block: 0, offset: at, length };
        let mut postings = Vec::new();
        let read = read_postings(bytes, entry, 40_000, |several| postings.extend_from_slice(several));
        assert!(postings.is_sorted_by_key(|[ordinal, _]| *ordinal) && postings.iter().all(|[ordinal, _]| *ordinal < 40_000));
        let counts = read_counts(bytes, entry, 40_000);
        assert_eq!(counts.is_ok(), read.is_ok());
        if let Ok(Some(counts)) = counts {
            assert_eq!(counts.len(), 40_000);
            assert!(postings.iter().all(|[ordinal, count]| u32::from(counts[*ordinal as usize]) == *count));
        }
    }
}

#[test]
fn what_is_read_undamaged_is_understood() {
    let segment = build(&documents(1, 40));
    assert!(
        read_everything(&segment.header, &mut Payloads::from_segment(&segment)) > 1_000,
        "the readers above do read"
    );
}
