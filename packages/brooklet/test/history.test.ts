/**
 * Several clients of one server at once: puts, updates, removes, conditions, operations by selection, gets, queries and
 * visits over HTTP, while tails are folded and segments compacted, and the server is killed or ended and started again
 * in between. What the clients saw of each document must have an order that explains it, and documents nobody touches
 * are seen by every visit exactly once. BROOKLET_HISTORY_STEPS asks for more operations, BROOKLET_SEED repeats choices.
 */
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  ABSENT,
  appliedWhere,
  type Random,
  randomChange,
  randomCondition,
  randomFrom,
  randomWrite,
  seen,
  stateOf,
  written,
} from "./history-documents.ts";
import { DocumentHistory, type State } from "./linearizable.ts";
import { type Asking, applicationFiles, asking, folder, HITS_MAX, serveProcess, writeFiles } from "./served.ts";

const STEPS = Number(process.env["BROOKLET_HISTORY_STEPS"] ?? 2_000);
const SEED = Number(process.env["BROOKLET_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const CLIENTS = 8;
/** Operations between two starts of the server. */
const LIFE_STEPS = 1_000;
/** Removes are forgotten so soon, so that a forgotten one could bring back what it removed. */
const KEEP_REMOVES_SECONDS = "1";
const SCOPES = ["group/alice", "group/bob", "number/7", "docid"] as const;
/** Those a query can be asked of. */
const GROUPS = SCOPES.filter((scope) => scope !== "docid");
const TOUCHED = 8;
const UNTOUCHED = 25;

type Scope = (typeof SCOPES)[number];

const files = applicationFiles({
  note: `schema note {
    document note {
      field n type int { indexing: summary | attribute }
      field list type array<int> { indexing: summary | attribute }
    }
  }`,
});

function idOf(scope: Scope, name: string): string {
  const [kind, value = ""] = scope.split("/");
  return `id:test:note:${kind === "group" ? "g=" : kind === "number" ? "n=" : ""}${value}:${name}`;
}

const namesOf = (letter: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => `${String(at * 3).padStart(2, "0")}${letter}`);
/** Between those that are touched. */
const untouched = SCOPES.flatMap((scope) => namesOf("u", UNTOUCHED).map((name) => idOf(scope, name))).sort();
const touched = SCOPES.flatMap((scope) =>
  namesOf("t", TOUCHED).map((name) => ({ scope, name, id: idOf(scope, name) })),
);
const UNTOUCHED_STATE = stateOf({ n: -1_000 });

/** A document of an answer; `remove` instead of the rest where it was removed. */
interface Shown {
  readonly id?: string;
  readonly put?: string;
  readonly remove?: string;
  readonly fields?: { readonly n?: number; readonly list?: readonly number[] };
}

/** A visit that is under way, perhaps for longer than the server lives. */
interface Walk {
  readonly path: string;
  readonly scopes: readonly Scope[];
  readonly documents: Shown[];
  continuation: string;
}

class World {
  readonly #random: Random;
  readonly #histories = new Map<string, DocumentHistory>();
  /** What each document may be at the beginning of this life of the server. */
  readonly #states = new Map<string, readonly State[]>();
  /** Visits that a life left unfinished, to be gone on with in the next. */
  readonly #unfinished: Walk[] = [];
  /** Writes that were not answered in this life: when it is over they have happened, or never will. */
  #unanswered: (() => void)[] = [];
  #clock = 0;
  readonly counts = { writes: 0, refused: 0, reads: 0, queries: 0, visits: 0, resumed: 0, mass: 0, unanswered: 0 };
  ask: Asking;
  isOver = false;

  constructor(random: Random, ask: Asking) {
    this.#random = random;
    this.ask = ask;
    for (const { id } of touched) {
      this.#histories.set(id, new DocumentHistory());
      this.#states.set(id, [ABSENT]);
    }
  }

  /** One operation of one client. Gives whether it was answered. */
  async step(): Promise<boolean> {
    const chance = this.#random(100);
    if (chance < 60) return await this.#write();
    if (chance < 88) return await this.#get();
    if (chance < 93) return await this.#query();
    if (chance < 95) return await this.#applyWhere();
    return await this.#visit();
  }

  /** The life is over: what was not answered cannot happen any more. */
  end(): void {
    for (const record of this.#unanswered) record();
    this.#unanswered = [];
  }

  /** Compares what was seen in the life before with what can have been, after a look at everything. */
  async settle(): Promise<void> {
    const path = "/document/v1/?cluster=all&wantedDocumentCount=50";
    expect(await this.#walk({ path, scopes: SCOPES, documents: [], continuation: "" })).toBe(true);
    for (const [id, history] of this.#histories) {
      const states = history.settle(this.#states.get(id) ?? []);
      expect(states, id).toHaveLength(1);
      this.#states.set(id, states);
    }
  }

  async #write(): Promise<boolean> {
    const { scope, name, id } = this.#any(touched);
    const write = randomWrite(this.#random);
    const { method, parameters, body } = write;
    const about = `${method} ${JSON.stringify(parameters)} ${JSON.stringify(body)}`;
    const begun = this.#now();
    const record = (status?: number): void =>
      this.#history(id).record(written(about, write, status), begun, this.#now());
    const query = new URLSearchParams(parameters).toString();
    const answer = await this.#answer(method, `/document/v1/test/note/${scope}/${name}?${query}`, body);
    if (answer === undefined) {
      this.#unanswered.push(record);
      return false;
    }
    const { status } = answer;
    expect([200, 412], `${id} ${about}`).toContain(status);
    record(status);
    this.counts.writes += 1;
    if (status === 412) this.counts.refused += 1;
    return true;
  }

  async #get(): Promise<boolean> {
    const { scope, name, id } = this.#any(touched);
    const begun = this.#now();
    const answer = await this.#answer("GET", `/document/v1/test/note/${scope}/${name}`);
    if (answer === undefined) return false;
    expect([200, 404]).toContain(answer.status);
    const state = answer.status === 404 ? ABSENT : stateOf((JSON.parse(answer.text) as Shown).fields ?? {});
    this.#saw(id, `got ${state}`, (of) => of === state, begun);
    this.counts.reads += 1;
    return true;
  }

  /** A query of one group by one field: of each document it says whether it was found. */
  async #query(): Promise<boolean> {
    const scope = this.#any(GROUPS);
    const wanted = this.#random(6);
    const [kind, value] = scope.split("/");
    const begun = this.#now();
    const answer = await this.#answer("POST", "/search/", {
      yql: `select documentid, n, list from note where n = ${wanted}`,
      [kind === "group" ? "streaming.groupname" : "streaming.userid"]: value,
      hits: HITS_MAX,
      timeout: "20s",
    });
    if (answer === undefined) return false;
    const { root } = JSON.parse(answer.text) as {
      root: { children?: readonly { fields: { documentid: string; n: number; list?: number[] } }[]; errors?: unknown };
    };
    expect([answer.status, root.errors]).toEqual([200, undefined]);
    const found = new Map((root.children ?? []).map(({ fields }) => [fields.documentid, stateOf(fields)]));
    const isOther = (of: State): boolean => of === ABSENT || (JSON.parse(of) as { n?: number }).n !== wanted;
    for (const { id } of this.#of([scope])) {
      const state = found.get(id);
      if (state === undefined) this.#saw(id, `not found by n = ${wanted}`, isOther, begun);
      else this.#saw(id, `found ${state}`, (of) => of === state, begun);
    }
    this.counts.queries += 1;
    return true;
  }

  /** An update or a removal of all documents of a group, or of all, that are selected. */
  async #applyWhere(): Promise<boolean> {
    const scopes = this.#random(3) === 0 ? SCOPES : [this.#any(GROUPS)];
    const condition = randomCondition(this.#random);
    const change = this.#random(3) === 0 ? undefined : randomChange(this.#random);
    // Those nobody touches are not selected: they have another number.
    const selection = `(${condition.selection}) and note.n != -1000`;
    const about = `${change === undefined ? "remove" : `update ${JSON.stringify(change.fields)}`} where ${selection}`;
    const begun = this.#now();
    const record = (isAnswered: boolean): void => {
      const operation = appliedWhere(about, condition, change?.change, isAnswered);
      for (const { id } of this.#of(scopes)) this.#history(id).record(operation, begun, this.#now());
    };
    const path = `/document/v1/test/note/${scopes.length === 1 ? scopes[0] : "docid"}`;
    const parameters = new URLSearchParams({ cluster: "all", selection });
    for (let continuation = ""; ; ) {
      const body = change === undefined ? undefined : { fields: change.fields };
      const method = change === undefined ? "DELETE" : "PUT";
      const answer = await this.#answer(method, `${path}?${parameters}${continuation}`, body);
      if (answer === undefined) {
        this.#unanswered.push(() => record(false));
        return false;
      }
      expect(answer.status, answer.text).toBe(200);
      const next = (JSON.parse(answer.text) as { continuation?: string }).continuation;
      if (next === undefined) break;
      continuation = `&continuation=${next}`;
    }
    record(true);
    this.counts.mass += 1;
    return true;
  }

  async #visit(): Promise<boolean> {
    const left = this.#unfinished.pop();
    if (left !== undefined) {
      this.counts.resumed += 1;
      return await this.#walk(left);
    }
    const [scope, wanted] = [this.#any(SCOPES), 10 + this.#random(60)];
    const more = ["", "&includeRemoves=true", "&concurrency=3", "&stream=true"][this.#random(4)] ?? "";
    const where = scope === "docid" ? "?cluster=all&" : `test/note/${scope}?`;
    const path = `/document/v1/${where}wantedDocumentCount=${wanted}${more}`;
    return await this.#walk({ path, scopes: scope === "docid" ? SCOPES : [scope], documents: [], continuation: "" });
  }

  /** A visit, page by page, and what it says of every document. Gives whether it came to its end. */
  async #walk(walk: Walk): Promise<boolean> {
    const { path, scopes } = walk;
    const begun = this.#now();
    const isWhole = walk.continuation === "";
    for (;;) {
      const pageBegun = this.#now();
      const answer = await this.#answer("GET", `${path}${walk.continuation}`);
      if (answer === undefined) {
        this.#unfinished.push(walk);
        return false;
      }
      expect(answer.status, answer.text).toBe(200);
      const { documents, continuation } = JSON.parse(answer.text) as { documents: Shown[]; continuation?: string };
      walk.documents.push(...documents);
      for (const shown of documents) {
        const [id, state] = [nameOf(shown), stateIn(shown)];
        if (this.#histories.has(id)) this.#saw(id, `visited ${state}`, (of) => of === state, pageBegun);
      }
      if (continuation === undefined) break;
      walk.continuation = `&continuation=${continuation}`;
    }
    const shown = walk.documents.map(nameOf);
    expect(shown.length, `documents seen twice by ${path}`).toBe(new Set(shown).size);
    const expected = untouched.filter((id) => scopes.some((scope) => id.startsWith(idOf(scope, ""))));
    const found = walk.documents.filter((of) => nameOf(of).endsWith("u"));
    expect(found.map(nameOf).sort(), path).toEqual(expected);
    expect(found.every((of) => stateIn(of) === UNTOUCHED_STATE)).toBe(true);
    // What a visit does not show was not there at some moment of it, if all of it was in this life.
    const unseen = isWhole ? this.#of(scopes).filter(({ id }) => !shown.includes(id)) : [];
    for (const { id } of unseen) this.#saw(id, "not visited", (of) => of === ABSENT, begun);
    this.counts.visits += 1;
    return true;
  }

  #saw(id: string, about: string, is: (state: State) => boolean, begun: number): void {
    this.#history(id).record(seen(about, is), begun, this.#now());
  }

  #now(): number {
    this.#clock += 1;
    return this.#clock;
  }

  #of(scopes: readonly Scope[]): readonly { readonly id: string }[] {
    return touched.filter(({ scope }) => scopes.includes(scope));
  }

  #history(id: string): DocumentHistory {
    const history = this.#histories.get(id);
    if (history === undefined) throw new Error(`${id} is not one of the documents`);
    return history;
  }

  /** Nothing: the server ended before it answered. */
  async #answer(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ readonly status: number; readonly text: string } | undefined> {
    const { ask } = this;
    try {
      return await ask(method, path, body);
    } catch (error) {
      if (!this.isOver) throw error;
      this.counts.unanswered += 1;
      return undefined;
    }
  }

  #any<Member>(of: readonly Member[]): Member {
    return of[this.#random(of.length)] as Member;
  }
}

