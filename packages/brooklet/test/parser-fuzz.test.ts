/**
 * The parsers that are written in TypeScript, under changed inputs (T7; those of the core are in `fuzz/`): each refuses in its own words or
 * reads, whatever it is given, and what comes in pieces is read the same wherever it is cut. `BROOKLET_PARSER_INPUTS` for more,
 * `BROOKLET_PARSER_SEED` for others.
 */
import { appendFileSync, readFileSync } from "node:fs";
import process from "node:process";
import { ServiceError } from "@brooklet/wire";
import { micromark } from "micromark";
import { gfm, gfmHtml } from "micromark-extension-gfm";
import { describe, expect, test } from "vitest";
import { AnswerText } from "../../answers/src/answer-text.ts";
import { EventStreamError, serverEvents } from "../../answers/src/event-stream.ts";
import { GroupTokens } from "../../gateway/src/authority/group-token.ts";
import { Continuations } from "../../gateway/src/continuation.ts";
import { parseDocumentPath } from "../../gateway/src/document-path.ts";
import { RequestFrame, requestHead } from "../../gateway/src/node/request-frame.ts";
import { TrustedProxies } from "../../gateway/src/node/trusted-proxies.ts";
import { DocumentParameters, parseParameters } from "../../gateway/src/parameters.ts";
import { decodeForm, splitTarget } from "../../gateway/src/target.ts";
import { readZip } from "../../gateway/src/zip.ts";
import { writeZip } from "../../gateway/test/zip-writer.ts";
import { splitObjects } from "../src/command/feed/feed-objects.ts";
import { readCsv } from "../src/command/import/csv.ts";
import { readMbox } from "../src/command/import/mail-files.ts";
import { UsageError } from "../src/command/surroundings.ts";
import { groupToken } from "../src/token.ts";
import { drawn } from "./cross-group.ts";

const INPUTS = Number(process.env["BROOKLET_PARSER_INPUTS"] ?? 1_000);
const SEED = Number(process.env["BROOKLET_PARSER_SEED"] ?? 7);
const KEY = "Zk3Q0m7Jw1xUe8bVt5Yc2rNf6aHsLpDg9oKiTqXuEyA";
/** Of the processor: what others do with it does not count. */
const SLOW_MS = 2_000;
const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};

type Pick = (below: number) => number;
const one = <Item>(pick: Pick, items: readonly Item[]): Item => items[pick(items.length)] as Item;

/** Bytes near to some that are right: others, more, fewer, twice, from elsewhere. */
function changed(pick: Pick, corpus: readonly Uint8Array[]): Uint8Array {
  let bytes = Buffer.from(one(pick, corpus));
  for (let times = pick(5); times > 0; times -= 1) {
    const at = pick(bytes.length + 1);
    const to = Math.min(bytes.length, at + pick(12));
    const way = pick(6);
    if (way === 0) bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(to)]);
    else if (way === 1) bytes = Buffer.concat([bytes.subarray(0, to), bytes.subarray(at)]);
    else if (way === 2 && at < bytes.length) bytes[at] = one(pick, [0, 0xff, 0x0a, 0x0d, 0x22, 0x25, pick(256)]);
    else if (way === 3) bytes = Buffer.from(bytes.subarray(0, at));
    else if (way === 4) {
      const other = one(pick, corpus);
      bytes = Buffer.concat([bytes.subarray(0, at), other.subarray(pick(other.length + 1))]);
    } else if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ (1 << pick(8));
  }
  return bytes;
}

/** The same bytes in pieces. */
function pieces(pick: Pick, bytes: Uint8Array): Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = Math.min(bytes.length, at + 1 + pick(one(pick, [2, 9, 200])));
    parts.push(bytes.slice(at, end));
    at = end;
  }
  return parts;
}

async function* stream(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}

const bytesOf = (...texts: readonly string[]): readonly Uint8Array[] =>
  texts.map((text) => new TextEncoder().encode(text));

