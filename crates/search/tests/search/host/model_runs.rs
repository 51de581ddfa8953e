//! The models of a search: the runs that it wants, and what they yield, in the form of docs/abi.md.
use std::cell::RefCell;
use std::collections::BTreeMap;

use brooklet_task::bytes::{Reader, Writer};

use super::{Answer, Models};

/// ONNX's numbers of element types.
pub const FLOAT: u8 = 1;
const INT64: u8 = 7;
const DOUBLE: u8 = 11;

/// More rounds than this are none that end.
const ROUNDS_MAX: usize = 8;

/// A run that was wanted: file, outputs, inputs by name, and its key.
pub struct Wanted {
    key: (u64, u64),
    pub file: String,
    /// How many settings the model has.
    pub settings: usize,
    pub is_batched: bool,
    pub outputs: Vec<String>,
    pub inputs: BTreeMap<String, Vec<f64>>,
}

/// What an output of a run is: the number of its element type, and its elements.
pub type Output = (u8, Vec<f64>);

/// A search that has its models run.
pub type Search<'a> = &'a dyn Fn(Models<'_>) -> Answer;

/// The answer of a search, and the runs of each round.
pub fn ask(search: Search<'_>, of: &dyn Fn(&Wanted, &str) -> Output) -> (Answer, Vec<Vec<Wanted>>) {
    let rounds: RefCell<Vec<Vec<Wanted>>> = RefCell::default();
    let answer = search(&|runs| {
        let (wanted, outputs) = run(runs, of);
        rounds.borrow_mut().push(wanted);
        assert!(rounds.borrow().len() <= ROUNDS_MAX, "it never ends");
        outputs
    });
    (answer, rounds.into_inner())
}

/// The runs that are wanted, and what they yield.
pub fn run(runs: &[u8], of: &dyn Fn(&Wanted, &str) -> Output) -> (Vec<Wanted>, Vec<u8>) {
    let wanted = wanted(runs);
    let outputs = written(&wanted, of);
    (wanted, outputs)
}

fn wanted(bytes: &[u8]) -> Vec<Wanted> {
    let mut reader = Reader::new(bytes);
    assert_eq!(reader.u8().unwrap(), 0);
    let mut all = Vec::new();
    for _ in 0..reader.varint().unwrap() {
        let key = (reader.u64().unwrap(), reader.u64().unwrap());
        let file = reader.text().unwrap().to_owned();
        let settings = reader.varint().unwrap() as usize;
        (0..settings * 2).for_each(|_| assert!(!reader.text().unwrap().is_empty()));
        let is_batched = reader.u8().unwrap() == 1;
        let outputs = (0..reader.varint().unwrap()).map(|_| reader.text().unwrap().to_owned()).collect();
        let mut inputs = BTreeMap::new();
        for _ in 0..reader.varint().unwrap() {
            let (name, element) = (reader.text().unwrap().to_owned(), reader.u8().unwrap());
            let cells: u64 = (0..reader.varint().unwrap()).map(|_| reader.varint().unwrap()).product();
            let values = elements(element, reader.bytes().unwrap());
            assert_eq!(values.len() as u64, cells);
            inputs.insert(name, values);
        }
        all.push(Wanted { key, file, settings, is_batched, outputs, inputs });
    }
    reader.end().unwrap();
    all
}

fn elements(element: u8, bytes: &[u8]) -> Vec<f64> {
    match element {
        FLOAT => bytes.chunks(4).map(|of| f64::from(f32::from_le_bytes(of.try_into().unwrap()))).collect(),
        INT64 => bytes.chunks(8).map(|of| i64::from_le_bytes(of.try_into().unwrap()) as f64).collect(),
        DOUBLE => bytes.chunks(8).map(|of| f64::from_le_bytes(of.try_into().unwrap())).collect(),
        other => panic!("no test has inputs of the type {other}"),
    }
}

fn written(runs: &[Wanted], of: &dyn Fn(&Wanted, &str) -> Output) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.varint(runs.len() as u64);
    for run in runs {
        writer.u64(run.key.0);
        writer.u64(run.key.1);
        writer.varint(run.outputs.len() as u64);
        for name in &run.outputs {
            let (element, values) = of(run, name);
            let bytes: Vec<u8> = match element {
                FLOAT => values.iter().flat_map(|value| (*value as f32).to_le_bytes()).collect(),
                INT64 => values.iter().flat_map(|value| (*value as i64).to_le_bytes()).collect(),
                _ => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            };
            writer.text(name);
            writer.u8(element);
            writer.bytes(&bytes);
        }
    }
    writer.finish()
}
