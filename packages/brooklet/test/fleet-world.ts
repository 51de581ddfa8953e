/**
 * What clients of several servers do with one database at the same time, and what they saw of it: writes with and without conditions, feeds,
 * operations by selection, gets, queries, visits whose pages come of any server, erasures with receipts, deployments that add and remove
 * fields. Of each document there must be an order of all this that explains what was seen; documents that nobody touches are in each visit
 * exactly once; what was deployed is known to whichever server is asked next.
 */
import { zipSync } from "fflate";
import { expect } from "vitest";
import { verifyReceipt } from "../src/receipt.ts";
import {
  ABSENT,
  appliedWhere,
  type Random,
  randomChange,
  randomCondition,
  randomWrite,
  seen,
  stateOf,
  type Write,
  written,
} from "./history-documents.ts";
import { DocumentHistory, type Operation, type State } from "./linearizable.ts";
import { type Answered, type Asking, applicationFiles, HITS_MAX } from "./served.ts";

export const GROUPS = ["alice", "bob", "carol", "dave"] as const;
const NAMES = ["1", "2", "3", "4"] as const;
const STILL = "still";
const STILL_COUNT = 12;
const STILL_STATE = stateOf({ n: -1_000 });
const TAGS = ["tag1", "tag2"] as const;
const WAIT_MS = 300_000;
const FED = 6;
/** Of a hundred operations of clients so many are of each kind. */
const KINDS = {
  write: 42,
  get: 20,
  feed: 8,
  query: 10,
  visit: 10,
  applyWhere: 4,
  tag: 3,
  deploy: 2,
  erase: 1,
  fill: 4,
} as const;
type Kind = keyof typeof KINDS;

type Tag = (typeof TAGS)[number];

/** An application with some of the fields that come and go. */
export function filesWith(tags: readonly Tag[]): ReadonlyMap<string, string> {
  const more = tags.map((tag) => `field ${tag} type int { indexing: summary | attribute }`);
  return applicationFiles({
    note: `schema note {
      document note {
        field n type int { indexing: summary | attribute }
        field list type array<int> { indexing: summary | attribute }
        field mark type string { indexing: summary | attribute }
        ${more.join("\n")}
      }
    }`,
  });
}

/** A document of an answer. */
interface Shown {
  readonly id?: string;
  readonly put?: string;
  readonly fields?: { readonly n?: number; readonly list?: readonly number[] };
}

/** Why an operation was not answered as it could be. */
interface Failed {
  readonly code?: string;
  readonly outcome?: string;
  readonly message?: string;
}

const idOf = (group: string, name: string): string => `id:test:note:g=${group}:${name}`;
const pathOf = (group: string, name: string): string => `/document/v1/test/note/group/${group}/${name}`;
const MARK = /m\d+q/;
/** What a failure of a server that has not itself to blame may be. */
const FAILURES = ["UNAVAILABLE", "TIMED_OUT", "STORE_FAILED", "CLOSED", "OVERLOADED", "TAIL_FULL"];

/** How a world is. */
export interface WorldOptions {
  /** Groups get so many documents that nobody touches, each of so many bytes, from time to time: large groups are split. */
  readonly ballast?: { readonly documents: number; readonly bytes: number };
}

/** What clients know. */
export class World {
  readonly #random: Random;
  readonly #any: () => Asking;
  readonly #histories = new Map<string, DocumentHistory>();
  readonly #states = new Map<string, readonly State[]>();
  #unanswered: (() => void)[] = [];
  #clock = 0;
  #marks = 0;
  #isDeploying = false;
  /** When groups were erased last; for ever: that is under way, or was not answered. */
  readonly #erased = new Map<string, number>();
  /** Fields that every server knows; nothing: a deployment may or may not have been done. */
  #tags: readonly Tag[] | undefined = [];
  #deployments = 0;
  /** A deployment that was not answered may come to its end as long as its server lives. */
  #isUnsure = false;
  readonly counts: Record<
    Kind | "refused" | "erased" | "deployed" | "notApplied" | "unanswered" | "unread" | "forks",
    number
  > = {
    write: 0,
    get: 0,
    feed: 0,
    query: 0,
    visit: 0,
    applyWhere: 0,
    tag: 0,
    deploy: 0,
    erase: 0,
    fill: 0,
    refused: 0,
    erased: 0,
    deployed: 0,
    notApplied: 0,
    unanswered: 0,
    unread: 0,
    forks: 0,
  };

