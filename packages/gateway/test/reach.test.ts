/** What an authority lets through, asked for itself: each of its questions with everything, one group, several, some schemas, and where there is one group only. */
import type { Answer, Cluster, PartitionKey, QueryHandle, Visit, VisitStep } from "@brooklet/partition";
import type { Grant, Verb } from "@brooklet/wire";
import { describe, expect, test } from "vitest";
import { Authority, type Bounds, type NotedAction, type Reach, type Watch } from "../src/authority/authority.ts";
import { GroupRates } from "../src/authority/group-rates.ts";
import { parseDocumentPath } from "../src/document-path.ts";

const ALICE: Grant = { groups: ["alice"], verbs: ["search", "get", "put", "update", "remove", "visit", "erase"] };
const BOTH: Grant = { ...ALICE, groups: ["alice", "bob"] };
const NOTES: Grant = { ...ALICE, schemas: ["note", "mail"] };
const OPEN: Bounds = { searchOfAll: true, group: undefined, deploys: true, rates: undefined };
const ONLY_ALICE: Bounds = { ...OPEN, group: "alice" };
const ANSWER = { status: 200, body: new Uint8Array() } as Answer;
const CALLER = { by: "token", id: "t" } as const;

interface Asked {
  readonly calls: string[];
  readonly noted: string[];
  readonly refused: (PartitionKey | undefined)[];
  /** The queries that are open. */
  open: number;
}

interface Question {
  readonly keys?: readonly PartitionKey[];
  /** A query that searches nowhere. */
  readonly isNowhere?: boolean;
  /** What it is said to have, whatever is said. */
  readonly fixed?: Readonly<Record<string, string>>;
}

/** A cluster that notes what it was asked. */
function clusterOf(asked: Asked, question: Question): Cluster {
  const { isNowhere, fixed = {} } = question;
  const query: Cluster["query"] = ({ properties }) => {
    const said = { ...Object.fromEntries(properties), ...fixed };
    asked.calls.push(`query ${JSON.stringify(said)}`);
    asked.open += 1;
    return {
      get scope() {
        return isNowhere === true ? undefined : { keys: question.keys };
      },
      parameter: (name: string) => said[name],
      search: async () => ANSWER,
      [Symbol.dispose]: () => {
        asked.open -= 1;
      },
    } as QueryHandle;
  };
  const note = (name: string, ...words: readonly unknown[]): void => void asked.calls.push([name, ...words].join(" "));
  return {
    query,
    partition: (key: PartitionKey) => note("partition", key),
    erase: async (key: PartitionKey) => note("erase", key),
    visit: async (_: Visit, { key }: VisitStep) => note("visit", key),
    applyWhere: async (_: Visit, { key }: VisitStep) => note("change", key),
    feed: (_: unknown, { keys: own }: { readonly keys?: ReadonlySet<string> }) => note("feed", ...(own ?? ["all"])),
    searchPlain: async (key: PartitionKey) => {
      note("plain", key);
      return ANSWER;
    },
  } as unknown as Cluster;
}

function authority(
  reach: Reach,
  bounds: Bounds = OPEN,
  question: Question = { keys: ["g:alice"] },
): { readonly of: Authority; readonly asked: Asked } {
  const asked: Asked = { calls: [], noted: [], refused: [], open: 0 };
  const watch: Watch = {
    noted: async (action: NotedAction, key?: PartitionKey) =>
      void asked.noted.push(key === undefined ? action : `${action} ${key}`),
    refused: (key) => void asked.refused.push(key),
  };
  return { of: new Authority(clusterOf(asked, question), bounds, reach, CALLER).watched(watch), asked };
}

const step = (key?: PartitionKey): VisitStep => ({ key }) as VisitStep;
const visit = (...types: readonly string[]): Visit => ({ types }) as unknown as Visit;
const request = (properties: readonly (readonly [string, string])[] = []): Parameters<Cluster["query"]>[0] => ({
  properties,
  body: new Uint8Array(),
});
const outside = /does not reach/;

