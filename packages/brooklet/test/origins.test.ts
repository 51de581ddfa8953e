/** Where a server sends what models are asked: by name, by address, after redirects; and which secret goes with it. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { Origins } from "@brooklet/gateway";
import { guardedFetch, isPublicAddress, type Resolve } from "@brooklet/models/guarded-fetch";
import { describe, expect, onTestFinished, test } from "vitest";

describe("an address", () => {
  test.each([
    "https://api.openai.com/v1/",
    "https://API.OpenAI.com:8443/x",
    "https://xn--bcher-kva.example/",
    "https://models.example.com.",
  ])("%s is public", (address) => {
    expect(new Origins({}).problem(address)).toBeUndefined();
  });

  test.each([
    "http://api.openai.com/v1/",
    "https://localhost/",
    "https://LOCALHOST./",
    "https://127.0.0.1/",
    "https://127.1/",
    "https://2130706433/",
    "https://0x7f.0.0.1/",
    "https://0177.0.0.1/",
    "https://8.8.8.8/",
    "https://[::1]/",
    "https://[::ffff:169.254.169.254]/",
    "https://169.254.169.254/latest/meta-data/",
    "https://metadata/",
    "https://metadata.google.internal/",
    "https://db.local/",
    "https://ollama/",
    "https://x.localhost/",
    "https://user:password@api.openai.com/",
    "https://user@api.openai.com/",
    "file:///etc/passwd",
    "ftp://example.com/",
    "gopher://example.com/",
    "data:text/plain,x",
    "//example.com/",
    "no address",
    "",
  ])("'%s' is not, unless it is named", (address) => {
    expect(new Origins({}).problem(address)).toBeTypeOf("string");
  });

  test("that is named is asked, and no other port, host or scheme of it", () => {
    const origins = new Origins({ origins: ["http://127.0.0.1:11434"], secrets: { one: "http://models.local:1" } });
    for (const address of ["http://127.0.0.1:11434/v1/", "http://127.1:11434/", "http://models.local:1/x"])
      expect(origins.problem(address)).toBeUndefined();
    for (const address of [
      "http://127.0.0.1:11435/",
      "https://127.0.0.1:11434/",
      "http://127.0.0.2:11434/",
      "http://user@127.0.0.1:11434/",
      "http://127.0.0.1:11434@169.254.169.254/",
      "http://models.local/",
    ])
      expect([address, origins.problem(address)]).toEqual([address, expect.any(String)]);
  });

  test.each([
    "api.openai.com",
    "https://api.openai.com/v1",
    "https://a.example?x",
    "ftp://a.example",
    "https://u@a.example",
    "",
  ])("'%s' is no origin to name", (origin) => {
    expect(() => new Origins({ origins: [origin] })).toThrow(RangeError);
    expect(() => new Origins({ secrets: { one: origin } })).toThrow(RangeError);
  });
});

describe("a secret", () => {
  const origins = new Origins({
    secrets: { openai: "https://api.openai.com", two: ["https://a.example", "https://b.example"] },
  });

  test("goes where it is bound to", () => {
    for (const [name, address] of [
      ["openai", "https://api.openai.com/v1/embeddings"],
      ["two", "https://a.example/"],
      ["two", "https://b.example/x"],
    ] as const)
      expect(origins.secretProblem(name, address)).toBeUndefined();
  });

  test.each([
    ["openai", "https://a.example/"],
    ["openai", "http://api.openai.com/"],
    ["openai", "https://api.openai.com:8443/"],
    ["openai", "https://api.openai.com.evil.example/"],
    ["openai", "https://evil.example/api.openai.com"],
    ["OPENAI", "https://api.openai.com/"],
    ["", "https://api.openai.com/"],
    ["none", "https://api.openai.com/"],
  ])("'%s' does not go to %s", (name, address) => {
    expect(origins.secretProblem(name, address)).toContain(`--secret ${name}=`);
    expect(() => origins.demandSecret(name, address)).toThrow("The secret is not sent");
  });

  test("that an application would have sent elsewhere is said against it, and where it would ask", () => {
    const settings = (values: object): (readonly [string, string])[] => Object.entries(values) as [string, string][];
    const report = {
      schemas: [],
      clusters: [],
      warnings: [],
      fingerprint: "",
      languageModels: [
        { id: "good", settings: settings({ apiKeySecretRef: "openai", endpoint: "https://api.openai.com/v1/" }) },
        { id: "assumed", settings: settings({ apiKeySecretName: "openai" }) },
        { id: "thief", settings: settings({ apiKeySecretRef: "openai", endpoint: "https://evil.example/" }) },
        { id: "inside", settings: settings({ endpoint: "http://169.254.169.254/" }) },
      ],
      embedders: [
        { id: "e1", type: "openai-embedder", settings: settings({ "api-key-secret-ref": "two", model: "m" }) },
        {
          id: "e2",
          type: "hugging-face-embedder",
          settings: settings({ "transformer-model@url": "http://10.0.0.1/m" }),
        },
        {
          id: "e3",
          type: "hugging-face-embedder",
          settings: settings({ "transformer-model@url": "https://x.example/m" }),
        },
      ],
    };
    const said = origins.objections(report).join("\n");
    expect(said.match(/^[^:]*/gm)).toEqual([
      "language model 'thief'",
      "language model 'inside'",
      "embedder 'e1'",
      "embedder 'e2'",
    ]);
    expect(said).toContain(
      "the secret 'openai' is bound to https://api.openai.com, and is asked for 'https://evil.example'",
    );
  });
});

