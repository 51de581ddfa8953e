/** Documents, queries and a history that groups with shards are tested with, however the shards are kept. */
import { expect } from "vitest";
import type { Cluster, SearchRequest, Visit, VisitPosition } from "../src/cluster.ts";
import { searchOnce } from "../src/query/cluster-query.ts";

export const MINUTE_MS = 60_000;
export const NOTE = `schema note {
  document note {
    field title type string { indexing: summary | index }
    field body type string { indexing: summary | index }
    field n type int { indexing: summary | attribute }
    field vector type tensor<float>(x[8]) {
      indexing: attribute | summary
      attribute { distance-metric: angular }
    }
  }
  fieldset default { fields: title, body }
  rank-profile text {
    rank-properties {
      brooklet.statistics: group
      brooklet.typos: forgiven
    }
    first-phase { expression: bm25(title) + 2 * bm25(body) + nativeRank }
    summary-features: bm25(title) bm25(body)
  }
  rank-profile near { inputs { query(q) tensor<float>(x[8]) }
    first-phase { expression: closeness(field, vector) } }
  rank-profile hybrid inherits text { inputs { query(q) tensor<float>(x[8]) }
    first-phase { expression: bm25(title) + bm25(body) + closeness(field, vector) }
    second-phase {
      expression: firstPhase + attribute(n) / 1000
      rerank-count: 7
    }
    global-phase {
      expression: normalize_linear(secondPhase)
      rerank-count: 20
    }
    match-features: closeness(field, vector) bm25(title)
  }
}`;
const WORDS = "river stone cloud market garden winter letter engine harbor yellow silent quick".split(" ");
export const KEY = "g:large";
export const encoder = new TextEncoder();
export const decoder = new TextDecoder();

export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 32;
  };
}

export function idOf(number: number): string {
  return `id:x:note:g=large:${number}`;
}

export function fieldsOf(number: number, chance: () => number): Record<string, unknown> {
  const text = (count: number): string =>
    Array.from({ length: count }, () => WORDS[Math.floor(chance() ** 2 * WORDS.length)]).join(" ");
  // Many are as far away as others, so that ids decide.
  const vector = Array.from({ length: 8 }, () => Math.round(chance() * 3) - 1);
  const rare = number % 97 === 3 ? " wonderfool" : number % 331 === 5 ? " wonderful" : "";
  return { title: `${text(3)}${rare}`, body: text(4 + Math.floor(chance() * 20)), n: number % 17, vector };
}

export async function feed(cluster: Cluster, operations: readonly unknown[]): Promise<void> {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (const operation of operations) yield encoder.encode(`${JSON.stringify(operation)}\n`);
  }
  for await (const told of cluster.feed(pieces(), { timeoutMs: MINUTE_MS }))
    for (const { outcome } of told) expect(outcome).toEqual({ status: 200 });
}

export function requestOf(parameters: Readonly<Record<string, string>>): SearchRequest {
  return { properties: Object.entries({ timeout: "60s", ...parameters }), body: new Uint8Array() };
}

export async function answerOf(cluster: Cluster, parameters: Readonly<Record<string, string>>): Promise<unknown> {
  const request = requestOf({ "streaming.groupname": "large", ...parameters });
  // As a gateway does it: a group that has shards is not asked as one that is whole.
  const plain = await cluster.searchPlain?.(KEY, request, MINUTE_MS);
  const { status, body } = plain ?? (await searchOnce(cluster, request, MINUTE_MS));
  return { status, body: JSON.parse(decoder.decode(body)) };
}

