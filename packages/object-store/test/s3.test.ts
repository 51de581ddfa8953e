/** What an S3 service may answer that those of other tests do not. */
import { expect, test } from "vitest";
import { s3ObjectStore } from "../src/s3.ts";
import { s3OptionsOf } from "../src/s3-address.ts";
import type { S3Request } from "../src/s3-transport.ts";

/** A store over a service that answers as a test has it. */
function storeOf(answer: (request: S3Request) => readonly [status: number, text: string], prefix = "live") {
  const transport = {
    send: async (request: S3Request) => {
      const [status, text] = answer(request);
      return { status, tag: '"tag"', bytes: new TextEncoder().encode(text) };
    },
  };
  return s3ObjectStore({ bucket: "b", prefix, accessKeyId: "id", secretAccessKey: "secret", transport });
}

/** A page of a listing. Services say where it goes on before they say that it does, and after it. */
function page(keys: readonly string[], next?: string, isFirst = true): string {
  const token = next === undefined ? "" : `<NextContinuationToken>${next}</NextContinuationToken>`;
  const isPart = `<IsTruncated>${next !== undefined}</IsTruncated>`;
  const contents = keys.map((key) => `<Contents><Key>${key}</Key></Contents>`).join("");
  return `<ListBucketResult>${isFirst ? token + isPart + contents : isPart + contents + token}</ListBucketResult>`;
}

test("a listing goes on behind pages that have no names", async () => {
  const asked: string[] = [];
  const pages = [page([], "a&amp;b=="), page([], "c", false), page(["live/file/1", "live/file/2"], "d")];
  const store = storeOf(({ target }) => {
    asked.push(target);
    return [200, pages[asked.length - 1] ?? page([])];
  });
  expect(await store.files.names("file/", "file/0")).toEqual(["file/1", "file/2"]);
  const said = "list-type=2&prefix=live%2Ffile%2F&start-after=live%2Ffile%2F0";
  const tokens = ["", "continuation-token=a%26b%3D%3D&", "continuation-token=c&"];
  expect(asked).toEqual(tokens.map((token) => `/?${token}${said}`));
  expect(await store.log.after("bucket/0", 0)).toEqual([]);
});

test.each([
  ["says the same token again", page([], "a"), /again and again/],
  ["says no token", page([], ""), /again and again/],
  ["begins anew", page(["live/file/0", "live/file/1"]), /in order, from one on/],
])("a listing that %s ends with an error", async (_, answer, words) => {
  await expect(storeOf(() => [200, answer]).files.names("file/", "file/0")).rejects.toThrow(words);
});

test("a prefix may have signs that XML writes otherwise", async () => {
  const store = storeOf(() => [200, page(["R&amp;D &lt;1&#x3E; &#39;x&apos;/file/1"])], "R&D <1> 'x'");
  expect(await store.files.names("file/")).toEqual(["file/1"]);
});

test("a bucket that is not there is an error, and no place in it is free", async () => {
  const store = storeOf(() => [404, "<Error><Code>NoSuchBucket</Code></Error>"]);
  await expect(store.log.read("bucket/0", 3)).rejects.toThrow(/: NoSuchBucket: there is no such bucket$/);
  await expect(store.files.remove("file/1")).rejects.toThrow("NoSuchBucket");
  await expect(store.log.replaceSnapshot("bucket/0", new Uint8Array(1), "a")).rejects.toThrow("NoSuchBucket");
});

test("a refusal is told in the words of the service, where there are no others, and by its code", async () => {
  const words = "The name &quot;x&quot; is &lt;not&gt; valid.";
  const answer = `<?xml version="1.0"?><Error><Code>InvalidName</Code><Message>${words}</Message><RequestId>7</RequestId></Error>`;
  const failure = await storeOf(() => [400, answer])
    .files.remove("file/1")
    .catch((error: unknown) => error);
  expect(failure).toMatchObject({
    message: 'the object store answered 400 for file/1: InvalidName: The name "x" is <not> valid.',
    refusal: "the object store refuses what it is asked (InvalidName)",
  });
});

test("an endpoint that is none is named, and where it comes from", () => {
  const keys = { AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "s" };
  for (const endpoint of ["nonsense", "localhost:9000", "s3://mail"])
    expect(() => s3OptionsOf("s3://mail/live", { ...keys, AWS_ENDPOINT_URL_S3: endpoint })).toThrow(
      `not '${endpoint}' (AWS_ENDPOINT_URL_S3)`,
    );
});

test("a snapshot that is gone is not replaced", async () => {
  const store = storeOf(() => [404, "<Error><Code>NoSuchKey</Code></Error>"]);
  expect(await store.log.replaceSnapshot("bucket/0", new Uint8Array(1), "a")).toBe("taken");
});

test("a service that does not know ranges gives the whole file, of which a part is taken", async () => {
  const store = storeOf(({ headers }) => (headers["range"] === "bytes=8-" ? [206, "89"] : [200, "0123456789"]));
  const read = async (from: number, to?: number) => Buffer.from((await store.files.read("file/1", from, to)) ?? []);
  expect(String([await read(2, 5), await read(8), await read(0)])).toBe("234,89,0123456789");
});
