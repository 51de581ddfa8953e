/**
 * The objects of a Worker in the runtime, called by a test through a Worker of its own that stands beside it. The stubs that miniflare gives to
 * this process are asked by a thread while this one waits, and on a busy machine a notice that is late ends the next wait too early: from
 * then on every answer is that of the call before.
 */
import http from "node:http";
import { Miniflare, type MiniflareOptions, type WorkerOptions } from "miniflare";
import {
  COMPATIBILITY_DATE,
  COMPATIBILITY_FLAGS,
  FIRST,
  type WorkerdOptions,
  workerdOptions,
} from "../src/node/workerd.ts";

const DOOR = "objects";
const HOST = "127.0.0.1";
const SCRIPT = `export default {
  async fetch(request, env) {
    const { binding, name, isNameless, verb, values } = await request.json();
    const objects = env[binding];
    const named = objects.idFromName(name);
    const id = isNameless ? objects.idFromString(String(named)) : named;
    try {
      const result = await objects.get(id)[verb](...values);
      return Response.json(result instanceof Uint8Array ? { bytes: [...result] } : { result });
    } catch (error) {
      return Response.json({ failure: String(error) });
    }
  },
};`;

/** What is told of a call. */
interface Told {
  readonly result?: unknown;
  readonly bytes?: readonly number[];
  readonly failure?: string;
}

/** A Worker that hands calls to the objects of another one. */
function door(bindings: readonly string[], classOf: (binding: string) => string, scriptName: string): WorkerOptions {
  const objects = bindings.map((binding) => [binding, { className: classOf(binding), scriptName }]);
  return {
    name: DOOR,
    modules: true,
    script: SCRIPT,
    compatibilityDate: COMPATIBILITY_DATE,
    durableObjects: Object.fromEntries(objects),
    unsafeDirectSockets: [{ host: HOST, port: 0 }],
  };
}

const classOf = (binding: string): string => `${binding.charAt(0)}${binding.slice(1).toLowerCase()}`;

/** Starts the Worker as `startWorkerd` does, with objects that a test can call. It has to be disposed of. */
export function startTested(options: WorkerdOptions = {}): Miniflare {
  const { workers, ...others } = workerdOptions(options);
  return new Miniflare({ ...others, workers: [...workers, door(["GROUP", "DIRECTORY", "REGISTRY"], classOf, FIRST)] });
}

/** Starts a Worker of a test with objects that are named by their bindings. It has to be disposed of. */
export function startModules(modules: WorkerOptions, bindings: readonly string[]): Miniflare {
  const objects = bindings.map((binding) => [binding, { className: classOf(binding), useSQLite: true }]);
  const durableObjects = Object.fromEntries(objects);
  const unsafeDirectSockets = [{ host: HOST, port: 0 }];
  const compatibilityFlags = [...COMPATIBILITY_FLAGS];
  const first: WorkerOptions = { name: FIRST, ...modules, compatibilityFlags, durableObjects, unsafeDirectSockets };
  const options: MiniflareOptions = { host: HOST, workers: [first, door(bindings, classOf, FIRST)] };
  return new Miniflare(options);
}

/** Starts a Worker of a test twice, each in an isolate of its own, before the same objects. It has to be disposed of. */
export function startBoth(modules: WorkerOptions, options: WorkerdOptions & { readonly second: string }): Miniflare {
  const { workers, ...others } = workerdOptions(options);
  const both = workers.map((one: WorkerOptions) => ({ ...one, ...modules }) as WorkerOptions);
  return new Miniflare({ ...others, workers: [...both, door(["GROUP", "DIRECTORY", "REGISTRY"], classOf, FIRST)] });
}

/** The object of a binding that has a name, which it may not be told. What it answers with is what JSON has, or bytes. */
export function objectOf<Calls extends object>(
  workerd: Miniflare,
  binding: string,
  name: string,
  isNameless = false,
): Calls {
  const call = async (verb: string, values: readonly unknown[]): Promise<unknown> => {
    const url = await workerd.unsafeGetDirectURL(DOOR);
    const { result, bytes, failure } = await told(url, JSON.stringify({ binding, name, isNameless, verb, values }));
    if (failure !== undefined) throw new Error(failure);
    return bytes === undefined ? result : Uint8Array.from(bytes);
  };
  return new Proxy({} as Calls, {
    get: (_, verb) =>
      verb === "then" || typeof verb === "symbol" ? undefined : (...values: unknown[]) => call(verb, values),
  });
}

/** Asks on a connection of its own: the runtime ends those that rest, and may do so when they are used again. */
function told(url: URL, body: string): Promise<Told> {
  return new Promise((resolve, reject) => {
    const asked = http.request(url, { method: "POST", agent: false }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      resolve(JSON.parse(Buffer.concat(chunks).toString()) as Told);
    });
    asked.on("error", reject);
    asked.end(body);
  });
}
