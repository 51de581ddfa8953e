/**
 * A platform of objects in this process: each has a database of its own, and an alarm that the test rings. What is said between
 * them is cloned, as the platform does it.
 */
import { DirectoryStore, durableObject, type ObjectSqlStorage, RegistryStore } from "@brooklet/store";
import Database from "better-sqlite3";
import type { DeployableEngine } from "../src/bucket-host.ts";
import type { PartitionKey } from "../src/cluster.ts";
import { nodeSurroundings } from "../src/node/surroundings.ts";
import { GroupObject } from "../src/objects/group-object.ts";
import { Isolate } from "../src/objects/isolate.ts";
import type { ObjectPort } from "../src/objects/object-calls.ts";
import { directoryOf, ObjectCluster } from "../src/objects/object-cluster.ts";

const DIRECTORIES = 3;

/** An object's storage, the rows that were written to it, and its alarm. */
interface Machine {
  storage: ObjectSqlStorage;
  readonly billed: { read: number; written: number };
  alarmMs: number | undefined;
  group: GroupObject | undefined;
}

/** An isolate of a platform. */
export function makeIsolate(makeEngine: (sealKey: Uint8Array) => DeployableEngine): Isolate {
  return new Isolate({ makeEngine, sealKeyOf: async (secret) => secret.subarray(0, 16) });
}

/** A platform with a cluster on it. */
export class Platform {
  readonly #makeEngine: () => DeployableEngine;
  readonly #groups = new Map<string, Machine>();
  readonly #directories = Array.from({ length: DIRECTORIES }, () => new DirectoryStore(durableObject(newStorage())));
  readonly #registry = new RegistryStore(durableObject(newStorage()));
  readonly problems: unknown[] = [];
  /** All objects of this process. */
  isolate: Isolate;

  constructor(makeEngine: () => DeployableEngine) {
    this.#makeEngine = makeEngine;
    this.isolate = makeIsolate(makeEngine);
  }

  /** A gateway, of this isolate or of one of its own. */
  open(isolate: Isolate = this.isolate): Promise<ObjectCluster> {
    return ObjectCluster.open({
      port: this.#port(),
      isolate,
      directories: DIRECTORIES,
      makeEngine: this.#makeEngine,
      onProblem: (problem) => this.problems.push(problem),
    });
  }

  /** Rings the alarm of a group as if its time had come. Whether it was set. */
  async ring(key: PartitionKey): Promise<boolean> {
    const machine = this.#machine(key);
    if (machine.alarmMs === undefined) return false;
    machine.alarmMs = undefined;
    await this.#group(key).ring();
    return true;
  }

  /** Folds and settles a group, as its alarm does when nothing was written for a while. */
  rest(key: PartitionKey): Promise<void> {
    return this.#group(key).rest();
  }

  /** When the alarm of a group rings. */
  alarmOf(key: PartitionKey): number | undefined {
    return this.#machine(key).alarmMs;
  }

  /** Rows of a group that were read and written since this was asked the last time. */
  billOf(key: PartitionKey): { readonly read: number; readonly written: number } {
    const { billed } = this.#machine(key);
    const bill = { ...billed };
    [billed.read, billed.written] = [0, 0];
    return bill;
  }

  /** Puts an object out of memory, as a platform does when it rests or is moved: another isolate may have it next. */
  evict(key: PartitionKey): void {
    this.#machine(key).group = undefined;
  }

  #machine(key: string): Machine {
    let machine = this.#groups.get(key);
    if (machine === undefined) {
      machine = { storage: newStorage(), billed: { read: 0, written: 0 }, alarmMs: undefined, group: undefined };
      this.#groups.set(key, machine);
    }
    return machine;
  }

  #group(name: string): GroupObject {
    const key = name as PartitionKey;
    const machine = this.#machine(key);
    machine.group ??= new GroupObject({
      key,
      isolate: this.isolate,
      connection: durableObject(
        {
          sql: { exec: (...asked) => machine.storage.sql.exec(...asked) },
          transactionSync: (work) => machine.storage.transactionSync(work),
        },
        machine.billed,
      ),
      removeAll: async () => {
        machine.storage = newStorage();
      },
      alarm: {
        get: async () => machine.alarmMs,
        set: async (atMs) => {
          machine.alarmMs = atMs;
          machine.billed.written += 1;
        },
        clear: async () => {
          machine.alarmMs = undefined;
        },
      },
      port: this.#port(),
      directory: directoryOf(key, DIRECTORIES),
      surroundings: { ...nodeSurroundings, schedule: (work) => queueMicrotask(work), every: () => () => undefined },
      onProblem: (problem) => this.problems.push(problem),
    });
    return machine.group;
  }

  #port(): ObjectPort {
    return {
      group: (key) => remote(() => this.#group(key)),
      directory: (number) => remote(() => ({ ...callsOf(this.#directories[number] ?? fail(number)) })),
      registry: () =>
        remote(() => ({
          secret: async () => this.#registry.secret(),
          application: async () => this.#registry.application(),
          store: async (...asked: Parameters<RegistryStore["store"]>) => this.#registry.store(...asked),
          addSession: async (...asked: Parameters<RegistryStore["addSession"]>) => this.#registry.addSession(...asked),
          session: async (session: number) => this.#registry.session(session),
        })),
    };
  }
}

function callsOf(store: DirectoryStore) {
  return {
    add: async (key: string) => store.add(key),
    remove: async (key: string) => store.remove(key),
    from: async (number: number, limit: number) => store.from(number, limit),
  };
}

function fail(number: number): never {
  throw new Error(`there is no directory ${number}`);
}

/** An object elsewhere: what goes there and comes back is a copy, and each call is an event of its own. */
function remote<Calls extends object>(object: () => Calls): Calls {
  const call =
    (_: unknown, name: string) =>
    async (...asked: unknown[]) => {
      const copies = structuredClone(asked);
      await new Promise((resolve) => setImmediate(resolve));
      const target = object() as Record<string, (...given: unknown[]) => unknown>;
      return structuredClone(await target[name]?.(...copies));
    };
  return new Proxy({}, { get: call as (target: object, name: string | symbol) => unknown }) as Calls;
}

function newStorage(): ObjectSqlStorage {
  const database = new Database(":memory:");
  const exec: ObjectSqlStorage["sql"]["exec"] = (text, ...bindings) => {
    const statement = database.prepare(text);
    if (!statement.reader) {
      const { changes } = statement.run(...bindings);
      return { toArray: () => [], rowsRead: 0, rowsWritten: text.startsWith("CREATE") ? 1 : changes };
    }
    const rows = statement.all(...bindings) as Record<string, unknown>[];
    // The platform's blobs are buffers.
    for (const row of rows)
      for (const name in row) {
        const value = row[name];
        if (value instanceof Uint8Array) row[name] = Uint8Array.from(value).buffer;
      }
    return { toArray: () => rows, rowsRead: rows.length, rowsWritten: 0 };
  };
  return { sql: { exec }, transactionSync: (work) => database.transaction(work)() };
}
