/**
 * Servers of this process over one store in memory, of which requests are late, lost, answered with 503 or 403, done without an answer or
 * done twice; and what befalls servers that are processes elsewhere: one that is killed is not heard of any more, neither by its clients
 * nor by the store, one that is stopped sends and hears nothing.
 */
import { S3Error } from "../../object-store/src/s3.ts";
import { serve } from "../src/index.ts";
import { memoryObjectStore, type ObjectMemory, type ObjectStore } from "../src/object-store.ts";
import type { Random } from "./history-documents.ts";
import type { Line, Troubled } from "./object-store-trouble.ts";
import type { Late } from "./relay.ts";
import { type Asking, asking } from "./served.ts";

/** Of a thousand requests so many go wrong. */
const WRONG = { lost: 15, unanswered: 15, busy: 10, late: 8, doubled: 8, refused: 1 } as const;
/** Requests that a store refuses one after the other, as those with keys that have ended. */
const REFUSED = 12;
const LATE_MS = 60;
/** What operators may be told of where nothing is wrong but the store and other servers. */
const EXPECTED =
  /refuses what it is asked|does not answer|was killed|taken the bucket over|is read anew|ECONN|SlowDown|cut|closed|not there any more/;

/** What all servers share. */
export class SharedMemory {
  readonly memory: ObjectMemory;
  /** Requests that come later than anybody waits. */
  readonly late = new Set<() => void>();
  isAway = false;

  constructor(memory: ObjectMemory) {
    this.memory = memory;
  }

  async kill(): Promise<void> {
    this.isAway = true;
  }

  async start(): Promise<void> {
    this.isAway = false;
  }

  /** Has everything come that is late. */
  deliver(): void {
    for (const work of this.late) work();
    this.late.clear();
  }
}

/** The line of one server to the store. */
export class MemoryLine implements Line {
  readonly #random: Random;
  readonly #shared: SharedMemory;
  #isCut = false;
  #isHeld = false;
  #held: { readonly work: () => void; readonly go: () => void; readonly fail: (error: Error) => void }[] = [];
  #refusals = 0;
  /** What goes wrong with single requests; not while servers are made. */
  isCalm = false;

  constructor(random: Random, shared: SharedMemory) {
    this.#random = random;
    this.#shared = shared;
  }

