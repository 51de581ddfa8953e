/** What platforms ask for, as they publish it: data with where and when it was read. All of it can be given otherwise. */

/** What is paid for beyond what is included, in dollars. */
export interface Tariff {
  /** Of a month, in units. */
  readonly included: number;
  readonly dollars: number;
  /** For so many units. */
  readonly per: number;
}

/** A machine, and smaller ones of its kind at the same price for what they have. */
export interface MachinePrice {
  readonly name: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
  /** What it reads from its disks. */
  readonly diskBytesPerSecond: number;
  readonly dollarsPerDay: number;
  /** The smaller ones: which part of this one they are. */
  readonly smaller: readonly { readonly name: string; readonly share: number }[];
  readonly source: string;
  readonly asOf: string;
}

/** An account with Workers and Durable Objects. */
export interface ObjectPrices {
  readonly account: number;
  readonly workerRequests: Tariff;
  readonly workerMilliseconds: Tariff;
  readonly objectRequests: Tariff;
  readonly gigabyteSeconds: Tariff;
  readonly rowsRead: Tariff;
  readonly rowsWritten: Tariff;
  readonly gigabyteMonths: Tariff;
  /** What an object counts for while it works. */
  readonly memoryGigabytes: number;
  /** The most that one object stores. */
  readonly objectBytesMax: number;
  /** What an object stores before there is anything in it. */
  readonly objectBytesMin: number;
  readonly source: string;
  readonly asOf: string;
}

/** A bucket of an S3-compatible service, reached from machines beside it. */
export interface BucketPrices {
  readonly puts: Tariff;
  readonly gets: Tariff;
  readonly gigabyteMonths: Tariff;
  readonly source: string;
  readonly asOf: string;
}

/** Every price of a plan. */
export interface Prices {
  readonly machine: MachinePrice;
  readonly objects: ObjectPrices;
  readonly bucket: BucketPrices;
}

const MILLION = 1e6;

/** List prices in dollars, without taxes and discounts. */
export const PRICES: Prices = {
  machine: {
    name: "i4i.4xlarge",
    cores: 16,
    memoryBytes: 128e9,
    diskBytes: 3.75e12,
    diskBytesPerSecond: 800e6,
    dollarsPerDay: 33,
    smaller: [
      { name: "i4i.large", share: 1 / 8 },
      { name: "i4i.xlarge", share: 1 / 4 },
      { name: "i4i.2xlarge", share: 1 / 2 },
    ],
    source:
      "https://blog.vespa.ai/announcing-vector-streaming-search/ (price), https://blog.vespa.ai/scaling-personal-ai-assistants-with-streaming-mode/ (what it reads)",
    asOf: "2023-11",
  },
  objects: {
    account: 5,
    workerRequests: { included: 10 * MILLION, dollars: 0.3, per: MILLION },
    workerMilliseconds: { included: 30 * MILLION, dollars: 0.02, per: MILLION },
    objectRequests: { included: MILLION, dollars: 0.15, per: MILLION },
    gigabyteSeconds: { included: 400_000, dollars: 12.5, per: MILLION },
    rowsRead: { included: 25_000 * MILLION, dollars: 0.001, per: MILLION },
    rowsWritten: { included: 50 * MILLION, dollars: 1, per: MILLION },
    gigabyteMonths: { included: 5, dollars: 0.2, per: 1 },
    memoryGigabytes: 0.128,
    objectBytesMax: 10e9,
    objectBytesMin: 12e3,
    source:
      "https://developers.cloudflare.com/durable-objects/platform/pricing/, https://developers.cloudflare.com/workers/platform/pricing/",
    asOf: "2026-04",
  },
  bucket: {
    puts: { included: 0, dollars: 5, per: MILLION },
    gets: { included: 0, dollars: 0.4, per: MILLION },
    gigabyteMonths: { included: 0, dollars: 0.023, per: 1 },
    source: "https://aws.amazon.com/s3/pricing/ (Standard, us-east-1)",
    asOf: "2026-04",
  },
};

/** What an amount of a month costs. */
export function priceOf({ included, dollars, per }: Tariff, amount: number): number {
  return (Math.max(0, amount - included) / per) * dollars;
}

/**
 * Prices with some given otherwise, as a file of JSON has them: only what differs is said. Throws a RangeError that says what is
 * wrong where a name is not one of ours, or a value is not of its kind.
 */
export function pricesWith(changes: unknown): Prices {
  return changePrices(PRICES, changes, "prices") as Prices;
}

function changePrices(ours: unknown, changes: unknown, place: string): unknown {
  if (Array.isArray(ours)) return changedSizes(changes, place);
  if (typeof ours === "number") {
    if (typeof changes === "number" && Number.isFinite(changes) && changes >= 0) return changes;
    throw new RangeError(`${place} is ${JSON.stringify(changes)}: give a number, 0 or more`);
  }
  if (typeof ours === "string") {
    if (typeof changes === "string") return changes;
    throw new RangeError(`${place} is ${JSON.stringify(changes)}: give a text`);
  }
  if (typeof changes !== "object" || changes === null || Array.isArray(changes))
    throw new RangeError(`${place} is ${JSON.stringify(changes)}: give an object`);
  const result: Record<string, unknown> = { ...(ours as object) };
  for (const [name, value] of Object.entries(changes)) {
    if (!Object.hasOwn(result, name))
      throw new RangeError(`there is no '${name}' in ${place}: it has ${Object.keys(result).join(", ")}`);
    result[name] = changePrices(result[name], value, `${place}.${name}`);
    if (DIVISORS.has(name) && result[name] === 0) throw new RangeError(`${place}.${name} is 0: give more`);
  }
  return result;
}

/** What is divided by. */
const DIVISORS: ReadonlySet<string> = new Set(["per", "cores", "memoryBytes", "diskBytes", "diskBytesPerSecond"]);

/** The smaller machines: all of them anew. */
function changedSizes(changes: unknown, place: string): unknown {
  const isSize = (size: unknown): size is { readonly name: string; readonly share: number } => {
    const { name, share } = (size ?? {}) as { readonly name?: unknown; readonly share?: unknown };
    return typeof name === "string" && typeof share === "number" && share > 0 && share < 1;
  };
  if (!Array.isArray(changes) || !changes.every(isSize))
    throw new RangeError(`${place} has to be a list of { name, share }, each share between 0 and 1`);
  return changes;
}