const VECTOR = "[0.5, 1, -0.25, 1, 0, 0.75, -1, 0.5]";
export const QUERIES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "words with statistics of the group": {
    yql: "select * from note where userQuery()",
    query: "river garden yellow",
    "model.type": "any",
    ranking: "text",
    hits: "30",
  },
  "words that nobody wrote so": {
    yql: 'select * from note where {grammar: "tokenize", grammar.composite: "or", defaultIndex: "default"}userInput(@text)',
    // Some shards have a word with one slip, others with two alone.
    text: "wonderfull qick harbr",
    ranking: "text",
    hits: "30",
  },
  "the nearest": {
    yql: "select * from note where {targetHits: 20}nearestNeighbor(vector, q)",
    "input.query(q)": VECTOR,
    ranking: "near",
    hits: "40",
  },
  // So few that none of the others is looked at once they are agreed on.
  "the few nearest": {
    yql: "select * from note where {targetHits: 3}nearestNeighbor(vector, q)",
    "input.query(q)": VECTOR,
    ranking: "near",
    hits: "10",
  },
  "the nearest of some": {
    yql: 'select * from note where {targetHits: 15}nearestNeighbor(vector, q) and body contains "winter"',
    "input.query(q)": VECTOR,
    ranking: "near",
    hits: "10",
    offset: "5",
  },
  "words and vectors, in three phases": {
    yql: "select * from note where userQuery() or ({targetHits: 25}nearestNeighbor(vector, q))",
    query: "letter engine",
    "model.type": "any",
    "input.query(q)": VECTOR,
    ranking: "hybrid",
    hits: "12",
  },
  "in another order": {
    yql: "select * from note where n > 3 order by n desc, title asc",
    hits: "25",
    offset: "10",
  },
  "in groups": {
    yql: 'select * from note where title contains "river" | all(group(n) order(-count()) max(5) each(output(count(), avg(n)) max(2) each(output(summary()))))',
    ranking: "text",
    hits: "0",
  },
};

/** The operations that both were given, some of them after the first split. */
export function operations(): { readonly before: unknown[]; readonly after: unknown[] } {
  const chance = random(7);
  const put = (number: number): unknown => ({ put: idOf(number), fields: fieldsOf(number, chance) });
  const before = Array.from({ length: 700 }, (_, number) => put(number));
  const after = Array.from({ length: 300 }, (_, at) =>
    at % 5 === 0
      ? { remove: idOf(at * 2) }
      : at % 5 === 1
        ? { update: idOf(at * 2), fields: { n: { assign: at } } }
        : put(at % 5 === 2 ? 700 + at : at),
  );
  return { before, after };
}

export async function visited(cluster: Cluster, more: Partial<Visit> = {}, documentsMax = 37): Promise<string[]> {
  const visit = {
    types: ["note"],
    namespace: "",
    selection: "",
    fieldSet: "[document]",
    tensorFormat: "",
    format: "json",
  };
  const bodies: string[] = [];
  let from: VisitPosition | undefined = { partition: 0, after: "" };
  while (from !== undefined) {
    const step = { bucket: cluster.bucketOf(KEY), key: KEY, from, documentsMax, bytesMax: 1 << 20 } as const;
    const page = await cluster.visit({ ...visit, ...more } as Visit, step, MINUTE_MS);
    if (page.documents > 0) bodies.push(decoder.decode(page.body));
    from = page.next;
  }
  return bodies;
}

export function plain(number: number, fields: object): { readonly put: string; readonly fields: object } {
  return { put: idOf(number), fields };
}

export async function apply(
  cluster: Cluster,
  kind: "put" | "update" | "remove",
  number: number,
  fields: object,
  condition = "",
): Promise<number> {
  const body = kind === "remove" ? new Uint8Array() : encoder.encode(JSON.stringify({ fields }));
  const request = { kind, rawPath: "", id: idOf(number), create: false, condition, body } as const;
  return (await cluster.partition(KEY).apply(request, MINUTE_MS)).status;
}

export async function numberOf(cluster: Cluster, number: number): Promise<number | undefined> {
  const request = { rawPath: "", id: idOf(number), fieldSet: "", tensorFormat: "" };
  const { status, body } = await cluster.partition(KEY).get(request, MINUTE_MS);
  if (status === 404) return undefined;
  return (JSON.parse(decoder.decode(body)) as { fields: { n?: number } }).fields.n;
}

