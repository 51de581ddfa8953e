/** Mail as rows of an import: mbox and Maildir, encodings, what is broken, what is too large. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type RawMail, readMaildir, readMbox } from "../src/command/import/mail-files.ts";
import { mailSources } from "../src/command/import/mail-source.ts";

const LATIN1 = Buffer.from(
  [
    "From ann@a.example Thu Jan  1 00:00:00 2026",
    "Message-ID: <one@a.example>",
    "From: =?iso-8859-1?Q?J=F6rg?= <joerg@a.example>",
    'To: "Bo, the second" <bo@b.example>, friends: cy@c.example;',
    "Cc: dora@d.example",
    "Date: Thu, 01 Jan 2026 10:30:00 +0200",
    "Subject: =?utf-8?B?w4VycyByYXBwb3J0?=",
    "References: <zero@a.example> <half@a.example>",
    "Content-Type: text/plain; charset=iso-8859-1",
    "Content-Transfer-Encoding: quoted-printable",
    "",
    "Sm=F6rg=E5s =",
    "bord",
    "",
    ">From here on it was quoted",
    ">>From twice",
    "",
    "",
  ].join("\n"),
);
const PARTS = Buffer.from(
  [
    "From bo@b.example Thu Jan  1 00:00:01 2026",
    "From: bo@b.example",
    "Subject: parts",
    'Content-Type: multipart/mixed; boundary="x"',
    "",
    "--x",
    "Content-Type: text/html",
    "",
    "<style>p {}</style><p>Only&nbsp;<b>HTML</b></p>",
    "--x",
    'Content-Type: application/pdf; name="lease.pdf"',
    'Content-Disposition: attachment; filename="lease.pdf"',
    "Content-Transfer-Encoding: base64",
    "",
    "AAAA",
    "--x--",
    "",
    "",
  ].join("\r\n"),
);
const EMPTY = Buffer.from("From nobody Thu Jan  1 00:00:02 2026\n\njust words\n\n");

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function all<T>(of: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of of) found.push(one);
  return found;
}

async function rows(mails: AsyncIterable<RawMail>): Promise<[Record<string, unknown>[], string[]]> {
  const told: string[] = [];
  const problems = { skipped: 0, tell: (line: string) => void told.push(line) };
  const found = await all(mailSources(mails, problems));
  expect(problems.skipped).toBe(told.length);
  return [
    found.map(({ names, json }) => Object.fromEntries(names().map((name) => [name, JSON.parse(json(name) ?? "")]))),
    told,
  ];
}

test("messages of an mbox are read as they were written, wherever it is cut", async () => {
  for (const size of [1, 3, 64, 100_000]) {
    const [found, told] = await rows(readMbox(inChunks(Buffer.concat([LATIN1, PARTS, EMPTY]), size)));
    const [latin, parts] = found;
    expect(latin).toEqual({
      id: "one@a.example",
      "message-id": "one@a.example",
      subject: "Års rapport",
      from: "joerg@a.example",
      "from-name": "Jörg",
      to: "bo@b.example, cy@c.example",
      cc: "dora@d.example",
      date: "2026-01-01T08:30:00.000Z",
      timestamp: 1_767_256_200,
      text: expect.stringMatching(/^Smörgås bord\n\nFrom here on it was quoted\n>From twice\n/),
      references: "zero@a.example, half@a.example",
      size: expect.any(Number),
    });
    expect(parts).toMatchObject({ from: "bo@b.example", text: "Only HTML", attachments: "lease.pdf" });
    expect(parts?.["id"]).toMatch(/^[0-9a-f]{32}$/);
    const place = `message 3 (at byte ${LATIN1.length + PARTS.length})`;
    expect(told).toEqual([`${place} was passed over: it is no message: it has no sender, no date and no subject`]);
  }
});

test("a message that is too large is told, and those around it are read", async () => {
  const large = Buffer.from(`From x Thu\nSubject: large\n\n${"y".repeat(2_000)}\n\n`);
  const [found, told] = await rows(readMbox(inChunks(Buffer.concat([LATIN1, large, PARTS]), 10), 1_500));
  expect(found.map(({ subject }) => subject)).toEqual(["Års rapport", "parts"]);
  expect(told).toEqual([
    expect.stringMatching(/^message 2 \(at byte \d+\) was passed over: it has \d+ bytes, at most 1500/),
  ]);
});

test("what is no mbox is refused; an empty one has no messages", async () => {
  await expect(all(readMbox(inChunks(Buffer.from("Subject: x\n\ny"), 5)))).rejects.toThrow("this is no mbox");
  expect(await all(readMbox(inChunks(Buffer.from("\n"), 5)))).toEqual([]);
});

test("a Maildir is read with its folders", async () => {
  const directory = mkdtempSync(join(tmpdir(), "brooklet-mail-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const message = (subject: string): string => `From: a@a.example\nSubject: ${subject}\n\nx\n`;
  const files = { "cur/2:2,S": "second", "cur/1:2,S": "first", "new/3": "new", ".Sent/cur/4": "sent", "tmp/5": "half" };
  for (const [path, subject] of Object.entries(files)) {
    mkdirSync(join(directory, path, ".."), { recursive: true });
    writeFileSync(join(directory, path), message(subject));
  }
  writeFileSync(join(directory, "cur/6"), "z".repeat(200));
  const [found, told] = await rows(readMaildir(directory, 100));
  expect(found.map(({ subject, folder }) => [subject, folder])).toEqual([
    ["first", "INBOX"],
    ["second", "INBOX"],
    ["new", "INBOX"],
    ["sent", "Sent"],
  ]);
  expect(told).toEqual([`${join(directory, "cur/6")} was passed over: it has 200 bytes, at most 100 are read`]);
  await expect(all(readMaildir(join(directory, "cur")))).rejects.toThrow("is no Maildir");
});
