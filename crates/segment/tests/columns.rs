//! What is written into a segment comes back, document by document and column by column.
mod fixture;

use brooklet_document::{CellType, Document, Value, cells_from_bytes};
use brooklet_kernel::Bitmap;
use brooklet_segment::column::dictionary::{DictionaryBlock, key_of};
use brooklet_segment::column::number::{SeveralBlock, SingleBlock, Values};
use brooklet_segment::column::positions::read_positions;
use brooklet_segment::column::postings::{read_counts, read_postings};
use brooklet_segment::column::stored;
use brooklet_segment::column::text::{self, Element, Lengths, Text, cut, normalise};
use brooklet_segment::column::vector::{self, Vectors, code_stride};
use brooklet_segment::layout::{Collection, ColumnKind, ColumnSpec, NumberKind, position_bits};
use brooklet_segment::{
    BlockSource, BuiltSegment, ColumnHeader, Header, SegmentBuilder, find_id, find_ids, open, open_block, read_array,
    read_document, read_id, read_time, vector_rows,
};
use brooklet_task::Block;
use fixture::{Payloads, Random, build, config, dense, documents, specs};
use proptest::prelude::*;

/// A segment being read.
struct Reading {
    header: Header,
    blocks: Payloads,
}

impl Reading {
    fn new(segment: &BuiltSegment) -> Reading {
        let header = Header::decode(&segment.header.encode()).expect("a header that was encoded");
        assert_eq!(header, segment.header);
        Reading { header, blocks: Payloads::from_segment(segment) }
    }

    fn document(&mut self, ordinal: u32) -> Document {
        read_document(&self.header, ordinal, &|_| true, &mut self.blocks).expect("a document")
    }

    fn block(&mut self, part: &brooklet_segment::Part, row: u32) -> (u32, u32, brooklet_task::Block) {
        let index = part.index_of(row);
        let (first, rows) = part.span_of(index);
        (first, rows, self.blocks.block(part.first_block + index).expect("a block"))
    }
}

fn elements(value: Option<&Value>) -> Vec<(Value, i32)> {
    match value {
        None => Vec::new(),
        Some(Value::Array(elements)) => elements.iter().map(|element| (element.clone(), 1)).collect(),
        Some(Value::WeightedSet(entries)) => entries.clone(),
        Some(single) => vec![(single.clone(), 1)],
    }
}

/// Fields in an order that does not depend on where they were stored.
fn sorted(document: &Document) -> Vec<(String, Value)> {
    let mut fields = document.fields.clone();
    fields.sort_by(|a, b| a.0.cmp(&b.0));
    fields
}

fn check(documents: &[Document]) {
    let segment = build(documents);
    assert_eq!(segment.header.blocks as usize, segment.payloads.len());
    let mut reading = Reading::new(&segment);
    for (ordinal, document) in documents.iter().enumerate() {
        let ordinal = ordinal as u32;
        let read = reading.document(ordinal);
        assert_eq!((&read.id, sorted(&read)), (&document.id, sorted(document)));
        assert_eq!(read_id(&reading.header, ordinal, &mut reading.blocks).expect("an id"), document.id);
        assert_eq!(find_id(&reading.header, &document.id, &mut reading.blocks).expect("a search"), Some(ordinal));
        for other in [format!("{}0", document.id), document.id.replace("u:", "u:!"), "id:a:all:g=u:".to_owned()] {
            assert_eq!(find_id(&reading.header, &other, &mut reading.blocks).expect("a search"), None);
        }
    }
    check_ids(&mut reading, documents);
    let columns = reading.header.columns.clone();
    for column in &columns {
        match &column.spec.kind {
            ColumnKind::Text { .. } => check_text(&mut reading, column, documents),
            ColumnKind::Strings { collection } => check_strings(&mut reading, column, *collection, documents),
            ColumnKind::Numbers { number, collection } => {
                check_numbers(&mut reading, column, *number, *collection, documents);
            }
            ColumnKind::Positions { collection } => {
                check_numbers(&mut reading, column, NumberKind::Int64, *collection, documents);
            }
            ColumnKind::Vectors { .. } => check_vectors(&mut reading, column, documents),
            ColumnKind::Ids | ColumnKind::Times | ColumnKind::Source | ColumnKind::Tensors => {}
        }
    }
}

