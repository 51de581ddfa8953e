/** `brooklet store`: snapshots and forks of a store over a real S3 service, while a database has it open. */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { REQUIRED, startS3, versitygw } from "../../object-store/test/servers.ts";
import { explain, failureJson } from "../src/command/failure.ts";
import { runCommandLine } from "../src/command/program.ts";
import { int, open, schema, text } from "../src/index.ts";
import { s3 } from "../src/object-store.ts";

const note = schema("note", { title: text(), n: int() });

async function run(
  ...words: readonly string[]
): Promise<{ readonly code: number; readonly printed: string; readonly warned: string }> {
  const [printed, warned]: [string[], string[]] = [[], []];
  const code = await runCommandLine(["store", ...words], {
    print: (line) => printed.push(line),
    warn: (line) => warned.push(line),
    progress: () => undefined,
    input: (async function* () {})(),
    untilEnded: () => Promise.resolve(),
  });
  return { code, printed: printed.join("\n"), warned: warned.join("\n") };
}

test("what is no store is refused before anything is asked", async () => {
  for (const words of [
    ["snapshot", "./data"],
    ["snapshots", "./data"],
    ["remove", "./data", "1"],
    ["fork", "./data", "s3://bucket/x"],
  ])
    expect(await run(...words)).toMatchObject({
      code: 2,
      warned: "a store is s3://bucket/prefix or postgres://…, not './data'",
    });
  expect(await run("snapshot", "s3://bucket/x", "--keep-days", "0")).toMatchObject({ code: 2 });
});

test("a store that does not answer is said to, with where it was looked for", async () => {
  const told = "127.0.0.1:1 cannot be reached (ECONNREFUSED): is it running, and is its address right?";
  expect(await run("snapshots", "postgres://127.0.0.1:1/x")).toMatchObject({ code: 1, warned: told });
  // A host with several addresses has an error without words.
  const one = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED", address: "::1", port: 1 });
  const all = Object.assign(new AggregateError([one, one]), { code: "ECONNREFUSED" });
  expect(explain(all)).toBe(told.replace("127.0.0.1", "[::1]"));
  expect(failureJson(all)).toEqual({ code: "ECONNREFUSED", message: explain(all) });
});

describe.skipIf(!REQUIRED && versitygw() === undefined)("over an S3 service", () => {
  test("a snapshot is taken, listed, forked and removed", async () => {
    const server = await startS3();
    onTestFinished(() => server.stop());
    const { accessKeyId, secretAccessKey, endpoint = "", bucket } = server.options;
    vi.stubEnv("AWS_ACCESS_KEY_ID", accessKeyId);
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", secretAccessKey);
    vi.stubEnv("AWS_ENDPOINT_URL_S3", endpoint);
    onTestFinished(() => {
      vi.unstubAllEnvs();
    });
    const at = (prefix: string): string => `s3://${bucket}/${prefix}`;
    const live = await open({ store: s3({ ...server.options, prefix: "live" }), schemas: [note] });
    onTestFinished(() => live.close());
    const group = live.group("alice");
    await group.feed(
      note,
      Array.from({ length: 300 }, (_, n) => ({ id: String(n), fields: { title: `river ${n}`, n } })),
    );
    const taken = await run("snapshot", at("live"), "--keep-days", "30", "--json");
    expect(taken.code, taken.warned).toBe(0);
    const { id, takenAt, expiresAt, isWhole } = JSON.parse(taken.printed) as Record<string, string>;
    expect([id?.slice(0, 10), isWhole]).toEqual([takenAt?.slice(0, 10), true]);
    await group.put(note, "0", { title: "stone", n: 0 });
    const { backups } = await group.erase();
    expect(backups).toEqual([{ id, takenAt: new Date(takenAt ?? ""), expiresAt: new Date(expiresAt ?? "") }]);
    expect(await run("snapshots", at("live"))).toMatchObject({ code: 0, printed: `${id}, kept until ${expiresAt}` });

    const forked = await run("fork", at("live"), at("trial"), "--snapshot", id ?? "");
    expect(forked.code, forked.warned).toBe(0);
    expect(forked.printed).toMatch(
      /^s3:\S+\/trial is what s3:\S+\/live was at \S+: 8 buckets, \d+ segments, \d+ bytes, all verified$/,
    );
    const trial = await open({ store: s3({ ...server.options, prefix: "trial" }), schemas: [note] });
    onTestFinished(() => trial.close());
    expect(await trial.group("alice").count(note)).toBe(300);
    expect((await trial.group("alice").get(note, "0"))?.title).toBe("river 0");
    expect(await live.group("alice").count(note)).toBe(0);
    expect(await run("fork", at("live"), at("trial"))).toMatchObject({
      code: 1,
      warned: "there is a store at the target: a fork replaces nothing",
    });

    expect(await run("remove", at("live"), id ?? "")).toMatchObject({ code: 0 });
    expect(await run("remove", at("live"), id ?? "")).toMatchObject({
      code: 1,
      warned: `${at("live")} has no snapshot ${id}`,
    });
    expect(await run("fork", at("live"), at("other"), "--snapshot", id ?? "", "--json")).toMatchObject({
      code: 1,
      warned: `there is no snapshot ${id}`,
    });
    expect(await run("snapshots", at("live"), "--json")).toMatchObject({ code: 0, printed: "[]" });
    expect(await run("snapshots", at("live"))).toMatchObject({ code: 0, warned: "the store has no snapshot" });
    for (const command of ["snapshot", "snapshots"])
      expect(await run(command, at("nothing"))).toMatchObject({ code: 1, warned: "there is no store here" });
  });
});
