/**
 * Servers over one store, each by a relay of its own, and what befalls them: they are killed or stopped, cut off from the store, what
 * they send and hear is held for a while, or arrives at the store when they have given it up, and the store itself is killed. What
 * befalls them comes by how many steps their clients have made, not by time, so that a slow machine does as much of it as a fast one.
 */
import { expect } from "vitest";
import type { Running } from "../../object-store/test/servers.ts";
import type { Random } from "./history-documents.ts";
import { type Late, Relay } from "./relay.ts";
import { type Asking, asking, type Served } from "./served.ts";

/** Where something is waited for that may never come, it ends after so long. */
const AT_MOST_MS = 600;
/** Most steps that clients make while one thing goes wrong: where a server is long in starting, the next would come too late. */
export const STEPS_MEANWHILE = 30;

/** How many steps clients have made, and who waits for how many. */
export class Pace {
  #waiting: { readonly steps: number; readonly resolve: () => void }[] = [];
  #held: (() => void)[] = [];
  #until = Number.POSITIVE_INFINITY;
  steps = 0;

  /** Settles when a client may make another step. */
  async step(): Promise<void> {
    while (this.steps >= this.#until) await new Promise<void>((resolve) => this.#held.push(resolve));
    this.steps += 1;
    for (const { steps, resolve } of this.#waiting) if (steps <= this.steps) resolve();
    this.#waiting = this.#waiting.filter(({ steps }) => steps > this.steps);
  }

  /** Has clients make no more than some steps until `work` is done. */
  async meanwhile(work: () => Promise<void>): Promise<void> {
    this.#until = this.steps + STEPS_MEANWHILE;
    await work();
    this.#until = Number.POSITIVE_INFINITY;
    for (const resolve of this.#held.splice(0)) resolve();
  }

  /** Settles when so many steps were made. */
  reached(steps: number): Promise<void> {
    if (steps <= this.steps) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ steps, resolve }));
  }

  /** Settles after some more steps, or when it has waited long: those who make them may all wait for what goes wrong. */
  async soon(steps: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const over = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, AT_MOST_MS);
    });
    await Promise.race([this.reached(this.steps + steps), over]);
    clearTimeout(timer);
  }
}

/** A server and how it is asked. */
export interface Gateway {
  readonly served: Served;
  readonly ask: Asking;
}

/** Servers over one store. */
export class Servers {
  readonly relays: readonly Relay[];
  readonly #start: (port: number) => Promise<Served>;
  readonly #gateways: (Gateway | undefined)[] = [];
  /** What ended and was not killed, and what it said. */
  readonly #ended: string[] = [];

  private constructor(relays: readonly Relay[], start: (port: number) => Promise<Served>) {
    this.relays = relays;
    this.#start = start;
  }

  /** Servers that reach the store at `port` of this machine; `start` begins one that finds it at another. */
  static async over(port: number, count: number, start: (port: number) => Promise<Served>): Promise<Servers> {
    return new Servers(await Promise.all(Array.from({ length: count }, () => Relay.to(port))), start);
  }

