/**
 * The limits that an operator may set, each by its name: those of the HTTP surface, of connections, and what a group may have. A file
 * or an option has them as JSON; what is no limit, or beyond what one may be, is refused by name before a server starts.
 */
import { suggestion } from "@brooklet/wire";
import { DEFAULT_LIMITS, type GatewayLimits, LIMIT_IDS, shown } from "../limits.ts";
import { StartError } from "../start-error.ts";
import { type ConnectionLimits, DEFAULT_CONNECTION_LIMITS } from "./connection-limits.ts";

/** What a group may have (L-group); 0: as much as there is room for. */
export interface GroupLimits {
  readonly documentsPerGroup: number;
  /** Bytes that are stored of it. */
  readonly bytesPerGroup: number;
}

/** A limit of several parts may be given some of them only. */
type Parts<Limit> = Limit extends number ? Limit : Partial<Limit>;

/** Limits other than the usual ones. */
export type OperatorLimits = {
  readonly [Name in keyof (GatewayLimits & ConnectionLimits & GroupLimits)]?: Parts<
    (GatewayLimits & ConnectionLimits & GroupLimits)[Name]
  >;
};

/** The same for who they are for. */
export interface ReadLimits {
  readonly gateway: Partial<GatewayLimits>;
  readonly connections: Partial<ConnectionLimits>;
  readonly groups: Partial<GroupLimits>;
}

const DEFAULT_GROUP_LIMITS: GroupLimits = { documentsPerGroup: 0, bytesPerGroup: 0 };
const DEFAULTS: Readonly<Record<string, number | object>> = {
  ...DEFAULT_LIMITS,
  ...DEFAULT_CONNECTION_LIMITS,
  ...DEFAULT_GROUP_LIMITS,
};

/** The names that limits have in error messages and in the specification of reliability. */
const IDS: Readonly<Record<keyof (GatewayLimits & ConnectionLimits & GroupLimits), string>> = {
  ...LIMIT_IDS,
  connections: "L-conn",
  connectionsOfAddress: "L-conn",
  headersTimeoutMs: "L-slow",
  requestTimeoutMs: "L-slow",
  streamTimeoutMs: "L-slow",
  idleTimeoutMs: "L-idle",
  requestsOfConnection: "L-idle",
  sendTimeoutMs: "L-send",
  sendBytesPerSecond: "L-send",
  streams: "L-h2",
  streamResets: "L-h2",
  controlFrames: "L-h2",
  documentsPerGroup: "L-group",
  bytesPerGroup: "L-group",
};

/** Where 0 has a meaning: nobody waits, nobody counts. */
const MAY_BE_ZERO: ReadonlySet<string> = new Set([
  "queued",
  "waitMs",
  "failures",
  "failuresPerMinute",
  "requestsPerSecond",
  "slowSearchMs",
  "slowSearches",
  "documentsPerGroup",
  "bytesPerGroup",
]);
const MIB = 1 << 20;
/** What some may be at most, by how their names end, or as a whole. */
const MOST: Readonly<Record<string, number>> = {
  bodyBytes: 100 * MIB,
  targetBytes: MIB,
  headerBytes: MIB,
  documentTimeoutMs: 600_000,
  searchTimeoutMs: 600_000,
};
/** The longest that a timer runs. */
const MOST_MS = 2 ** 31 - 1;

/** Reads limits. Throws a `StartError` that names what is wrong with one. */
export function readLimits(given: unknown): ReadLimits {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new StartError('limits are an object of names and numbers, as { "bodyBytes": 16777216 }');
  const read: Record<string, number | object> = {};
  for (const [name, value] of Object.entries(given)) {
    const usual = DEFAULTS[name];
    if (!Object.hasOwn(DEFAULTS, name) || usual === undefined) throw unknownLimit(name, Object.keys(DEFAULTS));
    read[name] = typeof usual === "number" ? numberOf(name, name, value) : partsOf(name, usual, value);
  }
  const those = (defaults: object): object =>
    Object.fromEntries(Object.entries(read).filter(([name]) => Object.hasOwn(defaults, name)));
  return {
    gateway: those(DEFAULT_LIMITS),
    connections: those(DEFAULT_CONNECTION_LIMITS),
    groups: those(DEFAULT_GROUP_LIMITS),
  };
}

/** All limits as they hold, as the gateway shows its own. */
export function shownLimits({ gateway, connections, groups }: ReadLimits): Readonly<Record<string, object>> {
  return shown(IDS, { ...DEFAULTS, ...gateway, ...connections, ...groups }, DEFAULTS);
}

function partsOf(name: string, usual: object, value: unknown): object {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new StartError(`limits: ${name} has parts: ${Object.keys(usual).join(", ")}`);
  const parts: Record<string, number> = {};
  const names = [...Object.keys(usual), ...("waitMs" in usual ? ["runningMost"] : [])];
  for (const [part, own] of Object.entries(value)) {
    if (!names.includes(part))
      throw unknownLimit(
        `${name}.${part}`,
        names.map((one) => `${name}.${one}`),
      );
    parts[part] = numberOf(`${name}.${part}`, part, own);
  }
  return { ...usual, ...parts };
}

function numberOf(path: string, name: string, value: unknown): number {
  const least = MAY_BE_ZERO.has(name) ? 0 : 1;
  const most = MOST[path] ?? (name.endsWith("Ms") ? MOST_MS : Number.MAX_SAFE_INTEGER);
  if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= most) return value;
  const found = typeof value === "number" || typeof value === "string" ? JSON.stringify(value) : typeof value;
  throw new StartError(`limits: ${path} is ${found}: give a whole number from ${least} to ${most}`);
}

function unknownLimit(name: string, names: readonly string[]): StartError {
  const hint = suggestion(name, names) || `; there are ${names.join(", ")}`;
  return new StartError(`limits: there is no '${name.slice(0, 100)}'${hint}`);
}
