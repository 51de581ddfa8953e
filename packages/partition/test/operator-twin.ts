/**
 * What nearest neighbours and weighted operators select and tell, in the plainest way: each document is asked, with arithmetic that reads as
 * the specification does (nearest-neighbour, query operators, rank features of both).
 */

export type Metric = "euclidean" | "angular" | "dotproduct" | "prenormalized-angular";
export type VectorField = "vec" | "multi";
export type WeightedField = "ws" | "tags" | "sizes";
export type Point = readonly [number, number];

/** The fields of a document, as it was last written. */
export interface Note {
  num: number;
  vec?: Point;
  multi?: Readonly<Record<string, Point>>;
  ws?: Readonly<Record<string, number>>;
  tags?: readonly string[];
  sizes?: Readonly<Record<string, number>>;
}

export interface Nearest {
  readonly kind: "nearestNeighbor";
  readonly field: VectorField;
  readonly targetHits: number;
  readonly distanceThreshold?: number;
}

export interface Weighted {
  readonly kind: "wand" | "dotProduct" | "weightedSet";
  readonly field: WeightedField;
  readonly tokens: Readonly<Record<string, number>>;
  readonly scoreThreshold: number;
  readonly label?: string;
}

export interface Comparison {
  readonly kind: "<" | ">" | "=";
  readonly number: number;
}

export interface Junction {
  readonly kind: "and" | "or" | "rank" | "not";
  readonly of: readonly [Condition, Condition];
}

export type Condition = Nearest | Weighted | Comparison | Junction;

/** Rank features by their names. */
export type Features = Record<string, number>;

const isJunction = (condition: Condition): condition is Junction => "of" in condition;
const isWeighted = (condition: Condition): condition is Weighted => "tokens" in condition;

/** The operator of neighbours in a condition, of which there is one at most. */
export function nearestOf(condition: Condition): Nearest | undefined {
  if (condition.kind === "nearestNeighbor") return condition;
  return isJunction(condition) ? condition.of.map(nearestOf).find((found) => found !== undefined) : undefined;
}

const dot = ([a, b]: Point, [c, d]: Point): number => a * c + b * d;
const clamped = (cosine: number): number => Math.max(-1, Math.min(1, cosine));

function distance(metric: Metric, query: Point, point: Point): number {
  const product = dot(query, point);
  const square = dot(query, query);
  if (metric === "euclidean") return Math.hypot(query[0] - point[0], query[1] - point[1]);
  if (metric === "angular") return Math.acos(clamped(product / (Math.sqrt(square * dot(point, point)) || 1)));
  if (metric === "dotproduct") return -product;
  return 1 - (square <= 0 ? 0 : clamped(product / square));
}

/** By what neighbours are ordered and bounded: the distance, but that of prenormalized vectors before it is clamped. */
function order(metric: Metric, query: Point, point: Point): number {
  return metric === "prenormalized-angular"
    ? 1 - dot(query, point) / dot(query, query)
    : distance(metric, query, point);
}

const closeness = (metric: Metric, far: number): number => (metric === "dotproduct" ? -far : 1 / (1 + far));

/** The metric of a field: that of the points of `multi` is fixed. */
const metricOf = (field: VectorField, metric: Metric): Metric => (field === "vec" ? metric : "euclidean");

/** The least of something over the points of a field; nothing: it has none. */
function least(note: Note, field: VectorField, of: (point: Point) => number): number | undefined {
  const points =
    field === "vec" ? [note.vec].flatMap((vec) => (vec === undefined ? [] : [vec])) : Object.values(note.multi ?? {});
  return points.length === 0 ? undefined : Math.min(...points.map(of));
}

