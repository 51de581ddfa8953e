/** A server that says another address: what is read is read there, and what is written is not taken for done. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { connect, schema, text } from "../src/index.ts";

const note = schema("note", { body: text() });

/** A server below `/old` that redirects to itself, and answers as one that has the document. */
async function redirecting(status: number): Promise<{ readonly url: string; readonly asked: (string | undefined)[] }> {
  const asked: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    request.resume();
    const path = request.url ?? "";
    if (path.startsWith("/old")) return response.writeHead(status, { location: path.slice("/old".length) }).end();
    asked.push(request.method);
    return response.end(JSON.stringify({ fields: { body: "as it was" } }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/old/`, asked };
}

test.each([301, 302, 303])("a put that is redirected with %i fails", async (status) => {
  const { url, asked } = await redirecting(status);
  const alice = connect({ url, retry: { attempts: 1 } }).group("alice");
  await expect(alice.put(note, "1", { body: "new" })).rejects.toMatchObject({ name: "BrookletError", status });
  expect(asked).toEqual([]);
  expect((await alice.get(note, "1"))?.body).toBe("as it was");
});
