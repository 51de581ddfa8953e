/**
 * The gateways over one store that are there at the moment, and which of them is to write a bucket: so that writes of one bucket meet in
 * one process, whichever they were sent to. Nothing rests on it but speed: who is thought to be there and is not costs an attempt, and
 * two that think otherwise of a bucket take it from each other.
 */
import { type Load, ServiceError } from "@brooklet/core";
import type { LoadOutcome, OperationRequest, Outcome, PartitionKey, PartitionWriter } from "@brooklet/partition";
import type { ObjectFiles } from "./object-store.ts";
import type { Again } from "./store-records.ts";

/** What one gateway asks another to do. */
export type PeerCall =
  | {
      readonly kind: "apply";
      readonly key: PartitionKey;
      readonly request: OperationRequest;
      readonly timeoutMs: number;
    }
  | { readonly kind: "load"; readonly key: PartitionKey; readonly load: Load; readonly timeoutMs: number };

/** What came of a call. */
export type PeerReply = Outcome | readonly LoadOutcome[];

/** How gateways reach each other. */
export interface PeerPort {
  /** Where others reach this one. */
  readonly address: string;
  /** Asks another, and gives its reply. Nothing: it was not reached, and did nothing. Throws: it may have done it. */
  call(address: string, call: PeerCall): Promise<PeerReply | undefined>;
}

/** What is known of the gateways. */
export interface PeersOptions {
  readonly files: ObjectFiles;
  /** The name of this one, which no other has. */
  readonly name: string;
  readonly port: PeerPort;
  readonly again: Again;
  readonly now: () => number;
}

const PREFIX = "gateway/";
/** One that has not said for so long that it is there is not asked. */
const SILENT_MS = 15_000;
/** And after so long its file is removed. */
const GONE_MS = 120_000;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

interface Peer {
  readonly address: string;
  readonly said: string;
  readonly seenMs: number;
}

/** The gateways over one store. */
export class Peers {
  readonly #options: PeersOptions;
  readonly #others = new Map<string, Peer>();
  #count = 0;

  constructor(options: PeersOptions) {
    this.#options = options;
  }

  /** Says that this one is there, and hears who else is. */
  async look(): Promise<void> {
    const { files, name, port, again, now } = this.#options;
    this.#count += 1;
    const said = encoder.encode(`${this.#count} ${port.address}`);
    await again(() => files.put(`${PREFIX}${name}`, said));
    const names = await again(() => files.names(PREFIX));
    const others = names.map((path) => path.slice(PREFIX.length)).filter((other) => other !== name);
    for (const other of this.#others.keys()) if (!others.includes(other)) this.#others.delete(other);
    for (const other of others) await this.#hear(other, now());
  }

  async #hear(other: string, nowMs: number): Promise<void> {
    const { files, again } = this.#options;
    const bytes = await again(() => files.read(`${PREFIX}${other}`));
    if (bytes === undefined) return;
    const said = decoder.decode(bytes);
    const known = this.#others.get(other);
    if (known?.said !== said)
      this.#others.set(other, { address: said.slice(said.indexOf(" ") + 1), said, seenMs: nowMs });
    else if (nowMs - known.seenMs > GONE_MS) await again(() => files.remove(`${PREFIX}${other}`));
  }

  /** Says that this one is not there any more. */
  async leave(): Promise<void> {
    const { files, name, again } = this.#options;
    await again(() => files.remove(`${PREFIX}${name}`));
  }

  /** Who is to write a bucket; nothing: this one. */
  writerOf(bucket: number): ((key: PartitionKey) => PartitionWriter) | undefined {
    const { name, port, now } = this.#options;
    let [best, address] = [weightOf(bucket, name), ""];
    for (const [other, peer] of this.#others) {
      if (now() - peer.seenMs > SILENT_MS) continue;
      const weight = weightOf(bucket, other);
      if (weight <= best) continue;
      [best, address] = [weight, peer.address];
    }
    if (address === "") return undefined;
    const ask = async (call: PeerCall): Promise<PeerReply | undefined> => {
      const reply = await port.call(address, call).catch((cause: unknown) => {
        const message = "Another gateway was asked to write, and did not answer";
        throw new ServiceError({ code: "UNAVAILABLE", status: 503, number: 10, message, outcome: "unknown", cause });
      });
      // It is not there: until it says so again, others are asked.
      if (reply === undefined) this.#forget(address);
      return reply;
    };
    return (key) => ({
      apply: async (request, timeoutMs) =>
        (await ask({ kind: "apply", key, request, timeoutMs })) as Outcome | undefined,
      load: async (load, timeoutMs) =>
        (await ask({ kind: "load", key, load, timeoutMs })) as readonly LoadOutcome[] | undefined,
    });
  }

  #forget(address: string): void {
    for (const [other, peer] of this.#others)
      if (peer.address === address) this.#others.set(other, { ...peer, seenMs: Number.NEGATIVE_INFINITY });
  }
}

/** Rendezvous hashing: each gateway has a weight for each bucket, and the heaviest has it. FNV-1a, mixed. */
function weightOf(bucket: number, name: string): number {
  let hash = 0x811c9dc5;
  for (const byte of encoder.encode(`${bucket} ${name}`)) hash = Math.imul(hash ^ byte, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
