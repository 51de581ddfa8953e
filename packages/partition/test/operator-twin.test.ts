/**
 * Nearest neighbours and weighted operators, alone and below others, over random documents that are put, updated in parts, removed and folded:
 * what is selected, and what rank features tell, beside a naive twin. `BROOKLET_TWIN_ROUNDS` runs more of it.
 */
import { expect, test } from "vitest";
import type { LocalCluster } from "../src/local-cluster.ts";
import { idOf, openCore, packageOf, putNote, searchNotes } from "./core-setting.ts";
import {
  type Condition,
  type Metric,
  type Note,
  nearestOf,
  type Point,
  select,
  type WeightedField,
} from "./operator-twin.ts";
import { folder } from "./setting.ts";
import { random } from "./shards-setting.ts";

const METRICS: readonly Metric[] = ["euclidean", "angular", "dotproduct", "prenormalized-angular"];
const ROUNDS = Number(process.env["BROOKLET_TWIN_ROUNDS"] ?? 1);
const [STEPS, CHANGES, QUERIES, NAMES] = [12, 8, 10, 40] as const;
const FEATURES = [
  ...["closeness(label,n)", "distance(label,n)", "closeness(field,vec)", "closeness(field,multi)"],
  ...["itemRawScore(n)", "itemRawScore(w)", "rawScore(ws)", "rawScore(tags)", "rawScore(sizes)", "attribute(num)"],
];
const WORDS = ["a", "b", "c", "d", "e"];
const NUMBERS = ["0", "1", "2", "3", "4"];
const encoder = new TextEncoder();

const schemaOf = (metric: Metric): string => `schema note {
  document note {
    field vec type tensor<double>(x[2]) { indexing: attribute | summary
      attribute { distance-metric: ${metric} } }
    field multi type tensor<double>(k{},x[2]) { indexing: attribute | summary
      attribute { distance-metric: euclidean } }
    field ws type weightedset<string> { indexing: attribute | summary }
    field tags type array<string> { indexing: attribute | summary }
    field sizes type weightedset<int> { indexing: attribute | summary }
    field num type int { indexing: attribute | summary }
  }
  rank-profile features inherits default {
    inputs { query(q) tensor<double>(x[2]) }
    first-phase { expression: attribute(num) }
    match-features { ${FEATURES.join(" ")} }
  }
}`;

