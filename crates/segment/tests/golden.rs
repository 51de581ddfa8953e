//! Segments of former releases stay readable: the files of `testdata` were written once and are never changed. A new
//! version of the format gets a folder of its own beside them.
mod fixture;

use brooklet_segment::column::text::Text;
use brooklet_segment::layout::ColumnKind;
use brooklet_segment::{BlockSource, HEADER_BLOCK, Halt, Header, open, open_block, read_document, read_time};
use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Block, Rejection};
use fixture::{build, documents, time_of};

/// The file that this release writes.
const WRITTEN_NOW: &str = "v5/all";
const KEY: &str = "g:u";
const NUMBER: u32 = 7;

/// The documents of the file: number and seed say it all.
fn expected() -> Vec<brooklet_document::Document> {
    documents(20, 60)
}

struct File {
    header: Header,
    blocks: Vec<Vec<u8>>,
}

impl File {
    fn read(bytes: &[u8]) -> Result<File, Rejection> {
        let mut reader = Reader::new(bytes);
        assert_eq!((reader.text()?, reader.u32()?), (KEY, NUMBER));
        let header = Header::decode(open(KEY, NUMBER, HEADER_BLOCK, reader.bytes()?)?)?;
        let blocks = (0..reader.count(1)?).map(|_| Ok(reader.bytes()?.to_vec())).collect::<Result<_, Rejection>>()?;
        reader.end()?;
        Ok(File { header, blocks })
    }
}

impl BlockSource for File {
    fn block(&mut self, number: u32) -> Result<Block, Halt> {
        Ok(open_block(KEY, NUMBER, number, Block::copy_of(&self.blocks[number as usize]))?)
    }
}

/// What this release writes.
fn written() -> Vec<u8> {
    let (header, blocks) = build(&expected()).seal(KEY, NUMBER);
    let mut writer = Writer::new();
    writer.text(KEY);
    writer.u32(NUMBER);
    writer.bytes(&header);
    writer.varint(blocks.len() as u64);
    blocks.iter().for_each(|block| writer.bytes(block));
    writer.finish()
}

fn golden(name: &str) -> Vec<u8> {
    let path = format!("{}/testdata/{name}.segment", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn a_file_of_version_1_is_read() {
    let file = read(1);
    assert_eq!((file.header.earliest(), read_time(&file.header.clone(), 5, &mut { file }).expect("no time")), (0, 0));
}

#[test]
fn a_file_of_version_2_is_read() {
    with_times(read(2));
}

#[test]
fn a_file_of_version_3_is_read() {
    with_times(read(3));
}

/// Version 3 with larger blocks of exact rows, which all its releases read: headers say how many rows a block has.
#[test]
fn a_file_with_larger_blocks_of_exact_rows_is_read() {
    with_times(read_file("v3/larger-exact-blocks"));
}

#[test]
fn a_file_of_version_4_is_read() {
    with_times(read(4));
}

#[test]
fn a_file_of_version_5_is_read() {
    with_times(read_file(WRITTEN_NOW));
}

/// Blocks of the source are packed since version 5, where that makes them smaller, and no others ever.
#[test]
fn the_source_is_packed_since_version_5() {
    for version in 1..=5 {
        let file = read(version);
        let packed = |number: &u32| open(KEY, NUMBER, *number, &file.blocks[*number as usize]).is_err();
        let numbers: Vec<u32> = (0..file.blocks.len() as u32).filter(packed).collect();
        assert_eq!(numbers.is_empty(), version < 5);
        assert!(numbers.iter().all(|number| file.header.packed_blocks().contains(number)));
    }
}

/// Columns of text tell where words stand since version 4, but for those whose values are one word.
#[test]
fn positions_are_there_since_version_4() {
    for version in 1..=5 {
        let columns = read(version).header.columns;
        let texts = columns.iter().filter(|column| matches!(column.spec.kind, ColumnKind::Text { .. }));
        let texts: Vec<Text<'_>> = texts.map(|column| Text::from_column(column).expect("a column of text")).collect();
        assert!(texts.iter().any(|text| !text.whole));
        assert!(texts.iter().all(|text| text.positions.is_some() == (version >= 4 && !text.whole)));
    }
}

/// Of each version the same lengths of documents: they were told by the bounds before there were lengths.
#[test]
fn documents_have_the_same_lengths_in_every_version() {
    let of = |version: u8| {
        let mut file = read(version);
        let columns = file.header.columns.clone();
        let text = columns.iter().filter(|column| matches!(column.spec.kind, ColumnKind::Text { .. }));
        let mut all = Vec::new();
        for column in text {
            let lengths = Text::from_column(column).expect("a column of text").lengths();
            for index in 0..lengths.part.blocks() {
                let block = file.block(lengths.part.first_block + index).expect("a block");
                let read = lengths.read(index, block.bytes()).expect("lengths");
                all.extend((0..lengths.part.span_of(index).1 as usize).map(|row| read.length(row)));
            }
        }
        all
    };
    assert!(of(5).iter().any(|length| *length > 1));
    (1..5).for_each(|version| assert_eq!(of(version), of(5)));
}

fn with_times(mut file: File) {
    let header = file.header.clone();
    assert_eq!(header.earliest(), time_of(0));
    for number in 0..header.documents {
        assert_eq!(read_time(&header, number, &mut file).expect("a time"), time_of(number as usize));
    }
}

/// Reads the file of a version and compares its documents.
fn read(version: u8) -> File {
    read_file(&format!("v{version}/all"))
}

fn read_file(name: &str) -> File {
    let mut file = File::read(&golden(name)).expect("a segment file");
    let expected = expected();
    assert_eq!(file.header.documents as usize, expected.len());
    let sorted = |document: &brooklet_document::Document| {
        let mut fields = document.fields.clone();
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        fields
    };
    let header = file.header.clone();
    for (ordinal, expected) in expected.iter().enumerate() {
        let document = read_document(&header, ordinal as u32, &|_| true, &mut file).expect("a document");
        assert_eq!((&document.id, sorted(&document)), (&expected.id, sorted(expected)));
    }
    file
}

#[test]
fn the_same_documents_are_written_as_the_same_bytes() {
    if let Some(path) = std::env::var_os("BROOKLET_WRITE_SEGMENT") {
        std::fs::write(path, written()).expect("a place for the file of a new version");
    }
    let (golden, written) = (golden(WRITTEN_NOW), written());
    let differs = golden.iter().zip(&written).position(|(a, b)| a != b);
    let message = "written differently now: another file if releases of this version read it, else another version";
    assert_eq!(differs, None, "{message}");
    assert_eq!(golden.len(), written.len());
}