describe("the partition that a search is about, where that is plain", () => {
  test.each<[string, Reach, Bounds, PartitionKey | undefined, PartitionKey | undefined]>([
    ["everything: what is named", "admin", OPEN, "g:bob", "g:bob"],
    ["everything: nothing is named", "admin", OPEN, undefined, undefined],
    ["one group: nothing is named", ALICE, OPEN, undefined, "g:alice"],
    ["one group: itself", ALICE, OPEN, "g:alice", "g:alice"],
    ["one group: another", ALICE, OPEN, "g:bob", undefined],
    ["several: nothing is named", BOTH, OPEN, undefined, undefined],
    ["several: one of them", BOTH, OPEN, "g:bob", "g:bob"],
    ["several: another", BOTH, OPEN, "g:carol", undefined],
    ["there is one group only: nothing is named", "admin", ONLY_ALICE, undefined, "g:alice"],
    ["there is one group only: itself", "admin", ONLY_ALICE, "g:alice", "g:alice"],
    ["there is one group only: another", "admin", ONLY_ALICE, "g:bob", undefined],
  ])("%s", (_, reach, bounds, named, expected) => {
    expect(authority(reach, bounds).of.plainKey(named)).toBe(expected);
  });

  test("is searched there at once, unless something has to be looked at first", async () => {
    const rates = new GroupRates({ requestsPerSecond: 100, burstSeconds: 1, groups: 10 });
    const plain = async (reach: Reach, bounds: Bounds, key: PartitionKey): Promise<boolean> =>
      (await authority(reach, bounds).of.searchPlain(key, request(), 1)) === ANSWER;
    expect(await plain("admin", OPEN, "g:bob")).toBe(true);
    expect(await plain(ALICE, OPEN, "g:alice")).toBe(true);
    expect(await plain(ALICE, OPEN, "g:bob")).toBe(false);
    expect(await plain(NOTES, OPEN, "g:alice")).toBe(false);
    expect(await plain({ ...ALICE, verbs: ["get"] }, OPEN, "g:alice")).toBe(false);
    expect(await plain("admin", ONLY_ALICE, "g:alice")).toBe(false);
    expect(await plain("admin", { ...OPEN, rates }, "g:alice")).toBe(false);
  });
});

describe("the one group that there is", () => {
  test("for a caller", () => {
    const { groups: _, ...grant } = ALICE;
    expect(authority(ALICE).of.demandGroup()).toEqual({ group: "alice", grant });
    expect(authority("admin", ONLY_ALICE).of.demandGroup().group).toBe("alice");
    expect(() => authority(BOTH).of.demandGroup()).toThrow("a token for 2 groups");
    expect(() => authority("admin").of.demandGroup()).toThrow("an admin key, which is for none");
    expect(() => authority({ ...ALICE, groups: ["bob"] }, ONLY_ALICE).of.demandGroup()).toThrow(outside);
  });

  test("for everybody", () => {
    expect(authority("admin").of.onlyKey).toBeUndefined();
    expect(authority("admin", ONLY_ALICE).of.onlyKey).toBe("g:alice");
  });

  test("is all that may be asked for there", () => {
    const { of } = authority("admin", ONLY_ALICE);
    expect(() => of.partition("g:alice")).not.toThrow();
    expect(() => of.partition("g:bob")).toThrow("There is only the group 'alice' here, and this asks for 'bob'");
    expect(() => of.partition("d:")).toThrow("documents without a group");
    expect(() => of.visit(visit(), step(), 1)).toThrow("all groups");
    expect(() => of.demandAllGroups("A list")).toThrow("A list is about all groups, and here there is only 'alice'");
    expect(() => authority("admin").of.demandAllGroups("A list")).not.toThrow();
    expect(() => authority(ALICE).of.demandAllGroups("A list")).toThrow(outside);
  });
});

describe("verbs", () => {
  test.each<[Verb, (of: Authority) => unknown]>([
    ["erase", (of) => of.checkErasure("g:alice")],
    ["search", (of) => of.demandSearch()],
    ["search", (of) => of.query(request())],
    ["put", (of) => of.partition("g:alice", "put")],
    ["remove", (of) => of.partition("g:alice", "get", "remove")],
    ["update", (of) => of.demandFeed()],
    ["get", (of) => of.demandFeed()],
  ])("'%s' is asked for", (verb, ask) => {
    const verbs = ALICE.verbs.filter((one) => one !== verb);
    expect(() => ask(authority(ALICE).of)).not.toThrow();
    expect(() => ask(authority("admin").of)).not.toThrow();
    expect(() => ask(authority({ ...ALICE, verbs }).of)).toThrow(`has no verb '${verb}'`);
  });

  test("'ask' is one of searches", () => {
    expect(() => authority({ ...ALICE, verbs: ["ask"] }).of.demandSearch()).not.toThrow();
  });

  test("deployments are an admin's, and noted", async () => {
    await expect(authority(ALICE).of.demandDeploys()).rejects.toThrow(outside);
    await expect(authority(ALICE, ONLY_ALICE).of.demandDeploys()).rejects.toThrow(outside);
    await expect(authority("admin", ONLY_ALICE).of.demandDeploys()).rejects.toThrow("A deployment is about all groups");
    await expect(authority("admin", { ...OPEN, deploys: false }).of.demandDeploys()).rejects.toThrow("Nothing can be");
    const { of, asked } = authority("admin");
    await of.demandDeploys();
    expect(asked.noted).toEqual(["deploy"]);
  });
});

