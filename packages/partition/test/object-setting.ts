/**
 * A platform of objects in this process: each has a database of its own, and an alarm that the test rings. What is said between
 * them is cloned, as the platform does it.
 */
import {
  DirectoryStore,
  durableObject,
  isUnsettled,
  type ObjectSqlStorage,
  OnePartitionStore,
  RegistryStore,
  type SqlConnection,
  StoreError,
} from "@brooklet/store";
import Database from "better-sqlite3";
import type { DeployableEngine } from "../src/bucket-host.ts";
import type { PartitionKey } from "../src/cluster.ts";
import { nodeSurroundings } from "../src/node/surroundings.ts";
import { GroupObject } from "../src/objects/group-object.ts";
import { Isolate } from "../src/objects/isolate.ts";
import type { ObjectAdmissionLimits } from "../src/objects/object-admission.ts";
import { directoryOf, type GroupCalls, type ObjectPort } from "../src/objects/object-calls.ts";
import { ObjectCluster } from "../src/objects/object-cluster.ts";
import { objectName, readObjectName, storedName } from "../src/shards/shard.ts";

const DIRECTORIES = 3;

/** A storage of which a platform can have what it was. */
interface KeptStorage extends ObjectSqlStorage {
  bytes(): Buffer;
}

/** What the storages of all objects were. */
export interface Moment {
  readonly registry: Buffer;
  readonly directories: readonly Buffer[];
  readonly groups: ReadonlyMap<string, { readonly bytes: Buffer; readonly alarmMs: number | undefined }>;
}

/** An object's storage, the rows that were written to it, and its alarm. */
interface Machine {
  storage: KeptStorage;
  readonly billed: { read: number; written: number };
  alarmMs: number | undefined;
  /** How often it lost its memory. */
  lives: number;
  group: GroupObject | undefined;
}

/** An isolate of a platform. */
export function makeIsolate(makeEngine: (sealKey: Uint8Array) => DeployableEngine): Isolate {
  return new Isolate({ makeEngine, sealKeyOf: async (secret) => secret.subarray(0, 16) });
}

/** A platform with a cluster on it. */
export class Platform {
  readonly #makeEngine: () => DeployableEngine;
  readonly #shardBytes: number | undefined;
  readonly #groups = new Map<string, Machine>();
  #directoryStorages = Array.from({ length: DIRECTORIES }, () => newStorage());
  #registryStorage = newStorage();
  #directories: (DirectoryStore | undefined)[] = [];
  #registry: RegistryStore | undefined;
  readonly problems: unknown[] = [];
  /** What objects that are made from here on take on at a time. */
  admission: ObjectAdmissionLimits | undefined;
  /** All objects of this process. */
  isolate: Isolate;
  /** What the platform itself throws in place of calling an object of a group, or after it was called; nothing: it calls. */
  failure: (Failure & { readonly of?: Called; times: number }) | undefined;
  /** What the platform throws in place of writing to the database of a group. */
  refusal: Error | undefined;
  /** The name of an object whose database takes nothing more until what is in it is dropped. */
  full: string | undefined;
  /** Whether databases take values of any length, as no platform does. */
  takesLongValues = false;
  /** What the platform throws in place of setting the alarm of a group. */
  alarmRefusal: Error | undefined;
  /** Told of each use of a storage before it is done; what it throws is thrown in place of it. */
  using: ((name: string, use: Use, statement?: string) => void) | undefined;
  /** How many calls of objects the platform still lets gateways make; nothing: as many as they want. */
  subrequests: number | undefined;

  /** What is told of each call and its reply, if anybody is. */
  overheard: ((verb: string, asked: readonly unknown[], told: unknown) => void) | undefined;
  /** What the registry waits for before it tells what is deployed. */
  telling: (() => Promise<void>) | undefined;
  /** What the registry waits for before it stores what is deployed. */
  storing: (() => Promise<void>) | undefined;
  /** What a directory waits for before it forgets a group. */
  forgetting: (() => Promise<void>) | undefined;
  /** What a directory waits for before it lists a group. */
  noting: (() => Promise<void>) | undefined;
  /** What a directory waits for between listing a group and saying so. */
  listing: (() => Promise<void>) | undefined;
  /** What an object waits for before it is told when its alarm rings, which others of its isolate need not. */
  waking: (() => Promise<void>) | undefined;
  /** What an object waits for before what it has stored is removed. */
  removal: (() => Promise<void>) | undefined;
  /** What a call waits for on its way to an object, beside the turn of the loop that it takes at the least. */
  way: (() => Promise<void>) | undefined;

