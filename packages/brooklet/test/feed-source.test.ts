import { describe, expect, test } from "vitest";
import { splitObjects } from "../src/command/feed/feed-objects.ts";
import { feedRequest, memberText } from "../src/command/feed/feed-source.ts";

async function split(...chunks: readonly (string | Uint8Array)[]): Promise<string[]> {
  async function* input(): AsyncGenerator<Uint8Array> {
    for (const chunk of chunks) yield typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk;
  }
  const objects: string[] = [];
  for await (const object of splitObjects(input())) objects.push(object);
  return objects;
}

describe("a feed is cut into operations", () => {
  test.each([
    ["lines", '{"a":1}\n{"b":2}\n'],
    ["a list", '[ {"a":1},\n {"b":2} ]'],
    ["nothing in between", '{"a":1}{"b":2}'],
  ])("%s", async (_, text) => expect(await split(text)).toEqual(['{"a":1}', '{"b":2}']));

  test("wherever it is broken, also in strings and characters", async () => {
    const text = '{"a":"}\\"{ü\\\\"}\n{"b":{"c":[{}]}}';
    const bytes = new TextEncoder().encode(text);
    for (let at = 0; at <= bytes.length; at += 1) {
      expect(await split(bytes.slice(0, at), bytes.slice(at))).toEqual(text.split("\n"));
    }
  });

  test.each([
    ["id,subject\n1,x\n", "operation 1 should begin with '{': a feed is JSON; brooklet import takes CSV"],
    ['{"a":1}\nnull', "'n' stands where operation 2 should begin with '{'"],
    ['{"a":1}\n{"b":', "operation 2 does not end: a '}' is missing"],
    ['[{"a":1},\n', "the list of operations does not end after 1: a ']' is missing"],
    [" [", "the list of operations does not end after 0: a ']' is missing"],
  ])("%j is refused", async (text, message) => expect(split(text)).rejects.toThrow(message));
});

describe("an operation becomes a request", () => {
  test.each([
    [
      '{"put":"id:ns:mail:g=alice:a/b","fields":{"n":1}}',
      "POST",
      "/document/v1/ns/mail/group/alice/a%2Fb",
      '{"fields":{"n":1}}',
    ],
    [
      '{"fields": {"a":{"fields":2}} ,"update":"id:ns:mail:n=17:1","create":true}',
      "PUT",
      "/document/v1/ns/mail/number/17/1?create=true",
      '{"fields":{"a":{"fields":2}}}',
    ],
    ['{"id":"id:ns:mail::..","fields":{}}', "POST", "/document/v1/ns/mail/docid/%2E%2E", '{"fields":{}}'],
    [
      '{"remove":"id:ns:mail:g=a:x:y","condition":"mail.n > 1"}',
      "DELETE",
      "/document/v1/ns/mail/group/a/x%3Ay?condition=mail.n+%3E+1",
      undefined,
    ],
  ])("%s", (object, method, target, body) => {
    expect(feedRequest(object)).toMatchObject({ method, target, ...(body === undefined ? {} : { body }) });
  });

  test("without losing a digit", () => {
    const object = '{"put":"id:a:b:g=c:1","fields":{"n":9007199254740993,"x":1.0}}';
    expect(feedRequest(object).body).toBe('{"fields":{"n":9007199254740993,"x":1.0}}');
  });

  test.each([
    ['{"fields":{}}', "an operation needs put, update or remove"],
    ['{"put":"mail:1","fields":{}}', "'mail:1' is no document id"],
    ['{"put":"id:a:b:x=1:c","fields":{}}', "'x=1' is neither g=… nor n=…"],
    ['{"put":"id:a:b:g=c:1"}', "the put of id:a:b:g=c:1 has no fields"],
  ])("%s is refused", (object, message) => expect(() => feedRequest(object)).toThrow(message));
});

test("a member is found whatever stands around it", () => {
  expect(memberText('{"x":"\\"fields\\":1","y":{"fields":2},"fields" : [1, {"a":"}"}] , "z":1}', "fields")).toBe(
    '[1, {"a":"}"}]',
  );
  expect(memberText('{"fi\\u0065lds":"a"}', "fields")).toBe('"a"');
  expect(memberText('{"x":"fields"}', "fields")).toBeUndefined();
});
