/**
 * Several groups in one database that is somebody's own, an object of a platform for one: each group has a table, and there are
 * tables of which groups there are and of what is deployed. Nothing else in the database is touched.
 */
import { DirectoryStore, isUnsettled, RegistryStore, type SqlConnection } from "@brooklet/store";
import type { PartitionKey } from "../cluster.ts";
import type { Surroundings } from "../surroundings.ts";
import { GroupObject } from "./group-object.ts";
import { isUnreadable } from "./group-stored.ts";
import type { DeployedCore } from "./isolate.ts";
import type { DirectoryCalls, GroupCalls, ObjectPort, RegistryCalls } from "./object-calls.ts";
import { REST_MS } from "./rest-alarm.ts";

/** Groups that are held in memory: about 40 KB each beside their tails. */
const GROUPS_HELD = 256;
/** How many are looked at to make room for one: where many had to be kept, there are fewer again with each. */
const LOOKS = 4;
/** Groups that are read of the directory at a time. */
const LISTED = 256;

/** What they are made of. */
export interface OwnObjectsOptions {
  readonly connection: SqlConnection;
  readonly core: DeployedCore;
  readonly surroundings: Surroundings;
  /** Told of every failure that no caller sees. */
  readonly onProblem: (error: unknown) => void;
}

/** The groups of one database. */
export class OwnObjects implements ObjectPort {
  readonly #options: OwnObjectsOptions;
  readonly #directory: DirectoryStore;
  readonly #registry: RegistryStore;
  readonly #groups = new Map<string, GroupObject>();
  /** Those that were written since they rested, or have documents that expire, and when they have something to do. */
  readonly #restless = new Map<string, number>();
  /** It was looked for what was written before all this was in memory: an object may lose that at any time. */
  #hasLooked = false;

  constructor(options: OwnObjectsOptions) {
    this.#options = options;
    this.#directory = new DirectoryStore(options.connection);
    this.#registry = new RegistryStore(options.connection);
  }

  group(key: string): GroupCalls {
    return this.#group(key);
  }

  /** Whether the owner of the database deleted everything in it: nothing of what is in memory is true then. */
  get isGone(): boolean {
    return this.#registry.isGone;
  }

  directory(): DirectoryCalls {
    const directory = this.#directory;
    return {
      add: async (key) => {
        directory.add(key);
        return directory.fence(0);
      },
      fence: async (number) => directory.fence(number),
      remove: async (key) => directory.remove(key),
      from: async (number, limit) => directory.from(number, limit),
    };
  }

  registry(): RegistryCalls {
    const registry = this.#registry;
    return {
      secret: async () => registry.secret(),
      application: async () => registry.application(),
      store: async (...asked) => registry.store(...asked),
      lease: async (...asked) => registry.lease(...asked),
      release: async (lease) => registry.release(lease),
      state: async () => registry.state(),
      addSession: async (...asked) => registry.addSession(...asked),
      session: async (session) => registry.session(session),
      prepareSession: async (session) => registry.prepareSession(session),
    };
  }

  /** Folds and settles what was written, and removes what has expired. Whether there was anything. Throws the first failure, once all others have rested. */
  async rest(): Promise<boolean> {
    this.#look();
    const keys = [...this.#restless.keys()].filter((key) => this.#isDue(key));
    const failures: unknown[] = [];
    for (const key of keys) {
      this.#restless.delete(key);
      try {
        await this.#group(key).rest();
      } catch (error) {
        this.#restless.set(key, 0);
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
    return keys.length > 0;
  }

  /** Whether something was written that did not rest since, or may have expired. */
  get isRestless(): boolean {
    return (this.restsAtMs ?? Number.POSITIVE_INFINITY) <= soonMs();
  }

  /** When there is something to do at rest; nothing: never, unless more is written. */
  get restsAtMs(): number | undefined {
    this.#look();
    return this.#restless.size === 0 ? undefined : Math.min(...this.#restless.values());
  }

  #isDue(key: string): boolean {
    return (this.#restless.get(key) ?? Number.POSITIVE_INFINITY) <= soonMs();
  }

  #look(): void {
    if (this.#hasLooked) return;
    const expires = this.#options.core.report?.schemas.some(({ garbageCollection }) => garbageCollection !== undefined);
    for (let from = 0, more = true; more; ) {
      const some = this.#directory.from(from, LISTED);
      for (const { key } of some)
        if (!this.#restless.has(key) && (expires || this.#isUnsettled(key))) this.#restless.set(key, 0);
      [from, more] = [(some.at(-1)?.number ?? 0) + 1, some.length === LISTED];
    }
    this.#hasLooked = true;
  }

  #isUnsettled(key: string): boolean {
    const { connection, onProblem } = this.#options;
    try {
      return isUnsettled(connection, tableOf(key));
    } catch (error) {
      // Others rest though one is damaged; of what failed for a moment nobody looks again, so it rests.
      onProblem(error);
      return !isUnreadable(error);
    }
  }

  #group(key: string): GroupObject {
    const known = this.#groups.get(key);
    if (known !== undefined) {
      this.#groups.delete(key);
      this.#groups.set(key, known);
      return known;
    }
    this.#evict();
    const group = this.#make(key as PartitionKey);
    this.#groups.set(key, group);
    return group;
  }

  /**
   * Makes room for one more in memory. Two objects of one table would write over what the other has written: one that is at work,
   * or has to rest, counts as used just now.
   */
  #evict(): void {
    let looks = LOOKS;
    for (const [key, group] of this.#groups) {
      if (this.#groups.size < GROUPS_HELD || looks === 0) return;
      looks -= 1;
      this.#groups.delete(key);
      if (!group.isIdle || this.#isDue(key)) this.#groups.set(key, group);
    }
  }

  #make(key: PartitionKey): GroupObject {
    const { connection, core, surroundings, onProblem } = this.#options;
    const table = tableOf(key);
    return new GroupObject({
      key,
      isolate: core,
      connection,
      table,
      removeAll: async () => connection.run(`DROP TABLE IF EXISTS ${table}`),
      alarm: {
        get: async () => this.#restless.get(key),
        set: async (atMs) => void this.#restless.set(key, atMs),
        clear: async () => void this.#restless.delete(key),
      },
      port: this,
      directory: 0,
      surroundings,
      onProblem,
    });
  }
}

/** What has to be done by then is done at a rest that comes now. */
function soonMs(): number {
  return Date.now() + REST_MS;
}

/** The table of a group: its key in hexadecimal digits, so that no name of a group can be read as anything else. */
function tableOf(key: string): string {
  const digits = Array.from(new TextEncoder().encode(key), (byte) => byte.toString(16).padStart(2, "0"));
  return `brooklet_${digits.join("")}`;
}