/// Many ids at once are found as each alone is: all there are, every few of them, and others in between.
fn check_ids(reading: &mut Reading, documents: &[Document]) {
    for every in [1, 2, 7] {
        let some = documents.iter().step_by(every).flat_map(|document| {
            let id = document.id.as_str();
            [format!("{id}!"), id.to_owned(), id[..id.len() - 1].to_owned(), id.replace("u:", "u:!")]
        });
        let wanted: std::collections::BTreeSet<String> = some.chain(["a".to_owned(), "z".to_owned()]).collect();
        let alone = |id: &String, reading: &mut Reading| find_id(&reading.header, id, &mut reading.blocks);
        let expected: Vec<u32> = wanted.iter().filter_map(|id| alone(id, reading).expect("a search")).collect();
        let found = find_ids(&reading.header, wanted.iter().map(String::as_str), &mut reading.blocks);
        assert_eq!(found.expect("a search"), expected);
        assert!(expected.len() >= documents.len() / every);
    }
}

/// The words of each element of a document, as the definition has them.
fn words_of(column: &ColumnHeader, document: &Document) -> Vec<(Vec<Vec<u8>>, i32)> {
    let ColumnKind::Text { normalizing, whole, max_length_bytes, .. } = column.spec.kind else { return Vec::new() };
    let words = |text: &str| -> Vec<Vec<u8>> {
        let text = cut(text, max_length_bytes as usize);
        let word = |word: &str| key_of(&normalise(word, normalizing)).into_owned();
        if whole {
            return if text.is_empty() { Vec::new() } else { vec![word(text)] };
        }
        brooklet_text::Tokens::new(text).map(|token| word(&text[token.start..token.end])).collect()
    };
    let elements = elements(document.field(&column.spec.field)).into_iter();
    elements
        .map(|(element, weight)| match element {
            Value::String(text) => (words(&text), weight),
            other => panic!("{other:?} in a text column"),
        })
        .collect()
}

