/** The database of a page, in its worker: cluster and gateway over the browser's storage, asked by messages of one page or several. */
import { Core, instantiate, loadModule } from "@brooklet/core/browser";
import { createLocalGateway, type LocalGateway } from "@brooklet/gateway/local";
import { LocalCluster, tellingOnce } from "@brooklet/partition";
import { memoryStorage, PoolStorage, type Storage } from "@brooklet/store";
import type { Ask, FromOwner, ToOwner, ToWorker } from "./messages.ts";
import { BrowserSqlite, isPoolThere } from "./pool.ts";
import { workerSurroundings } from "./surroundings.ts";

/** How the page says what is to be opened. */
export type StartMessage = Extract<ToWorker, { kind: "start" }>;

/** Sends something to the page that asked. */
export type Reply = (message: FromOwner, transfer?: readonly ArrayBuffer[]) => void;

const SEAL_KEY_BYTES = 16;
/** How often it is looked whether the files are still there, while something is asked. */
const LOOK_MS = 1_000;
/** Headers that clients read. */
const READ_HEADERS = ["content-type", "allow"];

/** An open database. */
export class WorkerDatabase {
  /** Whether nothing had been deployed when it was opened. */
  readonly isNew: boolean;
  /** Whether the browser had no room for it when it was opened. */
  readonly isFull: boolean;
  readonly #gateway: LocalGateway;
  readonly #cluster: LocalCluster;
  /** What is being answered, by who asked and its number. */
  readonly #underWay = new Map<string, { readonly stop: AbortController; readonly done: Promise<void> }>();
  readonly #look: () => Promise<void>;
  #lookedMs = 0;
  #isClosing = false;
  #isCleared = false;

  private constructor(
    gateway: LocalGateway,
    cluster: LocalCluster,
    { name, isFull }: { readonly name: string | undefined; readonly isFull: boolean },
    onCleared: () => void,
  ) {
    this.#gateway = gateway;
    this.isFull = isFull;
    this.#cluster = cluster;
    this.isNew = cluster.application() === undefined;
    this.#look = async () => {
      if (this.#isCleared || name === undefined || (await isPoolThere(name))) return;
      this.#isCleared = true;
      onCleared();
    };
  }

  /** Opens it. `onCleared` is told when the files are gone, which reads and writes of an open file do not notice. */
  static async open(
    asked: StartMessage,
    onProblem: (problem: unknown) => void,
    onCleared: () => void = () => undefined,
  ): Promise<WorkerDatabase> {
    const { stored, cacheBytes, assets } = asked;
    const [sqlite] = await Promise.all([BrowserSqlite.load(assets.sqlite), loadModule(assets.core)]);
    const pool = stored === undefined ? undefined : await sqlite.openPool(stored.name);
    const storage: Storage = pool === undefined ? memoryStorage(() => sqlite.openMemory()) : new PoolStorage(pool);
    try {
      const sealKey = await sealKeyOf(storage, stored !== undefined);
      const tell = tellingOnce(onProblem);
      const makeEngine = (): Core => new Core({ instantiate, cacheBytes, sealKey, onTrap: tell });
      const reserve = pool?.reserve;
      const surroundings = workerSurroundings;
      const cluster = new LocalCluster({ storage, makeEngine, reserve, surroundings, onProblem: tell });
      const about = { name: stored?.name, isFull: pool !== undefined && reserve?.wasFull !== false };
      return new WorkerDatabase(createLocalGateway({ cluster, onDefect: tell }), cluster, about, onCleared);
    } catch (error) {
      storage.close();
      throw error;
    }
  }

  /** Takes what a page asks, and answers it. */
  take(page: string, message: ToOwner, reply: Reply): void {
    if (message.kind === "hello") {
      void this.#look().then(() => {
        if (this.#isCleared) return;
        // Whoever waits has to hear that this goes on, also where what is under way takes long.
        reply(this.#isClosing ? { kind: "closing" } : { kind: "serving", isNew: this.isNew, isFull: this.isFull });
      });
    } else if (message.kind === "abort") this.#underWay.get(keyOf(page, message.number))?.stop.abort();
    else if (this.#isClosing) reply({ kind: "moved", number: message.number });
    else this.#begin(keyOf(page, message.number), message, reply);
  }

  #begin(key: string, asked: Ask, reply: Reply): void {
    const stop = new AbortController();
    const done = this.#answer(asked, stop.signal, reply).finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, { stop, done });
    if (performance.now() < this.#lookedMs + LOOK_MS) return;
    this.#lookedMs = performance.now();
    void this.#look();
  }

  /** Finishes what is under way, and lets go of what is stored. */
  async close(): Promise<void> {
    this.#isClosing = true;
    // Whatever became of them: files that are not let go are nobody's until the page is gone.
    await Promise.allSettled([...this.#underWay.values()].map(({ done }) => done));
    // Chromium does not come back from closing a file that is gone.
    await this.#look();
    if (!this.#isCleared) await this.#cluster.close();
  }

  async #answer({ number, url, method, headers, body }: Ask, signal: AbortSignal, reply: Reply): Promise<void> {
    const answer = await this.#gateway.answer(url, { method, headers, body, signal }).catch(() => undefined);
    const bytes = await answer?.arrayBuffer().catch(() => undefined);
    if (signal.aborted) return;
    if (answer === undefined || bytes === undefined) {
      const cut = new TextEncoder().encode(
        '{"message":"The answer was cut off","code":"INTERNAL","outcome":"unknown"}',
      );
      return reply({ kind: "answer", number, status: 500, headers: {}, body: cut.buffer });
    }
    const told = READ_HEADERS.flatMap((name) => {
      const value = answer.headers.get(name);
      return value === null ? [] : [[name, value] as const];
    });
    reply({ kind: "answer", number, status: answer.status, headers: Object.fromEntries(told), body: bytes }, [bytes]);
  }
}

function keyOf(page: string, number: number): string {
  return `${page} ${number}`;
}

/** A key for groupings that is the same as long as what is stored. In memory nothing outlives it, and pages without https have no digests. */
async function sealKeyOf(storage: Storage, isStored: boolean): Promise<Uint8Array> {
  if (!isStored) return crypto.getRandomValues(new Uint8Array(SEAL_KEY_BYTES));
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const secret = await crypto.subtle.importKey("raw", storage.secret.slice(), algorithm, false, ["sign"]);
  const sealed = await crypto.subtle.sign("HMAC", secret, new TextEncoder().encode("grouping"));
  return new Uint8Array(sealed, 0, SEAL_KEY_BYTES);
}