/** The ids that a search finds. */
export async function found(cluster: Cluster, yql: string): Promise<string[]> {
  const answer = (await answerOf(cluster, { yql, hits: "400", "presentation.summary": "default" })) as {
    body: { root: { children?: { id: string }[]; fields: { totalCount: number } } };
  };
  const ids = (answer.body.root.children ?? []).map(({ id }) => id);
  expect(ids.length).toBe(answer.body.root.fields.totalCount);
  return ids.sort();
}

/** Documents that nobody touches while others come and go. */
export const STEADY = Array.from({ length: 120 }, (_, number) => 10_000 + number);
export const CHANGED = 160;
export const COUNTER = 9_999;

/**
 * Has a group split again and again while it is written, searched and visited over both clusters. What was acknowledged has to be
 * there, and what nobody touches in every answer and every visit once.
 */
export async function growUnderUse(
  cluster: Cluster,
  elsewhere: Cluster,
  split: (shard: number) => Promise<void>,
): Promise<void> {
  const steady = STEADY.map((number) => plain(number, { title: "steady", n: -1 }));
  await feed(cluster, [...steady, plain(COUNTER, { n: 0 })]);
  const acknowledged = new Map<number, number | undefined>();
  let isOver = false;
  // In one thread a search waits for nothing: timers would starve.
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  let [increments, writes, searches, visits] = [0, 0, 0, 0];

  const write = async (writer: number): Promise<void> => {
    const gateway = writer % 2 === 0 ? cluster : elsewhere;
    for (let step = 0; !isOver; step += 1) {
      const number = ((step * 7) % (CHANGED / 4)) * 4 + writer;
      const value = writer * 100_000 + step;
      const isRemoved = step % 9 === 8;
      expect(await apply(gateway, isRemoved ? "remove" : "put", number, { title: "changed", n: value })).toBe(200);
      acknowledged.set(number, isRemoved ? undefined : value);
      writes += 1;
      await turn();
      // Who writes knows what is there.
      expect(await numberOf(cluster, number)).toBe(acknowledged.get(number));
    }
  };
  const increment = async (): Promise<void> => {
    while (!isOver) {
      const before = (await numberOf(cluster, COUNTER)) ?? Number.NaN;
      const status = await apply(elsewhere, "update", COUNTER, { n: { assign: before + 1 } }, `note.n == ${before}`);
      expect([200, 412]).toContain(status);
      if (status === 200) increments += 1;
      await turn();
    }
  };
  const search = async (): Promise<void> => {
    while (!isOver) {
      expect(await found(cluster, "select * from note where n = -1")).toEqual(STEADY.map(idOf).sort());
      searches += 1;
      await turn();
    }
  };
  const visit = async (): Promise<void> => {
    while (!isOver) {
      const pages = await visited(elsewhere, { selection: "note.n == -1", fieldSet: "[id]" }, 23);
      const ids = pages.flatMap((page) => (JSON.parse(`[${page}]`) as { id: string }[]).map(({ id }) => id));
      expect(ids).toEqual(STEADY.map(idOf).sort());
      visits += 1;
      await turn();
    }
  };
  const grow = async (): Promise<void> => {
    const least = (): number => Math.min(increments, writes, searches, visits);
    const pause = async (): Promise<void> => {
      const before = least();
      do await new Promise((resolve) => setTimeout(resolve, 150));
      while (least() === before && !isOver);
    };
    for (const shard of [0, 0, 1, 2, 3, 0, 4]) {
      await pause();
      await split(shard);
    }
    await pause();
    isOver = true;
  };
  const all = [...[0, 1, 2, 3].map(write), increment(), increment(), search(), visit(), grow()];
  await Promise.all(
    all.map((one) =>
      one.catch((error: unknown) => {
        isOver = true;
        throw error;
      }),
    ),
  );

  for (const [number, value] of acknowledged) expect(await numberOf(cluster, number), String(number)).toBe(value);
  expect(await numberOf(cluster, COUNTER)).toBe(increments);
  const living = [...acknowledged].filter(([, value]) => value !== undefined).map(([number]) => idOf(number));
  expect(await found(elsewhere, 'select * from note where title contains "changed"')).toEqual(living.sort());
  expect(Math.min(increments, writes, searches, visits)).toBeGreaterThan(5);
}
