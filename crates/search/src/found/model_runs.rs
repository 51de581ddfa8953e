//! Runs of ONNX models that a query wants. Models are run by the host: a search notes which outputs it lacks, and waits; the
//! host runs the models and gives it their outputs, with which it does again what lacked them. What ranking made of outputs
//! that it did not have is never shown.
//!
//! A run is known by what goes into it. So it is the same run for all documents that give a model the same, and for a
//! search that is begun anew, which may meet other documents by then and wants what is new.
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use brooklet_document::Tensor;
use brooklet_kernel::{hash128, sort};
use brooklet_rank::ModelOutput;
use brooklet_rank::model_output::cell_type_of;
use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Code, Rejection, limits};

/// A model with one set of inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ModelRun {
    file: String,
    settings: Vec<(String, String)>,
    is_batched: bool,
    outputs: Vec<String>,
    inputs: Vec<RunInput>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct RunInput {
    name: String,
    element: u32,
    sizes: Vec<usize>,
    /// The elements, little endian.
    bytes: Vec<u8>,
}

/// Runs that are wanted, each once, in an order that does not depend on how they were met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WantedRuns {
    runs: BTreeMap<u128, ModelRun>,
    bytes: usize,
    /// More was wanted than may be.
    overflown: bool,
}

impl WantedRuns {
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    fn add(&mut self, key: u128, run: ModelRun) {
        if let Some(known) = self.runs.get_mut(&key) {
            known
                .outputs
                .extend(run.outputs.into_iter().filter(|output| !known.outputs.contains(output)).collect::<Vec<_>>());
            sort(&mut known.outputs);
            return;
        }
        let bytes: usize = run.inputs.iter().map(|input| input.bytes.len()).sum();
        if self.runs.len() >= limits::MODEL_RUNS || self.bytes + bytes > limits::MODEL_RUN_BYTES {
            self.overflown = true;
            return;
        }
        self.bytes += bytes;
        self.runs.insert(key, run);
    }

    /// Adds what another wants.
    pub(crate) fn merge(&mut self, other: WantedRuns) {
        self.overflown |= other.overflown;
        other.runs.into_iter().for_each(|(key, run)| self.add(key, run));
    }

    /// Refuses what is too much for one query.
    pub(crate) fn check(&self) -> Result<(), Rejection> {
        if !self.overflown {
            return Ok(());
        }
        let message = format!(
            "The rank profile runs models more than {} times, or for more than {} bytes of inputs: run them in the \
             global phase, which looks at the best hits only",
            limits::MODEL_RUNS,
            limits::MODEL_RUN_BYTES
        );
        Err(Rejection::new(Code::IllegalQuery, message))
    }

    /// They as the host reads them (docs/abi.md, runs of models).
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        self.write(&mut writer);
        writer.finish()
    }

    /// Writes them as the host reads them (docs/abi.md, runs of models).
    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.u8(u8::from(self.overflown));
        writer.varint(self.runs.len() as u64);
        for (key, run) in &self.runs {
            writer.u64((key >> 64) as u64);
            writer.u64(*key as u64);
            writer.text(&run.file);
            writer.varint(run.settings.len() as u64);
            for (name, value) in &run.settings {
                writer.text(name);
                writer.text(value);
            }
            writer.u8(u8::from(run.is_batched));
            writer.varint(run.outputs.len() as u64);
            run.outputs.iter().for_each(|output| writer.text(output));
            writer.varint(run.inputs.len() as u64);
            for input in &run.inputs {
                writer.text(&input.name);
                writer.u8(input.element as u8);
                writer.varint(input.sizes.len() as u64);
                input.sizes.iter().for_each(|size| writer.varint(*size as u64));
                writer.bytes(&input.bytes);
            }
        }
    }

    /// Reads what [`WantedRuns::write`] wrote.
    pub(crate) fn read(reader: &mut Reader) -> Result<WantedRuns, Rejection> {
        let mut wanted = WantedRuns { overflown: reader.u8()? != 0, ..WantedRuns::default() };
        for _ in 0..reader.count(20)? {
            let key = u128::from(reader.u64()?) << 64 | u128::from(reader.u64()?);
            let file = reader.text()?.to_owned();
            let mut settings = Vec::new();
            for _ in 0..reader.count(2)? {
                settings.push((reader.text()?.to_owned(), reader.text()?.to_owned()));
            }
            let is_batched = reader.u8()? != 0;
            let mut outputs = Vec::new();
            for _ in 0..reader.count(1)? {
                outputs.push(reader.text()?.to_owned());
            }
            let mut inputs = Vec::new();
            for _ in 0..reader.count(4)? {
                let (name, element) = (reader.text()?.to_owned(), u32::from(reader.u8()?));
                let mut sizes = Vec::new();
                for _ in 0..reader.count(1)? {
                    sizes.push(reader.varint()? as usize);
                }
                inputs.push(RunInput { name, element, sizes, bytes: reader.bytes()?.to_vec() });
            }
            wanted.add(key, ModelRun { file, settings, is_batched, outputs, inputs });
        }
        Ok(wanted)
    }
}

