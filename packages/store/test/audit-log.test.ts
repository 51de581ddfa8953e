/** The audit log: what is noted is on disk, and whatever is changed in it is found. */
import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { AuditLog, auditHash, verifyAuditLog } from "../src/node/audit-log.ts";

function place(): string {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-audit-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "audit.jsonl");
}

const linesIn = (path: string): readonly Record<string, unknown>[] =>
  readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

async function written(count = 3): Promise<string> {
  const path = place();
  const log = await AuditLog.open(path);
  for (let at = 0; at < count; at += 1) await log.note({ action: "deploy", at });
  await log.close();
  return path;
}

describe("an audit log", () => {
  test("has what was noted when that is kept, each line with the hash of the one before", async () => {
    const path = place();
    const log = await AuditLog.open(path);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await log.note({ action: "erase", group: "x" });
    expect(linesIn(path)).toMatchObject([
      { number: 1, action: "start" },
      { number: 2, action: "erase", group: "x" },
    ]);
    await Promise.all(Array.from({ length: 50 }, (_, at) => log.note({ action: "visit", at })));
    await log.close();
    await expect(log.note({ action: "late" })).rejects.toMatchObject({ kind: "closed" });
    const texts = readFileSync(path, "utf8").trimEnd().split("\n");
    expect(linesIn(path).map(({ previous }) => previous)).toEqual([
      "0".repeat(64),
      ...texts.slice(0, -1).map((text) => auditHash(text)),
    ]);
    expect(
      linesIn(path)
        .slice(2, -1)
        .map(({ at }) => at),
    ).toEqual(Array.from({ length: 50 }, (_, at) => at));
    expect(await verifyAuditLog(path)).toEqual({ lines: 53, last: auditHash(texts.at(-1) ?? ""), torn: [] });
  });

  test("goes on where it was", async () => {
    const path = await written();
    const again = await AuditLog.open(path);
    await again.note({ action: "deploy" });
    await again.close();
    expect(linesIn(path).map(({ number, action }) => `${number} ${action}`)).toEqual([
      "1 start",
      "2 deploy",
      "3 deploy",
      "4 deploy",
      "5 end",
      "6 start",
      "7 deploy",
      "8 end",
    ]);
    expect(await verifyAuditLog(path)).toMatchObject({ lines: 8, torn: [] });
  });

  test("counts what is told often and waited for by nobody, within bounds", async () => {
    const path = place();
    const log = await AuditLog.open(path, { delayMs: 5 });
    for (let at = 0; at < 500; at += 1)
      log.count({ time: at, action: "refused", status: 401, request: at }, ["request"]);
    log.count({ time: 1, action: "refused", status: 403, request: 1 }, ["request"]);
    await expect.poll(() => linesIn(path).length).toBe(3);
    expect(linesIn(path).slice(1)).toMatchObject([
      { action: "refused", status: 401, count: 500, time: 0 },
      { action: "refused", status: 403 },
    ]);
    for (let at = 0; at < 1_200; at += 1) log.count({ action: "refused", at });
    await log.close();
    const lines = linesIn(path);
    expect(lines.filter(({ at }) => at !== undefined)).toHaveLength(1_000);
    expect(lines).toContainEqual(expect.objectContaining({ action: "lost", count: 200 }));
    expect(await verifyAuditLog(path)).not.toHaveProperty("broken");
  });

  test.each([20, 1, 2, 200])("keeps what was cut off %i bytes before its end, and goes on behind it", async (bytes) => {
    const path = await written();
    truncateSync(path, statSync(path).size - bytes);
    const log = await AuditLog.open(path);
    await log.close();
    const report = await verifyAuditLog(path);
    expect(report.broken).toBeUndefined();
    // Where only the end of the line is gone, nothing of it is.
    expect(report.torn).toHaveLength(bytes === 1 ? 0 : 1);
    truncateSync(path, statSync(path).size - 30);
    await (await AuditLog.open(path)).close();
    expect((await verifyAuditLog(path)).broken).toBeUndefined();
  });

  test("is refused where it cannot be written, or is something else", async () => {
    const path = place();
    await expect(AuditLog.open(join(path, "no", "such", "folder"))).rejects.toThrow("cannot be written");
    await expect(AuditLog.open(tmpdir())).rejects.toThrow("cannot be written");
    await expect(AuditLog.open("/dev/null")).rejects.toThrow("it is no file");
    writeFileSync(path, "some notes\nof mine\n");
    await expect(AuditLog.open(path)).rejects.toThrow("it is no audit log");
    expect(readFileSync(path, "utf8")).toBe("some notes\nof mine\n");
  });

  test("that was moved away keeps nothing, says so once, and goes on when it is back, with what was lost counted", async () => {
    const path = place();
    const problems: unknown[] = [];
    const log = await AuditLog.open(path, { delayMs: 1, onProblem: (problem) => problems.push(problem) });
    renameSync(path, `${path}.1`);
    await expect(log.note({ action: "deploy" })).rejects.toThrow(/ENOENT/);
    writeFileSync(path, "");
    await expect(log.note({ action: "deploy" })).rejects.toThrow("changed by somebody else");
    log.count({ action: "refused" });
    await expect(log.note({ action: "erase" })).rejects.toThrow("changed by somebody else");
    expect(problems).toHaveLength(1);
    renameSync(`${path}.1`, path);
    await log.note({ action: "erase" });
    await log.close();
    expect(linesIn(path).map(({ action, count }) => `${action} ${count ?? ""}`)).toEqual([
      "start ",
      "lost 1",
      "erase ",
      "end ",
    ]);
    expect(await verifyAuditLog(path)).toMatchObject({ lines: 4 });
  });

  test("that somebody else writes as well is written no more", async () => {
    const path = place();
    const [one, other] = [await AuditLog.open(path), await AuditLog.open(path)];
    await other.note({ action: "deploy" });
    for (let at = 0; at < 3; at += 1)
      await expect(one.note({ action: "deploy" })).rejects.toThrow("changed by somebody else");
    await one.close();
    await other.close();
    expect((await verifyAuditLog(path)).broken).toBeUndefined();
  });
});

