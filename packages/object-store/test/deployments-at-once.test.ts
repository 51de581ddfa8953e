/**
 * Servers that deploy at the same time over one store, while others write: whatever request comes first, their deployments have one order,
 * who is refused can deploy again, and every document that was acknowledged is there.
 *
 * A failing run prints its seed; BROOKLET_SEED begins with another, BROOKLET_DEPLOY_SCHEDULES runs more of them (5). The clocks of the servers
 * are not the seed's: how many schedules it takes until a deployment was refused for another is chance.
 */
import { expect, test } from "vitest";
import { memoryObjectStore, ObjectMemory } from "../src/memory.ts";
import type { ObjectStoreCluster } from "../src/object-store-cluster.ts";
import { get, NOTE, openCluster, packageOf, put } from "./setting.ts";

const SEED = Number(process.env["BROOKLET_SEED"] ?? 1);
const SCHEDULES = Number(process.env["BROOKLET_DEPLOY_SCHEDULES"] ?? 5);
/** How many it may take until everything that is looked for was seen: of ten, three or more have it. */
const SCHEDULES_MAX = SCHEDULES + 60;
const SERVERS = 3;
const WRITES = 8;

/** Each has a field that none of the others has; some change the type of one that all have, which seals the buckets. */
const FIELDS = ["int", "array<int>", "int", "string"].map((type, at) =>
  packageOf({
    note: NOTE.replace("seen type int", `seen type ${type}`).replace(
      "field title",
      `field own${at} type int { indexing: attribute }\n  field title`,
    ),
  }),
);

/** Requests that were made and are answered in any order. */
class Requests {
  readonly #waiting: (() => void)[] = [];
  #state: number;
  #isOver = false;

  constructor(seed: number) {
    this.#state = Math.imul(seed, 2_654_435_761) >>> 0 || 1;
  }

  random(below: number): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return (this.#state >>> 0) % below;
  }

  carry = async <Result>(work: () => Result): Promise<Result> => {
    await this.#turn();
    const result = work();
    await this.#turn();
    return result;
  };

  async goOn(): Promise<void> {
    while (!this.#isOver) {
      await new Promise(setImmediate);
      this.#waiting.splice(this.random(Math.max(this.#waiting.length, 1)), 1)[0]?.();
    }
    for (const next of this.#waiting.splice(0)) next();
  }

  end(): void {
    this.#isOver = true;
  }

  #turn(): Promise<void> {
    return this.#isOver ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve));
  }
}

/** Deploys until it is not refused for another; how often it was. */
async function deploy(cluster: ObjectStoreCluster, application: Uint8Array): Promise<number> {
  for (let refused = 0; ; refused += 1) {
    try {
      await cluster.deploy(application);
      return refused;
    } catch (error) {
      // A value of the type before is stored: it would be hidden.
      if ((error as { readonly status: unknown }).status === 400) return refused;
      expect(error).toMatchObject({ code: "DEPLOYMENT_UNDER_WAY", status: 409, outcome: "not_applied" });
    }
  }
}

async function schedule(
  seed: number,
  isSame: boolean,
): Promise<{ readonly refused: number; readonly applications: number }> {
  const memory = new ObjectMemory();
  const requests = new Requests(seed);
  const { cluster: first } = await openCluster(memoryObjectStore(memory));
  await first.deploy(packageOf({ note: NOTE }));
  const store = memoryObjectStore(memory, requests.carry);
  const going = requests.goOn();
  const clusters: ObjectStoreCluster[] = [];
  for (let server = 0; server < SERVERS; server += 1) clusters.push((await openCluster(store)).cluster);
  const acknowledged = new Map<string, readonly [group: string, fields: object]>();
  const write = async (cluster: ObjectStoreCluster, server: number): Promise<void> => {
    for (let number = 0; number < WRITES; number += 1) {
      const [group, title] = [`group${requests.random(3)}`, `${server}.${number}`];
      const seen = [undefined, undefined, undefined, 1, [2], "3"][requests.random(number < WRITES / 2 ? 3 : 6)];
      const fields = { title, ...(seen !== undefined && { seen }) };
      try {
        await put(cluster, group, title, fields);
        acknowledged.set(title, [group, fields]);
      } catch (error) {
        // The field has another type by now, or not that one yet; or servers took the bucket from each other again and again.
        expect([400, 503]).toContain((error as { readonly status: unknown }).status);
      }
    }
  };
  const deployed = clusters.map((cluster, at) => deploy(cluster, FIELDS[isSame ? 1 : at + 1] as Uint8Array));
  await Promise.all([...deployed, ...clusters.map(write)]);
  requests.end();
  await going;
  const { cluster: later } = await openCluster(memoryObjectStore(memory));
  const number = await later.applicationNumber();
  for (const cluster of [...clusters, later]) {
    expect(await cluster.applicationNumber()).toBe(number);
    expect(cluster.applicationPackage()).toEqual(later.applicationPackage());
    // A number is a text where that is wanted.
    for (const [title, [group, fields]] of acknowledged)
      expect(String(Object.values((await get(cluster, group, title)) as object))).toBe(String(Object.values(fields)));
  }
  const refused = (await Promise.all(deployed)).reduce((sum, one) => sum + one, 0);
  return { refused, applications: number };
}

test.each([
  ["others", false],
  ["the same", true],
])(
  "servers that deploy %s at once have one order, and nothing acknowledged is lost",
  { timeout: 900_000 },
  async (_, isSame) => {
    let [refusedAtAll, deployed] = [0, 0];
    const isEnough = (count: number): boolean => count >= SCHEDULES && refusedAtAll > 0 && deployed > 0;
    for (let count = 0; count < SCHEDULES_MAX && !isEnough(count); count += 1) {
      const seed = SEED + count;
      const { refused, applications } = await schedule(seed, isSame).catch((cause: unknown) => {
        throw new Error(`seed ${seed}`, { cause });
      });
      refusedAtAll += refused;
      deployed += applications - 1;
    }
    expect(refusedAtAll).toBeGreaterThan(0);
    expect(deployed).toBeGreaterThan(0);
  },
);
