import { expect, test } from "vitest";
import { hashVector, SAMPLE_USERS, sampleMailbox } from "./sample-mail.ts";
import { parseStartOptions } from "./start-options.ts";

test("a mailbox is the same every time, and everyone's own", () => {
  expect(sampleMailbox("alice", 50)).toEqual(sampleMailbox("alice", 50));
  expect(sampleMailbox("alice", 5)[0]?.body).not.toBe(sampleMailbox("bruno", 5)[0]?.body);
  expect(new Set(SAMPLE_USERS).size).toBe(SAMPLE_USERS.length);
});

test("every word is filled in, and hardly a mail is written twice", () => {
  const mails = sampleMailbox("alice", 400);
  for (const { subject, body, sender } of mails) expect(subject + body + sender).not.toMatch(/[{}]/);
  expect(new Set(mails.map(({ body }) => body)).size).toBeGreaterThan(380);
});

test("a vector is of length one, and texts with the same words are the closest", () => {
  const product = (left: readonly number[], right: readonly number[]): number =>
    left.reduce((sum, value, index) => sum + value * (right[index] ?? 0), 0);
  const lease = hashVector("the deposit after the lease");
  expect(product(lease, lease)).toBeCloseTo(1, 5);
  expect(product(lease, hashVector("lease and deposit"))).toBeGreaterThan(product(lease, hashVector("warm water")));
  expect(hashVector("")).toEqual(new Array(64).fill(0));
});

test("the command line of the sample", () => {
  expect(parseStartOptions([])).toEqual({ port: 8080, data: undefined, once: false, help: false });
  expect(parseStartOptions(["--once", "--port=0", "--data", "d"])).toMatchObject({ port: 0, data: "d", once: true });
  expect(() => parseStartOptions(["--port", "http"])).toThrow("--port takes a port from 0 to 65535, not 'http'");
  expect(() => parseStartOptions(["--prot"])).toThrow("--prot");
});