/// The outputs of models that a query was given, by run and name.
#[derive(Debug, Default)]
pub(crate) struct GivenOutputs(RefCell<BTreeMap<u128, BTreeMap<String, Rc<OutputTensor>>>>);

/// An output as the host gave it: elements of an ONNX type, little endian.
#[derive(Debug)]
struct OutputTensor {
    element: u32,
    bytes: Vec<u8>,
}

impl GivenOutputs {
    /// Adds what the host gives (docs/abi.md, runs of models).
    ///
    /// # Errors
    /// If it is not in its form.
    pub(crate) fn add(&self, reader: &mut Reader<'_>) -> Result<(), Rejection> {
        let mut all = self.0.borrow_mut();
        for _ in 0..reader.count(17)? {
            let key = u128::from(reader.u64()?) << 64 | u128::from(reader.u64()?);
            let outputs = all.entry(key).or_default();
            for _ in 0..reader.count(3)? {
                let name = reader.text()?.to_owned();
                let given = OutputTensor { element: u32::from(reader.u8()?), bytes: reader.bytes()?.to_vec() };
                outputs.insert(name, Rc::new(given));
            }
        }
        Ok(())
    }

    fn get(&self, key: u128, output: &str) -> Option<Rc<OutputTensor>> {
        self.0.borrow().get(&key)?.get(output).cloned()
    }
}

/// Reads outputs of models as the host gives them, for the fuzzer: the answer does not matter.
#[doc(hidden)]
pub fn read_outputs(bytes: &[u8]) -> bool {
    GivenOutputs::default().add(&mut Reader::new(bytes)).is_ok() | WantedRuns::read(&mut Reader::new(bytes)).is_ok()
}

/// What ranking knows of outputs of models, and what it lacks.
#[derive(Debug)]
pub(crate) struct Models {
    given: Rc<GivenOutputs>,
    wanted: WantedRuns,
    /// How often an output was asked for that is not given.
    pub(crate) unknown: usize,
    /// An output that is not what the model promised.
    failure: Option<Rejection>,
    /// Outputs made of what was given, by run and name.
    made: BTreeMap<(u128, String), Rc<Tensor>>,
}

impl Models {
    pub(crate) fn new(given: &Rc<GivenOutputs>) -> Models {
        Models { given: given.clone(), wanted: WantedRuns::default(), unknown: 0, failure: None, made: BTreeMap::new() }
    }

    /// An output for these inputs; if it is not given, it is wanted from now on, and this is a tensor of zeros.
    pub(crate) fn output(&mut self, output: &ModelOutput, inputs: &[Rc<Tensor>]) -> Rc<Tensor> {
        let run = run_of(output, inputs);
        let key = key_of(&run);
        let place = (key, output.output.clone());
        if let Some(made) = self.made.get(&place) {
            return made.clone();
        }
        let Some(given) = self.given.get(key, &output.output) else {
            self.unknown += 1;
            self.wanted.add(key, run);
            return Rc::new(Tensor::empty(output.result.clone()));
        };
        let made = tensor_of(output, &given).unwrap_or_else(|rejection| {
            self.failure.get_or_insert(rejection);
            Tensor::empty(output.result.clone())
        });
        let made = Rc::new(made);
        self.made.insert(place, made.clone());
        made
    }

    /// The runs that are wanted, which are forgotten here.
    ///
    /// # Errors
    /// If an output was not what the model promised.
    pub(crate) fn take_wanted(&mut self) -> Result<WantedRuns, Rejection> {
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(std::mem::take(&mut self.wanted)),
        }
    }
}

