/** What brooklet needs for a workload: on machines with Node, and in objects of a platform. */
import { FIGURES, FILLED, ROW_BYTES, SHARDS_MAX } from "./figures.ts";
import { type Machines, machinesFor, type Need } from "./machines.ts";
import { type ObjectPrices, type Prices, priceOf } from "./prices.ts";
import { allDocuments, MONTH_SECONDS, type Workload } from "./workload.ts";

/** A part of what a month costs, or of what is paid once. */
export interface Cost {
  readonly of: string;
  /** How much of it there is. */
  readonly amount: number;
  readonly dollars: number;
}

/** One way to serve a workload. */
export interface Plan {
  readonly name: string;
  /** Nothing where the platform has none that one rents. */
  readonly machines: Machines | undefined;
  /** Of all copies together. */
  readonly diskBytes: number;
  /** Of all machines together, beyond what the system caches; 0 where memory is the platform's. */
  readonly memoryBytes: number;
  readonly dollarsPerMonth: number;
  readonly monthly: readonly Cost[];
  /** To bring in the documents that there are. */
  readonly once: readonly Cost[];
  /** Why it cannot be served so, if it cannot. */
  readonly refused: string | undefined;
  /** What else is to be known. */
  readonly note: string;
}

/** Bytes on disk of a document. */
function storedBytes({ bytes, dimensions }: Workload): number {
  return FIGURES.diskOfByte.value * bytes + FIGURES.diskOfDimension.value * dimensions;
}

/** Bytes that a search of one group reads where nothing of it is in memory. */
export function readBytes({ documents, bytes, dimensions }: Workload): number {
  return documents * (FIGURES.readOfByte.value * bytes + FIGURES.readOfDimension.value * dimensions);
}

/** Milliseconds of a core that a search of one group takes. */
export function queryMs({ documents, bytes, dimensions }: Workload): number {
  const scan = FIGURES.scanOfByte.value * bytes + FIGURES.scanOfDimension.value * dimensions;
  return FIGURES.query.value + documents * scan;
}

/** brooklet on machines with Node: `disk = documents × bytes`, `cores = peak × (queries × ms + writes × ms)`. */
export function nodePlan(workload: Workload, { machine }: Prices): Plan {
  const diskBytes = allDocuments(workload) * storedBytes(workload);
  const coreSeconds = (workload.queries * queryMs(workload) + workload.writes * FIGURES.write.value) / 1_000;
  const readPerSecond = workload.queries * readBytes(workload);
  const needs: readonly Need[] = [
    { of: "disk", machines: diskBytes / (machine.diskBytes * FILLED) },
    { of: "cores", machines: (workload.peak * coreSeconds) / (machine.cores * FILLED) },
    { of: "what is read from disk", machines: (workload.peak * readPerSecond) / machine.diskBytesPerSecond },
  ];
  const machines = machinesFor(needs, machine);
  return {
    name: "brooklet on Node",
    machines,
    diskBytes,
    memoryBytes: machines.count * FIGURES.process.value,
    dollarsPerMonth: machines.dollars,
    monthly: [{ of: machines.name, amount: machines.count, dollars: machines.dollars }],
    once: [],
    refused: undefined,
    note: "one copy: a machine that is lost comes back from a backup; who asks chooses the machine by the group",
  };
}

/**
 * brooklet on machines that keep nothing, over a bucket: `PUTs = min(writes, buckets ÷ seconds of a PUT)`, `GETs = 2 × searches`, as if
 * all were strict. What they have of it is a cache: a group that is used is read once.
 */
export function storePlan(workload: Workload, { machine, bucket }: Prices): Plan {
  const { queries, writes, users, documents, peak } = workload;
  const diskBytes = allDocuments(workload) * storedBytes(workload);
  const coreSeconds = (queries * (queryMs(workload) + FIGURES.strict.value) + writes * FIGURES.write.value) / 1_000;
  const isUsed = users > 0 && documents + queries + writes > 0;
  const needs: readonly Need[] = [
    { of: "being there", machines: isUsed ? Math.min(...machine.smaller.map(({ share }) => share), 1) : 0 },
    { of: "cores", machines: (peak * coreSeconds) / (machine.cores * FILLED) },
  ];
  const machines = machinesFor(needs, machine);
  const puts = Math.min(writes, FIGURES.bucketsOfStore.value / FIGURES.putSeconds.value) * MONTH_SECONDS;
  const gets = queries * FIGURES.getsOfSearch.value * MONTH_SECONDS;
  const part = (of: string, tariff: Parameters<typeof priceOf>[0], amount: number): Cost => ({
    of,
    amount,
    dollars: priceOf(tariff, amount),
  });
  const monthly = [
    { of: machines.name, amount: machines.count, dollars: machines.dollars },
    part("GB stored", bucket.gigabyteMonths, diskBytes / 1e9),
    part("PUTs", bucket.puts, puts),
    part("GETs", bucket.gets, gets),
  ];
  return {
    name: "brooklet over a bucket",
    machines,
    diskBytes,
    memoryBytes: machines.count * FIGURES.process.value,
    dollarsPerMonth: monthly.reduce((sum, { dollars }) => sum + dollars, 0),
    monthly,
    once: [],
    refused: undefined,
    note: "copies are the service's, and any machine serves any group; each strict search and write waits for the service once",
  };
}