/** The products of the weights of tokens that are found. */
function products({ field, tokens }: Weighted, note: Note): readonly number[] {
  return Object.entries(tokens).flatMap(([token, weight]) => {
    if (field === "tags") return (note.tags ?? []).filter((tag) => tag === token).map(() => weight);
    const own = note[field]?.[token];
    return own === undefined ? [] : [weight * own];
  });
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/** Whether a condition holds of a note that is one of the neighbours, or is not. */
export function holds(condition: Condition, note: Note, isNear: boolean): boolean {
  if (isJunction(condition)) {
    const [first, second] = condition.of.map((of) => holds(of, note, isNear)) as [boolean, boolean];
    if (condition.kind === "or") return first || second;
    if (condition.kind === "rank") return first;
    return first && second === (condition.kind === "and");
  }
  if (condition.kind === "nearestNeighbor") return isNear;
  if (isWeighted(condition)) {
    const found = products(condition, note);
    const isBounded = condition.kind === "wand" && condition.scoreThreshold > 0;
    return isBounded ? sum(found) > condition.scoreThreshold : found.length > 0;
  }
  if (condition.kind === "=") return note.num === condition.number;
  return condition.kind === "<" ? note.num < condition.number : note.num > condition.number;
}

function rawScore(condition: Weighted, note: Note): number {
  if (condition.kind === "weightedSet") return 0;
  const score = sum(products(condition, note));
  return condition.kind === "dotProduct" || score > condition.scoreThreshold ? score : 0;
}

/** Adds the scores of weighted operators, each below what holds of the note. */
function addScores(condition: Condition, note: Note, isNear: boolean, features: Features): void {
  if (!holds(condition, note, isNear)) return;
  if (isJunction(condition)) {
    const scored = condition.kind === "not" ? condition.of.slice(0, 1) : condition.of;
    for (const of of scored) addScores(of, note, isNear, features);
  } else if (isWeighted(condition)) {
    const name = `rawScore(${condition.field})`;
    const score = rawScore(condition, note);
    features[name] = (features[name] ?? 0) + score;
    if (condition.label !== undefined) features[`itemRawScore(${condition.label})`] = score;
  }
}

/** The names of the neighbours: of what the rest of the condition selects and the threshold lets pass, the nearest. */
function neighbours(
  condition: Condition,
  notes: ReadonlyMap<string, Note>,
  query: Point,
  metric: Metric,
): ReadonlySet<string> {
  const nearest = nearestOf(condition);
  if (nearest === undefined) return new Set();
  const { field, targetHits, distanceThreshold = Number.POSITIVE_INFINITY } = nearest;
  const orders = [...notes].flatMap(([name, note]) => {
    const at = least(note, field, (point) => order(metricOf(field, metric), query, point));
    return at !== undefined && at <= distanceThreshold && holds(condition, note, true) ? [{ name, at }] : [];
  });
  orders.sort((one, other) => one.at - other.at);
  return new Set(orders.slice(0, targetHits).map(({ name }) => name));
}

/** The features of each note that a condition selects, where they are not 0. */
export function select(
  condition: Condition,
  notes: ReadonlyMap<string, Note>,
  query: Point,
  metric: Metric,
): ReadonlyMap<string, Features> {
  const near = neighbours(condition, notes, query, metric);
  const nearest = nearestOf(condition);
  const selected = [...notes].filter(([name, note]) => holds(condition, note, near.has(name)));
  return new Map(
    selected.map(([name, note]) => {
      const features: Features = { "attribute(num)": note.num };
      addScores(condition, note, near.has(name), features);
      if (nearest !== undefined)
        Object.assign(features, distanceFeatures(nearest, note, query, metric, near.has(name)));
      return [name, features];
    }),
  );
}

/** What is told of the distance, also of a note that is no neighbour. */
function distanceFeatures({ field }: Nearest, note: Note, query: Point, metric: Metric, isNear: boolean): Features {
  const own = metricOf(field, metric);
  const far = least(note, field, (point) => distance(own, query, point));
  const nothing = own === "dotproduct" ? -Number.MAX_VALUE : 0;
  const close = far === undefined ? nothing : closeness(own, far);
  return {
    "closeness(label,n)": close,
    [`closeness(field,${field})`]: close,
    "distance(label,n)": far ?? Number.MAX_VALUE,
    ...(isNear && { "itemRawScore(n)": close }),
  };
}