  readonly #options: WorldOptions;
  /** Documents of ballast that are there, by group. */
  readonly #ballast = new Map<string, ReadonlySet<string>>();

  /** `any` gives whom to ask next. */
  constructor(random: Random, any: () => Asking, options: WorldOptions = {}) {
    this.#options = options;
    this.#random = random;
    this.#any = any;
    for (const group of GROUPS)
      for (const name of NAMES) {
        this.#histories.set(idOf(group, name), new DocumentHistory());
        this.#states.set(idOf(group, name), [ABSENT]);
      }
  }

  /** Deploys the first application. */
  async deployFirst(files: ReadonlyMap<string, string>): Promise<void> {
    const answer = await this.#ask("POST", DEPLOY, zipped(files), [200], ZIP);
    expect("text" in answer, JSON.stringify(answer)).toBe(true);
  }

  /** Documents that nobody touches later. */
  async begin(): Promise<void> {
    for (let number = 0; number < STILL_COUNT; number += 1)
      await this.#surely("POST", pathOf(STILL, `${number}`), { fields: { n: -1_000 } });
  }

  /** One operation of one client. */
  async step(): Promise<void> {
    const { ballast } = this.#options;
    const kinds = (Object.entries(KINDS) as [Kind, number][]).filter(([of]) => of !== "fill" || ballast !== undefined);
    let chance = this.#random(kinds.reduce((sum, [, share]) => sum + share, 0));
    const [kind] = kinds.find(([, share]) => {
      chance -= share;
      return chance < 0;
    }) as [Kind, number];
    const done: Record<Kind, () => Promise<unknown>> = {
      write: () => this.#write(),
      get: () => this.#get(this.#of(GROUPS), this.#of(NAMES)),
      feed: () => this.#feed(),
      query: () => this.#query(this.#of(GROUPS)),
      visit: () => this.#visit(),
      applyWhere: () => this.#applyWhere(),
      tag: () => this.#tag(),
      deploy: () => this.#deploy(),
      erase: () => this.#erase(this.#of(GROUPS)),
      fill: () => this.#fill(this.#of(GROUPS)),
    };
    if ((await done[kind]()) !== false) this.counts[kind] += 1;
  }

  async #write(): Promise<boolean> {
    const [group, name] = [this.#of(GROUPS), this.#of(NAMES)];
    const write = this.#marked(randomWrite(this.#random));
    const { method, parameters, body } = write;
    const about = `${method} ${JSON.stringify(parameters)} ${JSON.stringify(body)}`;
    const timeout = this.#random(8) === 0 ? `${50 + this.#random(500)}ms` : "20s";
    const query = new URLSearchParams({ ...parameters, timeout }).toString();
    const begun = this.#now();
    const record = (status?: number): void => this.#record(idOf(group, name), written(about, write, status), begun);
    const answer = await this.#ask(method, `${pathOf(group, name)}?${query}`, body, [200, 412]);
    return this.#became(answer, record);
  }