function nameOf({ id, put, remove }: Shown): string {
  return id ?? put ?? remove ?? "";
}

function stateIn({ remove, fields }: Shown): State {
  return remove === undefined ? stateOf(fields ?? {}) : ABSENT;
}

test(`what ${CLIENTS} clients saw in ${STEPS} operations has an order that explains it (seed ${SEED})`, {
  timeout: 600_000 + STEPS * 20,
}, async () => {
  const random = randomFrom(SEED);
  const home = folder();
  const application = writeFiles(join(home, "application"), files);
  const words = ["--app", application, "--threads", "2", "--keep-removes", KEEP_REMOVES_SECONDS];
  const start = () => serveProcess(join(home, "data"), ...words);
  let served = await start();
  const world = new World(random, asking(served.port));
  for (const id of untouched) {
    const [, , , place = "", name = ""] = id.split(":");
    const scope = place.replace("g=", "group/").replace("n=", "number/") || "docid";
    const put = await world.ask("POST", `/document/v1/test/note/${scope}/${name}`, { fields: { n: -1_000 } });
    expect(put.status).toBe(200);
  }
  let [steps, kills, ends] = [0, 0, 0];
  while (steps < STEPS) {
    const until = steps + Math.min(LIFE_STEPS / 2 + random(LIFE_STEPS), STEPS - steps);
    world.isOver = false;
    const client = async (): Promise<void> => {
      while (steps < until) {
        steps += 1;
        if (!(await world.step())) return;
      }
      // The first that has nothing left to do; the others are in the middle of something.
      if (world.isOver) return;
      world.isOver = true;
      const signal = random(3) > 0 ? "SIGKILL" : "SIGTERM";
      if (signal === "SIGKILL") kills += 1;
      else ends += 1;
      served.process.kill(signal);
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    await served.ended;
    world.end();
    served = await start();
    world.ask = asking(served.port);
    world.isOver = false;
    await world.settle();
  }
  served.process.kill("SIGTERM");
  expect(await served.ended).toBe(0);
  console.log(`seed ${SEED}: ${steps} steps, ${kills} kills, ${ends} ends, ${JSON.stringify(world.counts)}`);
  for (const [what, count] of Object.entries(world.counts)) {
    if (what !== "unanswered" && what !== "resumed") expect(count, what).toBeGreaterThan(0);
  }
  expect(kills + ends).toBeGreaterThan(0);
});