/** What a parser makes of its input, or the name of its refusal. Anything else it throws fails. */
async function outcome(
  parse: () => unknown,
  refusals: readonly (abstract new (...given: never[]) => Error)[] = [],
): Promise<unknown> {
  const begun = process.cpuUsage();
  try {
    return await parse();
  } catch (error) {
    const isRefusal = ServiceError.is(error) || refusals.some((kind) => error instanceof kind);
    // Of a text that is no UTF-8 the decoder says so.
    const isDecoding =
      error instanceof TypeError && (error as NodeJS.ErrnoException).code === "ERR_ENCODING_INVALID_ENCODED_DATA";
    if (!isRefusal && !isDecoding) throw error;
    return "refused";
  } finally {
    const { user, system } = process.cpuUsage(begun);
    expect((user + system) / 1_000).toBeLessThan(SLOW_MS);
  }
}

/** Tries a parser with many inputs, and counts how many it read: one that refuses all of them tries nothing. */
async function tried(
  corpus: readonly Uint8Array[] | ((pick: Pick) => Uint8Array),
  parse: (bytes: Uint8Array, pick: Pick) => Promise<unknown>,
): Promise<void> {
  const pick = drawn(SEED);
  let read = 0;
  for (let input = 0; input < INPUTS; input += 1) {
    const bytes = typeof corpus === "function" ? corpus(pick) : changed(pick, corpus);
    const what = `input ${input} of seed ${SEED}: ${Buffer.from(bytes).toString("latin1").slice(0, 200)}`;
    const found = await parse(bytes, pick).catch((cause: unknown) => {
      throw new Error(what, { cause });
    });
    if (found !== "refused" && found !== undefined) read += 1;
  }
  expect(read).toBeGreaterThan(INPUTS / 20);
  expect(read).toBeLessThanOrEqual(INPUTS);
  const { BROOKLET_FUZZ_LEDGER } = process.env;
  if (BROOKLET_FUZZ_LEDGER === undefined) return;
  // The same file as the targets of the core have (`fuzz/tests/targets.rs`).
  const target = `typescript: ${expect.getState().currentTestName ?? ""}`;
  const line = { release: version, target, inputs: INPUTS, seed: SEED };
  appendFileSync(BROOKLET_FUZZ_LEDGER, `${JSON.stringify(line)}\n`);
}

/** Expects that a stream is read the same, whole and in pieces. */
async function expectSame(
  bytes: Uint8Array,
  pick: Pick,
  parse: (parts: readonly Uint8Array[]) => Promise<unknown>,
): Promise<unknown> {
  const whole = await parse([bytes]);
  expect(await parse(pieces(pick, bytes))).toEqual(whole);
  return whole;
}

/** All that comes of it before it is refused, and whether it was. */
async function collected<Item>(
  items: AsyncIterable<Item>,
  refusals: readonly (abstract new (...given: never[]) => Error)[],
): Promise<readonly (Item | string)[]> {
  const found: (Item | string)[] = [];
  const end = await outcome(async () => {
    for await (const item of items) found.push(item);
    return "end";
  }, refusals);
  return found.length === 0 && end === "refused" ? ["refused"] : [...found, end as string];
}

