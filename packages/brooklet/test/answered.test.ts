/** Whose matter a failure is, as a server tells who is told of its answers. */
import { int, schema, text } from "@brooklet/client";
import type { Answered } from "@brooklet/gateway";
import { expect, onTestFinished, test } from "vitest";
import { connect } from "../src/node/connect.ts";
import { serve } from "../src/serve.ts";

const note = schema("note", { text: text(), year: int() });

test.each([0, 1])(
  "what was asked for is the caller's matter, whatever its status, with %i threads",
  async (threads) => {
    const answers: Answered[] = [];
    const service = await serve({
      port: 0,
      threads,
      documentsPerGroup: 1,
      onAnswered: (answered) => void answers.push(answered),
    });
    onTestFinished(() => service.close());
    await connect({ url: service.url, schemas: [note] });
    answers.length = 0;
    const ask = async (method: string, path: string, body?: unknown): Promise<unknown> => {
      const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
      const { status } = await fetch(`${service.url}${path}`, init);
      const last = answers.splice(0).at(-1);
      expect(last?.status).toBe(status);
      return [status, last?.failure];
    };
    const put = (id: number): Promise<unknown> =>
      ask("POST", `/document/v1/note/note/group/a/${id}`, { fields: { text: "word" } });
    expect(await put(1)).toEqual([200, undefined]);
    expect(await put(2)).toEqual([507, "caller"]);
    const search = (where: string, more: string = ""): Promise<unknown> =>
      ask(
        "GET",
        `/search/?streaming.groupname=b&timeout=60s&yql=${encodeURIComponent(`select * from note where ${where}`)}${more}`,
      );
    expect(await search("true")).toEqual([200, undefined]);
    // Of a group without documents nothing is left to be shown.
    expect(await search("true order by absent")).toEqual([500, "caller"]);
    expect(await search("not yql")).toEqual([400, "caller"]);
    expect(await ask("GET", "/document/v1/note/note/group/a/9")).toEqual([404, "caller"]);
  },
);