  cut(): void {
    this.#isCut = true;
    for (const { fail } of this.#held.splice(0)) fail(new Error("the connection was cut"));
  }

  hold(): void {
    this.#isHeld = true;
  }

  mend(): void {
    this.#isCut = false;
    this.#isHeld = false;
    for (const { go } of this.#held.splice(0)) go();
  }

  abandon(): Late {
    this.#isHeld = false;
    const held = this.#held.splice(0);
    for (const { fail } of held) fail(new Error("the connection was cut"));
    return {
      connections: held.length,
      deliver: () => {
        for (const { work } of held) work();
      },
    };
  }

  /** Makes one request of a server that lives. */
  async carry<Result>(work: () => Result): Promise<Result> {
    if (this.#isCut || this.#shared.isAway) throw new Error("connect ECONNREFUSED");
    if (this.#isHeld)
      await new Promise<void>((go, fail) => {
        this.#held.push({ work: () => void work(), go, fail });
      });
    if (this.isCalm) return work();
    await new Promise((resolve) => setTimeout(resolve, this.#random(4)));
    return this.#wrongly(work);
  }

  #wrongly<Result>(work: () => Result): Result {
    if (this.#refusals > 0) {
      this.#refusals -= 1;
      throw new S3Error("answered 403: <Error><Code>ExpiredToken</Code></Error>", 403);
    }
    let chance = this.#random(1_000);
    const is = (kind: keyof typeof WRONG): boolean => {
      chance -= WRONG[kind];
      return chance < 0 && chance >= -WRONG[kind];
    };
    if (is("lost")) throw new Error("read ECONNRESET");
    if (is("unanswered")) {
      work();
      throw new Error("read ECONNRESET");
    }
    if (is("busy")) throw new S3Error("answered 503: <Error><Code>SlowDown</Code></Error>", 503);
    if (is("late")) {
      if (this.#random(3) === 0) this.#shared.late.add(work);
      else setTimeout(work, this.#random(LATE_MS));
      throw new Error("read ECONNRESET");
    }
    if (is("doubled")) {
      work();
      return work();
    }
    if (is("refused")) {
      this.#refusals = this.#random(REFUSED);
      this.#shared.late.add(work);
      throw new Error("read ECONNRESET");
    }
    return work();
  }
}

/** A server of this process. */
interface Member {
  readonly ask: Asking;
  close: () => Promise<void>;
  isOver: boolean;
  resumed: Promise<void> | undefined;
  resume: () => void;
}

/** Servers of this process. */
export class MemoryServers implements Troubled {
  readonly relays: readonly MemoryLine[];
  readonly #shared: SharedMemory;
  readonly #members: (Member | undefined)[] = [];
  /** What operators were told. */
  readonly problems: unknown[] = [];

  constructor(random: Random, shared: SharedMemory, count: number) {
    this.#shared = shared;
    this.relays = Array.from({ length: count }, () => new MemoryLine(random, shared));
  }

  get running(): readonly { readonly ask: Asking }[] {
    return this.#members.filter((member) => member !== undefined);
  }

  async begin(index: number): Promise<void> {
    const line = this.relays[index] as MemoryLine;
    const member: Member = {
      ask: async (...asked) => {
        await member.resumed;
        if (member.isOver) throw new Error("the server was killed");
        const answer = await ask(...asked);
        await member.resumed;
        if (member.isOver) throw new Error("the server was killed");
        return answer;
      },
      close: async () => undefined,
      isOver: false,
      resumed: undefined,
      resume: () => undefined,
    };
    const store = this.#storeOf(line, member);
    const onProblem = (told: unknown): void => void this.problems.push(told);
    let served: Awaited<ReturnType<typeof serve>> | undefined;
    // One that is refused what it reads at its start is started again.
    while (served === undefined)
      served = await serve({ store, port: 0, cacheBytes: 8 << 20, onProblem }).catch((error: unknown) => {
        if (!String(error).includes("refuses what it is asked")) throw error;
        return undefined;
      });
    const { port, close } = served;
    member.close = () => close();
    const ask = asking(port);
    this.#members[index] = member;
  }

  #storeOf(line: MemoryLine, member: Member): ObjectStore {
    const carry = async <Result>(work: () => Result): Promise<Result> => {
      await member.resumed;
      // Nothing of one that is killed is made again.
      if (member.isOver) throw Object.assign(new Error("killed"), { refusal: "the server was killed" });
      const result = await line.carry(work);
      await member.resumed;
      return result;
    };
    return memoryObjectStore(this.#shared.memory, carry);
  }

  /** What they were told of that neither the store nor another server explains, and where it is from. */
  defects(): readonly string[] {
    return this.problems
      .filter((problem) => !EXPECTED.test(String(problem)))
      .map((problem) => (problem instanceof Error ? `${problem.stack}\n${String(problem.cause)}` : String(problem)));
  }

  async beginAll(): Promise<void> {
    await Promise.all(this.relays.map((_, index) => this.begin(index)));
  }

  signal(index: number, name: "SIGSTOP" | "SIGCONT"): void {
    const member = this.#members[index];
    if (member === undefined) return;
    if (name === "SIGCONT") {
      member.resumed = undefined;
      member.resume();
      return;
    }
    member.resumed = new Promise((resolve) => {
      member.resume = resolve;
    });
  }

  async kill(index: number): Promise<void> {
    const member = this.#members[index];
    this.#members[index] = undefined;
    if (member === undefined) return;
    member.isOver = true;
    member.resume();
    void member.close().catch(() => undefined);
  }

  async killAll(): Promise<void> {
    await Promise.all(this.relays.map((_, index) => this.kill(index)));
  }

  async close(): Promise<void> {
    await this.killAll();
  }
}