describe("the chain of a log", () => {
  const changes: readonly (readonly [string, (lines: string[]) => readonly string[], number])[] = [
    ["a value that was changed", (lines) => lines.map((line) => line.replace('"at":5', '"at":6')), 8],
    ["a line that was left out", (lines) => lines.toSpliced(6, 1), 7],
    ["a line that was put in", (lines) => lines.toSpliced(6, 0, lines[5] ?? ""), 7],
    ["two lines that changed places", (lines) => lines.toSpliced(6, 2, lines[7] ?? "", lines[6] ?? ""), 7],
    ["what is no line, in place of one", (lines) => lines.toSpliced(6, 1, "x"), 8],
    ["what is no line, between two", (lines) => lines.toSpliced(6, 0, "x"), 8],
    ["a beginning that is gone", (lines) => lines.slice(1), 1],
    ["a line that is too long", (lines) => lines.toSpliced(6, 0, "x".repeat(70_000)), 7],
  ];

  test.each(changes)("breaks at %s", async (_, change, line) => {
    const path = await written(20);
    expect((await verifyAuditLog(path)).broken).toBeUndefined();
    writeFileSync(path, `${change(readFileSync(path, "utf8").trimEnd().split("\n")).join("\n")}\n`);
    expect((await verifyAuditLog(path)).broken).toMatchObject({ line });
  });

  test("says what its last line is, as nothing else shows that the end was cut off", async () => {
    const path = await written(5);
    const { last } = await verifyAuditLog(path);
    const lines = readFileSync(path, "utf8").trimEnd().split("\n");
    writeFileSync(path, `${lines.slice(0, -1).join("\n")}\n`);
    const cut = await verifyAuditLog(path);
    expect([cut.broken, cut.last === last]).toEqual([undefined, false]);
    appendFileSync(path, `${lines.at(-1)}\n`);
    expect((await verifyAuditLog(path)).last).toBe(last);
  });
});
