/** Runs of ONNX models that a search wants, and what they yield (docs/abi.md, runs of models). */
import { Reader, Writer } from "./frame.ts";

/** An input of a model: elements of one of ONNX's types (TensorProto.DataType), little endian. */
export interface ModelInput {
  readonly name: string;
  readonly element: number;
  readonly sizes: readonly number[];
  readonly bytes: Uint8Array;
}

/** A model and what it is given. */
export interface ModelRun {
  /** By which the core knows it. */
  readonly key: readonly number[];
  /** The model's file in the application package. */
  readonly file: string;
  /** How the schema wants it run: `intraop-threads` and its kin. */
  readonly settings: readonly (readonly [name: string, value: string])[];
  /** Runs of one model with inputs of the same sizes can be one, along the first dimension. */
  readonly isBatched: boolean;
  /** Names of the outputs that are wanted. */
  readonly outputs: readonly string[];
  readonly inputs: readonly ModelInput[];
}

/** An output of a model. */
export interface ModelOutput {
  readonly name: string;
  readonly element: number;
  readonly bytes: Uint8Array;
}

/** What a run yielded. */
export interface ModelResult {
  readonly key: readonly number[];
  readonly outputs: readonly ModelOutput[];
}

/** Runs that a task wants before it goes on. */
export interface RunsWanted {
  /** They are not for the task, but for its query, which has to be searched anew with what they yield. */
  readonly anew: boolean;
  /** The runs (`decodeModelRuns`). */
  readonly runs: Uint8Array;
}

/** Reads the runs that are wanted. */
export function decodeModelRuns(bytes: Uint8Array): readonly ModelRun[] {
  const reader = new Reader(bytes);
  // More than may be is refused before it comes here.
  reader.u8();
  const runs = reader.list(readRun);
  reader.end();
  return runs;
}

function readRun(reader: Reader): ModelRun {
  return {
    key: [reader.u32(), reader.u32(), reader.u32(), reader.u32()],
    file: reader.text(),
    settings: reader.list(() => [reader.text(), reader.text()] as const),
    isBatched: reader.u8() === 1,
    outputs: reader.list(() => reader.text()),
    inputs: reader.list(() => ({
      name: reader.text(),
      element: reader.u8(),
      sizes: reader.list(() => reader.varint()),
      bytes: reader.bytes(),
    })),
  };
}

/** Writes what runs yielded, as the core takes it. */
export function encodeModelResults(results: readonly ModelResult[]): Uint8Array {
  const writer = new Writer().varint(results.length);
  for (const { key, outputs } of results) {
    for (const word of key) writer.u32(word);
    writer.varint(outputs.length);
    for (const { name, element, bytes } of outputs) writer.text(name).u8(element).bytes(bytes);
  }
  return writer.finish();
}