  /** `shardBytes`: from how many bytes on a group is split. */
  constructor(makeEngine: () => DeployableEngine, shardBytes?: number) {
    this.#makeEngine = makeEngine;
    this.#shardBytes = shardBytes;
    this.isolate = makeIsolate(makeEngine);
  }

  /** A gateway, of this isolate or of one of its own. */
  open(isolate: Isolate = this.isolate): Promise<ObjectCluster> {
    return ObjectCluster.open({
      port: this.#port((called) => this.#subrequest() ?? this.#failure(called)),
      isolate,
      directories: DIRECTORIES,
      makeEngine: this.#makeEngine,
      onProblem: (problem) => this.problems.push(problem),
    });
  }

  /** Rings the alarm of a group as if its time had come, and again where that fails, as often as a platform does. Whether it was set. */
  async ring(key: PartitionKey, tries = 1): Promise<boolean> {
    const machine = this.#machine(key);
    if (machine.alarmMs === undefined) return false;
    for (let retries = 0; ; retries += 1) {
      machine.alarmMs = undefined;
      try {
        await this.#group(key).ring(retries);
        return true;
      } catch (error) {
        if (retries + 1 >= tries) {
          if (tries === 1) throw error;
          return true;
        }
      }
    }
  }

  /** Has a group's alarm never ring, as when all that a platform tries have failed. */
  loseAlarm(key: PartitionKey): void {
    this.#machine(key).alarmMs = undefined;
  }

  /** Whether there is anything to fold or to settle in an object. */
  isUnsettled(key: PartitionKey): boolean {
    const { sql, transactionSync } = this.#machine(key).storage;
    return isUnsettled(durableObject({ sql, transactionSync }), "brooklet");
  }

  /** Folds and settles a group, as its alarm does when nothing was written for a while. */
  rest(key: PartitionKey): Promise<void> {
    return this.#group(key).rest();
  }

  /** The object of a group, called without the platform in between. */
  object(key: PartitionKey): GroupCalls {
    return this.#group(key);
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

  /** Has a shard of a group split. Whether it was. */
  split(key: PartitionKey, shard = 0): Promise<boolean> {
    return this.#group(objectName(key, shard)).split();
  }

