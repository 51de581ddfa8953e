import { expect, test } from "vitest";
import { answerLog } from "../src/node/answer-log.ts";
import { LINE_BYTES_MAX, Log, type LogFormat, type LogLevel } from "../src/node/log.ts";

/** A log, and the lines it wrote. */
function written(format: LogFormat, level?: LogLevel): { log: Log; lines: string[] } {
  const lines: string[] = [];
  const write = (line: string): void => void lines.push(line);
  const log = new Log({
    format,
    write,
    now: () => Date.UTC(2026, 0, 2, 3, 4, 5),
    ...(level === undefined ? {} : { level }),
  });
  return { log, lines };
}

test("an event is a line of JSON, or one to be read", () => {
  const { log, lines } = written("json");
  log.tell("warn", "slow", "A search took 1200 ms", { ms: 1_200, code: undefined });
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { time: "2026-01-02T03:04:05.000Z", level: "warn", event: "slow", message: "A search took 1200 ms", ms: 1_200 },
  ]);
  const read = written("pretty");
  read.log.tell("error", "problem", "first\nsecond", { status: 500 });
  expect(read.lines).toEqual(["2026-01-02T03:04:05.000Z error first\n    second status=500"]);
});

test.each([
  ["error", ["error"]],
  ["warn", ["error", "warn"]],
  ["info", ["error", "warn", "info"]],
  ["debug", ["error", "warn", "info", "debug"]],
] as const)("level %s says %j", (level, said) => {
  const { log, lines } = written("json", level);
  for (const one of ["debug", "info", "warn", "error"] as const) log.tell(one, "e", "m");
  expect(lines.map((line) => JSON.parse(line).level).sort()).toEqual([...said].sort());
});

test.each(["x", "\u0001", "\u{1f600}", '"'])(
  "a line of %j has at most 8 KiB, and says that it was cut (L-log)",
  (character) => {
    for (const format of ["json", "pretty"] as const) {
      const { log, lines } = written(format);
      log.tell("error", "problem", character.repeat(20_000), { status: 500 });
      const [line = ""] = lines;
      expect(Buffer.byteLength(line)).toBeLessThanOrEqual(LINE_BYTES_MAX);
      expect(line).toContain("(cut)");
      expect(line).toContain("500");
    }
  },
);

test("a log that cannot be written throws nothing", () => {
  const log = new Log({
    format: "json",
    write: () => {
      throw new Error("ENOSPC");
    },
  });
  expect(() => log.tell("error", "problem", "m")).not.toThrow();
});

test("of answers: failures, the slow, and deployments; all of them for who looks closely", () => {
  const told = (level: LogLevel): string[] => {
    const { log, lines } = written("json", level);
    const tell = answerLog(log, 100);
    tell({ kind: "search", method: "GET", status: 200, ms: 3 });
    tell({ kind: "search", method: "GET", status: 200, ms: 100 });
    tell({ kind: "search", method: "GET", status: 503, ms: 1, failure: "operator" });
    tell({ kind: "search", method: "GET", status: 504, ms: 1, failure: "operator" });
    tell({ kind: "search", method: "GET", status: 500, ms: 1, failure: "caller" });
    tell({ kind: "document", method: "POST", status: 507, ms: 1, failure: "caller" });
    tell({ kind: "document", method: "POST", status: 500, ms: 5, failure: "operator" });
    tell({ kind: "document", method: "POST", status: 200, ms: 500 });
    tell({ kind: "deploy", method: "POST", status: 200, ms: 50 });
    tell({ kind: "deploy", method: "GET", status: 200, ms: 50 });
    return lines.map((line) => `${JSON.parse(line).level} ${JSON.parse(line).event}`);
  };
  expect(told("info")).toEqual(["warn slow", "error answered", "info deployed"]);
  expect(told("error")).toEqual(["error answered"]);
  expect(told("debug")).toHaveLength(10);
});

test("of a feed its operations tell whether the device is full, and not its answer, which comes before them", () => {
  const { log, lines } = written("json", "info");
  let nowMs = 0;
  const tell = answerLog(log, 1_000, () => nowMs);
  const feed = (...statuses: readonly number[]): string[] => {
    tell({ kind: "feed", method: "POST", status: 200, ms: 1 });
    for (const status of statuses)
      tell({ kind: "operation", method: "POST", status, ms: 1, ...(status < 400 ? {} : { failure: "operator" }) });
    nowMs += 20_000;
    return lines.splice(0).map((line) => JSON.parse(line).message.split(":")[0]);
  };
  expect(feed(507)).toEqual(["The device is full"]);
  expect(feed(507)).toEqual([]);
  expect(feed(200)).toEqual(["The device takes documents again"]);
  expect(feed(500)).toEqual(["operation 500"]);
});

test("a full device is told when it begins, once a minute while it goes on, and when it takes documents again", () => {
  const { log, lines } = written("json", "info");
  let nowMs = 0;
  const tell = answerLog(log, 1_000, () => nowMs);
  const answer = (status: number, method = "POST"): void =>
    tell({ kind: "document", method, status, ms: 1, ...(status < 400 ? {} : { failure: "operator" }) });
  const said = (): unknown[] =>
    lines.splice(0).map((line) => {
      const { level, event, message, seconds, refusals } = JSON.parse(line);
      return [level, event, message.split(":")[0], seconds, refusals].filter((one) => one !== undefined);
    });
  answer(200);
  expect(said()).toEqual([]);
  for (; nowMs < 59_000; nowMs += 1_000) answer(507);
  expect(said()).toEqual([["error", "full", "The device is full"]]);
  for (; nowMs < 150_000; nowMs += 1_000) answer(507);
  expect(said()).toEqual([
    ["error", "full", "The device is still full", 60, 61],
    ["error", "full", "The device is still full", 120, 121],
  ]);
  // A remove is done on a full device, and one put beside refusals may have been of another bucket.
  nowMs += 20_000;
  answer(200, "DELETE");
  answer(507);
  answer(200);
  expect(said()).toEqual([]);
  nowMs += 10_000;
  answer(200);
  expect(said()).toEqual([["info", "full", "The device takes documents again", 180, 151]]);
  answer(200);
  expect(said()).toEqual([]);
  answer(507);
  expect(said()).toEqual([["error", "full", "The device is full"]]);
});
