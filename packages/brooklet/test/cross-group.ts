/**
 * Attempts of somebody with a token of one group to reach another's documents, over every surface there is: drawn from a seed, without
 * end. What an attempt was answered is held against words and numbers that are in the documents of one group only.
 */
import type { Client as McpClient } from "@modelcontextprotocol/sdk/client/index.js";
import type { AnySchema, Client } from "../src/index.ts";
import type { Verb } from "../src/token.ts";
import type { Answered, Asking } from "./served.ts";

/** The groups that there are: the attacker's is the first. */
export const GROUPS = ["g0", "g1", "g2", "g3"] as const;
/** Whom attempts are aimed at. */
export const VICTIMS: readonly string[] = GROUPS.slice(1);
/** Documents of each. */
export const DOCUMENTS = 6;

/** A word that is in the documents of one group only, which its attacker guessed. */
const canaryOf = (group: string): string => `canary7${group}7`;
/** A number that is. */
const numberOf = (group: string): number => 770_000_000 + GROUPS.indexOf(group as "g0") * 1_000_003;
/** A word that nobody else knows: no attempt sends it, so that no answer can repeat it. */
const secretOf = (group: string): string => `hidden9${group}9`;

/** What the documents of a group have. */
interface Fields {
  readonly title: string;
  readonly mark: string;
  readonly secret: string;
  readonly size: number;
}

/** A document of a group. */
export function fieldsOf(group: string, at: number): Fields {
  const [mark, secret] = [canaryOf(group), secretOf(group)];
  return { title: `every document ${at} of ${mark} and ${secret}`, mark, secret, size: numberOf(group) };
}

const YQL = "select * from note where true";