  /** The groups that are in a directory. */
  listed(): string[] {
    const numbers = this.#directoryStorages.map((_, number) => number);
    return numbers.flatMap((number) => this.#directory(number).from(0, 1_000)).map(({ key }) => key);
  }

  /** The names of the objects in which documents are stored. */
  stored(): string[] {
    return [...this.#groups].filter(([, { storage }]) => hasDocuments(storage)).map(([name]) => name);
  }

  /** Changes what is stored of a group by its back, as a damage does: it is read anew by whoever asks next. */
  damage(key: PartitionKey, statement: string, ...bindings: readonly unknown[]): void {
    this.#machine(key).storage.sql.exec(statement, ...bindings);
    this.evict(key);
  }

  /** Changes what the registry has. */
  damageRegistry(statement: string, ...bindings: readonly unknown[]): void {
    this.#registryStorage.sql.exec(statement, ...bindings);
    this.evictShared();
  }

  /** Changes what is listed in all directories, in the same way. */
  damageListing(statement: string, ...bindings: readonly unknown[]): void {
    for (const { sql } of this.#directoryStorages)
      if (sql.exec("SELECT 1 FROM sqlite_schema WHERE name = 'brooklet_key'").toArray().length > 0)
        sql.exec(statement, ...bindings);
    this.evictShared();
  }

  /** Puts an object out of memory, as a platform does when it rests or is moved: another isolate may have it next. */
  evict(key: PartitionKey, shard = 0): void {
    const machine = this.#machine(shard === 0 ? key : objectName(key, shard));
    machine.group = undefined;
    machine.lives += 1;
  }

  /** Puts what is asked of all groups out of memory: the directories and the registry. */
  evictShared(): void {
    [this.#directories, this.#registry] = [[], undefined];
  }

  /** What the storages of all objects are now. */
  moment(): Moment {
    return {
      registry: this.#registryStorage.bytes(),
      directories: this.#directoryStorages.map((storage) => storage.bytes()),
      groups: new Map(
        [...this.#groups].map(([name, { storage, alarmMs }]) => [name, { bytes: storage.bytes(), alarmMs }]),
      ),
    };
  }

  /** Restores what is shared to a moment, as the platform does it: with the next session of each object. */
  restoreShared({ registry, directories }: Moment, what: "registry" | "directories" | "both" = "both"): void {
    if (what !== "directories") this.#registryStorage = newStorage(registry);
    if (what !== "registry") this.#directoryStorages = directories.map((bytes) => newStorage(bytes));
    this.evictShared();
  }

  /** Restores an object of a group. */
  restoreGroup(name: string, { groups }: Moment): void {
    const { bytes, alarmMs } = groups.get(name) ?? { bytes: undefined, alarmMs: undefined };
    const { key, number } = readObjectName(name);
    this.evict(key, number);
    const machine = this.#machine(name);
    machine.storage = newStorage(bytes);
    machine.alarmMs = alarmMs;
  }

  /** The names of all objects of groups that were ever asked for. */
  names(): string[] {
    return [...this.#groups.keys()];
  }

  /** The connection of an object, each use of whose storage is told of. */
  #told(name: string, storage: () => ObjectSqlStorage): ObjectSqlStorage {
    const using = (use: Use, statement?: string): void => this.using?.(name, use, statement);
    return {
      sql: {
        exec: (...asked) => {
          using("statement", asked[0]);
          return storage().sql.exec(...asked);
        },
      },
      transactionSync: (work) => {
        const result = storage().transactionSync(() => {
          const done = work();
          using("commit");
          return done;
        });
        using("committed");
        return result;
      },
    };
  }

  #directory(number: number): DirectoryStore {
    const storage = this.#directoryStorages[number] ?? fail(number);
    const store = this.#directories[number];
    if (store !== undefined) return store;
    const made = new DirectoryStore(durableObject(this.#told(`directory ${number}`, () => storage)));
    this.#directories[number] = made;
    return made;
  }

  #registered(): RegistryStore {
    this.#registry ??= new RegistryStore(durableObject(this.#told("registry", () => this.#registryStorage)));
    return this.#registry;
  }

  #machine(key: string): Machine {
    let machine = this.#groups.get(key);
    if (machine === undefined) {
      machine = {
        storage: newStorage(),
        billed: { read: 0, written: 0 },
        alarmMs: undefined,
        lives: 0,
        group: undefined,
      };
      this.#groups.set(key, machine);
    }
    return machine;
  }

  #group(name: string): GroupObject {
    const { key, number: shard } = readObjectName(name);
    const machine = this.#machine(name);
    if (machine.group !== undefined) return machine.group;
    const { lives } = machine;
    // What is out of memory writes nothing any more.
    const storage = (): ObjectSqlStorage => {
      if (machine.lives !== lives) throw new Error("the object is out of memory");
      return machine.storage;
    };
    const told = this.#told(name, storage);
    machine.group = new GroupObject({
      key,
      shard,
      ...(this.#shardBytes !== undefined && { shardBytes: this.#shardBytes }),
      ...(this.admission !== undefined && { admission: this.admission }),
      isolate: this.isolate,
      connection: this.#limited(
        durableObject(
          {
            sql: {
              exec: (...asked) => {
                if (this.refusal !== undefined && !asked[0].startsWith("SELECT")) throw this.refusal;
                if (this.full === name && asked[0].startsWith("DROP")) this.full = undefined;
                if (this.full === name && asked[0].startsWith("INSERT"))
                  throw new Error("database or disk is full: SQLITE_FULL");
                return told.sql.exec(...asked);
              },
            },
            transactionSync: (work) => told.transactionSync(work),
          },
          machine.billed,
        ),
      ),
      removeAll: async () => {
        await this.removal?.();
        this.using?.(name, "removal");
        storage();
        machine.storage = newStorage();
      },
      alarm: {
        get: async () => {
          this.using?.(name, "alarm");
          await this.waking?.();
          return machine.alarmMs;
        },
        set: async (atMs) => {
          this.using?.(name, "alarm");
          if (this.alarmRefusal !== undefined) throw this.alarmRefusal;
          machine.alarmMs = atMs;
          machine.billed.written += 1;
        },
        clear: async () => {
          this.using?.(name, "alarm");
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

  #limited(connection: SqlConnection): SqlConnection {
    return this.takesLongValues ? { ...connection, valueBytesMax: undefined } : connection;
  }

  /** The failure of the call that is made now. */
  #failure(called: Called): Failure | undefined {
    const { failure } = this;
    if (failure === undefined || failure.times === 0 || (failure.of ?? "group") !== called) return undefined;
    failure.times -= 1;
    return failure;
  }

  /** The failure of a call that is one too many. */
  #subrequest(): Failure | undefined {
    if (this.subrequests === undefined) return undefined;
    this.subrequests -= 1;
    const error = new Error("Too many subrequests by single Worker invocation. To configure this limit, refer to …");
    return this.subrequests < 0 ? { error, isDone: false } : undefined;
  }

  #port(failing: (called: Called) => Failure | undefined = (called) => this.#failure(called)): ObjectPort {
    return {
      group: (key) =>
        remote(
          () => this.#group(key),
          () => failing("group"),
          (...said) => this.overheard?.(...said),
          async () => this.way?.(),
        ),
      directory: (number) =>
        remote(
          () => callsOf(() => this.#directory(number), this),
          () => failing("directory"),
          undefined,
          async () => this.way?.(),
        ),
      registry: () =>
        remote(
          () => ({
            secret: async () => this.#registered().secret(),
            application: async () => {
              await this.telling?.();
              return this.#registered().application();
            },
            store: async (...asked: Parameters<RegistryStore["store"]>) => {
              await this.storing?.();
              return this.#registered().store(...asked);
            },
            lease: async (...asked: Parameters<RegistryStore["lease"]>) => this.#registered().lease(...asked),
            release: async (lease: string) => this.#registered().release(lease),
            state: async () => this.#registered().state(),
            addSession: async (...asked: Parameters<RegistryStore["addSession"]>) =>
              this.#registered().addSession(...asked),
            session: async (session: number) => this.#registered().session(session),
            prepareSession: async (session: number) => this.#registered().prepareSession(session),
          }),
          () => failing("registry"),
          undefined,
          async () => this.way?.(),
        ),
    };
  }
}

/** Whether an object has operations or segments. */
function hasDocuments({ sql, transactionSync }: ObjectSqlStorage): boolean {
  const connection = durableObject({ sql, transactionSync });
  const name = storedName(connection);
  if (name === undefined) return false;
  const { key } = readObjectName(name);
  const store = new OnePartitionStore(connection, key, { application: 1 });
  const { segments, operations } = store.manifest(key, 0, 0);
  return operations.length > 0 || (segments?.length ?? 0) > 0;
}

function callsOf(directory: () => DirectoryStore, platform: Platform) {
  return {
    add: async (key: string) => {
      await platform.noting?.();
      directory().add(key);
      const fence = directory().fence(0);
      await platform.listing?.();
      return fence;
    },
    fence: async (number: number) => directory().fence(number),
    remove: async (key: string) => {
      await platform.forgetting?.();
      directory().remove(key);
    },
    from: async (number: number, limit: number) => directory().from(number, limit),
  };
}

function fail(number: number): never {
  throw new Error(`there is no directory ${number}`);
}

/** What is done with a storage: a statement, the commit of a transaction and the end of it, removing everything, or asking for the alarm or setting it. */
export type Use = "statement" | "commit" | "committed" | "removal" | "alarm";

/** What kind of object is called. */
type Called = "group" | "directory" | "registry";

/** A failure of the platform, before the object was called or after it. */
interface Failure {
  readonly error: unknown;
  readonly isDone: boolean;
}

/** An object elsewhere: what goes there and comes back is a copy, and each call is an event of its own. */
function remote<Calls extends object>(
  object: () => Calls,
  failing: () => Failure | undefined,
  heard: NonNullable<Platform["overheard"]> = () => undefined,
  way: () => Promise<void> = async () => undefined,
): Calls {
  const call =
    (_: unknown, name: string) =>
    async (...asked: unknown[]) => {
      const copies = structuredClone(asked);
      await new Promise((resolve) => setImmediate(resolve));
      await way();
      const failure = failing();
      if (failure?.isDone === false) throw failure.error;
      const target = object() as Record<string, (...given: unknown[]) => unknown>;
      const told = structuredClone(await answered(() => target[name]?.(...copies)));
      heard(name, asked, told);
      await way();
      if (failure !== undefined) throw failure.error;
      return told;
    };
  return new Proxy({}, { get: call as (target: object, name: string | symbol) => unknown }) as Calls;
}

/** Of what the storage of an object throws only its words go anywhere. */
async function answered(work: () => unknown): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof StoreError ? new Error(error.message) : error;
  }
}

/** The storage of a new object. */
export function newStorage(stored?: Buffer): KeptStorage {
  const database = new Database(stored ?? ":memory:");
  const prepared = new Map<string, Database.Statement>();
  const prepare = (text: string): Database.Statement => {
    const statement = prepared.get(text) ?? database.prepare(text);
    prepared.set(text, statement);
    return statement;
  };
  const exec: ObjectSqlStorage["sql"]["exec"] = (text, ...bindings) => {
    const statement = prepare(text);
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
  return {
    sql: { exec },
    transactionSync: (work) => database.transaction(work)(),
    bytes: () => database.serialize(),
  };
}
