//! What the store holds: headers, blocks of every kind, liveness, manifests, operations. A checksum stands before all of
//! them; these targets are what happens behind it, so inputs are sealed again after they were changed.
use std::hint::black_box;

use brooklet_kernel::Bitmap;
use brooklet_segment::column::dictionary::DictionaryBlock;
use brooklet_segment::column::number::{SeveralBlock, SingleBlock};
use brooklet_segment::column::positions::read_positions;
use brooklet_segment::column::postings::{read_counts, read_postings};
use brooklet_segment::column::stored;
use brooklet_segment::column::text::Text;
use brooklet_segment::column::times::Times;
use brooklet_segment::column::vector::Vectors;
use brooklet_segment::layout::{Collection, ColumnKind, NumberKind};
use brooklet_segment::{
    BlockSource, ColumnHeader, HEADER_BLOCK, Halt, Header, Manifest, Packer, StoredOperation, find_id, open,
    open_block, read_document, seal, seal_packed, write_liveness,
};
use brooklet_task::bytes::Writer;
use brooklet_task::{Block, Rejection, limits};

use super::Target;
use crate::corpus::{self, KEY};

pub fn targets() -> Vec<Target> {
    vec![header(), sealed_block(), packed_block(), blocks(), columns(), operation(), manifest()]
}

fn sealed_block() -> Target {
    let sealed = seal(KEY, 1, 2, b"some payload".to_vec());
    Target::new("sealed-block", vec![sealed.clone()], move |bytes| {
        assert!(open(KEY, 1, 2, bytes).is_err() || bytes == sealed, "a checksum passed something else");
    })
}

/// The payloads of a segment, by number; `changed` in the place of one of them.
struct Payloads<'a> {
    payloads: &'a [Vec<u8>],
    changed: Option<(u32, &'a [u8])>,
}

impl BlockSource for Payloads<'_> {
    fn block(&mut self, number: u32) -> Result<Block, Halt> {
        let payload = match self.changed {
            Some((changed, payload)) if changed == number => Some(payload),
            _ => self.payloads.get(number as usize).map(Vec::as_slice),
        };
        payload.map(Block::copy_of).ok_or_else(|| Halt::Rejected(Rejection::corrupt("no such block")))
    }
}

/// Reads every document of a segment, and looks some ids up.
fn read_all(header: &Header, blocks: &mut Payloads<'_>) {
    for ordinal in 0..header.documents.min(16) {
        let _ = black_box(read_document(header, ordinal, &|_| true, blocks));
    }
    for id in ["id:ns:mail:g=a:0", "id:ns:mail:g=a:5", "", "\u{10ffff}"] {
        let _ = black_box(find_id(header, id, blocks));
    }
}

fn header() -> Target {
    let segment = corpus::segment();
    let encoded = segment.header.encode();
    assert_eq!(Header::decode(&encoded), Ok(segment.header));
    Target::new("segment-header", vec![encoded], move |bytes| {
        if let Ok(header) = Header::decode(bytes) {
            read_all(&header, &mut Payloads { payloads: &segment.payloads, changed: None });
        }
    })
}

/// One block of a segment is something else: documents are read all the same. The first byte says which.
fn blocks() -> Target {
    let segment = corpus::segment();
    let numbered = segment.payloads.iter().enumerate().map(|(number, payload)| {
        let mut input = vec![number as u8];
        input.extend_from_slice(payload);
        input
    });
    Target::new("segment-blocks", numbered.collect(), move |bytes| {
        let Some((number, payload)) = bytes.split_first() else { return };
        let number = u32::from(*number) % segment.payloads.len() as u32;
        let mut payloads = Payloads { payloads: &segment.payloads, changed: Some((number, payload)) };
        read_all(&segment.header, &mut payloads);
    })
    .costs(4)
}

/// A block of the source that is packed of any bytes: it is refused, or read as others are.
fn packed_block() -> Target {
    let segment = corpus::segment();
    let number = segment.header.packed_blocks().start;
    let mut packer = Packer::default();
    let long = segment.payloads[number as usize].repeat(8);
    let seeds = [&long[..], &long[..1_000], &[7; 20_000]].map(|payload| packer.pack(payload).expect("it is packed"));
    Target::new("packed-block", seeds.to_vec(), move |bytes| {
        let stored = seal_packed(KEY, 1, number, bytes.to_vec());
        let Ok(block) = open_block(KEY, 1, number, Block::copy_of(&stored)) else { return };
        assert!(block.len() < limits::BLOCK_BYTES);
        let changed = Some((number, block.bytes()));
        read_all(&segment.header, &mut Payloads { payloads: &segment.payloads, changed });
    })
}

