/**
 * What Vespa needs for a workload, by what its makers published: in streaming mode, and with all vectors in a graph in memory.
 * https://blog.vespa.ai/announcing-vector-streaming-search/ (2023-06-28) has the formulas of memory and the example,
 * https://blog.vespa.ai/scaling-personal-ai-assistants-with-streaming-mode/ (2023-11-30) the rates of a node.
 */
import { FILLED } from "./figures.ts";
import { machinesFor, type Need } from "./machines.ts";
import type { Plan } from "./ours.ts";
import type { Prices } from "./prices.ts";
import { allDocuments, type Workload } from "./workload.ts";

const VECTOR_CELL_BYTES = 2;
/** Memory of a document in streaming mode, whatever is in it. */
const DOCUMENT_MEMORY_BYTES = 45;
const COPIES = 2;
/** The graph over the vectors, beside them. */
const GRAPH = 1.2;
/** What else is in memory. */
const OTHERS = 1.1;
/** 300,000 documents a second were fed to 20 nodes. */
const WRITES_PER_SECOND = 15_000;

/** The published example: a million users with ten thousand documents each, vectors of 384 bfloat16 and nothing else. */
export const EXAMPLE: Workload = {
  users: 1e6,
  documents: 10_000,
  bytes: 0,
  dimensions: 384,
  queries: 0,
  writes: 0,
  peak: 1,
  burst: 1,
};

/** What was published for it. */
export const PUBLISHED = {
  memoryNodes: 242,
  streamingNodes: 11,
  source: "https://blog.vespa.ai/announcing-vector-streaming-search/",
} as const;

/** Vespa in streaming mode: `memory = copies × documents × 45 B`, `read = queries × documents × bytes`. */
export function streamingPlan(workload: Workload, { machine }: Prices): Plan {
  const stored = COPIES * allDocuments(workload);
  const documentBytes = workload.bytes + VECTOR_CELL_BYTES * workload.dimensions;
  const diskBytes = stored * documentBytes;
  const readPerSecond = workload.queries * workload.documents * documentBytes;
  const memoryBytes = stored * DOCUMENT_MEMORY_BYTES;
  const needs: readonly Need[] = [
    { of: "memory", machines: memoryBytes / (machine.memoryBytes * FILLED) },
    { of: "disk", machines: diskBytes / (machine.diskBytes * FILLED) },
    { of: "what is read from disk", machines: (workload.peak * readPerSecond) / machine.diskBytesPerSecond },
    { of: "writes", machines: (workload.peak * workload.writes) / WRITES_PER_SECOND },
  ];
  return planOf("Vespa, streaming mode", { needs, diskBytes, memoryBytes }, machine);
}

/**
 * Vespa with a graph of all vectors in memory: `memory = vectors × 1.2 × copies × 1.1 ÷ 0.65`. The post rounds what it prints on
 * the way; a `rounded` that does so gives its number.
 */
export function memoryPlan(workload: Workload, { machine }: Prices): Plan {
  const diskBytes = COPIES * allDocuments(workload) * (workload.bytes + VECTOR_CELL_BYTES * workload.dimensions);
  const memoryBytes = graphBytes(workload) * FILLED;
  const needs: readonly Need[] = [
    { of: "memory", machines: graphBytes(workload) / machine.memoryBytes },
    { of: "disk", machines: diskBytes / (machine.diskBytes * FILLED) },
    { of: "writes", machines: (10 * workload.peak * workload.writes) / WRITES_PER_SECOND },
  ];
  return planOf("Vespa, a graph in memory", { needs, diskBytes, memoryBytes }, machine);
}

/** Memory for vectors and their graph, headroom included. */
export function graphBytes(workload: Workload, rounded: (bytes: number) => number = (bytes) => bytes): number {
  const one = rounded(allDocuments(workload) * VECTOR_CELL_BYTES * workload.dimensions * GRAPH);
  return rounded((one * COPIES * OTHERS) / FILLED);
}

interface Needed {
  readonly needs: readonly Need[];
  readonly diskBytes: number;
  readonly memoryBytes: number;
}

function planOf(name: string, { needs, diskBytes, memoryBytes }: Needed, machine: Prices["machine"]): Plan {
  const machines = machinesFor(needs, machine, COPIES);
  return {
    name,
    machines,
    diskBytes,
    memoryBytes,
    dollarsPerMonth: machines.dollars,
    monthly: [{ of: machines.name, amount: machines.count, dollars: machines.dollars }],
    once: [],
    refused: undefined,
    note: "two copies; without the containers and config servers before them",
  };
}
