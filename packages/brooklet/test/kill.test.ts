/**
 * Kill -9 of the whole server in the middle of feeding (T3): what was acknowledged is there, whole and findable, what
 * was under way is as before or as after, and the directory opens at once. BROOKLET_KILLS raises the number of kills,
 * BROOKLET_SEED repeats their moments.
 */
import { join } from "node:path";
import { betterSqlite3 } from "@brooklet/store";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import {
  type Asking,
  applicationFiles,
  asking,
  folder,
  HITS_MAX,
  type Served,
  search,
  serveProcess,
  writeFiles,
} from "./served.ts";

const KILLS = Number(process.env["BROOKLET_KILLS"] ?? 6);
const SEED = Number(process.env["BROOKLET_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const GROUPS = ["alice", "bob", "carol"] as const;
const DOCUMENTS = 40;
/** The pace of the sweep that folds and empties logs is a second: some lives are longer than that. */
const LIFE_MS = [100, 2_500] as const;

const files = applicationFiles({
  note: `schema note {
    document note {
      field body type string { indexing: summary | index }
      field step type long { indexing: summary | attribute }
      field place type tensor<float>(x[4]) { indexing: summary | attribute }
    }
  }`,
});

/** What is known of one document: the value that was acknowledged last, and the one under way. */
interface Known {
  readonly group: string;
  readonly name: string;
  acknowledged: string;
  issued: string;
}

/** The value of a document that is not there. */
const ABSENT = "-";

/** Numbers from 0 to 1, the same for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 0) / 2 ** 32;
  };
}

/** The fields that belong to a value: what was stored by half cannot look like them. */
function fieldsOf(value: string): { body: string; step: number; place: readonly number[] } {
  const step = Number(value.split("x")[1]);
  const words = `${value} ${"filling words of a note ".repeat((step * 7) % 40)}${value}`;
  return { body: words, step, place: [step, step + 0.5, -1 - step, 1] };
}

const pathOf = ({ group, name }: Known): string => `/document/v1/test/note/group/${group}/${name}`;

/** Writes to one document, one operation after the other, until the connection is cut. */
async function feed(ask: Asking, document: Known, round: number, count: () => void): Promise<void> {
  for (let step = 0; ; step += 1) {
    const removes = step % 6 === 5;
    document.issued = removes ? ABSENT : `r${round}n${document.name}x${step}`;
    const answer = removes
      ? ask("DELETE", pathOf(document))
      : ask("POST", pathOf(document), { fields: fieldsOf(document.issued) });
    const status = await answer.then((it) => it.status).catch(() => undefined);
    if (status === undefined) return;
    if (status !== 200) throw new Error(`${pathOf(document)} step ${step} was answered ${status}`);
    document.acknowledged = document.issued;
    count();
  }
}

/** Feeds all documents until the server is killed after `lifeMs`; gives the number of acknowledged operations. */
async function feedAndKill(served: Served, known: readonly Known[], round: number, lifeMs: number): Promise<number> {
  const ask = asking(served.port);
  let acknowledged = 0;
  const count = (): void => {
    acknowledged += 1;
  };
  const feeding = known.map((document) => feed(ask, document, round, count));
  setTimeout(() => served.process.kill("SIGKILL"), lifeMs);
  await Promise.all(feeding);
  expect(await served.ended).toBeNull();
  return acknowledged;
}

/** Compares one group with what is known of it: all of it by a query, and some of it by get and by its words. */
async function verify(ask: Asking, group: string, known: readonly Known[], about: string): Promise<void> {
  const { status, root } = await search(ask, group, "select * from note where true", {
    hits: HITS_MAX,
    timeout: "20s",
  });
  expect(status, about).toBe(200);
  const found = new Map((root.children ?? []).map((hit) => [String(hit.fields["documentid"]), hit.fields]));
  expect(root.fields.totalCount, about).toBe(found.size);
  for (const document of known) {
    const id = `id:test:note:g=${group}:${document.name}`;
    const fields = found.get(id);
    found.delete(id);
    const value = fields === undefined ? ABSENT : String(fields["body"]).split(" ")[0];
    expect([document.acknowledged, document.issued], `${about}, ${id}`).toContain(value);
    if (fields !== undefined && value !== undefined) {
      const { body, step } = fieldsOf(value);
      expect([fields["body"], fields["step"]], `${about}, ${id}`).toEqual([body, step]);
    }
    document.acknowledged = value ?? ABSENT;
    document.issued = document.acknowledged;
  }
  expect([...found.keys()], `${about}, never issued`).toEqual([]);
  for (const document of known) await verifyOne(ask, document, about);
}

async function verifyOne(ask: Asking, document: Known, about: string): Promise<void> {
  const { acknowledged: value, group } = document;
  const { status, text } = await ask("GET", pathOf(document));
  expect(status, `${about}, ${pathOf(document)}`).toBe(value === ABSENT ? 404 : 200);
  if (value === ABSENT) return;
  const { fields } = JSON.parse(text) as { fields: { body: string; step: number; place: { values: number[] } } };
  const { place, ...plain } = fields;
  expect({ ...plain, place: place.values }, about).toEqual(fieldsOf(value));
  const { root } = await search(ask, group, `select * from note where body contains "${value}"`, { timeout: "20s" });
  expect(
    root.children?.map((hit) => hit.fields["documentid"]),
    `${about}, ${value}`,
  ).toEqual([`id:test:note:g=${group}:${document.name}`]);
}

/** How many segments the buckets had so far. */
function segmentsMade(data: string): number {
  let sum = 0;
  for (let bucket = 0; bucket < 16; bucket += 1) {
    const path = join(data, "buckets", `${String(bucket).padStart(3, "0")}.sqlite`);
    const sql = betterSqlite3(new Database(path, { readonly: true }));
    sum += (sql.all<{ value: number }>("SELECT value FROM about WHERE name = 'next_segment'")[0]?.value ?? 1) - 1;
    sql.close();
  }
  return sum;
}

test(`${KILLS} kills of the server lose nothing that was acknowledged`, {
  timeout: 600_000 + 4 * KILLS * 15_000,
}, async () => {
  const random = randomFrom(SEED);
  const home = folder();
  const data = join(home, "data");
  const application = writeFiles(join(home, "application"), files);
  const known = GROUPS.flatMap((group) =>
    Array.from(
      { length: DOCUMENTS },
      (_, at): Known => ({ group, name: `d${at}`, acknowledged: ABSENT, issued: ABSENT }),
    ),
  );
  let acknowledged = 0;
  let served = await serveProcess(data, "--app", application, "--threads", "2");
  // Kills that met neither writing nor folding would prove nothing. A machine that does much else needs more of them.
  const proves = (): boolean => acknowledged > KILLS * 100 && segmentsMade(data) > KILLS / 2;
  const startMs: number[] = [];
  let round = 0;
  for (; round < KILLS || (round < 4 * KILLS && !proves()); round += 1) {
    const lifeMs = LIFE_MS[0] + random() * (LIFE_MS[1] - LIFE_MS[0]);
    acknowledged += await feedAndKill(served, known, round, lifeMs);
    const start = performance.now();
    // The lock of the killed process is free at once, and what was deployed is served without being told again.
    served = await serveProcess(data, "--threads", "2");
    const ask = asking(served.port);
    const about = `seed ${SEED}, kill ${round} after ${lifeMs.toFixed(0)} ms`;
    startMs.push(performance.now() - start);
    for (const group of GROUPS) {
      await verify(
        ask,
        group,
        known.filter((document) => document.group === group),
        about,
      );
    }
  }
  served.process.kill("SIGTERM");
  expect(await served.ended).toBe(0);
  const segments = segmentsMade(data);
  const slowest = Math.max(...startMs).toFixed(0);
  console.log(
    `${round} kills, ${acknowledged} acknowledged operations, ${segments} segments made, started again within ${slowest} ms (seed ${SEED})`,
  );
  expect(acknowledged).toBeGreaterThan(KILLS * 100);
  expect(segments).toBeGreaterThan(KILLS / 2);
});