describe("of the gateway", () => {
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1");

  test("targets and parameters", async () => {
    const corpus = bytesOf(
      "/search/?yql=a+b&hits=3",
      "http://h/document/v1/a/b/group/g%20/x?timeout=5s&create=true",
      "/?a=%C3%A9&&=&a=1#x",
      "*",
    );
    await tried(corpus, async (bytes) => {
      const { path, query } = splitTarget(text(bytes));
      return await outcome(() => {
        const parameters = parseParameters(query, 100);
        const document = new DocumentParameters(parameters, path);
        for (const [name] of parameters) document.text(name);
        document.timeSpanMs("timeout");
        document.flag("create");
        return parameters;
      });
    });
  });

  test("a text is in a target what it was before it was encoded", () => {
    const pick = drawn(SEED);
    for (let input = 0; input < INPUTS; input += 1) {
      const given = String.fromCodePoint(
        ...Array.from({ length: pick(20) }, () => one(pick, [pick(0x80), pick(0xd800), 0x10000 + pick(0xfffff)])),
      );
      expect(decodeForm(encodeURIComponent(given))).toBe(given);
    }
  });

  test("paths of documents: what is read names one group, that of the path", async () => {
    const corpus = bytesOf(
      "/document/v1/a/note/group/alice/1",
      "/document/v1/a/note/number/7/x%2Fy",
      "/document/v1/a/note/docid/..",
      "/document/v1/a/note/group/al%69ce/../../bob/x",
    );
    await tried(
      corpus,
      async (bytes) =>
        await outcome(() => {
          const raw = text(bytes);
          const read = parseDocumentPath(raw);
          if (read?.group !== undefined) {
            const segment = raw.split("/")[6] ?? "";
            expect(read.group.partition).toBe(
              `${read.group.partition.slice(0, 2)}${read.group.partition.startsWith("g:") ? decodeForm(segment) : read.group.partition.slice(2)}`,
            );
          }
          return read;
        }),
    );
  });

  test("continuations: what was written is read, and nothing else", async () => {
    const continuations = new Continuations(new Uint8Array(32).fill(7));
    const written = await Promise.all(
      [0, 3].map((nextBucket) =>
        continuations.write("s", { nextBucket, open: [{ bucket: 1, partition: 2, after: "id:a:b::c" }] }),
      ),
    );
    await tried(bytesOf(...written), async (bytes) => {
      const given = text(bytes);
      const read = await outcome(() => continuations.read("s", given));
      expect(read !== "refused").toBe(written.includes(given));
      return read;
    });
  });

  test("zip archives: what is read was in one", async () => {
    const limits = { entries: 20, contentBytes: 100_000, ratio: 100, freeBytes: 10_000 };
    const file = (name: string, content: string, isStored = false) => ({
      name,
      content: Buffer.from(content),
      ...(isStored ? { method: 0 } : {}),
    });
    const corpus = [
      writeZip([file("services.xml", "<services/>"), file("schemas/note.sd", "schema note {}".repeat(50))] as never),
      writeZip([file("a/b.txt", "")] as never, "comment"),
    ];
    await tried(corpus, async (bytes) => {
      const files = await outcome(() => readZip(bytes, limits));
      if (Array.isArray(files))
        for (const { path } of files) expect(path).not.toMatch(/^\/|(?:^|\/)\.\.(?:\/|$)|\\|\0/);
      return files;
    });
  });

  test("tokens: one that is changed is none", async () => {
    const tokens = await GroupTokens.open([KEY], {});
    const token = await groupToken(KEY, { groups: ["alice"], verbs: ["get"], ttl: "1h" });
    await tried(bytesOf(token), async (bytes) => {
      const given = text(bytes);
      const read = await tokens.read(given);
      if (read !== undefined) {
        // The last characters of base64 may have bits that mean nothing.
        expect(given.slice(0, given.lastIndexOf("."))).toBe(token.slice(0, token.lastIndexOf(".")));
        expect(read.grant).toEqual({ groups: ["alice"], verbs: ["get"] });
      }
      return read;
    });
  });

  test("X-Forwarded-For: an address or none, never what a client says behind it", async () => {
    const proxies = new TrustedProxies(["10.0.0.0/8"]);
    await tried(
      bytesOf("1.2.3.4, 10.0.0.1", "2001:db8::1, 203.0.113.9:80", "unknown, , 10.1.1.1", "[::1]:5"),
      async (bytes) => {
        const header = text(bytes);
        const found = proxies.addressOf("10.9.9.9", () => header);
        expect(found).toMatch(/^[\d.]+$|^[\da-f:.]+$/i);
        expect(`10.9.9.9,${header}`).toContain(found);
        return found;
      },
    );
  });
});

