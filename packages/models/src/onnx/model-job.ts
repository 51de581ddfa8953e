/**
 * A run of an ONNX model with tensors as they come from the core: elements of ONNX's types, little endian. Several runs of
 * one shape are one run of the runtime, where the model has a dimension for that.
 */
import { ServiceError } from "@brooklet/wire";
import { type InferenceSession, Tensor } from "onnxruntime-node";
import type { SessionThreads } from "./recipe.ts";
import { openSession } from "./session.ts";

/** An input. */
export interface TensorInput {
  readonly name: string;
  /** ONNX's number of the element type (TensorProto.DataType). */
  readonly element: number;
  readonly sizes: readonly number[];
  readonly bytes: Uint8Array;
}

/** An output. */
export interface TensorOutput {
  readonly name: string;
  readonly element: number;
  readonly bytes: Uint8Array;
}

/** One run. */
export interface ModelJob {
  /** Whether the first dimension of all inputs and outputs is a batch. */
  readonly isBatched: boolean;
  readonly outputs: readonly string[];
  readonly inputs: readonly TensorInput[];
}

type Elements =
  | Float32Array
  | Float64Array
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array;

interface ElementType {
  readonly number: number;
  readonly name: Tensor.Type;
  readonly array: (buffer: ArrayBuffer) => Elements;
}

const TYPES: readonly ElementType[] = [
  { number: 1, name: "float32", array: (buffer) => new Float32Array(buffer) },
  { number: 2, name: "uint8", array: (buffer) => new Uint8Array(buffer) },
  { number: 3, name: "int8", array: (buffer) => new Int8Array(buffer) },
  { number: 4, name: "uint16", array: (buffer) => new Uint16Array(buffer) },
  { number: 5, name: "int16", array: (buffer) => new Int16Array(buffer) },
  { number: 6, name: "int32", array: (buffer) => new Int32Array(buffer) },
  { number: 7, name: "int64", array: (buffer) => new BigInt64Array(buffer) },
  { number: 9, name: "bool", array: (buffer) => new Uint8Array(buffer) },
  { number: 11, name: "float64", array: (buffer) => new Float64Array(buffer) },
  { number: 12, name: "uint32", array: (buffer) => new Uint32Array(buffer) },
  { number: 13, name: "uint64", array: (buffer) => new BigUint64Array(buffer) },
];

/** A model in its session. */
export class Model {
  readonly #session: InferenceSession;

  private constructor(session: InferenceSession) {
    this.#session = session;
  }

  static async open(path: string, threads: SessionThreads): Promise<Model> {
    return new Model(await openSession(path, threads));
  }

  /** The outputs of each job, in order. */
  async run(jobs: readonly ModelJob[]): Promise<readonly (readonly TensorOutput[])[]> {
    const results: (readonly TensorOutput[])[] = [];
    for (const places of alike(jobs)) {
      const together = places.map((place) => jobs[place]).filter((job) => job !== undefined);
      const outputs = await this.#together(together);
      places.forEach((place, index) => {
        results[place] = outputs[index] ?? [];
      });
    }
    return results;
  }

  async close(): Promise<void> {
    await this.#session.release();
  }

  /** Jobs of the same shape as one run. */
  async #together(jobs: readonly ModelJob[]): Promise<readonly (readonly TensorOutput[])[]> {
    const [first] = jobs;
    if (first === undefined) return [];
    const feeds: Record<string, Tensor> = {};
    first.inputs.forEach((input, index) => {
      feeds[input.name] = tensorOf(
        input,
        jobs.map((job) => job.inputs[index]?.bytes ?? new Uint8Array()),
      );
    });
    const found = await this.#session.run(feeds, first.outputs);
    const outputs = first.outputs.map((name) => [name, found[name]] as const);
    return jobs.map((_, index) =>
      outputs.map(([name, tensor]) => {
        if (tensor === undefined) throw new ServiceError("INTERNAL", `The model has no output '${name}'`);
        return outputOf(name, tensor, index, jobs.length);
      }),
    );
  }
}

/** Places of jobs that can be one run: batched ones with the same outputs and the same shapes. */
function alike(jobs: readonly ModelJob[]): readonly (readonly number[])[] {
  const groups = new Map<string, number[]>();
  jobs.forEach((job, place) => {
    const shape = job.inputs.map(({ name, element, sizes }) => [name, element, sizes]);
    const name = job.isBatched ? JSON.stringify([job.outputs, shape]) : String(place);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [place]);
    else group.push(place);
  });
  return [...groups.values()];
}

/** The inputs of several jobs, one after another along the first dimension. */
function tensorOf(input: TensorInput, all: readonly Uint8Array[]): Tensor {
  const type = TYPES.find(({ number }) => number === input.element);
  if (type === undefined) throw new ServiceError("INTERNAL", `Elements of the type ${input.element} are not supported`);
  const joined = new Uint8Array(all.reduce((sum, bytes) => sum + bytes.length, 0));
  let at = 0;
  for (const bytes of all) {
    joined.set(bytes, at);
    at += bytes.length;
  }
  const sizes = all.length === 1 ? input.sizes : [all.length, ...input.sizes.slice(1)];
  return new Tensor(type.name as "float32", type.array(joined.buffer) as Float32Array, sizes);
}

/** The share of one job of `count` in an output, copied: the tensor's memory is the runtime's. */
function outputOf(name: string, tensor: Tensor, index: number, count: number): TensorOutput {
  const type = TYPES.find((known) => known.name === tensor.type);
  if (type === undefined) {
    throw new ServiceError("INTERNAL", `The output '${name}' has elements of the type ${tensor.type}`);
  }
  if (count > 1 && tensor.dims[0] !== count) {
    throw new ServiceError("INTERNAL", `The output '${name}' of ${count} runs has the shape ${tensor.dims.join("×")}`);
  }
  const data = tensor.data as Elements;
  const share = data.byteLength / count;
  const bytes = new Uint8Array(data.buffer, data.byteOffset + index * share, share).slice();
  return { name, element: type.number, bytes };
}
