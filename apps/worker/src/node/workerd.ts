/** The Worker on this machine, in the runtime that the platform has too: no account and no network. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Miniflare, type SharedOptions, type WorkerOptions } from "miniflare";

/** How to start it. */
export interface WorkerdOptions {
  /** A folder where the objects are kept; without one they are in memory and end with it. */
  readonly persist?: string;
  /** Where it listens on this machine; without one on any port that is free. */
  readonly port?: number;
  /** Variables of the Worker, and of the second. */
  readonly variables?: Readonly<Record<string, string>>;
  /** The name of another Worker before the same objects, in an isolate of its own (`unsafeGetDirectURL` has its address). */
  readonly second?: string;
}

const BUNDLE: string = fileURLToPath(new URL("../../dist/bundle/", import.meta.url));
const CORE = "core_bg.wasm";
const HOST = "127.0.0.1";
/** The name of the Worker that has the objects. */
export const FIRST = "brooklet";
const OBJECTS = { GROUP: "Group", DIRECTORY: "Directory", REGISTRY: "Registry" };
/** As in wrangler.jsonc. */
export const COMPATIBILITY_DATE = "2026-04-01";
/** As in wrangler.jsonc, too. */
export const COMPATIBILITY_FLAGS: readonly string[] = ["enable_request_signal"];

/** A Worker. Others than the first have no objects of their own but those of the first. */
function worker(name: string, variables: Readonly<Record<string, string>>): WorkerOptions {
  const isFirst = name === FIRST;
  const object = (className: string): NonNullable<WorkerOptions["durableObjects"]>[string] =>
    isFirst ? { className, useSQLite: true } : { className, scriptName: FIRST };
  const objects = Object.entries(OBJECTS).map(([binding, className]) => [binding, object(className)]);
  return {
    name,
    modulesRoot: BUNDLE,
    modules: [
      { type: "ESModule", path: `${BUNDLE}worker.js`, contents: readFileSync(`${BUNDLE}worker.js`, "utf8") },
      { type: "CompiledWasm", path: `${BUNDLE}${CORE}`, contents: readFileSync(`${BUNDLE}${CORE}`) },
    ],
    compatibilityDate: COMPATIBILITY_DATE,
    compatibilityFlags: [...COMPATIBILITY_FLAGS],
    bindings: { ...variables },
    durableObjects: Object.fromEntries(objects),
    // An address of its own, on any port that is free: the simulator has a Worker before the first at that of all.
    unsafeDirectSockets: [{ host: HOST, port: 0 }],
  };
}

/** What the runtime is started with. */
export function workerdOptions({ persist, port = 0, second, variables = {} }: WorkerdOptions = {}): SharedOptions & {
  readonly workers: readonly WorkerOptions[];
} {
  return {
    host: HOST,
    port,
    workers: [worker(FIRST, variables), ...(second === undefined ? [] : [worker(second, variables)])],
    ...(persist !== undefined && { durableObjectsPersist: persist }),
  };
}

/** Starts it. It has to be disposed of. */
export function startWorkerd(options: WorkerdOptions = {}): Miniflare {
  const { workers, ...shared } = workerdOptions(options);
  return new Miniflare({ ...shared, workers: [...workers] });
}

/** The address of a Worker, without a slash at its end. */
export async function addressOf(workerd: Miniflare, name?: string): Promise<string> {
  const { origin } = name === undefined ? await workerd.ready : await workerd.unsafeGetDirectURL(name);
  return origin;
}