describe("where the requests of a connection begin", () => {
  const BODIES = [
    "",
    "{}",
    "GET /search/?a HTTP/1.1\r\nHost: x\r\n\r\n",
    "\r\n\r\n",
    "x".repeat(300),
    "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nabcde",
  ];
  const request = (pick: Pick): string => {
    const body = one(pick, BODIES);
    const length =
      body === "" && pick(2) === 0
        ? ""
        : `${one(pick, ["Content-Length: ", "content-length:", "CONTENT-LENGTH:\t"])}${body.length}\r\n`;
    return `${one(pick, ["GET", "POST"])} /search/?n=${pick(1_000)} HTTP/1.1\r\nHost: localhost\r\n${length}\r\n${body}`;
  };

  /** The heads that are seen in a stream of packets. */
  function heads(packets: readonly Uint8Array[]): readonly string[] {
    const frame = new RequestFrame();
    const seen: string[] = [];
    for (const packet of packets) {
      let left = Buffer.from(packet);
      const rest = frame.restIn(left);
      if (rest > 0) {
        frame.takeRest(rest);
        left = left.subarray(rest);
      }
      if (left.length === 0) continue;
      const text = frame.take(left);
      if (text !== undefined) seen.push(text);
    }
    return seen;
  }

  test("is where they do, wherever the packets are cut: what stands in a body is none", () => {
    const pick = drawn(SEED);
    let seen = 0;
    for (let input = 0; input < INPUTS; input += 1) {
      const requests = Array.from({ length: 1 + pick(5) }, () => request(pick));
      const all = new TextEncoder().encode(requests.join(""));
      const begins = requests.map((one_) => one_.slice(0, one_.indexOf("\r\n\r\n") + 4));
      const packets =
        pick(3) === 0
          ? pieces(pick, all)
          : requests.flatMap((text) => (pick(3) === 0 ? pieces(pick, Buffer.from(text)) : [Buffer.from(text)]));
      const found = heads(packets);
      // The first that are seen are the first there are, in their order; from where it is not plain on, none.
      expect(found).toEqual(begins.slice(0, found.length));
      seen += found.length;
      for (const head of found) expect(requestHead(head)?.target).toBe(head.split(" ")[1]);
    }
    expect(seen).toBeGreaterThan(INPUTS);
  });

  test("is not where two readers could differ: nothing is seen of what is changed there", () => {
    const pick = drawn(SEED);
    const usual = "POST /search/?a=1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}";
    const odd = [
      "Transfer-Encoding: chunked",
      "Content-Length: 3",
      "content-length: 2",
      "Expect: 100-continue",
      "Upgrade: h2c",
      "Connection: close",
      "a: b\nContent-Length: 0",
      "Content-Length : 0",
      "Transfer-Encoding:\tchunked",
    ];
    for (let input = 0; input < INPUTS; input += 1) {
      const line = one(pick, odd);
      const text = usual.replace(
        "Host: localhost\r\n",
        pick(2) === 0 ? `Host: localhost\r\n${line}\r\n` : `${line}\r\nHost: localhost\r\n`,
      );
      expect(heads([Buffer.from(text + usual)]), line).toEqual([]);
      expect(heads([Buffer.from(text), Buffer.from(usual)]), line).toEqual([]);
    }
  });
});