  async begin(index: number): Promise<void> {
    const served = await this.#start((this.relays[index] as Relay).port);
    this.#gateways[index] = { served, ask: asking(served.port) };
    void served.ended.then((code) => {
      if (this.#gateways[index]?.served === served) this.#ended.push(`ended with ${code}: ${served.problems()}`);
    });
  }

  async beginAll(): Promise<void> {
    await Promise.all(this.relays.map((_, index) => this.begin(index)));
  }

  /** Those that run. */
  get running(): readonly Gateway[] {
    return this.#gateways.filter((gateway) => gateway !== undefined);
  }

  /** One that runs, or did a moment ago. */
  any(random: Random): Gateway {
    const there = this.running;
    return there[random(there.length)] as Gateway;
  }

  /** Sends a signal to the process of one. */
  signal(index: number, name: "SIGSTOP" | "SIGCONT"): void {
    this.#gateways[index]?.served.process.kill(name);
  }

  async kill(index: number): Promise<void> {
    const gateway = this.#gateways[index];
    this.#gateways[index] = undefined;
    gateway?.served.process.kill("SIGKILL");
    await gateway?.served.ended;
    expect(this.#ended).toEqual([]);
  }

  async killAll(): Promise<void> {
    await Promise.all(this.relays.map((_, index) => this.kill(index)));
  }

  async close(): Promise<void> {
    await this.killAll();
    await Promise.all(this.relays.map((relay) => relay.close()));
  }
}

/** What lies between a server and the store: a relay is one. */
export interface Line {
  cut(): void;
  hold(): void;
  mend(): void;
  abandon(): Late;
}

/** Servers that something may befall. */
export interface Troubled {
  readonly relays: readonly Line[];
  signal(index: number, name: "SIGSTOP" | "SIGCONT"): void;
  kill(index: number): Promise<void>;
  begin(index: number): Promise<void>;
}

/** Of 16 that go wrong so many are of each kind. */
const KINDS = [
  "kills",
  "kills",
  "kills",
  "killsLate",
  "killsLate",
  "pauses",
  "pauses",
  "cuts",
  "cuts",
  "holds",
  "holds",
  "abandons",
  "abandons",
  "abandons",
  "storeKills",
  "forks",
] as const;

/** What goes wrong. */
export class Trouble {
  readonly #random: Random;
  readonly #pace: Pace;
  readonly #servers: Troubled;
  readonly #store: Pick<Running, "kill" | "start">;
  readonly #fork: () => Promise<void>;
  readonly #late: { readonly at: number; readonly life: number; readonly late: Late }[] = [];
  #life = 0;
  /**
   * How often each happened. On `lateConnections` requests arrived when nobody waited for them any more; on `lateLives` of those, when all
   * servers were others.
   */
  readonly reached = {
    kills: 0,
    killsLate: 0,
    pauses: 0,
    cuts: 0,
    holds: 0,
    abandons: 0,
    storeKills: 0,
    forks: 0,
    lateConnections: 0,
    lateLives: 0,
  };

  constructor(
    random: Random,
    pace: Pace,
    servers: Troubled,
    store: Pick<Running, "kill" | "start">,
    fork: () => Promise<void>,
  ) {
    this.#random = random;
    this.#pace = pace;
    this.#servers = servers;
    this.#store = store;
    this.#fork = fork;
  }

  /** Has one go wrong after the other until clients have made so many steps; `every` are between two of them, more or less. */
  async run(until: number, every: number): Promise<void> {
    this.#life += 1;
    for (;;) {
      await this.#pace.reached(Math.min(until, this.#pace.steps + 1 + this.#random(2 * every)));
      if (this.#pace.steps >= until) return;
      this.#deliver(this.#pace.steps);
      const kind = KINDS[this.#random(KINDS.length)] as (typeof KINDS)[number];
      await this.#pace.meanwhile(() => this.#happen(kind));
    }
  }

  /** How often anything did. */
  get happened(): number {
    return [...new Set(KINDS)].reduce((sum, kind) => sum + this.reached[kind], 0);
  }

  /** Has everything arrive that is still held. */
  deliverAll(): void {
    this.#life += 1;
    this.#deliver(Number.POSITIVE_INFINITY);
  }

  async #happen(kind: (typeof KINDS)[number]): Promise<void> {
    this.reached[kind] += 1;
    const index = this.#random(this.#servers.relays.length);
    const relay = this.#servers.relays[index] as Line;
    if (kind === "forks") return await this.#fork();
    if (kind === "storeKills") {
      await this.#store.kill();
      await this.#soon(10);
      return await this.#store.start();
    }
    if (kind === "kills" || kind === "killsLate") {
      if (kind === "killsLate") await this.#holdSome(relay);
      await this.#servers.kill(index);
      if (kind === "killsLate") this.#abandon(relay);
      return await this.#servers.begin(index);
    }
    if (kind === "pauses") {
      this.#servers.signal(index, "SIGSTOP");
      await this.#soon(20);
      return this.#servers.signal(index, "SIGCONT");
    }
    if (kind === "abandons") {
      await this.#holdSome(relay);
      return this.#abandon(relay);
    }
    if (kind === "cuts") relay.cut();
    else relay.hold();
    await this.#soon(20);
    relay.mend();
  }

  async #holdSome(relay: Line): Promise<void> {
    relay.hold();
    await this.#soon(10);
  }

  /** What is held arrives when others have gone on, perhaps when all servers are others. */
  #abandon(relay: Line): void {
    this.#late.push({ at: this.#pace.steps + this.#random(100), life: this.#life, late: relay.abandon() });
  }

  #deliver(steps: number): void {
    for (const { late, life } of this.#late.filter(({ at }) => at <= steps)) {
      late.deliver();
      this.reached.lateConnections += late.connections;
      if (life < this.#life) this.reached.lateLives += late.connections;
    }
    this.#late.splice(0, Number.POSITIVE_INFINITY, ...this.#late.filter(({ at }) => at > steps));
  }

  #soon(steps: number): Promise<void> {
    return this.#pace.soon(1 + this.#random(steps));
  }
}
