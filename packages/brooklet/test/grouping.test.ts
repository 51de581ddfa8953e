/** Pages of groups: their continuations outlive the process, and are of no use with other data. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writer } from "@brooklet/core";
import { createGateway, type Gateway } from "@brooklet/gateway";
import { afterEach, expect, test } from "vitest";
import { openCluster } from "../src/node/threads.ts";

const SERVICES = `<services version="1.0"><content id="note" version="1.0"><redundancy>1</redundancy>
  <documents><document type="note" mode="streaming"/></documents><nodes><node hostalias="n" distribution-key="0"/></nodes>
  </content></services>`;
const SCHEMA = "schema note { document note { field sender type string { indexing: attribute | summary } } }";
const APPLICATION = new Writer()
  .varint(2)
  .text("services.xml")
  .text(SERVICES)
  .text("schemas/note.sd")
  .text(SCHEMA)
  .finish();
const HOST = "http://127.0.0.1";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "brooklet-grouping-"));
  folders.push(path);
  return path;
}

interface Opened {
  readonly gateway: Gateway;
  close(): Promise<void>;
}

async function opened(path: string, fill: boolean): Promise<Opened> {
  const cluster = openCluster({ path, threads: 0 });
  await cluster.deploy(APPLICATION);
  const gateway = createGateway({ cluster });
  for (const sender of fill ? ["ada", "bo", "cy", "di", "ed"] : []) {
    const body = JSON.stringify({ fields: { sender } });
    const put = { method: "POST", body, headers: { "content-type": "application/json" } };
    const response = await gateway.fetch(new Request(`${HOST}/document/v1/n/note/group/a/${sender}`, put));
    expect(response.status).toBe(200);
  }
  return { gateway, close: () => cluster.close() };
}

interface Answer {
  readonly root: {
    readonly errors?: readonly { readonly message: string }[];
    readonly children?: readonly {
      readonly children: readonly {
        readonly continuation?: { readonly next?: string };
        readonly children: readonly { readonly value: string }[];
      }[];
    }[];
  };
}

/** Two groups of senders, from where the continuation says. */
async function page({ gateway }: Opened, continuation?: string): Promise<Answer> {
  const from = continuation === undefined ? "" : `{ 'continuations':['${continuation}'] }`;
  const yql = `select * from note where true limit 0 | ${from}all(group(sender) max(2) each(output(count())))`;
  const response = await gateway.fetch(
    new Request(`${HOST}/search/?${new URLSearchParams({ yql, "streaming.groupname": "a", timeout: "60s" })}`),
  );
  return (await response.json()) as Answer;
}

const listOf = (answer: Answer) => answer.root.children?.[0]?.children[0];
const values = (answer: Answer) => listOf(answer)?.children.map(({ value }) => value);

test("a continuation goes on after a restart, and not in another directory", async () => {
  const path = folder();
  const before = await opened(path, true);
  const first = await page(before);
  const next = listOf(first)?.continuation?.next ?? "";
  expect(values(first)).toHaveLength(2);
  expect(next).not.toBe("");
  await before.close();
  const after = await opened(path, false);
  const second = await page(after, next);
  expect(second.root.errors).toBeUndefined();
  expect(values(second)).toHaveLength(2);
  expect(values(second)?.some((value) => values(first)?.includes(value))).toBe(false);
  await after.close();
  const other = await opened(folder(), true);
  expect((await page(other, next)).root.errors).toBeDefined();
  await other.close();
});