fn check_text(reading: &mut Reading, column: &ColumnHeader, documents: &[Document]) {
    let text = Text::from_column(column).expect("a text column");
    let mut dictionary = Vec::new();
    let mut entries = Vec::new();
    let part = text.part(text::DICTIONARY);
    for index in 0..part.blocks() {
        let block = reading.blocks.block(part.first_block + index).expect("a block");
        let block = DictionaryBlock::read(block.bytes()).expect("a dictionary");
        assert_eq!(part.keys[index as usize], block.word(0));
        for at in 0..block.len() {
            assert_eq!(block.find(block.word(at)), Ok(at));
            let needle = brooklet_kernel::Needle::new(block.word(at));
            let holds = |other: &usize| needle.find(block.word(*other)).is_some();
            let mut found = Vec::new();
            block.each_with(&needle, |index, times| {
                assert_eq!(times, needle.find_all(block.word(index)).count());
                found.push(index);
            });
            if !block.word(at).is_empty() {
                assert_eq!(found, (0..block.len()).filter(holds).collect::<Vec<_>>());
            }
            dictionary.push(block.word(at).to_vec());
            entries.push(block.entry(at));
        }
    }
    assert!(dictionary.is_sorted() && dictionary.len() == part.rows as usize);
    let mut counts = vec![std::collections::BTreeMap::new(); dictionary.len()];
    let mut places = vec![Vec::new(); dictionary.len()];
    for (ordinal, document) in documents.iter().enumerate() {
        let expected = words_of(column, document);
        let (first, rows, block) = reading.block(text.part(text::BOUNDS), ordinal as u32);
        let at = ordinal - first as usize;
        let words = read_array::<u32>(block.bytes(), 0, rows as usize + 1).expect("bounds").to_vec();
        let mut numbers = Vec::new();
        for word in words[at]..words[at + 1] {
            let (first, _, block) = reading.block(text.part(text::WORDS), word);
            let at = (word - first) as usize;
            text.read_words(block.bytes(), at..at + 1, &mut numbers).expect("words");
        }
        let lengths = text.lengths();
        let (_, _, of_lengths) = reading.block(&lengths.part, ordinal as u32);
        let read = lengths.read(lengths.part.index_of(ordinal as u32), of_lengths.bytes()).expect("lengths");
        assert_eq!(read.length(at), numbers.len() as u32);
        let read: Vec<Vec<u8>> = numbers.iter().map(|number| dictionary[*number as usize].clone()).collect();
        assert_eq!(read, expected.iter().flat_map(|(words, _)| words.clone()).collect::<Vec<_>>());
        for (place, number) in (words[at]..).zip(&numbers) {
            places[*number as usize].push(place);
        }
        numbers.iter().for_each(|number| *counts[*number as usize].entry(ordinal as u32).or_insert(0) += 1);
        if text.several {
            let ends = read_array::<u32>(block.bytes(), 4 * (rows as usize + 1), rows as usize + 1).expect("bounds");
            let read = (ends[at]..ends[at + 1]).map(|element| {
                let (first, _, block) = reading.block(text.part(text::ELEMENTS), element);
                read_array::<Element>(block.bytes(), 8 * (element - first) as usize, 1).expect("an element")[0]
            });
            let expected =
                expected.iter().map(|(words, weight)| Element { length: words.len() as u32, weight: *weight });
            assert_eq!(read.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        }
    }
    for (entry, expected) in entries.iter().zip(counts) {
        let block = reading.blocks.block(text.part(text::POSTINGS).first_block + entry.block).expect("a block");
        let mut postings = Vec::new();
        let rows = documents.len() as u32;
        read_postings(block.bytes(), *entry, rows, |several| postings.extend_from_slice(several)).expect("postings");
        assert_eq!(postings, expected.into_iter().map(<[u32; 2]>::from).collect::<Vec<_>>());
        let mut counts = vec![0; documents.len()];
        postings.iter().for_each(|[ordinal, count]| counts[*ordinal as usize] = *count);
        let read = read_counts(block.bytes(), *entry, rows).expect("counts");
        let fits = counts.iter().all(|count| *count <= 255);
        assert_eq!(read, fits.then(|| counts.iter().map(|count| *count as u8).collect()));
    }
    check_positions(reading, &text, &places);
}

/// Where words stand, for each word of the dictionary; nothing where a value is one word.
fn check_positions(reading: &mut Reading, text: &Text<'_>, expected: &[Vec<u32>]) {
    let Some(part) = text.positions else {
        assert!(text.whole);
        return;
    };
    assert_eq!((text.whole, part.rows as usize), (false, expected.len()));
    for (number, expected) in (0..).zip(expected) {
        let indexes = stored::blocks_of(part, number);
        let blocks = indexes.map(|index| reading.blocks.block(part.first_block + index).expect("a block"));
        let blocks: Vec<Block> = blocks.collect();
        let payloads: Vec<&[u8]> = blocks.iter().map(Block::bytes).collect();
        let list = stored::row(part, number, &payloads).expect("a list");
        let mut places = Vec::new();
        read_positions(&list, text.words, |place| places.push(place)).expect("places");
        assert!(places == *expected, "word {number}");
        // One that stands behind the last word is none.
        let beyond = read_positions(&list, *expected.last().expect("a word that stands somewhere"), |_| ());
        assert!(beyond.is_err(), "word {number}");
    }
}

fn check_strings(reading: &mut Reading, column: &ColumnHeader, collection: Collection, documents: &[Document]) {
    let [dictionary, part] = &column.parts[..] else { panic!("two parts") };
    for (ordinal, document) in documents.iter().enumerate() {
        let numbers = values(reading, part, ordinal as u32, NumberKind::Int32, collection);
        let read = numbers.into_iter().map(|(number, weight)| {
            let (first, _, block) = reading.block(dictionary, number as u32);
            let words = DictionaryBlock::read(block.bytes()).expect("a dictionary");
            let word = words.word(number as usize - first as usize).to_vec();
            (Value::String(String::from_utf8(word).expect("a text")), weight)
        });
        assert_eq!(read.collect::<Vec<_>>(), elements(document.field(&column.spec.field)));
    }
}

/// The bits of a row's values, with their weights.
fn values(
    reading: &mut Reading,
    part: &brooklet_segment::Part,
    row: u32,
    number: NumberKind,
    collection: Collection,
) -> Vec<(u64, i32)> {
    let (first, rows, block) = reading.block(part, row);
    let at = (row - first) as usize;
    let bits = |values: &Values<'_>, at: usize| {
        if number.is_integer() { values.integer(at) as u64 } else { values.float(at).to_bits() }
    };
    if collection == Collection::Single {
        let block = SingleBlock::read(block.bytes(), rows, number).expect("single values");
        return if block.has(at) { vec![(bits(&block.values, at), 1)] } else { Vec::new() };
    }
    let block = SeveralBlock::read(block.bytes(), rows, number, collection).expect("several values");
    let weight = |at: usize| block.weights.get(at).copied().unwrap_or(1);
    block.range(at).map(|at| (bits(&block.values, at), weight(at))).collect()
}

