/** The settings of proxies in docs/deployment.md: they are no narrower than the server's own limits, and tell whose a request is. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { DEFAULT_LIMITS } from "../src/index.ts";
import { DEFAULT_CONNECTION_LIMITS } from "../src/node/connection-limits.ts";

const page = readFileSync(new globalThis.URL("../../../docs/deployment.md", import.meta.url), "utf8");

function fence(language: string): string {
  return new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(page)?.[1]?.replaceAll(/ *#.*$/gm, "") ?? "";
}

/** The words of a directive of nginx. */
function directive(name: string): readonly string[] {
  return new RegExp(`^ *${name} ([^;]*);$`, "m").exec(fence("nginx"))?.[1]?.split(" ") ?? [];
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, k: 1_024, m: 1 << 20 };

function figure(text = ""): number {
  const [, number, unit = ""] = /^(\d+)([a-z]?)$/.exec(text) ?? [];
  return Number(number) * (UNITS[unit] ?? 1);
}

test("nginx is told of a body, a head and times that are as large as the server's", () => {
  const { targetBytes, headerBytes, documentTimeoutMs, searchTimeoutMs, generationTimeoutMs } = DEFAULT_LIMITS;
  // A feed has no end that is known before.
  expect(directive("client_max_body_size")).toEqual(["0"]);
  const [count, size] = directive("large_client_header_buffers");
  expect(figure(size)).toBeGreaterThanOrEqual(Math.max(targetBytes, headerBytes));
  expect(figure(count)).toBeGreaterThanOrEqual(1);
  const longestMs = Math.max(documentTimeoutMs, searchTimeoutMs, generationTimeoutMs);
  expect(figure(directive("proxy_read_timeout")[0])).toBeGreaterThan(longestMs);
  for (const name of ["client_body_timeout", "proxy_send_timeout"])
    expect(figure(directive(name)[0])).toBeGreaterThan(DEFAULT_CONNECTION_LIMITS.streamTimeoutMs);
});

test("nginx hands on what comes as it comes, and says itself whose it is", () => {
  expect([directive("proxy_buffering"), directive("proxy_request_buffering")]).toEqual([["off"], ["off"]]);
  expect(directive("proxy_http_version")).toEqual(["1.1"]);
  expect(directive("listen")).toContain("http2");
  expect(directive("proxy_set_header X-Forwarded-For")).toEqual(["$remote_addr"]);
});

test("a block of Caddy begins at the end of a line, or it is none", () => {
  const lines = fence("caddy").split("\n");
  expect(lines.filter((line) => line.includes("{")).length).toBe(2);
  expect(lines.filter((line) => /\{.*\S/.test(line))).toEqual([]);
});