describe("an address in digits", () => {
  test.each(["8.8.8.8", "1.1.1.1", "172.15.0.1", "172.32.0.1", "2606:4700::1111", "2a00:1450::1"])(
    "%s is public",
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );
  test.each([
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.255",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::7f00:1",
    "fc00::1",
    "fd12::1",
    "fe80::1",
    "ff02::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "",
    "x",
  ])("'%s' is not", (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("what is sent", () => {
  test("goes to what is named", async () => {
    const url = await listening((_, answer) => answer.end("hello"));
    expect(await (await guardedFetch(new Origins({ origins: [url] }))(`${url}/x`)).text()).toBe("hello");
    await expect(guardedFetch(new Origins({}))(`${url}/x`)).rejects.toMatchObject({ code: "SCOPE_REFUSED" });
  });

  test("does not go where a public name is resolved to something private, and what was looked at is what is connected to", async () => {
    const asked: string[] = [];
    const resolvedTo =
      (...addresses: readonly string[]): Resolve =>
      (name, _, done) => {
        asked.push(name);
        const all = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
        done(null, all);
      };
    for (const addresses of [["127.0.0.1"], ["169.254.169.254"], ["8.8.8.8", "10.0.0.1"], ["::1"], ["fd00::1"]]) {
      const send = guardedFetch(new Origins({}), resolvedTo(...addresses));
      await expect(send("https://models.example.com/v1/")).rejects.toMatchObject({
        code: "SCOPE_REFUSED",
        message: expect.stringContaining("'models.example.com' is resolved to an address that is not public"),
      });
    }
    // Each was resolved once: nothing else looks the name up again for the connection.
    expect(asked).toEqual(Array(5).fill("models.example.com"));
    const none: Resolve = (_, __, done) => done(Object.assign(new Error("no such name"), { code: "ENOTFOUND" }), []);
    await expect(guardedFetch(new Origins({}), none)("https://models.example.com/")).rejects.toThrow("fetch failed");
  });

  test("is looked at again after each redirect, which is followed for files alone", async () => {
    const file = await listening((_, answer) => answer.end("the file"));
    const seen: string[] = [];
    const from = await listening(({ method = "", url = "" }, answer) => {
      seen.push(method);
      const to: Readonly<Record<string, string>> = {
        "/there": `${file}/x`,
        "/loop": "/loop",
        "/away": "http://169.254.169.254/",
      };
      answer.writeHead(302, { location: to[url] ?? "http://127.0.0.1:1/" }).end();
    });
    const named = guardedFetch(new Origins({ origins: [file, from] }));
    expect(await (await named(`${from}/there`)).text()).toBe("the file");
    await expect(named(`${from}/loop`)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect(named(`${from}/away`)).rejects.toMatchObject({ code: "SCOPE_REFUSED" });
    await expect(guardedFetch(new Origins({ origins: [from] }))(`${from}/there`)).rejects.toMatchObject({
      code: "SCOPE_REFUSED",
    });
    expect((await named(`${from}/there`, { redirect: "manual" })).status).toBe(302);
    expect((await named(`${from}/there`, { method: "POST", body: "texts" })).status).toBe(302);
    expect(seen.at(-1)).toBe("POST");
  });
});