fn check_numbers(
    reading: &mut Reading,
    column: &ColumnHeader,
    number: NumberKind,
    collection: Collection,
    documents: &[Document],
) {
    let bits = |value: Value| match value {
        Value::Bool(value) => u64::from(value),
        Value::Byte(value) => i64::from(value) as u64,
        Value::Int(value) => i64::from(value) as u64,
        Value::Long(value) => value as u64,
        Value::Float(value) => f64::from(value).to_bits(),
        Value::Double(value) => value.to_bits(),
        Value::Position { x, y } => position_bits(x, y) as u64,
        other => panic!("{other:?} in a column of numbers"),
    };
    for (ordinal, document) in documents.iter().enumerate() {
        let expected = elements(document.field(&column.spec.field)).into_iter();
        let expected: Vec<(u64, i32)> = expected.map(|(value, weight)| (bits(value), weight)).collect();
        assert_eq!(values(reading, &column.parts[0], ordinal as u32, number, collection), expected);
    }
}

fn check_vectors(reading: &mut Reading, column: &ColumnHeader, documents: &[Document]) {
    let vectors = Vectors::from_column(column).expect("a vector column");
    let mut rows = 0;
    for (ordinal, document) in documents.iter().enumerate() {
        let own = vector_rows(&vectors, ordinal as u32, &mut reading.blocks).expect("rows");
        assert_eq!(own.start, rows);
        rows = own.end;
        let mut cells = Vec::new();
        for row in own {
            let (first, _, block) = reading.block(vectors.part(vector::EXACT), row);
            let exact = vectors.exact(row - first, block.bytes()).expect("a row");
            let of_row = cells_from_bytes(vectors.cell, exact).expect("cells");
            if vectors.coded() {
                check_code(reading, &vectors, row, &of_row);
            }
            cells.extend(of_row);
        }
        let expected = match document.field(&column.spec.field) {
            Some(Value::Tensor(tensor)) => tensor.cells.clone(),
            _ => Vec::new(),
        };
        assert_eq!(cells, expected);
    }
    assert_eq!(rows, vectors.rows);
}

fn check_code(reading: &mut Reading, vectors: &Vectors<'_>, row: u32, cells: &[f64]) {
    let (first, rows, block) = reading.block(vectors.part(vector::CODES), row);
    let codes = vectors.codes(rows, block.bytes()).expect("codes");
    let at = (row - first) as usize;
    let stride = code_stride(vectors.size);
    let floats: Vec<f32> = cells.iter().map(|cell| *cell as f32).collect();
    let mut expected = vec![0; stride];
    let code = brooklet_kernel::quantise(&floats, &mut expected);
    assert_eq!(codes.codes[at * stride..(at + 1) * stride], expected);
    assert_eq!((codes.scales[at], codes.residuals[at], codes.norms[at]), (code.scale, code.residual, code.norm));
    assert_eq!(codes.square_sums[at], code.square_sum);
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn everything_comes_back(seed in any::<u64>(), count in 0usize..120) {
        check(&documents(seed, count));
    }
}

#[test]
fn many_documents_fill_several_blocks() {
    check(&documents(3, 3_000));
}