describe("of answers of models", () => {
  test("event streams are the same wherever they are cut", async () => {
    const corpus = bytesOf(
      'data: {"a":1}\n\ndata: [DONE]\n\n',
      "event: x\r\ndata: a\r\ndata: b\r\n\r\n: c\r\rid: 1\rdata\r\r",
      "\ufeffdata:é\n\n",
    );
    await tried(
      corpus,
      async (bytes, pick) =>
        await expectSame(bytes, pick, async (parts) => {
          const body = new ReadableStream<Uint8Array>({
            start: (controller) => {
              for (const part of parts) controller.enqueue(part);
              controller.close();
            },
          });
          return await collected(serverEvents(body), [EventStreamError]);
        }),
    );
  });

  /** What a renderer acts on, parts of it, and what may stand between. */
  const SIGNS = [
    ..."[]()!<>`\\:/.,*_|\"'x",
    ...["``", "```", "~~~", "![", "](", "]:", "//", "--", "!--", " ", "\t", "\n", "\n\n", "\r\n", "\r"],
    ...["- ", "> ", "# ", "1. ", "&#60;", "&lt;", "<b>", "</p>", "<a:", "[1]", "[9]", "[1, 9]", "a b", "ref"],
    ...["http", "s:", "www.", "data:", "javascript:", "script", "img src=x onerror=a()", "evil.example"],
    ...["|a|b|\n|-|-|\n|", "[^1]", "~", "https://evil.example/?d=1", "//evil.example/p.png", "<https://evil.example>"],
  ];
  const answers = bytesOf(
    "See [1] and ![x](https://evil.example/?d=1) or [a](javascript:alert(1)) <img src=x> www.evil.example [2, 9].",
    "<script>alert(1)</script> `code https://a.b` [r]: https://evil.example\n![ [x]( y ) ](data:a,b)",
    "<script:ale<script:alert(1)</script>",
    "plain words and a number [3].",
  );

  async function answerText(parts: readonly string[]): Promise<string> {
    const text = new AnswerText((number) => number < 4);
    let shown = "";
    for (const part of parts) shown += (await text.push(part)).text;
    return shown + (await text.finish()).text;
  }

  /** As Markdown with all that GitHub adds to it, by the letter of their specifications. */
  function rendered(text: string): string {
    return micromark(text, {
      allowDangerousHtml: true,
      allowDangerousProtocol: true,
      extensions: [gfm()],
      htmlExtensions: [gfmHtml()],
    });
  }

  test("texts have nothing that a renderer fetches, runs or leads to, and are the same wherever they are cut", async () => {
    const composed = (pick: Pick): Uint8Array =>
      pick(8) === 0
        ? changed(pick, answers)
        : Buffer.from(Array.from({ length: 2 + pick(14) }, () => one(pick, SIGNS)).join(""));
    await tried(composed, async (bytes, pick) => {
      const whole = new TextDecoder().decode(bytes);
      const parts = whole.match(new RegExp(`[\\s\\S]{1,${1 + pick(12)}}`, "g")) ?? [];
      const shown = await answerText(parts);
      expect(await answerText([whole])).toBe(shown);
      // Renderers of HTML know nothing of code in backticks.
      expect(shown).not.toMatch(/<[a-z/!?]/i);
      expect(rendered(shown)).not.toMatch(/<(?:a|img)\b/);
      return shown;
    });
  });
});

describe("of the command", () => {
  test("CSV is the same wherever it is cut", async () => {
    const corpus = bytesOf('a,b,c\n1,"x ""y""\r\nz",3\n4,5,6\n', "\ufeffa;b\r\n1;2\r\n", "name,text\nä,日本\n");
    await tried(
      corpus,
      async (bytes, pick) =>
        await expectSame(bytes, pick, async (parts) => {
          const rows = await collected(readCsv(stream(parts), ","), [UsageError]);
          // How many rows come before what is no UTF-8 depends on what was read with it.
          return rows.at(-1) === "refused" ? "refused" : rows;
        }),
    );
  });

  test("an mbox is the same wherever it is cut", async () => {
    const corpus = bytesOf(
      "From a@b Thu\nSubject: x\n\nbody\n>From c\n\nFrom d@e Fri\nSubject: y\n\nmore\n",
      "From \r\n\r\nFrom x\r\n",
    );
    await tried(
      corpus,
      async (bytes, pick) =>
        await expectSame(bytes, pick, async (parts) => await collected(readMbox(stream(parts), 200), [UsageError])),
    );
  });

  test("a feed is cut into the same objects wherever it is cut", async () => {
    const corpus = bytesOf(
      '{"put":"id:a:b::1","fields":{"a":"}\\"{"}}\n{"remove":"x"}',
      '[{"a":{"b":{}}},\n{"c":1}]',
      "\ufeff{}{}",
    );
    await tried(
      corpus,
      async (bytes, pick) =>
        await expectSame(bytes, pick, async (parts) => await collected(splitObjects(stream(parts)), [UsageError])),
    );
  });
});

test("sabotage: a parser that throws what is no refusal, one that differs by its pieces, and one that reads nothing are seen", async () => {
  const corpus = bytesOf("abc", "abd");
  const rare = async (bytes: Uint8Array): Promise<unknown> =>
    await outcome(() => {
      if (bytes.includes(0xff)) throw new RangeError("a rare branch");
      return "read";
    });
  await expect(tried(corpus, rare)).rejects.toThrow(/^input \d+ of seed/);
  const byPieces = async (bytes: Uint8Array, pick: Pick): Promise<unknown> =>
    await expectSame(bytes, pick, async (parts) => parts.length > 1);
  await expect(tried(bytesOf("abcdefghijklmnop"), byPieces)).rejects.toThrow(/^input/);
  await expect(tried(corpus, async () => "refused")).rejects.toThrow();
});