/** Numbers in the order of a seed. */
export function drawn(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** The surfaces that are attacked. */
export type Surface =
  | "get"
  | "write"
  | "search"
  | "visit"
  | "continuation"
  | "mass"
  | "feed"
  | "own search"
  | "retrieve"
  | "erase"
  | "tail"
  | "admin"
  | "mcp"
  | "sdk";

/** What an attacker has: a way to ask, with tokens; nothing of another's but what a victim's answers gave away. */
export interface Attacker {
  readonly ask: Asking;
  readonly authorization: () => string;
  readonly client: Client;
  readonly mcp: () => Promise<McpClient>;
  readonly note: AnySchema;
  /** Continuations of visits of the victims, by their group. */
  readonly stolen: ReadonlyMap<string, string>;
}

type Attempt = (victim: string, pick: (below: number) => number, attacker: Attacker) => Promise<unknown>;

const one = <Item>(items: readonly Item[], pick: (below: number) => number): Item => items[pick(items.length)] as Item;
const id = (pick: (below: number) => number): string => `n${pick(DOCUMENTS)}`;
const encoded = (text: string): string => encodeURIComponent(text);
/** A letter of a text as its percent code, as filters forget to read it. */
const disguised = (text: string, pick: (below: number) => number): string => {
  const at = pick(text.length);
  return `${text.slice(0, at)}%${text.charCodeAt(at).toString(16)}${text.slice(at + 1)}`;
};

/** Ways to write a document of a victim in a path. */
function pathOf(victim: string, pick: (below: number) => number): string {
  const name = id(pick);
  const group = "/document/v1/note/note/group";
  return one(
    [
      () => `${group}/${victim}/${name}`,
      () => `${group}/${disguised(victim, pick)}/${name}`,
      () => `${group}/g0/../${victim}/${name}`,
      () => `${group}/g0/%2e%2e/${victim}/${name}`,
      () => `${group}/g0%2f..%2f${victim}/${name}`,
      () => `${group}/../group/${victim}/${name}`,
      () => `${group}/${victim}%00/${name}`,
      () => `${group}/${victim}%20/${name}`,
      () => `${group}/+${victim}/${name}`,
      () => `${group}/${victim.toUpperCase()}/${name}`,
      () => `${group}//${victim}/${name}`,
      () => `${group}/g0:${victim}/${name}`,
      () => `${group}/g0,g=${victim}/${name}`,
      () => `/document/v1/note/note/docid/${encoded(`g=${victim}:${name}`)}`,
      () => `/document/v1/note/note:g=${victim}/group/g0/${name}`,
      () => `/document/v1/note/note/number/${pick(9)}/${name}`,
      () => `/search/../document/v1/note/note/group/${victim}/${name}`,
      () => `${group}/g0/${name}?group=${victim}&streaming.groupname=${victim}`,
      () => `http://localhost${group}/${victim}/${name}`,
      () => `${group}/g0/${encoded(`id:note:note:g=${victim}:${name}`)}`,
    ],
    pick,
  )();
}

/** Ways to name a victim in a search. */
function searchOf(victim: string, pick: (below: number) => number): object {
  const selection = one(
    [`id.group == "${victim}"`, `id.group == "g0" or id.group == "${victim}"`, "true", `not id.group == "g0"`, "note"],
    pick,
  );
  const yql = one(
    [
      YQL,
      `select * from note where title contains "${canaryOf(victim)}"`,
      `select * from note where size = ${numberOf(victim)}`,
      "select * from sources * where true",
      "select * from note where true | all(group(secret) each(output(count())))",
      "select * from note where true limit 0 | all(group(size) max(100) each(output(count(), max(size)))))",
    ],
    pick,
  );
  const named = one<object>(
    [
      { "streaming.groupname": victim },
      { streaming: { groupname: victim } },
      { "streaming.selection": selection },
      { "streaming.groupname": "g0", "streaming.selection": selection },
      { "streaming.groupname": ["g0", victim] },
      { "streaming.groupname": `g0,${victim}` },
      { "streaming.userid": pick(1_000) },
      { "streaming.groupname": "g0" },
      {},
    ],
    pick,
  );
  return {
    yql,
    ...named,
    hits: 400,
    timeout: "20s",
    trace: { level: pick(10) },
    "presentation.summary": one(["", "default"], pick),
  };
}

const climbed = (victim: string): object => ({ title: `climbed to ${victim}`, mark: "climbed", secret: "climbed" });

const ATTEMPTS: Readonly<Record<Surface, Attempt>> = {
  get: (victim, pick, { ask, authorization }) =>
    ask(one(["GET", "HEAD"], pick), pathOf(victim, pick), undefined, { authorization: authorization() }),
  write: (victim, pick, { ask, authorization }) => {
    const [method, body] = one(
      [
        ["POST", { fields: climbed(victim) }],
        ["POST", { put: `id:note:note:g=${victim}:${id(pick)}`, fields: climbed(victim) }],
        ["PUT", { fields: { title: { assign: "climbed" } } }],
        ["DELETE", undefined],
      ] as const,
      pick,
    );
    const path = pathOf(victim, pick);
    const query = path.includes("?") ? "" : one(["", "?create=true", "?condition=true"], pick);
    return ask(method, path + query, body, { authorization: authorization() });
  },
  search: (victim, pick, { ask, authorization }) => {
    const body = searchOf(victim, pick);
    const headers = { authorization: authorization() };
    const url = one(["/search/", `/search/?streaming.groupname=${victim}`, "/search/?streaming.groupname=g0"], pick);
    if (pick(3) > 0) return ask("POST", url, body, headers);
    const flat = Object.entries(body).map(([name, value]) => [
      name,
      typeof value === "string" ? value : JSON.stringify(value),
    ]);
    return ask("GET", `/search/?${new URLSearchParams(flat as [string, string][])}`, undefined, headers);
  },
  visit: (victim, pick, { ask, authorization }) => {
    const path = one(
      [
        `/document/v1/note/note/group/${victim}/`,
        `/document/v1/note/note/group/${disguised(victim, pick)}/`,
        "/document/v1/note/note/docid/",
        "/document/v1/",
        "/document/v1/note/note/group/g0/",
      ],
      pick,
    );
    const selection = one([`id.group=="${victim}"`, "true", `note.mark=="${canaryOf(victim)}"`], pick);
    const query = new URLSearchParams({ cluster: "documents", selection, wantedDocumentCount: "100" });
    if (pick(2) > 0) query.set("stream", "true");
    return ask("GET", `${path}?${query}`, undefined, { authorization: authorization() });
  },
  continuation: (victim, pick, { ask, authorization, stolen }) => {
    const token = stolen.get(victim) ?? "";
    const at = pick(token.length);
    const continuation =
      pick(2) === 0 ? token : `${token.slice(0, at)}${one(["A", "b", "_", ""], pick)}${token.slice(at + 1)}`;
    const path = one(["group/g0/", `group/${victim}/`, "docid/"], pick);
    const query = new URLSearchParams({ cluster: "documents", continuation, wantedDocumentCount: "1" });
    return ask("GET", `/document/v1/note/note/${path}?${query}`, undefined, { authorization: authorization() });
  },
  mass: (victim, pick, { ask, authorization }) => {
    const path = one([`note/note/group/${victim}/`, "note/note/docid/", "", "note/note/group/g0/"], pick);
    const selection = one([`id.group=="${victim}"`, `note.size==${numberOf(victim)}`], pick);
    const query = new URLSearchParams({ cluster: "documents", selection });
    const [method, body] = one(
      [
        ["DELETE", undefined],
        ["PUT", { fields: { title: { assign: "climbed" } } }],
      ] as const,
      pick,
    );
    return ask(method, `/document/v1/${path}?${query}`, body, { authorization: authorization() });
  },
  feed: (victim, pick, { ask, authorization }) => {
    const target = `id:note:note:g=${victim}:${id(pick)}`;
    const lines = [
      { put: target, fields: climbed(victim) },
      { update: target, fields: { title: { assign: "climbed" } } },
      { remove: target },
      { update: target, condition: `note.size==${numberOf(victim)}`, fields: { title: { assign: "climbed" } } },
    ];
    const body = Array.from({ length: 1 + pick(3) }, () => JSON.stringify(one(lines, pick))).join("\n");
    return ask("POST", "/brooklet/v1/feed", body, { authorization: authorization() });
  },
  "own search": (victim, pick, { ask, authorization }) => {
    const group = one<unknown>(
      [victim, ["g0", victim], `g0/../${victim}`, victim.toUpperCase(), undefined, "g0"],
      pick,
    );
    const text = one([canaryOf(victim), "every", `title:${canaryOf(victim)}`], pick);
    const filter = one([{}, { filter: "true" }, { filter: `size = ${numberOf(victim)}` }], pick);
    return ask(
      "POST",
      "/brooklet/v1/search",
      { group, schema: "note", text, ...filter },
      { authorization: authorization() },
    );
  },
  retrieve: (victim, pick, { ask, authorization }) => {
    const group = one<unknown>([victim, ["g0", victim], undefined, "g0"], pick);
    const asked = { group, schema: "note", question: one(["every", canaryOf(victim)], pick), tokens: 2_000 };
    return ask("POST", "/brooklet/v1/retrieve", asked, { authorization: authorization() });
  },
  erase: (victim, pick, { ask, authorization }) => {
    const name = one([victim, disguised(victim, pick), `g0/../${victim}`, `g0%2f..%2f${victim}`], pick);
    return ask("DELETE", `/brooklet/v1/groups/${name}`, undefined, { authorization: authorization() });
  },
  tail: (victim, pick, { ask, authorization }) => {
    const name = one([victim, disguised(victim, pick), `g0/../${victim}`, `g0%2f..%2f${victim}`, "g0"], pick);
    const selection = one(["", "?selection=true", `?selection=${encoded(`id.group == "${victim}"`)}`], pick);
    return ask("GET", `/brooklet/v1/groups/${name}/tail${selection}`, undefined, { authorization: authorization() });
  },
  admin: (_, pick, { ask, authorization }) => {
    const paths = [
      "/brooklet/v1/groups",
      "/brooklet/v1/queries/slow",
      "/brooklet/v1/models",
      "/state/v1/metrics",
      "/metrics/v2/values",
      "/application/v2/tenant/default",
      "/",
    ];
    return ask("GET", one(paths, pick), undefined, { authorization: authorization() });
  },
  mcp: async (victim, pick, { mcp }) => {
    const foreign = one(
      [`id:note:note:g=${victim}:${id(pick)}`, `../${victim}/${id(pick)}`, `g=${victim}:${id(pick)}`],
      pick,
    );
    const [name, asked] = one(
      [
        ["search", { query: one([canaryOf(victim), "every"], pick) }],
        ["search", { query: "", filter: { mark: [canaryOf(victim)] } }],
        ["get", { id: foreign }],
        ["retrieve", { question: "every" }],
      ] as const,
      pick,
    );
    const assistant = await mcp();
    if (pick(8) === 0) return await assistant.readResource({ uri: `brooklet://documents/${encoded(foreign)}` });
    // Arguments that there are not are refused, whatever else is asked.
    const strays = pick(4) === 0 ? { group: victim, "streaming.groupname": victim } : {};
    return await assistant.callTool({ name, arguments: { ...asked, ...strays } });
  },
  sdk: async (victim, pick, { client, note }) => {
    const group = client.group(one([victim, `g0/../${victim}`, victim.toUpperCase()], pick));
    const calls: readonly (() => Promise<unknown>)[] = [
      () => group.search(note, { text: "every" }),
      () => group.retrieve(note, "every"),
      () => group.get(note, id(pick)),
      () => group.getMany(note, ["n0", "n1"]),
      () => group.count(note),
      () => group.remove(note, id(pick)),
      () => group.clear(),
      async () => {
        for await (const document of group.visit(note)) return document;
        return undefined;
      },
    ];
    return await one(calls, pick)();
  },
};

/** All surfaces. */
export const SURFACES = Object.keys(ATTEMPTS) as readonly Surface[];

/** Verbs of the attacker's tokens: all there are, so that the group alone stands between. */
export const ALL: readonly Verb[] = ["search", "ask", "get", "visit", "put", "update", "remove", "erase"];

/** What came of attempts. */
export interface Outcome {
  /** Answers in which something of another group stood, by surface. */
  readonly leaks: ReadonlyMap<Surface, number>;
  readonly attempts: ReadonlyMap<Surface, number>;
  /** Answers that were no refusal: of the attacker's own documents, or of none. */
  readonly answered: number;
  readonly examples: readonly string[];
}

const EXAMPLES_MAX = 5;
const AT_A_TIME = 8;

/** Makes so many attempts, of all surfaces in turn. What an attacker sent is not held against an answer. */
export async function attack(
  attacker: Attacker,
  count: number,
  seed: number,
  surfaces: readonly Surface[] = SURFACES,
): Promise<Outcome> {
  const [leaks, attempts, examples] = [new Map<Surface, number>(), new Map<Surface, number>(), [] as string[]];
  let [next, answered] = [0, 0];
  const work = async (): Promise<void> => {
    while (next < count) {
      const number = next;
      next += 1;
      const pick = drawn(seed + number * 7_919);
      const surface = surfaces[number % surfaces.length] as Surface;
      const victim = one(VICTIMS, pick);
      const told = await ATTEMPTS[surface](victim, pick, attacker).catch((error: unknown) => error);
      const shown = shownOf(told);
      attempts.set(surface, (attempts.get(surface) ?? 0) + 1);
      if (isAnswer(told)) answered += 1;
      // Of what is an admin's any answer is a leak: it has names of groups, or figures of all of them.
      const isLeak =
        VICTIMS.some((group) => shown.includes(secretOf(group))) ||
        (surface === "admin" && isAnswer(told)) ||
        (surface === "tail" && isAnswer(told) && VICTIMS.some((group) => isTailOf(shown, group)));
      if (!isLeak) continue;
      leaks.set(surface, (leaks.get(surface) ?? 0) + 1);
      if (examples.length < EXAMPLES_MAX)
        examples.push(`${surface} of ${victim} (attempt ${number}): ${shown.slice(0, 300)}`);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  return { leaks, attempts, answered, examples };
}

/** A tail has no secret of a document: that there is one at all is what nobody may know. */
function isTailOf(shown: string, group: string): boolean {
  return shown.replaceAll("\\", "").includes(`"group":"${group}"`);
}

function isAnswer(told: unknown): boolean {
  if (told instanceof Error) return false;
  const { status } = Object(told) as Partial<Answered>;
  return status === undefined || status < 400;
}

function shownOf(told: unknown): string {
  if (told instanceof Error) return `${told.message} ${JSON.stringify(told)} ${String(told.cause ?? "")}`;
  const { headers, text } = Object(told) as Partial<Answered>;
  return text === undefined ? (JSON.stringify(told) ?? "") : `${headers}\n${text}`;
}