/// Texts of words that come very often or hardly ever, documents without any, and several elements.
#[test]
fn words_stand_where_they_were_written() {
    for seed in 0..40 {
        let mut random = Random(seed);
        let vocabulary = [1, 2, 50, 5_000][random.below(4)];
        let longest = [0, 1, 40, 3_000][random.below(4)];
        let mut text = || {
            // Lower numbers come more often.
            let mut word = || random.below(vocabulary).min(random.below(vocabulary));
            let words: Vec<String> = (0..longest).map(|_| format!("w{}", word())).collect();
            let length = random.below(longest + 1);
            Value::String(words[..length].join(" "))
        };
        let documents = (0..40).map(|number| {
            let mut fields = Vec::new();
            if number % 7 != 3 {
                fields.push(("text".to_owned(), text()));
            }
            if number % 5 != 1 {
                fields.push(("texts".to_owned(), Value::Array((0..number % 4).map(|_| text()).collect())));
            }
            Document { id: format!("id:a:all:g=u:{number:03}"), fields }
        });
        check(&documents.collect::<Vec<_>>());
    }
}

/// A word that stands more than two million times: its list takes several blocks, those of others come before and after.
#[test]
fn a_list_over_several_blocks_comes_back() {
    let texts = ["a a", &"m ".repeat(460_000), "m z", &"b ".repeat(400_000)];
    let of = [0, 1, 1, 1, 1, 1, 2, 3].map(|text| Value::String(texts[text].to_owned()));
    let documents = of.into_iter().enumerate().map(|(number, text)| Document {
        id: format!("id:a:all:g=u:{number}"),
        fields: vec![("text".to_owned(), text)],
    });
    let segment = build(&documents.collect::<Vec<_>>());
    let mut reading = Reading::new(&segment);
    let columns = reading.header.columns.clone();
    let column = columns.iter().find(|column| column.spec.field == "text" && column.parts.len() == 6);
    let text = Text::from_column(column.expect("a column of words")).expect("a text column");
    let lists = text.positions.expect("lists of positions");
    assert!(stored::blocks_of(lists, 2).len() == 3, "the list of m in {:?}", lists.firsts);
    let places = [(0, 2), (2_300_004, 2_700_004), (2, 2_300_003), (2_300_003, 2_300_004)];
    check_positions(&mut reading, &text, &places.map(|(start, end)| (start..end).collect()));
}

fn alone(name: &str, value: Value) -> Vec<Document> {
    let small = Document { id: "id:a:all:g=u:0".into(), fields: Vec::new() };
    let large = Document { id: "id:a:all:g=u:1".into(), fields: vec![(name.into(), value)] };
    vec![small, large, Document { id: "id:a:all:g=u:2".into(), fields: vec![("int".into(), Value::Int(1))] }]
}

#[test]
fn the_largest_values_come_back() {
    let many = |value: Value| Value::Array(vec![value; 100_000]);
    for (name, value) in [
        ("text", Value::String("word ".repeat(600_000))),
        ("text", Value::String("x".repeat(3 << 20))),
        ("word", Value::String("ab".repeat(40_000))),
        ("short", Value::String("äöüäöü".into())),
        ("huge", dense(CellType::Double, 150_000, || 0.5)),
        ("texts", many(Value::String("a b".into()))),
        ("bytes", many(Value::Byte(-1))),
        ("longs", many(Value::Long(i64::MIN))),
        ("doubles", Value::WeightedSet((0..100_000).map(|key| (Value::Int(key), -key)).collect())),
        ("tags", Value::WeightedSet((0..100_000).map(|key| (Value::String(format!("tag {key}")), key)).collect())),
    ] {
        check(&alone(name, value));
    }
}

#[test]
fn a_value_beyond_a_word_is_cut_where_only_its_beginning_matters() {
    let segment = build(&alone("name", Value::String("é".repeat(40_000))));
    let mut reading = Reading::new(&segment);
    assert_eq!(reading.document(1).field("name"), Some(&Value::String("é".repeat(40_000))));
}