/// The payload is given to the reader of every kind of column, whatever it was written as.
fn columns() -> Target {
    let segment = corpus::segment();
    Target::new("columns", segment.payloads.clone(), move |bytes| {
        let block = Block::copy_of(bytes);
        read_numbers(block.bytes());
        if let Ok(dictionary) = DictionaryBlock::read(block.bytes()) {
            for index in 0..dictionary.len().min(64) {
                black_box(dictionary.word(index));
                let _ = black_box(read_postings(block.bytes(), dictionary.entry(index), 8, |_| ()));
                let _ = black_box(read_counts(block.bytes(), dictionary.entry(index), 8));
            }
            let _ = black_box(dictionary.find(b"lease"));
        }
        segment.header.columns.iter().for_each(|column| read_column(column, block.bytes()));
    })
}

fn read_numbers(payload: &[u8]) {
    use NumberKind::{Bool, Float32, Float64, Int8, Int32, Int64};
    for kind in [Bool, Int8, Int32, Int64, Float32, Float64] {
        for rows in [0, 1, 8, 1_000] {
            if let Ok(block) = SingleBlock::read(payload, rows, kind) {
                for row in 0..rows as usize {
                    black_box((block.has(row), block.values.integer(row)));
                }
            }
            for collection in [Collection::Array, Collection::WeightedSet] {
                let Ok(block) = SeveralBlock::read(payload, rows, kind, collection) else { continue };
                for index in (0..rows as usize).flat_map(|row| block.range(row)) {
                    black_box((block.values.float(index), block.weights.get(index)));
                }
            }
        }
    }
}

fn read_column(column: &ColumnHeader, payload: &[u8]) {
    match column.spec.kind {
        ColumnKind::Text { .. } => {
            let text = Text::from_column(column).expect("a column of a built segment");
            if let Ok(bounds) = text.bounds(8, payload) {
                black_box(bounds.words.last());
            }
            if let Ok(lengths) = text.lengths().read(0, payload) {
                black_box((lengths.length(0), lengths.length(usize::MAX)));
            }
            let _ = black_box(text.read_words(payload, 1..9, &mut Vec::new()));
            let _ = black_box(read_positions(payload, text.words, |place| assert!(place < text.words)));
            if let Some(lists) = text.positions {
                for number in 0..lists.rows.min(8) {
                    let Ok(list) = stored::row(lists, number, &[payload]) else { continue };
                    let _ = black_box(read_positions(&list, text.words, |place| assert!(place < text.words)));
                }
            }
        }
        ColumnKind::Vectors { .. } => {
            let vectors = Vectors::from_column(column).expect("a column of a built segment");
            let _ = black_box(vectors.first_rows(8, payload));
            let _ = black_box(vectors.codes(8, payload).is_ok());
            let _ = black_box(vectors.exact(7, payload));
        }
        ColumnKind::Times => {
            let times = Times::from_column(column).expect("a column of a built segment");
            let _ = black_box(times.time(7, payload));
        }
        _ => {}
    }
}

fn operation() -> Target {
    let documents = corpus::documents(&corpus::mail());
    let stored = documents.iter().map(|document| {
        let operation = brooklet_segment::Operation::Put(document.clone());
        let mut sealed = StoredOperation { schema: "mail".into(), time: 1_790_000_000_000_000, operation }.encode(KEY);
        sealed.truncate(sealed.len() - 8);
        sealed
    });
    Target::new("stored-operation", stored.collect(), |payload| {
        let _ = black_box(StoredOperation::decode(KEY, &seal(KEY, u32::MAX, u32::MAX, payload.to_vec())));
    })
}

/// A whole manifest, and one whose only header is the input.
fn manifest() -> Target {
    let segment = corpus::segment();
    let documents = segment.header.documents;
    let liveness = write_liveness(KEY, 1, &Bitmap::all(documents as usize));
    let encoded = segment.header.encode();
    let whole = manifest_of(&encoded, &liveness);
    assert!(Manifest::read(KEY, &whole).is_ok());
    Target::new("manifest", vec![whole, encoded], move |bytes| {
        let _ = black_box(Manifest::read(KEY, bytes));
        let _ = black_box(Manifest::read(KEY, &manifest_of(bytes, &liveness)));
    })
}

fn manifest_of(header: &[u8], liveness: &[u8]) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.u32(3);
    writer.u8(1);
    writer.varint(1);
    writer.u32(1);
    writer.bytes(&seal(KEY, 1, HEADER_BLOCK, header.to_vec()));
    writer.bytes(liveness);
    writer.varint(1);
    writer.u64(9);
    writer.bytes(b"an operation");
    writer.finish()
}
