/**
 * One instance of the module. After a trap nothing of it can be trusted: it is marked dead, and every task that still
 * belongs to it fails instead of calling into it.
 */
import { internalError, rejection, type ServiceError } from "./service-error.ts";

/** A task as the module exports it (docs/abi.md). */
export interface RawTask {
  wants(): Uint8Array | undefined;
  buffer(length: number): number;
  give(): void;
  elapsed(milliseconds: number): void;
  finish(): Uint8Array;
  finish_in_pieces(): number;
  next_piece(): number;
  piece_length(): number;
  free(): void;
}

/** A query as the module exports it. */
export interface RawQuery {
  description(): Uint8Array;
  refusal(): Uint8Array | undefined;
  timeout(): number;
  parameter(name: string): string | undefined;
  give_embeddings(embeddings: Uint8Array): void;
  give_outputs(outputs: Uint8Array): void;
  open(kind: number, request: Uint8Array): RawTask;
  free(): void;
}

/** The core as the module exports it. */
export interface RawCore {
  deploy(applicationPackage: Uint8Array): string;
  models(applicationPackage: Uint8Array): string;
  application(): string;
  history(): Uint8Array;
  open(kind: number, request: Uint8Array, input?: Uint8Array): RawTask;
  query(request: Uint8Array): RawQuery;
  isSealed(key: string, segment: number, block: number, stored: Uint8Array): boolean;
  statistics(): string;
}

/** What `instantiate` of the built module returns. */
export interface RawInstance {
  readonly Core: new (cacheBytes: number, sealKey: Uint8Array, segmentBytes: number) => RawCore;
  readonly memory: { readonly buffer: ArrayBufferLike };
}

interface InstanceOptions {
  readonly cacheBytes: number;
  readonly sealKey: Uint8Array;
  /** 0: as large as the limits let them be. */
  readonly segmentBytes: number;
}

/** A live or dead instance, and the only way to call it. */
export class Instance {
  readonly core: RawCore;
  readonly #memory: RawInstance["memory"];
  readonly #onTrap: (error: ServiceError) => void;
  #dead: ServiceError | undefined;

  constructor(
    raw: RawInstance,
    { cacheBytes, sealKey, segmentBytes }: InstanceOptions,
    onTrap: (error: ServiceError) => void,
  ) {
    this.core = new raw.Core(cacheBytes, sealKey, segmentBytes);
    this.#memory = raw.memory;
    this.#onTrap = onTrap;
  }

  get dead(): boolean {
    return this.#dead !== undefined;
  }

  /** Bytes the instance has taken; it never gives any back. */
  get memoryBytes(): number {
    return this.#memory.buffer.byteLength;
  }

  /**
   * Calls into the module. Rejections become errors for the caller; anything else ends the instance. What every search calls is a
   * function that stays, and is given what it works on: the code of closures that are made for one call is thrown away where the
   * collector runs often (docs/decisions/0187), and they are interpreted for good.
   */
  call<Result>(work: () => Result): Result;
  call<On, Given, Result>(work: (on: On, given: Given) => Result, on: On, given: Given): Result;
  call<On, Given, Result>(work: (on: On, given: Given) => Result, on?: On, given?: Given): Result {
    if (this.#dead !== undefined) throw internalError(this.#dead);
    try {
      return work(on as On, given as Given);
    } catch (thrown) {
      const refused = rejection(thrown);
      if (refused !== undefined) throw refused;
      this.#dead = internalError(thrown);
      this.#onTrap(this.#dead);
      throw this.#dead;
    }
  }

  /** Copies `bytes` to `pointer`. The view is made afresh: memory that grew has another buffer. */
  write(pointer: number, bytes: Uint8Array): void {
    new Uint8Array(this.#memory.buffer, pointer, bytes.length).set(bytes);
  }

  /** The memory at `pointer`, until something is called: memory that grew has another buffer. */
  room(pointer: number, length: number): Uint8Array {
    return new Uint8Array(this.#memory.buffer, pointer, length);
  }

  /** Fills `bytes` with what stands at `pointer`. */
  read(pointer: number, bytes: Uint8Array): void {
    bytes.set(new Uint8Array(this.#memory.buffer, pointer, bytes.length));
  }
}