#[test]
fn vectors_of_unusual_numbers_come_back() {
    for unusual in [0.0, -0.0, 1e-40, f64::from(f32::MAX), f64::INFINITY, f64::NEG_INFINITY] {
        let segment = build(&alone("coded", dense(CellType::Float, 40, || unusual)));
        let mut reading = Reading::new(&segment);
        let read = reading.document(1);
        assert_eq!(read.field("coded"), Some(&dense(CellType::Float, 40, || unusual)));
    }
}

#[test]
fn lengths_are_added_up_of_those_that_count() {
    let narrow: Vec<u8> = (0..200).map(|row| (row * 7 % 5) as u8).collect();
    let middle: Vec<u16> = narrow.iter().map(|length| u16::from(*length) * 300).collect();
    let wide: Vec<u32> = middle.iter().map(|length| u32::from(*length) * 70_000).collect();
    let mut ends = vec![3u32];
    narrow.iter().for_each(|length| ends.push(ends[ends.len() - 1] + u32::from(*length)));
    for lengths in [Lengths::Narrow(&narrow), Lengths::Middle(&middle), Lengths::Wide(&wide), Lengths::Ends(&ends)] {
        for bits in [u64::MAX, 0, 1, 1 << 63, 0x5555_aaaa_0f0f_1234] {
            // All of the second 64, whatever there is of the others.
            let bits_from = |row: usize| if row == 64 { u64::MAX } else { bits };
            let counts = |row: &usize| bits_from(row / 64 * 64) >> (row % 64) & 1 == 1;
            let of: Vec<u64> = (0..200).filter(counts).map(|row| u64::from(lengths.length(row))).collect();
            let expected = (of.iter().sum(), of.iter().filter(|length| **length > 0).count() as u64);
            assert_eq!(lengths.sum_of(bits_from), expected, "{bits:x}");
        }
    }
}

#[test]
fn times_are_what_was_given_in_as_few_bytes_as_they_take() {
    let documents = documents(7, 40);
    let start = 1_790_000_000_000_000;
    for (spread, bytes) in [(0, 0), (1, 1), (255, 1), (256, 2), (1 << 23, 3), (1 << 24, 4), (u64::MAX - start, 8)] {
        let mut builder = SegmentBuilder::new("all", &specs());
        let of = |number: usize| if number % 3 == 1 { start + spread } else { start };
        documents.iter().enumerate().for_each(|(number, document)| builder.add(document, of(number)));
        let segment = builder.finish();
        let mut payloads = Payloads::from_segment(&segment);
        for number in 0..documents.len() {
            let read = read_time(&segment.header, number as u32, &mut payloads).expect("a time");
            assert_eq!(read, of(number), "spread {spread}");
        }
        assert_eq!(segment.header.earliest(), start);
        let part = &segment.header.column(&ColumnSpec::times()).expect("times").parts[0];
        assert_eq!(segment.payloads[part.first_block as usize].len(), bytes * documents.len(), "spread {spread}");
    }
}

#[test]
fn sealed_blocks_open_only_in_their_place() {
    let segment = build(&documents(5, 50));
    let (payloads, encoded) = (segment.payloads.clone(), segment.header.encode());
    let (header, blocks) = segment.seal("g:u", 9);
    assert_eq!(open("g:u", 9, brooklet_segment::HEADER_BLOCK, &header).expect("the header"), encoded);
    for (number, block) in blocks.iter().enumerate() {
        let opened = |number: u32| open_block("g:u", 9, number, Block::copy_of(block));
        assert_eq!(opened(number as u32).expect("a block").bytes(), payloads[number]);
        assert!(opened(number as u32 + 1).is_err());
    }
    let mut liveness = Bitmap::all(50);
    liveness.clear(7);
    let stored = brooklet_segment::write_liveness("g:u", 9, &liveness);
    assert_eq!(brooklet_segment::read_liveness("g:u", 9, 50, &stored).expect("liveness"), liveness);
    assert!(brooklet_segment::read_liveness("g:u", 9, 58, &stored).is_err(), "of another number of documents");
    assert!(brooklet_segment::read_liveness("g:v", 9, 50, &stored).is_err(), "of another partition");
}
