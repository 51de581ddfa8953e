/**
 * Whether a process grows with what it is asked. All is counted by requests: how many of them it takes to become warm, and what it holds after
 * how many. A machine that has little time for it makes it slower, and nothing else.
 */

/** What a process has, after so many requests: bytes of memory, and open descriptors. */
export interface Held {
  readonly requests: number;
  readonly atS: number;
  readonly bytes: number;
  readonly descriptors: number;
}

/** What it may come to. */
export interface GrowthLimits {
  /** Requests with which it becomes warm: what it held before says nothing. */
  readonly warmRequests: number;
  /** Of all that was measured. */
  readonly bytes?: number;
  readonly bytesOfMinute?: number;
  readonly bytesOfRequest?: number;
  readonly descriptors: number;
}

const MIB = 1 << 20;
const WINDOWS = 20;
const WINDOWS_MIN = 8;
/** Of slopes that come of nothing one in so many standard deviations is left. */
const CERTAIN = 1.96;

/** What is wrong with what a process held, each in a sentence. */
export function growthFaults(all: readonly Held[], limits: GrowthLimits): readonly string[] {
  const held = all.filter(({ requests }) => requests >= limits.warmRequests);
  const floors = floorsOf(held);
  const [first, last] = [floors[0], floors.at(-1)];
  if (first === undefined || last === undefined || floors.length < WINDOWS_MIN) return ["too little was measured"];
  const ofRequest = leastSlope(floors.map(({ requests, bytes }) => [requests, bytes] as const));
  const requests = last.requests - first.requests;
  const ofMinute = (ofRequest * requests * 60) / (last.atS - first.atS);
  const isMore = (grown: number, most = Number.POSITIVE_INFINITY): boolean => grown >= most;
  const faults: string[] = [];
  if (
    isMore(ofRequest * requests, limits.bytes) ||
    isMore(ofMinute, limits.bytesOfMinute) ||
    isMore(ofRequest, limits.bytesOfRequest)
  )
    faults.push(
      `memory: ${mebibytes(first)} MiB, ${mebibytes(last)} MiB ${requests} requests later, at least ${ofRequest.toFixed(0)} bytes a request and ${(ofMinute / MIB).toFixed(1)} MiB a minute`,
    );
  if (last.descriptors > first.descriptors + limits.descriptors)
    faults.push(`descriptors: ${first.descriptors}, ${last.descriptors} later`);
  return faults;
}

const mebibytes = ({ bytes }: Held): string => (bytes / MIB).toFixed(0);

/** The least that was held in windows of as many requests each: what garbage and what is under way come on top of. */
function floorsOf(held: readonly Held[]): readonly Held[] {
  const [from, to] = [held[0]?.requests ?? 0, held.at(-1)?.requests ?? 0];
  const windows = Array.from({ length: WINDOWS }, (): Held[] => []);
  for (const one of held) {
    const at = Math.floor((WINDOWS * (one.requests - from)) / (to - from));
    windows[Math.min(WINDOWS - 1, at)]?.push(one);
  }
  const measured = windows.filter((window) => window.length > 0);
  return measured.map((window) => {
    const least = window.reduce((one, other) => (other.bytes < one.bytes ? other : one));
    return { ...least, descriptors: Math.min(...window.map(({ descriptors }) => descriptors)) };
  });
}

/**
 * The slope that points have at least: of those between any two of them (Theil and Sen) the one below which no more than
 * chance has put. A few points that are far off, first or last ones too, do not move it.
 */
function leastSlope(points: readonly (readonly [number, number])[]): number {
  const slopes = points
    .flatMap(([x, y], at) => points.slice(at + 1).map(([otherX, otherY]) => (otherY - y) / (otherX - x)))
    .sort((a, b) => a - b);
  const count = points.length;
  // What Kendall's sum of so many points without any slope deviates by.
  const deviation = Math.sqrt((count * (count - 1) * (2 * count + 5)) / 18);
  return slopes[Math.max(0, Math.floor((slopes.length - CERTAIN * deviation) / 2))] ?? 0;
}
