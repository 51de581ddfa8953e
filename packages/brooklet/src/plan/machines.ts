/** How many machines, and how large: the greatest need decides. */
import type { MachinePrice } from "./prices.ts";
import { MONTH_DAYS } from "./workload.ts";

/** What is needed of something, in machines of the full size, and what it is needed for. */
export interface Need {
  readonly of: string;
  readonly machines: number;
}

/** Machines of one size. */
export interface Machines {
  readonly count: number;
  readonly name: string;
  /** Which part of a full one each is. */
  readonly share: number;
  readonly dollars: number;
  /** What decided how many. */
  readonly decidedBy: string;
}

/** The fewest machines that meet all needs, at least `least` of them where there is any need; smaller ones where those do. */
export function machinesFor(needs: readonly Need[], price: MachinePrice, least: number = 1): Machines {
  const greatest = needs.reduce((most, need) => (need.machines > most.machines ? need : most), NOTHING);
  if (greatest.machines === 0) return { count: 0, name: price.name, share: 1, dollars: 0, decidedBy: greatest.of };
  const sizes = [...price.smaller, { name: price.name, share: 1 }].sort((a, b) => a.share - b.share);
  const size = sizes.find(({ share }) => greatest.machines <= least * share) ?? { name: price.name, share: 1 };
  const count = Math.max(least, Math.ceil(greatest.machines / size.share));
  const dollars = count * size.share * price.dollarsPerDay * MONTH_DAYS;
  return { count, ...size, dollars, decidedBy: greatest.of };
}

const NOTHING: Need = { of: "nothing", machines: 0 };
