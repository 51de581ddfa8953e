/**
 * Loaded before a server, in each of its threads: its wall clock is as much later as a file says, in milliseconds. With
 * `BROOKLET_TEST_SHIFTS_ALL` the monotonic clock goes with it, as if deadlines were counted by the wall clock.
 */
const { readFileSync } = require("node:fs");
const process = require("node:process");

const LOOK_MS = 10;
const file = process.env.BROOKLET_TEST_SHIFT ?? "";
const shiftsAll = process.env.BROOKLET_TEST_SHIFTS_ALL === "1";
const RealDate = Date;
const realNow = performance.now.bind(performance);
const realHrtime = process.hrtime;
let shiftMs = 0;
let lookedMs = Number.NEGATIVE_INFINITY;

function shift() {
  const nowMs = realNow();
  if (nowMs - lookedMs < LOOK_MS) return shiftMs;
  lookedMs = nowMs;
  try {
    shiftMs = Number(readFileSync(file, "utf8")) || 0;
  } catch {
    shiftMs = 0;
  }
  return shiftMs;
}

class ShiftedDate extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + shift());
    else super(...given);
  }

  static now() {
    return RealDate.now() + shift();
  }
}
globalThis.Date = ShiftedDate;
if (shiftsAll) {
  performance.now = () => realNow() + shift();
  const hrtime = (before) => {
    const nanoseconds = realHrtime.bigint() + BigInt(Math.round(shift())) * 1_000_000n;
    const [seconds, rest] = [Number(nanoseconds / 1_000_000_000n), Number(nanoseconds % 1_000_000_000n)];
    return before === undefined ? [seconds, rest] : [seconds - before[0], rest - before[1]];
  };
  hrtime.bigint = realHrtime.bigint;
  process.hrtime = hrtime;
}