  /** Notes what came of a write that was answered, refused or neither. */
  #became(answer: Answered | Failed, record: (status?: number) => void): boolean {
    if ("status" in answer && (answer.status === 200 || answer.status === 412)) {
      record(answer.status);
      if (answer.status === 412) this.counts.refused += 1;
      return true;
    }
    if ("outcome" in answer && answer.outcome === "not_applied") this.counts.notApplied += 1;
    else {
      this.counts.unanswered += 1;
      this.#unanswered.push(record);
    }
    return false;
  }

  /** Many operations in one request, on documents that may be of several groups; some of them on the same. */
  async #feed(): Promise<boolean> {
    const begun = this.#now();
    const fed = Array.from({ length: 1 + this.#random(FED) }, () => {
      const [group, name] = [this.#of(GROUPS), this.#of(NAMES)];
      return { id: idOf(group, name), write: this.#marked(randomWrite(this.#random)) };
    });
    const verbs = { POST: "put", PUT: "update", DELETE: "remove" } as const;
    const lines = fed.map(({ id, write: { method, parameters, body } }) => {
      const { condition, create } = parameters;
      const asked = { ...(condition && { condition }), ...(create && { create: true }) };
      return JSON.stringify({ [verbs[method]]: id, ...asked, ...(body as object | undefined) });
    });
    const headers = { accept: "application/jsonl" };
    const answer = await this.#ask("POST", "/brooklet/v1/feed", lines.join("\n"), [200], headers);
    const told = new Map<number, { status?: number; outcome?: string }>();
    for (const line of "text" in answer ? answer.text.split("\n") : []) {
      if (line === "") continue;
      const one = JSON.parse(line) as { operation?: number; status?: number; outcome?: string };
      if (one.operation !== undefined) told.set(one.operation, one);
    }
    // Nothing of one that was refused as a whole was done.
    const isRefused = "outcome" in answer && answer.outcome === "not_applied";
    fed.forEach(({ id, write }, index) => {
      const about = `fed ${lines[index]}`;
      const record = (status?: number): void => this.#record(id, written(about, write, status), begun);
      const one = told.get(index) ?? told.get(index);
      this.#became((one as Answered | undefined) ?? (isRefused ? { outcome: "not_applied" } : {}), record);
    });
    return told.size > 0;
  }

  /** Gives whether it was answered. */
  async #get(group: string, name: string): Promise<boolean> {
    const begun = this.#now();
    // Of what is old nothing is known but that it is an answer.
    const isEventual = this.#random(6) === 0;
    const more = isEventual ? "&consistency=eventual" : "";
    const answer = await this.#ask("GET", `${pathOf(group, name)}?timeout=20s${more}`, undefined, [200, 404]);
    if (!("text" in answer)) return this.#unread();
    if (!isEventual)
      this.#saw(idOf(group, name), "got", answer.status === 404 ? undefined : shownIn(answer.text), begun);
    return true;
  }

  /** A query of one group by one field: of each document it says whether it was found. */
  async #query(group: string): Promise<boolean> {
    const wanted = this.#random(6);
    const begun = this.#now();
    const body = {
      yql: `select documentid, n, list from note where n = ${wanted}`,
      "streaming.groupname": group,
      hits: HITS_MAX,
      timeout: "20s",
    };
    const answer = await this.#ask("POST", "/search/", body, [200]);
    if (!("text" in answer)) return this.#unread();
    const { root } = JSON.parse(answer.text) as {
      root: { children?: readonly { fields: { documentid: string; n: number; list?: number[] } }[]; errors?: unknown };
    };
    expect(root.errors, answer.text).toBe(undefined);
    const found = new Map((root.children ?? []).map(({ fields }) => [fields.documentid, stateOf(fields)]));
    const isOther = (of: State): boolean => of === ABSENT || (JSON.parse(of) as { n?: number }).n !== wanted;
    for (const name of NAMES) {
      const state = found.get(idOf(group, name));
      const about = state === undefined ? `not found by n = ${wanted}` : `found ${state}`;
      const isSeen = state === undefined ? isOther : (of: State) => of === state;
      this.#record(idOf(group, name), seen(about, isSeen), begun);
    }
    return true;
  }

  /** A visit, each page of it by whichever server: of one group or all, some of it in slices. */
  async #visit(): Promise<boolean> {
    const group = this.#random(3) === 0 ? undefined : this.#of([...GROUPS, STILL]);
    const slices = this.#random(3) === 0 ? 1 + this.#random(3) : 0;
    const more = ["", "&includeRemoves=true", "&concurrency=3", "&stream=true"][this.#random(4)] ?? "";
    const where = group === undefined ? "?cluster=all" : `test/note/group/${group}?`;
    const { ballast } = this.#options;
    const wanted = ballast === undefined ? 1 + this.#random(12) : 50 + this.#random(ballast.documents);
    const path = `/document/v1/${where}&timeout=20s&wantedDocumentCount=${wanted}${more}`;
    const there = (group === undefined ? GROUPS : [group]).map((of) => [of, this.#ballast.get(of)] as const);
    const begun = this.#now();
    const found: string[] = [];
    for (let slice = 0; slice < Math.max(slices, 1); slice += 1) {
      const part = slices === 0 ? "" : `&slices=${slices}&sliceId=${slice}`;
      if (!(await this.#walk(`${path}${part}`, found))) return this.#unread();
    }
    // A group that is erased and written again meanwhile is another one.
    const isSame = (id: string): boolean =>
      !GROUPS.some((name) => id.startsWith(idOf(name, "")) && this.#isErased(name, begun));
    const twice = found.filter((id, at) => found.indexOf(id) !== at && isSame(id));
    expect(twice, `documents seen twice by ${path}`).toEqual([]);
    const still = found.filter((id) => id.startsWith(idOf(STILL, "")));
    const all = new Set(found);
    for (const [of, ids = []] of there) {
      if (this.#isErased(of, begun)) continue;
      expect(
        [...ids].filter((id) => !all.has(id)),
        `ballast that ${path} lacks`,
      ).toEqual([]);
    }
    if (group === undefined || group === STILL) expect(still, path).toHaveLength(STILL_COUNT);
    // What a visit does not show was not there at some moment of it.
    for (const id of this.#idsOf(group === undefined ? GROUPS : [group]))
      if (!found.includes(id))
        this.#record(
          id,
          seen("not visited", (of) => of === ABSENT),
          begun,
        );
    return true;
  }

  /** Whether a group was erased, or may have been, since a moment. */
  #isErased(group: string, since: number): boolean {
    return (this.#erased.get(group) ?? 0) > since;
  }

  /** The pages of a visit, or of a slice of one. Gives whether it came to its end. */
  async #walk(path: string, found: string[]): Promise<boolean> {
    for (let continuation = ""; ; ) {
      const begun = this.#now();
      const answer = await this.#ask("GET", `${path}${continuation}`, undefined, [200]);
      if (!("text" in answer)) return false;
      const page = JSON.parse(answer.text) as { documents?: readonly Shown[]; continuation?: string; message?: string };
      // Of one that is streamed the status was told before it failed.
      if (page.documents === undefined || page.message !== undefined) return false;
      for (const shown of page.documents) {
        const id = shown.id ?? shown.put;
        if (id === undefined) continue;
        found.push(id);
        if (this.#histories.has(id)) this.#saw(id, "visited", shown, begun);
        else expect(stateOf(shown.fields ?? {}), id).toBe(STILL_STATE);
      }
      if (page.continuation === undefined) return true;
      continuation = `&continuation=${page.continuation}`;
    }
  }

  /** An update or a removal of all documents that are selected, of a group or of all; each part of it by whichever server. */
  async #applyWhere(): Promise<boolean> {
    const groups = this.#random(3) === 0 ? GROUPS : [this.#of(GROUPS)];
    const condition = randomCondition(this.#random);
    const change = this.#random(2) === 0 ? undefined : randomChange(this.#random);
    const selection = `(${condition.selection}) and note.n != -1000`;
    const about = `${change === undefined ? "remove" : `update ${JSON.stringify(change.fields)}`} where ${selection}`;
    const begun = this.#now();
    const record = (isAnswered: boolean): void => {
      const operation = appliedWhere(about, condition, change?.change, isAnswered);
      for (const id of this.#idsOf(groups)) this.#record(id, operation, begun);
    };
    const path = `/document/v1/test/note/${groups.length === 1 ? `group/${groups[0]}` : "docid"}`;
    const parameters = new URLSearchParams({ cluster: "all", selection, timeout: "20s" });
    const [method, body] =
      change === undefined ? (["DELETE", undefined] as const) : (["PUT", { fields: change.fields }] as const);
    for (let continuation = "", part = 0; ; part += 1) {
      const answer = await this.#ask(method, `${path}?${parameters}${continuation}`, body, [200]);
      if (!("text" in answer)) {
        if (part === 0 && answer.outcome === "not_applied") this.counts.notApplied += 1;
        else {
          this.counts.unanswered += 1;
          this.#unanswered.push(() => record(false));
        }
        return false;
      }
      const next = (JSON.parse(answer.text) as { continuation?: string }).continuation;
      if (next === undefined) break;
      continuation = `&continuation=${next}`;
    }
    record(true);
    return true;
  }

  /** A group is erased: none of its documents is there afterwards, and the receipt is signed by the key that all servers tell. */
  async #erase(group: string): Promise<boolean> {
    const begun = this.#now();
    const record = (isAnswered: boolean): void => {
      const outcomes = (state: State): readonly State[] => (isAnswered ? [ABSENT] : [state, ABSENT]);
      const about = `erased ${group}: ${isAnswered ? "a receipt" : "not answered"}`;
      for (const id of this.#idsOf([group])) this.#record(id, { about, outcomes }, begun);
    };
    this.#erased.set(group, Number.POSITIVE_INFINITY);
    this.#ballast.delete(group);
    const answer = await this.#ask("DELETE", `/brooklet/v1/groups/${group}`, undefined, [200]);
    if ("text" in answer) {
      record(true);
      this.#erased.set(group, this.#now());
      this.counts.erased += 1;
      const { signature } = JSON.parse(answer.text) as { readonly signature: string };
      const key = await this.#ask("GET", "/brooklet/v1/receipt-key", undefined, [200]);
      if ("text" in key) expect((await verifyReceipt(signature, JSON.parse(key.text) as object)).group).toBe(group);
      return true;
    }
    this.counts.unanswered += 1;
    this.#unanswered.push(() => record(false));
    return false;
  }

  /** A group becomes large, by documents that nobody touches. */
  async #fill(group: string): Promise<boolean> {
    const { documents, bytes } = this.#options.ballast as NonNullable<WorldOptions["ballast"]>;
    const begun = this.#now();
    const ids = Array.from({ length: documents }, (_, at) => idOf(group, `ballast${at}`));
    const text = (): string => Array.from({ length: bytes >> 3 }, () => this.#random(2 ** 31).toString(36)).join("-");
    const lines = ids.map((id) => JSON.stringify({ put: id, fields: { n: -1_000, mark: text() } }));
    const answer = await this.#ask("POST", "/brooklet/v1/feed", lines.join("\n"), [200]);
    if (!("text" in answer)) return false;
    const { applied } = JSON.parse(answer.text) as { readonly applied?: number };
    if (applied !== documents || this.#isErased(group, begun)) return false;
    this.#ballast.set(group, new Set(ids));
    return true;
  }

  /** An application with other fields. */
  async #deploy(): Promise<boolean> {
    if (this.#isDeploying) return false;
    this.#isDeploying = true;
    const tags = TAGS.filter(() => this.#random(2) === 0);
    this.#deployments += 1;
    this.#tags = undefined;
    try {
      const answer = await this.#ask("POST", DEPLOY, zipped(filesWith(tags)), [200, 409], ZIP);
      if (!("text" in answer)) this.#isUnsure ||= answer.outcome !== "not_applied";
      if (!("text" in answer) || answer.status === 409) return false;
      this.#tags = this.#isUnsure ? undefined : tags;
      this.counts.deployed += 1;
      return true;
    } finally {
      this.#isDeploying = false;
    }
  }

  /** A value for a field that came or went: whoever is asked knows what was deployed before. */
  async #tag(): Promise<boolean> {
    const [tag, before, deployments] = [this.#of(TAGS), this.#tags, this.#deployments];
    const fields = { [tag]: { assign: this.#random(6) } };
    const answer = await this.#ask("PUT", pathOf(this.#of(GROUPS), this.#of(NAMES)), { fields }, [200, 400]);
    if (!("text" in answer)) return false;
    // One that went may be taken for a moment by a server that has not heard of it.
    if (before?.includes(tag) && deployments === this.#deployments)
      expect(answer.status, `${tag} of ${before.join()}: ${answer.text}`).toBe(200);
    return true;
  }

  /** What a fork of a snapshot has: as if it had been read while that was taken. */
  async readFork(fork: () => Promise<{ readonly ask: Asking; readonly close: () => Promise<void> }>): Promise<void> {
    const begun = this.#now();
    const { ask, close } = await fork();
    const ended = this.#now();
    for (const group of GROUPS)
      for (const name of NAMES) {
        const { status, text } = await ask("GET", pathOf(group, name));
        expect([200, 404], text).toContain(status);
        const state = status === 404 ? ABSENT : stateOf(shownIn(text).fields ?? {});
        const operation = seen(`forked ${state}`, (of) => of === state);
        this.#histories.get(idOf(group, name))?.record(operation, begun, ended);
      }
    await close();
    this.counts.forks += 1;
  }

  /** All servers are new: whoever writes takes each bucket over, so that what those before still send comes too late from here on. */
  async takeOver(): Promise<void> {
    for (const group of GROUPS) await this.#surely("POST", pathOf(group, "seal"), { fields: { n: -1_000 } });
    for (const group of GROUPS) await this.#surely("DELETE", pathOf(group, "seal"));
    await this.settle();
  }

  /** What was not answered cannot happen any more; what was seen must have been possible. */
  async settle(): Promise<void> {
    this.#isUnsure = false;
    for (const [group, at] of this.#erased) this.#erased.set(group, Math.min(at, this.#now()));
    for (const record of this.#unanswered.splice(0)) record();
    for (const group of GROUPS) for (const name of NAMES) await this.read(group, name);
    for (const [id, history] of this.#histories) {
      const states = history.settle(this.#states.get(id) ?? []);
      expect(states, id).toHaveLength(1);
      this.#states.set(id, states);
    }
  }

  /** Reads a document until it is told. */
  async read(group: string, name: string, ask?: Asking): Promise<void> {
    const begun = this.#now();
    const { status, text } = await this.#surely("GET", pathOf(group, name), undefined, ask);
    this.#saw(idOf(group, name), "read", status === 404 ? undefined : shownIn(text), begun);
  }

  /** What each server says of each document, asked one after the other. */
  async readAll(asks: readonly Asking[]): Promise<void> {
    for (const ask of asks) for (const group of GROUPS) for (const name of NAMES) await this.read(group, name, ask);
    await this.settle();
  }

  /** Erases everything, by receipts. */
  async eraseAll(): Promise<void> {
    for (const group of GROUPS) {
      const begun = this.#now();
      await this.#surely("DELETE", `/brooklet/v1/groups/${group}`);
      this.#ballast.delete(group);
      const operation = { about: "erased", outcomes: () => [ABSENT] };
      for (const id of this.#idsOf([group])) this.#record(id, operation, begun);
    }
    await this.settle();
  }

  async #surely(method: string, path: string, body?: unknown, ask?: Asking): Promise<Answered> {
    const endMs = Date.now() + WAIT_MS;
    for (;;) {
      const answer = await this.#ask(method, path, body, [200, 404], {}, ask);
      if ("text" in answer) return answer;
      expect(Date.now(), `${method} ${path}: ${answer.message}`).toBeLessThan(endMs);
    }
  }

  /** An answer of those that are awaited, or why there is none. */
  async #ask(
    method: string,
    path: string,
    body: unknown,
    awaited: readonly number[],
    headers: Readonly<Record<string, string>> = {},
    ask = this.#any(),
  ): Promise<Answered | Failed> {
    let answer: Answered;
    try {
      answer = await ask(method, path, body, headers);
    } catch (error) {
      return { message: String(error) };
    }
    if (awaited.includes(answer.status)) return answer;
    const failed = failureOf(answer);
    expect(answer.status, `${method} ${path}: ${answer.text}`).toBeGreaterThanOrEqual(500);
    expect(FAILURES, `${method} ${path}: ${answer.text}`).toContain(failed.code);
    return failed;
  }

  #marked(write: Write): Write {
    if (write.method !== "POST") return write;
    this.#marks += 1;
    const { fields } = write.body as { readonly fields: object };
    return { ...write, body: { fields: { ...fields, mark: `m${this.#marks}q` } } };
  }

  #unread(): boolean {
    this.counts.unread += 1;
    return false;
  }

  #saw(id: string, about: string, shown: Shown | undefined, begun: number): void {
    const state = shown === undefined ? ABSENT : stateOf(shown.fields ?? {});
    this.#record(
      id,
      seen(`${about} ${state}`, (of) => of === state),
      begun,
    );
  }

  #record(id: string, operation: Operation, begun: number): void {
    this.#histories.get(id)?.record(operation, begun, this.#now());
  }

  #idsOf(groups: readonly string[]): readonly string[] {
    return groups.filter((group) => group !== STILL).flatMap((group) => NAMES.map((name) => idOf(group, name)));
  }

  #now(): number {
    this.#clock += 1;
    return this.#clock;
  }

  #of<Member>(of: readonly Member[]): Member {
    return of[this.#random(of.length)] as Member;
  }
}

const DEPLOY = "/application/v2/tenant/default/prepareandactivate";
const ZIP = { "content-type": "application/zip" };

function zipped(files: ReadonlyMap<string, string>): Uint8Array {
  const encoder = new TextEncoder();
  return zipSync(Object.fromEntries([...files].map(([path, text]) => [path, encoder.encode(text)])));
}

function shownIn(text: string): Shown {
  return JSON.parse(text) as Shown;
}

function failureOf({ text }: Answered): Failed {
  const said = JSON.parse(text) as Failed & {
    readonly root?: { readonly errors?: readonly { readonly message?: string }[] };
  };
  return { ...said, message: said.message ?? text };
}

/** What of the texts that are erased is in some bytes. */
export function marksIn(bytes: Uint8Array): readonly string[] {
  return new TextDecoder("latin1").decode(bytes).match(new RegExp(MARK, "g")) ?? [];
}