/** Over how many objects a group of so many bytes is spread: each that is large was split in two. */
function shardsOf(bytes: number): number {
  const halvings = Math.ceil(Math.log2(bytes / FIGURES.shardBytes.value));
  return Math.min(SHARDS_MAX, 2 ** Math.max(0, halvings));
}

/** brooklet with an object for each user, or several where a user has much. */
export function objectPlan(workload: Workload, { objects }: Prices): Plan {
  const { users, documents } = workload;
  const objectBytes = documents * storedBytes(workload);
  const isUsed = users > 0 && documents + workload.queries + workload.writes > 0;
  const diskBytes = documents > 0 ? users * Math.max(objectBytes, objects.objectBytesMin) : 0;
  const monthly = isUsed ? monthOfObjects(workload, diskBytes, objects) : [];
  const loaded = allDocuments(workload);
  const shards = shardsOf(objectBytes);
  // Half of the documents move at each split.
  const rowsOfDocument = FIGURES.rowsOfLoad.value + (Math.log2(shards) / 2) * FIGURES.rowsOfCopy.value;
  const rows = loaded > 0 ? loaded * rowsOfDocument + users * shards * FIGURES.rowsOfGroup.value : 0;
  const bytesMax = SHARDS_MAX * objects.objectBytesMax;
  return {
    name: "brooklet in Durable Objects",
    machines: undefined,
    diskBytes,
    memoryBytes: 0,
    dollarsPerMonth: monthly.reduce((sum, { dollars }) => sum + dollars, 0),
    monthly,
    // What is included in a month is for what happens every month.
    once: [{ of: "rows written", amount: rows, dollars: priceOf({ ...objects.rowsWritten, included: 0 }, rows) }],
    refused:
      objectBytes > bytesMax
        ? `a user has ${(objectBytes / 1e9).toFixed(1)} GB, ${SHARDS_MAX} objects at most ${bytesMax / 1e9}`
        : undefined,
    note:
      shards === 1
        ? "copies, places and sleep are the platform's"
        : `a user is spread over ${shards} objects, and a search asks each twice`,
  };
}

function monthOfObjects(workload: Workload, diskBytes: number, prices: ObjectPrices): readonly Cost[] {
  const queries = workload.queries * MONTH_SECONDS;
  const writes = workload.writes * MONTH_SECONDS;
  // Each rest rings once: a request, and what folding writes.
  const rests = writes / workload.burst;
  const shards = shardsOf(workload.documents * storedBytes(workload));
  // What depends on the whole group is agreed on first, by all that have a part of it.
  const rounds = shards === 1 ? 1 : 2;
  const scanSeconds = (rounds * FIGURES.slowerAtEdge.value * queryMs(workload)) / 1_000;
  const answerSeconds = shards * FIGURES.wakeSeconds.value + scanSeconds;
  const seconds = queries * answerSeconds + (writes + rests) * FIGURES.wakeSeconds.value;
  const rowsOfQuery = shards * FIGURES.rowsOfRead.value + (rounds * readBytes(workload)) / ROW_BYTES;
  const rowsWritten = writes * FIGURES.rowsOfWrite.value + rests * FIGURES.rowsOfRest.value;
  const rowsRead = queries * rowsOfQuery + (writes + rests) * FIGURES.rowsOfRead.value;
  const cost = (of: string, tariff: Parameters<typeof priceOf>[0], amount: number): Cost => ({
    of,
    amount,
    dollars: priceOf(tariff, amount),
  });
  return [
    { of: "the account", amount: 1, dollars: prices.account },
    cost("requests of Workers", prices.workerRequests, queries + writes),
    cost("milliseconds of Workers", prices.workerMilliseconds, (queries + writes) * FIGURES.query.value),
    cost("requests of objects", prices.objectRequests, queries * shards * rounds + writes + rests),
    cost("GB-seconds", prices.gigabyteSeconds, seconds * prices.memoryGigabytes),
    cost("rows written", prices.rowsWritten, rowsWritten),
    cost("rows read", prices.rowsRead, rowsRead),
    cost("GB stored", prices.gigabyteMonths, diskBytes / 1e9),
  ];
}