describe("groups and schemas", () => {
  const path = (raw: string): NonNullable<ReturnType<typeof parseDocumentPath>> => {
    const parsed = parseDocumentPath(raw);
    if (parsed === undefined) throw new Error(raw);
    return parsed;
  };

  test("of documents", () => {
    const { of, asked } = authority(NOTES);
    expect(of.documents(path("/document/v1/a/note/group/alice/1")).group?.partition).toBe("g:alice");
    expect(() => of.documents(path("/document/v1/a/other/group/alice/1"))).toThrow(outside);
    expect(() => of.documents(path("/document/v1/a/note/group/bob/1"))).toThrow(outside);
    expect(() => of.documents(path("/document/v1/a/note/docid/1"))).toThrow(outside);
    expect(asked.refused).toEqual(["g:bob", "d:"]);
    expect(() => authority("admin").of.documents(path("/document/v1/a/note/docid/1"))).not.toThrow();
    expect(authority("admin", ONLY_ALICE).of.documents(path("/document/v1/a/note/docid/1")).group?.partition).toBe(
      "g:alice",
    );
  });

  test("of visits and changes: of all groups they are noted", async () => {
    for (const [reach, key, calls, noted] of [
      ["admin", undefined, ["visit ", "change "], ["visit", "change"]],
      ["admin", "g:bob", ["visit g:bob", "change g:bob"], []],
      [ALICE, "g:alice", ["visit g:alice", "change g:alice"], []],
    ] as const) {
      const { of, asked } = authority(reach);
      await of.visit(visit("note"), step(key), 1);
      await of.applyWhere(visit("note"), step(key), { kind: "remove" } as never, 1);
      expect([asked.calls, asked.noted]).toEqual([calls, noted]);
    }
    for (const [reach, key] of [
      [ALICE, undefined],
      [ALICE, "g:bob"],
      [{ ...NOTES, schemas: ["mail"] }, "g:alice"],
    ] as const) {
      expect(() => authority(reach).of.visit(visit("note"), step(key), 1)).toThrow(outside);
      expect(() => authority(reach).of.applyWhere(visit("note"), step(key), {} as never, 1)).toThrow(outside);
    }
  });

  test("of erasures: of a group whole, which is noted", async () => {
    const { of, asked } = authority(ALICE);
    await of.erase("g:alice");
    expect([asked.calls, asked.noted]).toEqual([["erase g:alice"], ["erase g:alice"]]);
    await expect(of.erase("g:bob")).rejects.toThrow(outside);
    await expect(authority(NOTES).of.erase("g:alice")).rejects.toThrow(outside);
    expect(asked.calls).toHaveLength(1);
  });

  test("of feeds", () => {
    const input = (async function* () {})();
    const fed = (reach: Reach, bounds?: Bounds): readonly string[] => {
      const { of, asked } = authority(reach, bounds);
      of.feed(input, {} as never);
      return asked.calls;
    };
    expect(fed("admin")).toEqual(["feed all"]);
    expect(fed(BOTH)).toEqual(["feed g:alice g:bob"]);
    expect(() => fed(NOTES)).toThrow(outside);
    expect(() => fed(ALICE, ONLY_ALICE)).toThrow(outside);
    expect(() => fed("admin", ONLY_ALICE)).toThrow("A feed is about all groups");
  });
});

