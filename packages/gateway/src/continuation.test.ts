import { expect, test } from "vitest";
import { Continuations } from "./continuation.ts";

const SEAL_BYTES = 16;
const PROGRESS = { open: [{ bucket: 1, partition: 2, after: "id:a:b:g=c:é" }], nextBucket: 3 };
const continuations = new Continuations(new Uint8Array(32).fill(7));

test("a continuation is read as it was written, in the visit it was written for", async () => {
  const text = await continuations.write("scope", PROGRESS);
  expect(text).toMatch(/^[\w-]+$/);
  expect(await continuations.read("scope", text)).toEqual(PROGRESS);
  await expect(continuations.read("other", text)).rejects.toThrow("not a continuation of this visit");
  await expect(new Continuations(new Uint8Array(32)).read("scope", text)).rejects.toThrow("not a continuation");
});

test("all buckets that are being visited come back, in their order", async () => {
  const open = [0, 4, 7].map((bucket) => ({ bucket, partition: bucket + 1, after: `id:a:b:g=c:${bucket}` }));
  const text = await continuations.write("scope", { open, nextBucket: 9 });
  expect(await continuations.read("scope", text)).toEqual({ open, nextBucket: 9 });
});

test("what is visited and how far do not run into each other: a part of the one is none of the other", async () => {
  const bytes = Buffer.from(await continuations.write("scope", PROGRESS), "base64url");
  for (const cut of [1, 2, 5]) {
    const moved = bytes.subarray(SEAL_BYTES, SEAL_BYTES + cut).toString();
    const rest = Buffer.concat([bytes.subarray(0, SEAL_BYTES), bytes.subarray(SEAL_BYTES + cut)]);
    const refused = expect(continuations.read(`scope${moved}`, rest.toString("base64url"))).rejects;
    await refused.toThrow("not a continuation of this visit");
  }
});

test("no changed bit, no shorter and no longer one passes", async () => {
  const text = await continuations.write("scope", PROGRESS);
  const bytes = Buffer.from(text, "base64url");
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const changed = Uint8Array.from(bytes, (byte, at) => (at === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte));
    const wrong = Buffer.from(changed).toString("base64url");
    await expect(continuations.read("scope", wrong), `bit ${bit}`).rejects.toThrow("not a continuation");
  }
  for (const wrong of [text.slice(0, -2), `${text}AA`, text.slice(0, 16), "", "a+b/", `${text}=`]) {
    await expect(continuations.read("scope", wrong)).rejects.toThrow("not a continuation");
  }
});

test("each is written in one way: its last character has no bits that mean nothing", async () => {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  let same = 0;
  for (const after of ["", "x", "xy"]) {
    const text = await continuations.write("scope", { open: [{ bucket: 1, partition: 2, after }], nextBucket: 3 });
    for (const letter of letters) {
      const other = text.slice(0, -1) + letter;
      if (other === text) continue;
      same += Number(Buffer.from(other, "base64url").equals(Buffer.from(text, "base64url")));
      await expect(continuations.read("scope", other), other).rejects.toThrow("not a continuation");
    }
  }
  // Three for two bits, fifteen for four.
  expect(same).toBe(18);
});
