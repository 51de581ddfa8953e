/** A `fetch` that answers from a list of handlers and keeps what it was asked. */
import type { Fetch } from "../src/index.ts";

export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

export interface FakeServer {
  readonly asked: Asked[];
  readonly fetch: Fetch;
}

/** Where a server takes feeds in bulk; this one does not, like a Vespa. */
const FEEDS = "/brooklet/v1/feed";

/** A status, JSON, and headers. */
type Reply = readonly [status: number, json: unknown, headers?: Readonly<Record<string, string>>];

/** Answers every request with what `answer` says. */
export function fakeServer(answer: (asked: Asked, count: number) => Reply | Promise<Reply>): FakeServer {
  const asked: Asked[] = [];
  return {
    asked,
    fetch: async (url, init) => {
      if (url.endsWith(FEEDS)) return new Response("{}", { status: 404 });
      const body = typeof init.body === "string" ? (JSON.parse(init.body) as unknown) : init.body;
      const request = { method: init.method ?? "GET", url, body, headers: init.headers as Record<string, string> };
      asked.push(request);
      const [status, json, answered = {}] = await answer(request, asked.length);
      return new Response(JSON.stringify(json), { status, headers: answered });
    },
  };
}

/** Retries without waiting. */
export const AT_ONCE = { firstWaitMs: 0, longestWaitMs: 0 };
