/** `brooklet plan`: what a number of users needs and costs, in each way it can be served. */
import { membersThere } from "@brooklet/wire";
import { FIGURES } from "../plan/figures.ts";
import type { Plan } from "../plan/ours.ts";
import { type Plans, planOf } from "../plan/plan.ts";
import { PRICES, type Prices, pricesWith } from "../plan/prices.ts";
import { EXAMPLE, PUBLISHED } from "../plan/vespa.ts";
import { allDocuments, DAILY_DEFAULT, WORKLOAD_DEFAULT, type Workload, wrongWorkload } from "../plan/workload.ts";
import { fileText } from "./given-file.ts";
import { type Surroundings, UsageError } from "./surroundings.ts";

/** Options of the command. */
export interface PlanCommand {
  readonly users?: number;
  readonly documents?: number;
  readonly bytes?: number;
  readonly dimensions?: number;
  readonly queries?: number;
  readonly queriesPerDay?: number;
  readonly writes?: number;
  readonly writesPerDay?: number;
  readonly peak?: number;
  readonly burst?: number;
  readonly prices?: string;
  readonly example?: boolean;
  readonly json?: boolean;
}

const DAY_SECONDS = 86_400;

/** Plans, and prints what came of it. */
export function runPlan(command: PlanCommand, { print }: Surroundings): void {
  const workload = command.example === true ? exampleOf(command) : workloadOf(command);
  const prices = command.prices === undefined ? PRICES : pricesOf(command.prices);
  const plans = planOf(workload, prices);
  const published = command.example === true ? PUBLISHED : undefined;
  if (command.json === true) print(JSON.stringify({ ...plans, published, prices, figures: FIGURES }, undefined, 2));
  else for (const line of [...linesOf(plans, prices), ...publishedLines(published)]) print(line);
}

function exampleOf({ json, prices, example, ...others }: PlanCommand): Workload {
  const [other] = Object.keys(others);
  if (other !== undefined) throw new UsageError("--example is a workload of its own: leave the others out");
  return EXAMPLE;
}

function workloadOf(command: PlanCommand): Workload {
  const { users, documents } = command;
  if (users === undefined || documents === undefined)
    throw new UsageError("how many --users, and how many --documents of each? Or see --example");
  const workload: Workload = {
    ...WORKLOAD_DEFAULT,
    ...membersThere({
      bytes: command.bytes,
      dimensions: command.dimensions,
      peak: command.peak,
      burst: command.burst,
    }),
    users,
    documents,
    queries: rateOf("queries", command.queries, command.queriesPerDay, users),
    writes: rateOf("writes", command.writes, command.writesPerDay, users),
  };
  const wrong = wrongWorkload(workload);
  if (wrong !== undefined) throw new UsageError(wrong);
  return workload;
}

/** A rate a second, given so or for a user and day. */
function rateOf(
  of: "queries" | "writes",
  perSecond: number | undefined,
  perDay: number | undefined,
  users: number,
): number {
  if (perSecond !== undefined && perDay !== undefined)
    throw new UsageError(`--${of} are a second, --${of}-per-day those of a user: say one of them`);
  return perSecond ?? (users * (perDay ?? DAILY_DEFAULT[of])) / DAY_SECONDS;
}

function pricesOf(file: string): Prices {
  const text = fileText(file);
  try {
    return pricesWith(JSON.parse(text));
  } catch (error) {
    throw new UsageError(`${file}: ${(error as Error).message}`);
  }
}

/** A count as people write them: 250, 1.5k, 2M, 10B. Nothing where it is none. */
export function countOf(text: string): number | undefined {
  const [, digits, unit = ""] = /^(\d+(?:\.\d+)?(?:e\d{1,2})?)([kMB]?)$/.exec(text) ?? [];
  if (digits === undefined) return undefined;
  return Number(digits) * ({ k: 1e3, M: 1e6, B: 1e9 }[unit] ?? 1);
}

function linesOf({ workload, search, plans }: Plans, prices: Prices): readonly string[] {
  const { users, documents, bytes, dimensions, queries, writes, peak, burst } = workload;
  const heads = ["", "machines", "disk", "memory", "a month"];
  const rows = plans.map((plan) => [plan.name, machinesIn(plan), size(plan.diskBytes), memoryIn(plan), monthOf(plan)]);
  return [
    `${short(users)} users × ${short(documents)} documents = ${short(allDocuments(workload))}, of ${short(bytes)} bytes and ${short(dimensions)} dimensions each`,
    `${short(queries)} queries and ${short(writes)} writes a second on average, ${short(peak)} times as many at the busiest; ${short(burst)} writes of a user together`,
    `one search: ${short(search.coreMs)} ms of a core, ${size(search.bytesRead)} read where nothing is in memory`,
    "",
    ...table([heads, ...rows]),
    "",
    ...plans.flatMap(partsOf),
    "",
    `machines: ${prices.machine.name} at $${prices.machine.dollarsPerDay} a day (${prices.machine.asOf}); objects, buckets: list prices of ${prices.objects.asOf}. Others: --prices`,
  ];
}

function machinesIn({ machines }: Plan): string {
  return machines === undefined ? "none" : `${short(machines.count)} × ${machines.name} (${machines.decidedBy})`;
}

function memoryIn({ machines, memoryBytes }: Plan): string {
  return machines === undefined ? "the platform's" : size(memoryBytes);
}

function monthOf({ dollarsPerMonth, refused }: Plan): string {
  return refused === undefined ? dollars(dollarsPerMonth) : "not so";
}

/** What a month is made of, what is paid once, and what else is to be known. */
function partsOf({ name, monthly, once, note, refused }: Plan): readonly string[] {
  const paid = monthly.filter((part) => part.dollars > 0);
  const parts = paid.length > 1 ? paid.map((part) => `${short(part.amount)} ${part.of} ${dollars(part.dollars)}`) : [];
  const first = once
    .filter((part) => part.amount > 0)
    .map((part) => `once, to bring in what there is: ${short(part.amount)} ${part.of} ${dollars(part.dollars)}`);
  return [refused, ...parts, ...first, note]
    .filter((line) => line !== undefined)
    .map((line, at) => `${at === 0 ? `${name}: ` : "  "}${line}`);
}

function publishedLines(published: typeof PUBLISHED | undefined): readonly string[] {
  if (published === undefined) return [];
  const { memoryNodes, streamingNodes, source } = published;
  return [
    "",
    `published for it: ${memoryNodes} nodes with a graph in memory (31.2 TB taken as 31), ${streamingNodes} in streaming mode`,
    `  ${source}`,
  ];
}

/** Columns under each other. */
function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("   ")
      .trimEnd(),
  );
}

const COUNTS = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const DOLLARS = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

function short(count: number): string {
  return COUNTS.format(count);
}

function dollars(amount: number): string {
  return amount < 10 ? `$${amount.toFixed(2)}` : `$${DOLLARS.format(amount)}`;
}

function size(bytes: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB", "PB"];
  const step = bytes < 1 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), units.length - 1);
  return `${Number((bytes / 1_000 ** step).toPrecision(3))} ${units[step]}`;
}