/** What is random. */
class Dice {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = random(seed);
  }

  below(count: number): number {
    return Math.floor(this.#next() * count);
  }

  one<T>(of: readonly T[]): T {
    return of[this.below(of.length)] as T;
  }

  point(): Point {
    return [this.#next() * 4 - 2, this.#next() * 4 - 2];
  }

  few<T>(make: () => T, most = 3): readonly T[] {
    return Array.from({ length: this.below(most + 1) }, make);
  }

  weights(keys: readonly string[], atLeast = 0): Record<string, number> {
    const entry = (): [string, number] => [this.one(keys), this.below(9) - 3];
    return Object.fromEntries([...Array.from({ length: atLeast }, entry), ...this.few(entry)]);
  }

  note(): Note {
    const note: Note = { num: this.below(50) };
    if (this.below(5) > 0) note.vec = this.point();
    if (this.below(3) > 0) note.multi = Object.fromEntries(this.few(() => [this.one(WORDS), this.point()]));
    if (this.below(3) > 0) note.ws = this.weights(WORDS);
    if (this.below(3) > 0) note.tags = this.few(() => this.one(WORDS));
    if (this.below(3) > 0) note.sizes = this.weights(NUMBERS);
    return note;
  }

  /** An update of a field, and what it makes of a note. */
  update(note: Note): readonly [fields: object, after: Note] {
    const [word, point, weight] = [this.one(WORDS), this.point(), this.below(9) - 3];
    const without = <T>(of: Readonly<Record<string, T>> | undefined): Record<string, T> =>
      Object.fromEntries(Object.entries(of ?? {}).filter(([key]) => key !== word));
    const { vec, ...rest } = note;
    const [x, y] = vec ?? [0, 0];
    const twice = { operation: "multiply", cells: [{ address: { x: "1" }, value: 2 }] };
    return this.one<readonly [object, Note]>([
      [{ num: { increment: weight } }, { ...note, num: note.num + weight }],
      [{ vec: { assign: { values: point } } }, { ...note, vec: point }],
      [{ vec: { assign: null } }, rest],
      vec === undefined ? [{}, note] : [{ vec: { modify: twice } }, { ...note, vec: [x, y * 2] }],
      [{ ws: { add: { [word]: weight } } }, { ...note, ws: { ...note.ws, [word]: weight } }],
      [{ [`ws{${word}}`]: { assign: weight } }, { ...note, ws: { ...note.ws, [word]: weight } }],
      [{ ws: { remove: { [word]: 0 } } }, { ...note, ws: without(note.ws) }],
      [{ sizes: { add: { 3: weight } } }, { ...note, sizes: { ...note.sizes, 3: weight } }],
      [{ tags: { add: [word] } }, { ...note, tags: [...(note.tags ?? []), word] }],
      [{ multi: { add: { blocks: { [word]: point } } } }, { ...note, multi: { ...note.multi, [word]: point } }],
      [{ multi: { remove: { addresses: [{ k: word }] } } }, { ...note, multi: without(note.multi) }],
    ]);
  }

  /** A condition of numbers and weights; the first that may have it has the label. */
  #plain(depth: number, labels: string[]): Condition {
    if (depth > 0 && this.below(3) > 0) {
      const of = [this.#plain(depth - 1, labels), this.#plain(depth - 1, labels)] as const;
      return { kind: this.one(["and", "or", "rank", "not"]), of };
    }
    if (this.below(2) > 0) return { kind: this.one(["<", ">", "="]), number: this.below(50) };
    const field = this.one<WeightedField>(["ws", "tags", "sizes"]);
    const tokens = this.weights(field === "sizes" ? NUMBERS : WORDS, 1);
    const [label] = labels.splice(0, 1);
    const kind = this.one(["wand", "dotProduct", "weightedSet"] as const);
    return { kind, field, tokens, scoreThreshold: this.below(6) - 1, ...(label !== undefined && { label }) };
  }

  condition(metric: Metric): Condition {
    const labels = ["w"];
    const plain = this.#plain(2, labels);
    if (this.below(4) === 0) return plain;
    const field = this.one(["vec", "vec", "multi"] as const);
    const least = field === "vec" && metric === "dotproduct" ? -2 : 0;
    const nearest: Condition = {
      kind: "nearestNeighbor",
      field,
      targetHits: 1 + this.below(6),
      ...(this.below(3) === 0 && { distanceThreshold: least + this.below(300) / 100 }),
    };
    return this.one<Condition>([
      nearest,
      { kind: this.one(["and", "or", "rank", "not"]), of: [nearest, plain] },
      { kind: "and", of: [plain, nearest] },
      { kind: "and", of: [{ kind: "or", of: [nearest, this.#plain(0, labels)] }, plain] },
    ]);
  }
}

function yql(condition: Condition): string {
  if ("of" in condition) {
    const [first, second] = condition.of.map(yql) as [string, string];
    if (condition.kind === "rank") return `rank(${first}, ${second})`;
    return `(${first} ${condition.kind === "not" ? "and !" : `${condition.kind} `}(${second}))`;
  }
  if (condition.kind === "nearestNeighbor") {
    const { field, targetHits, distanceThreshold } = condition;
    // Which way is taken changes nothing: there is no index.
    const way = targetHits % 2 === 0 ? ",approximate:false" : "";
    const bound = distanceThreshold === undefined ? "" : `,distanceThreshold:${distanceThreshold}`;
    return `({targetHits:${targetHits},label:"n"${bound}${way}}nearestNeighbor(${field}, q))`;
  }
  if ("tokens" in condition) {
    const { kind, field, tokens, scoreThreshold, label } = condition;
    const named = label === undefined ? "" : `label:"${label}",`;
    return `({${named}scoreThreshold:${scoreThreshold}.0}${kind}(${field}, ${JSON.stringify(tokens)}))`;
  }
  return `num ${condition.kind} ${condition.number}`;
}

/** Writes something of one note: all of it, a part, or its end. */
async function change(cluster: LocalCluster, notes: Map<string, Note>, dice: Dice): Promise<void> {
  const name = `d${dice.below(NAMES)}`;
  const before = notes.get(name);
  const which = dice.below(5);
  if (before === undefined || which === 0) {
    const note = dice.note();
    notes.set(name, note);
    const { vec, multi, ...rest } = note;
    const vectors = { ...(vec && { vec: { values: vec } }), ...(multi && { multi: { blocks: multi } }) };
    return await putNote(cluster, "g", name, { ...rest, ...vectors });
  }
  const kind = which === 1 ? "remove" : "update";
  const [fields, after] = dice.update(before);
  const body = encoder.encode(kind === "remove" ? "" : JSON.stringify({ fields }));
  const request = { kind, rawPath: "", id: idOf(name, "g"), create: false, condition: "", body } as const;
  expect(await cluster.partition("g:g").apply(request, 60_000), JSON.stringify(fields)).toMatchObject({ status: 200 });
  if (kind === "remove") notes.delete(name);
  else notes.set(name, after);
}

/** Asks one query, and compares all that it tells. */
async function ask(cluster: LocalCluster, notes: ReadonlyMap<string, Note>, metric: Metric, dice: Dice): Promise<void> {
  const [query, condition] = [dice.point(), dice.condition(metric)];
  const text = `select documentid from note where ${yql(condition)}`;
  const more = { ranking: "features", hits: "100", "input.query(q)": JSON.stringify(query) };
  const { hits, errors } = await searchNotes(cluster, "g", text, more);
  const said = `${metric} q=${query} ${text} ${errors}`;
  const found = new Map(
    hits.map(({ fields }) => [String(fields["documentid"]).split(":").at(-1) ?? "", fields["matchfeatures"]]),
  );
  const selected = select(condition, notes, query, metric);
  expect([...found.keys()].sort(), said).toEqual([...selected.keys()].sort());
  for (const [name, features] of selected) {
    const told = found.get(name) as Readonly<Record<string, number>>;
    for (const feature of FEATURES) {
      // Of what is no neighbour, the item may tell its closeness or nothing.
      if (feature === "itemRawScore(n)" && nearestOf(condition) !== undefined && !(feature in features)) continue;
      const wanted = features[feature] ?? (feature === "distance(label,n)" ? Number.MAX_VALUE : 0);
      const place = `${said}\n${name}, ${feature}, ${JSON.stringify(notes.get(name))}`;
      expect(Math.abs((told[feature] ?? Number.NaN) - wanted), place).toBeLessThanOrEqual(
        1e-9 * Math.max(1, Math.abs(wanted)),
      );
    }
  }
}

const cases = METRICS.flatMap((metric, at) =>
  Array.from({ length: ROUNDS }, (_, round) => ({ metric, seed: 1 + at + METRICS.length * round })),
);

test.each(cases)("$metric, seed $seed", async ({ metric, seed }) => {
  const dice = new Dice(seed);
  const { cluster } = openCore(folder());
  await cluster.deploy(packageOf({ note: schemaOf(metric) }));
  const notes = new Map<string, Note>();
  for (let step = 0; step < STEPS; step += 1) {
    for (let written = 0; written < CHANGES; written += 1) await change(cluster, notes, dice);
    if (dice.below(4) === 0) await cluster.idle();
    for (let asked = 0; asked < QUERIES; asked += 1) await ask(cluster, notes, metric, dice);
  }
});