describe("queries", () => {
  const named = [["streaming.groupname", "alice"]] as const;
  const group = '"streaming.groupname":"alice"';

  test.each<[string, Reach, Bounds, readonly (readonly [string, string])[], string]>([
    ["everything says nothing", "admin", OPEN, [], "{}"],
    ["a token of one group is of that", ALICE, OPEN, [], `{${group}}`],
    ["one that names it says nothing more", ALICE, OPEN, named, `{${group}}`],
    ["schemas are those of the token", NOTES, OPEN, named, `{${group},"model.restrict":"note,mail"}`],
    [
      "or of them those that are named",
      NOTES,
      OPEN,
      [...named, ["model.restrict", " mail,*, "]],
      `{${group},"model.restrict":"mail"}`,
    ],
    ["where there is one group it is of that", "admin", ONLY_ALICE, [], `{${group}}`],
  ])("%s", (_, reach, bounds, properties, said) => {
    const { of, asked } = authority(reach, bounds);
    const query = of.query(request(properties));
    expect(asked.calls.at(-1)).toBe(`query ${said}`);
    expect(asked.open).toBe(1);
    query[Symbol.dispose]();
    expect(asked.open).toBe(0);
  });

  test.each<[string, Reach, Bounds, readonly (readonly [string, string])[], Question, RegExp]>([
    ["of another group", ALICE, OPEN, [["streaming.groupname", "bob"]], { keys: ["g:alice", "g:bob"] }, outside],
    ["of all groups", ALICE, OPEN, named, {}, outside],
    ["of no group that is named, of several", BOTH, OPEN, [], {}, outside],
    ["of another schema", NOTES, OPEN, [...named, ["model.restrict", "mail,other"]], {}, outside],
    ["with a profile that holds on to its own", NOTES, OPEN, named, { fixed: { "model.restrict": "other" } }, outside],
    [
      "with a profile that says the same otherwise",
      NOTES,
      OPEN,
      named,
      { keys: ["g:alice"], fixed: { "model.restrict": "note, mail" } },
      outside,
    ],
    ["of another where there is one", "admin", ONLY_ALICE, named, { keys: ["g:bob"] }, /only the group 'alice'/],
    ["of all where that is not allowed", "admin", { ...OPEN, searchOfAll: false }, [], {}, /not allowed here/],
  ])("%s are refused, and nothing stays open", async (_, reach, bounds, properties, question, refusal) => {
    const { of, asked } = authority(reach, bounds, question);
    // An admin's is looked at when it is searched.
    const searched = (async () => await of.query(request(properties)).search(1, new AbortController().signal))();
    await expect(searched).rejects.toThrow(refusal);
    expect(asked.open).toBe(reach === "admin" ? 1 : 0);
  });

  test("that have become of others since they were opened are refused when they are searched", async () => {
    const question: { keys: PartitionKey[] } = { keys: ["g:alice"] };
    const query = authority(ALICE, OPEN, question).of.query(request(named));
    const search = async (): Promise<unknown> => await query.search(1, new AbortController().signal);
    expect(await search()).toBe(ANSWER);
    question.keys = ["g:bob"];
    await expect(search()).rejects.toThrow(outside);
  });

  test("that search nowhere are nobody's", async () => {
    for (const reach of ["admin", BOTH] as const) {
      const { of, asked } = authority(reach, OPEN, { isNowhere: true });
      const query = of.query(request(named));
      expect(query.scope).toBeUndefined();
      await query.search(1, new AbortController().signal);
      expect(asked.noted).toEqual([]);
    }
  });

  test("of all groups are noted when they are searched; of one they are not", async () => {
    for (const [keys, noted] of [
      [undefined, ["search"]],
      [["g:alice"], []],
    ] as const) {
      const { of, asked } = authority("admin", OPEN, keys === undefined ? {} : { keys });
      const query = of.query(request());
      expect(query.parameter("hits")).toBeUndefined();
      expect(asked.noted).toEqual([]);
      await query.search(1, new AbortController().signal);
      expect(asked.noted).toEqual(noted);
    }
  });
});

describe("rates", () => {
  const rates = (): Bounds => ({
    ...OPEN,
    rates: new GroupRates({ requestsPerSecond: 1, burstSeconds: 1, groups: 10 }, () => 0),
  });

  test.each<[string, (of: Authority) => unknown]>([
    ["an operation", (of) => of.partition("g:alice", "put")],
    ["a query", (of) => of.query(request([["streaming.groupname", "alice"]]))],
    ["a visit", (of) => of.visit(visit(), step("g:alice"), 1)],
    ["a feed", (of) => of.feed((async function* () {})(), {} as never)],
  ])("%s counts", (_, ask) => {
    const { of } = authority(ALICE, rates());
    ask(of);
    expect(() => ask(of)).toThrow(/L-rate/);
  });

  test("removes do not", () => {
    const { of } = authority(ALICE, rates());
    for (let time = 0; time < 5; time += 1) expect(() => of.partition("g:alice", "remove")).not.toThrow();
  });
});