fn run_of(output: &ModelOutput, inputs: &[Rc<Tensor>]) -> ModelRun {
    let inputs = output.inputs.iter().zip(inputs).map(|(input, given)| RunInput {
        name: input.name.clone(),
        element: input.element,
        sizes: input.sizes.clone(),
        bytes: elements(input.element, &given.cells),
    });
    ModelRun {
        file: output.file.clone(),
        settings: output.settings.clone(),
        is_batched: output.is_batched,
        outputs: vec![output.output.clone()],
        inputs: inputs.collect(),
    }
}

/// What makes a run this one: everything but which outputs are wanted of it.
fn key_of(run: &ModelRun) -> u128 {
    let mut writer = Writer::new();
    writer.text(&run.file);
    for (name, value) in &run.settings {
        writer.text(name);
        writer.text(value);
    }
    for input in &run.inputs {
        writer.text(&input.name);
        writer.u8(input.element as u8);
        input.sizes.iter().for_each(|size| writer.varint(*size as u64));
        writer.bytes(&input.bytes);
    }
    hash128(0, &writer.finish())
}

/// Cells as elements of an ONNX type (TensorProto.DataType), little endian.
fn elements(element: u32, cells: &[f64]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(cells.len() * 8);
    for cell in cells {
        match element {
            1 => bytes.extend((*cell as f32).to_le_bytes()),
            2 => bytes.push(*cell as u8),
            3 => bytes.push(*cell as i8 as u8),
            4 => bytes.extend((*cell as u16).to_le_bytes()),
            5 => bytes.extend((*cell as i16).to_le_bytes()),
            6 => bytes.extend((*cell as i32).to_le_bytes()),
            7 => bytes.extend((*cell as i64).to_le_bytes()),
            9 => bytes.push(u8::from(*cell != 0.0)),
            12 => bytes.extend((*cell as u32).to_le_bytes()),
            13 => bytes.extend((*cell as u64).to_le_bytes()),
            _ => bytes.extend(cell.to_le_bytes()),
        }
    }
    bytes
}

/// Elements of an ONNX type as cells; nothing if they are cut short or of a type that is not supported.
fn cells(element: u32, bytes: &[u8]) -> Option<Vec<f64>> {
    fn each<const SIZE: usize>(bytes: &[u8], cell: impl Fn([u8; SIZE]) -> f64) -> Option<Vec<f64>> {
        let chunks = bytes.chunks_exact(SIZE);
        chunks.remainder().is_empty().then(|| chunks.filter_map(|chunk| chunk.try_into().ok()).map(cell).collect())
    }
    match element {
        1 => each(bytes, |of| f64::from(f32::from_le_bytes(of))),
        2 | 9 => each(bytes, |[byte]| f64::from(byte)),
        3 => each(bytes, |[byte]| f64::from(byte as i8)),
        4 => each(bytes, |of| f64::from(u16::from_le_bytes(of))),
        5 => each(bytes, |of| f64::from(i16::from_le_bytes(of))),
        6 => each(bytes, |of| f64::from(i32::from_le_bytes(of))),
        7 => each(bytes, |of| i64::from_le_bytes(of) as f64),
        11 => each(bytes, f64::from_le_bytes),
        12 => each(bytes, |of| f64::from(u32::from_le_bytes(of))),
        13 => each(bytes, |of| u64::from_le_bytes(of) as f64),
        _ => None,
    }
}

/// A given output as a tensor of the type that was promised.
#[inline(never)]
fn tensor_of(output: &ModelOutput, given: &OutputTensor) -> Result<Tensor, Rejection> {
    let fail = |why: String| {
        let (name, file) = (Rejection::quote(&output.output), Rejection::quote(&output.file));
        Err(Rejection::new(Code::Internal, format!("MODEL_OUTPUT: the output '{name}' of the model {file} {why}")))
    };
    let Some(cells) = cells(given.element, &given.bytes).filter(|_| cell_type_of(given.element).is_some()) else {
        return fail("is of a type that is not supported".to_owned());
    };
    let size = output.result.dense_size();
    if cells.len() != size {
        return fail(format!("has {} values, where its type has {size}", cells.len()));
    }
    if cells.iter().any(|cell| cell.is_nan()) {
        return fail("is not a number".to_owned());
    }
    let cells = cells.into_iter().map(|cell| output.result.cell.round(cell)).collect();
    Ok(Tensor { tensor_type: Arc::clone(&output.result), addresses: vec![Vec::new()], cells })
}
