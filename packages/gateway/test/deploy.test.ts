import { describe, expect, test } from "vitest";
import { createGateway, type Gateway } from "../src/index.ts";
import { decodePackage } from "../src/package-frame.ts";
import { type FakeCluster, fakeCluster, REPORT } from "./fake-cluster.ts";
import { writeZip, type ZipEntry } from "./zip-writer.ts";

const TENANT = "/application/v2/tenant/default";
const APPLICATION = `${TENANT}/application/default/environment/prod/region/default/instance/default`;
const FILES: readonly ZipEntry[] = [
  { name: "services.xml", content: "<services/>" },
  { name: "schemas/", mode: 0o040755 },
  { name: "schemas/mail.sd", content: "schema mail {}" },
];

function fresh(): { readonly cluster: FakeCluster; readonly gateway: Gateway } {
  const cluster = fakeCluster();
  cluster.report = undefined;
  return { cluster, gateway: createGateway({ cluster, containerPort: () => 8123 }) };
}

interface Sent {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

async function send(gateway: Gateway, method: string, target: string, body?: Uint8Array<ArrayBuffer>): Promise<Sent> {
  const headers = { "content-type": "application/zip", host: "localhost:19071" };
  const response = await gateway.fetch(
    `http://localhost${target}`,
    body ? { method, headers, body } : { method, headers },
  );
  const text = await response.text();
  return { status: response.status, body: text.startsWith("{") ? JSON.parse(text) : { text } };
}

const deploy = (gateway: Gateway, entries: readonly ZipEntry[]): Promise<Sent> =>
  send(gateway, "POST", `${TENANT}/prepareandactivate`, writeZip(entries));

test("the deployed package is given back as it was sent", async () => {
  const { gateway } = fresh();
  const content = `${APPLICATION}/content`;
  expect((await send(gateway, "GET", `${content}/`)).status).toBe(404);
  await deploy(gateway, FILES);
  const list = (await send(gateway, "GET", `${content}/`)).body["text"];
  const base = `http://localhost:19071${content}`;
  const schemas = [`${base}/schemas/`, `${base}/schemas/mail.sd`];
  expect(JSON.parse(String(list))).toEqual([schemas[0], `${base}/services.xml`]);
  const everything = (await send(gateway, "GET", `${content}/?recursive=true`)).body["text"];
  expect(JSON.parse(String(everything))).toEqual([...schemas, `${base}/services.xml`]);
  const below = (await send(gateway, "GET", `${content}/schemas/`)).body["text"];
  expect(JSON.parse(String(below))).toEqual([schemas[1]]);
  expect((await send(gateway, "GET", `${content}/schemas/mail.sd`)).body).toEqual({ text: "schema mail {}" });
  const missing = await send(gateway, "GET", `${content}/schemas/no.sd`);
  expect([missing.status, missing.body["error-code"]]).toEqual([404, "NOT_FOUND"]);
});

describe("a deployment as clients make it", () => {
  test("in one step", async () => {
    const { cluster, gateway } = fresh();
    expect((await send(gateway, "GET", `${APPLICATION}/serviceconverge`)).status).toBe(404);
    const { status, body } = await deploy(gateway, FILES);
    expect(status).toBe(200);
    expect(body).toEqual({
      log: [{ time: expect.any(Number), level: "WARNING", message: "hnsw is ignored in streaming mode" }],
      tenant: "default",
      "session-id": "1",
      url: expect.stringContaining(APPLICATION),
      message: "Session 1 for tenant 'default' prepared and activated.",
      configChangeActions: { restart: [], refeed: [], reindex: [] },
    });
    const frame = new TextDecoder("latin1").decode(cluster.packages[0]);
    expect(frame).toBe("\x02\x0fschemas/mail.sd\x0eschema mail {}\x0cservices.xml\x0b<services/>");
    expect((await send(gateway, "GET", `${APPLICATION}/serviceconverge?timeout=10s`)).body).toEqual({
      converged: true,
      currentGeneration: 1,
      wantedGeneration: 1,
      services: [{ clusterName: "default", type: "container", host: "localhost", port: 8123 }],
    });
  });

  test("in three steps", async () => {
    const { cluster, gateway } = fresh();
    const created = await send(gateway, "POST", `${TENANT}/session`, writeZip(FILES, "a comment"));
    expect(created.body).toMatchObject({ "session-id": "1", prepared: expect.stringContaining("/session/1/prepared") });
    expect(cluster.packages).toHaveLength(0);
    const unprepared = await send(gateway, "PUT", `${TENANT}/session/1/active`);
    expect([unprepared.status, unprepared.body["message"]]).toEqual([400, "Session 1 is not prepared"]);
    expect((await send(gateway, "PUT", `${TENANT}/session/1/prepared`)).body).toEqual({
      tenant: "default",
      "session-id": "1",
      activate: `http://localhost:19071${TENANT}/session/1/active`,
      message: "Session 1 for tenant 'default' prepared.",
      log: [{ time: expect.any(Number), level: "WARNING", message: "hnsw is ignored in streaming mode" }],
      configChangeActions: { restart: [], refeed: [], reindex: [] },
    });
    expect(cluster.packages).toHaveLength(0);
    const active = await send(gateway, "PUT", `${TENANT}/session/1/active`);
    expect(active.body).toMatchObject({ message: "Session 1 for tenant 'default' activated." });
    expect(cluster.packages).toHaveLength(1);
    expect((await send(gateway, "PUT", `${TENANT}/session/1/active`)).status).toBe(404);
  });

  test("an older session is not activated after a newer one, nor after what was deployed at once", async () => {
    const { cluster, gateway } = fresh();
    const create = async (): Promise<string> => {
      const { body } = await send(gateway, "POST", `${TENANT}/session`, writeZip(FILES));
      await send(gateway, "PUT", `${TENANT}/session/${body["session-id"]}/prepared`);
      return `${TENANT}/session/${body["session-id"]}/active`;
    };
    const conflict = { status: 409, body: { "error-code": "ACTIVATION_CONFLICT", outcome: "not_applied" } };
    const [older, newer] = [await create(), await create()];
    expect((await send(gateway, "PUT", newer)).status).toBe(200);
    expect(await send(gateway, "PUT", older)).toMatchObject(conflict);
    const third = await create();
    await deploy(gateway, FILES);
    expect(await send(gateway, "PUT", third)).toMatchObject(conflict);
    // Of two of the same base one is activated, whichever comes first.
    const [fifth, sixth] = [await create(), await create()];
    expect((await send(gateway, "PUT", fifth)).status).toBe(200);
    expect(await send(gateway, "PUT", sixth)).toMatchObject(conflict);
    expect(cluster.packages).toHaveLength(3);
    expect((await send(gateway, "GET", `${APPLICATION}/serviceconverge`)).body["currentGeneration"]).toBe(5);
  });

  test("an older session is not activated after a newer one that is what was active before", async () => {
    const { cluster, gateway } = fresh();
    cluster.applicationNumber = async () => 1;
    cluster.deploy = async () => REPORT;
    for (const session of [1, 2]) {
      await send(gateway, "POST", `${TENANT}/session`, writeZip(FILES));
      await send(gateway, "PUT", `${TENANT}/session/${session}/prepared`);
    }
    expect((await send(gateway, "PUT", `${TENANT}/session/2/active`)).status).toBe(200);
    expect((await send(gateway, "PUT", `${TENANT}/session/1/active`)).status).toBe(409);
  });

  test("what would be refused is not prepared, and cannot be activated", async () => {
    const { cluster, gateway } = fresh();
    const broken = writeZip([{ name: "services.xml", content: "broken" }]);
    await send(gateway, "POST", `${TENANT}/session`, broken);
    const { status, body } = await send(gateway, "PUT", `${TENANT}/session/1/prepared`);
    expect([status, body["error-code"]]).toEqual([400, "INVALID_APPLICATION_PACKAGE"]);
    expect(body["message"]).toBe("Invalid application package: schemas/mail.sd:3:5: unknown type 'strng'");
    expect((await send(gateway, "PUT", `${TENANT}/session/1/active`)).status).toBe(400);
    expect(cluster.packages).toEqual([]);
  });

  test("an application of an earlier run is generation 1", async () => {
    const gateway = createGateway({ cluster: fakeCluster() });
    expect((await send(gateway, "GET", `${APPLICATION}/serviceconverge`)).body).toMatchObject({ currentGeneration: 1 });
    expect((await deploy(gateway, FILES)).body).toMatchObject({ "session-id": "2" });
  });

  test("sessions that are never activated make room for later ones", async () => {
    const { gateway } = fresh();
    for (let session = 1; session <= 5; session += 1) await send(gateway, "POST", `${TENANT}/session`, writeZip(FILES));
    expect((await send(gateway, "PUT", `${TENANT}/session/1/prepared`)).status).toBe(404);
    expect((await send(gateway, "PUT", `${TENANT}/session/5/prepared`)).status).toBe(200);
  });

  test("of two at a time one wins, the other is a conflict", async () => {
    const { cluster, gateway } = fresh();
    let open = (): void => {};
    cluster.gate = new Promise((resolve) => {
      open = resolve;
    });
    const both = [deploy(gateway, FILES), deploy(gateway, FILES)];
    // The one that is deployed waits at the gate until the other has its answer.
    expect(await Promise.race(both)).toMatchObject({ status: 409, body: { "error-code": "ACTIVATION_CONFLICT" } });
    open();
    const answers = await Promise.all(both);
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 409]);
    expect(cluster.packages).toHaveLength(1);
  });
});

describe("parameters", () => {
  const place = `${TENANT}/prepareandactivate`;
  const zip = (content: string): Uint8Array<ArrayBuffer> => writeZip([{ name: "services.xml", content }]);

  test("a dry run says what a deployment would, and deploys nothing", async () => {
    const { cluster, gateway } = fresh();
    const { status, body } = await send(gateway, "POST", `${place}?dryRun=true`, writeZip(FILES));
    expect([status, body]).toEqual([
      200,
      {
        tenant: "default",
        message: expect.stringContaining("nothing was activated"),
        log: [expect.objectContaining({ level: "WARNING", message: "hnsw is ignored in streaming mode" })],
        configChangeActions: { restart: [], refeed: [], reindex: [] },
      },
    ]);
    const broken = await send(gateway, "POST", `${place}?dryRun=TRUE`, zip("broken"));
    expect([broken.status, broken.body["error-code"]]).toEqual([400, "INVALID_APPLICATION_PACKAGE"]);
    expect(cluster.packages).toEqual([]);
    expect((await send(gateway, "GET", `${APPLICATION}/serviceconverge`)).status).toBe(404);
    expect((await send(gateway, "POST", `${place}?dryRun=false`, writeZip(FILES))).body["session-id"]).toBe("1");
  });

  test("a dry run of preparing a session says what preparing it would", async () => {
    const { gateway } = fresh();
    await send(gateway, "POST", `${TENANT}/session`, zip("broken"));
    const broken = await send(gateway, "PUT", `${TENANT}/session/1/prepared?dryRun=true`);
    expect([broken.status, broken.body["error-code"]]).toEqual([400, "INVALID_APPLICATION_PACKAGE"]);
    await send(gateway, "POST", `${TENANT}/session`, writeZip(FILES));
    const { body } = await send(gateway, "PUT", `${TENANT}/session/2/prepared?dryRun=true`);
    expect(body).toMatchObject({ "session-id": "2", log: [{ message: "hnsw is ignored in streaming mode" }] });
    expect((await send(gateway, "PUT", `${TENANT}/session/2/active`)).status).toBe(400);
  });

  test.each([
    ["applicationName=other&instance=i2", "applicationName 'other'"],
    ["applicationName=default&applicationName=other", "applicationName 'other'"],
    ["instance=i2", "instance 'i2'"],
    ["environment=dev", "environment 'dev'"],
    ["region=us", "region 'us'"],
    ["ignoreValidationErrors=true", "ignoreValidationErrors 'true'"],
    ["force=true", "force 'true'"],
    ["hostedVespa=true", "hostedVespa 'true'"],
    ["vespaVersion=7.1.2", "vespaVersion '7.1.2'"],
    ["cloudAccount=a", "cloudAccount 'a'"],
    ["dryRun=true&dryRun=false", "'dryRun'"],
  ])("%s is refused by name", async (query, message) => {
    const { cluster, gateway } = fresh();
    for (const target of [place, `${TENANT}/session`, `${TENANT}/session/1/prepared`, `${TENANT}/session/1/active`]) {
      const method = target.includes("/session/") ? "PUT" : "POST";
      const { status, body } = await send(gateway, method, `${target}?${query}`, writeZip(FILES));
      expect([status, body["error-code"], body["message"]]).toEqual([
        400,
        "BAD_REQUEST",
        expect.stringContaining(message),
      ]);
      expect(body["outcome"]).toBe("not_applied");
    }
    expect(cluster.packages).toEqual([]);
    expect((await send(gateway, "POST", `${TENANT}/session`, writeZip(FILES))).body["session-id"]).toBe("1");
  });

  test("a dry run of what can only be done is refused", async () => {
    const { gateway } = fresh();
    const created = await send(gateway, "POST", `${TENANT}/session?dryRun=true`, writeZip(FILES));
    const active = await send(gateway, "PUT", `${TENANT}/session/1/active?dryRun=true`);
    expect([created, active]).toMatchObject([
      { status: 400, body: { code: "UNSUPPORTED" } },
      { status: 400, body: { code: "UNSUPPORTED" } },
    ]);
  });

  test("those that change nothing are taken", async () => {
    const names = "applicationName=default&instance=default&environment=prod&region=default&vespaVersion=";
    const others = "timeout=60&verbose=true&debug=true&force=false&ignoreValidationErrors=false&unknown=1";
    const { status } = await send(fresh().gateway, "POST", `${place}?${names}&${others}`, writeZip(FILES));
    expect(status).toBe(200);
  });

  test("the state of files is not told in place of their content", async () => {
    const { gateway } = fresh();
    await deploy(gateway, FILES);
    const { status, body } = await send(gateway, "GET", `${APPLICATION}/content/services.xml?return=status`);
    expect([status, body["message"]]).toEqual([400, expect.stringContaining("return 'status'")]);
  });
});

describe("refusals", () => {
  const refused: readonly (readonly [string, readonly ZipEntry[], string])[] = [
    [
      "what the core refuses",
      [{ name: "services.xml", content: "broken" }],
      "schemas/mail.sd:3:5: unknown type 'strng'",
    ],
    ["a parent path", [{ name: "../../x" }], "'../../x' has an empty, '.' or '..' part"],
    ["an absolute path", [{ name: "/x" }], "'/x' has an absolute path"],
    ["a drive", [{ name: "C:x" }], "'C:x' has an absolute path"],
    ["a backslash", [{ name: "a\\..\\b" }], "has a backslash"],
    ["a zero byte", [{ name: "a\0b" }], "'a\\u0000b' has a control character"],
    ["an empty part", [{ name: "a//b" }], "has an empty"],
    ["no name", [{ name: "" }], "has no name"],
    ["a name that is not UTF-8", [{ name: Uint8Array.of(0x61, 0xff) }], "is not UTF-8"],
    ["a link", [{ name: "a", content: "/etc/passwd", mode: 0o120777 }], "'a' is a link or a special file"],
    ["a device", [{ name: "a", mode: 0o020666 }], "'a' is a link or a special file"],
    ["the same name twice", [{ name: "a" }, { name: "a" }], "'a' is there twice"],
    ["names that differ in case", [{ name: "Ä/b" }, { name: "ä/B" }], "differ only in case"],
    ["a file that is a folder", [{ name: "a" }, { name: "A/b" }], "'a' is a file and a folder"],
    ["an encrypted entry", [{ name: "a", flags: 1 }], "'a' is encrypted"],
    ["an unknown method", [{ name: "a", method: 12 }], "compressed in an unknown way"],
    ["a wrong checksum", [{ name: "a", content: "x", checksum: 1 }], "'a' is damaged"],
    ["a stored entry of a wrong checksum", [{ name: "a", content: "x", method: 0, checksum: 1 }], "'a' is damaged"],
    [
      "more content than stated",
      [{ name: "a", content: "xxxx", contentBytes: 2 }],
      "does not inflate to the stated size",
    ],
    ["less content than stated", [{ name: "a", content: "xx", contentBytes: 4 }], "'a' is damaged"],
    [
      "bytes shared by entries",
      [
        { name: "a", content: "x" },
        { name: "b", content: "x", sharesWith: 0 },
      ],
      "its entries overlap",
    ],
    [
      "5,001 entries",
      Array.from({ length: 5_001 }, (_, index) => ({ name: `f${index}` })),
      "5001 entries, more than 5000",
    ],
    [
      "1,000 to 1",
      [{ name: "zeros", content: new Uint8Array(8 << 20) }],
      "'zeros' it inflates further than limit L-pkg",
    ],
  ];

  test.each(refused)("%s", async (_, entries, message) => {
    const { cluster, gateway } = fresh();
    const { status, body } = await deploy(gateway, entries);
    expect(body).toEqual({
      "error-code": "INVALID_APPLICATION_PACKAGE",
      message: expect.stringMatching(/^Invalid application package: /),
      outcome: "not_applied",
      code: "INVALID_APPLICATION_PACKAGE",
    });
    expect([status, body["message"]]).toEqual([400, expect.stringContaining(message)]);
    expect(cluster.packages).toEqual([]);
  });

  test("files that are compressed themselves are taken as they are: a jar, a packed model", async () => {
    const { cluster, gateway } = fresh();
    const packed = Uint8Array.of(0x1f, 0x8b, 8, 0);
    const jar = writeZip(FILES);
    const entries = [...FILES, { name: "components/a.jar", content: jar }, { name: "models/a.gz", content: packed }];
    expect((await deploy(gateway, entries)).status).toBe(200);
    const files = decodePackage(cluster.packages[0] ?? new Uint8Array());
    const contents = Object.fromEntries(files.map(({ path, content }) => [path, content]));
    expect(contents["components/a.jar"]).toEqual(jar);
    expect(contents["models/a.gz"]).toEqual(packed);
  });

  test("a package above its limit is refused with what to do", async () => {
    const gateway = createGateway({ cluster: fakeCluster(), limits: { packageBytes: 100 } });
    const { status, body } = await deploy(gateway, FILES);
    expect([status, body["message"]]).toEqual([
      413,
      expect.stringMatching(/limit L-pkg: .*model outline.*packageBytes/),
    ]);
  });

  test("every cut of an archive", async () => {
    const { cluster, gateway } = fresh();
    const archive = writeZip(FILES);
    for (let length = 1; length < archive.length; length += 1) {
      const { status } = await send(gateway, "POST", `${TENANT}/prepareandactivate`, archive.slice(0, length));
      expect(status, `cut at ${length}`).toBe(400);
    }
    expect(cluster.packages).toEqual([]);
  });

  test("a flipped byte of an archive is refused, or changes nothing that counts", async () => {
    const { cluster, gateway } = fresh();
    const archive = writeZip(FILES);
    await send(gateway, "POST", `${TENANT}/prepareandactivate`, archive);
    for (let at = 0; at < archive.length; at += 1) {
      const damaged = archive.slice();
      damaged[at] = (damaged[at] ?? 0) ^ 0x10;
      await send(gateway, "POST", `${TENANT}/prepareandactivate`, damaged);
    }
    const text = (frame: Uint8Array | undefined): string => new TextDecoder("latin1").decode(frame);
    const contents = new Set(cluster.packages.map((frame) => text(frame).includes("schema mail {}")));
    expect(contents).toEqual(new Set([true]));
  });

  test.each([
    ["POST", "/application/v2/tenant/other/prepareandactivate", 404, "NOT_FOUND"],
    ["GET", `${TENANT}/prepareandactivate`, 405, "METHOD_NOT_ALLOWED"],
    ["PUT", `${TENANT}/session/9/prepared`, 404, "NOT_FOUND"],
    ["PUT", `${TENANT}/session/x/prepared`, 404, "NOT_FOUND"],
    ["GET", `${APPLICATION}/content/`, 404, "NOT_FOUND"],
    ["GET", "/application/v2/nosuch", 404, "NOT_FOUND"],
  ])("%s %s", async (method, target, status, code) => {
    const sent = await send(fresh().gateway, method, target);
    expect([sent.status, sent.body["error-code"]]).toEqual([status, code]);
    expect(sent.body["outcome"]).toBe("not_applied");
  });

  test("another content type", async () => {
    const response = await fresh().gateway.fetch(`http://localhost${TENANT}/prepareandactivate`, {
      method: "POST",
      body: "x",
    });
    expect([response.status, await response.json()]).toEqual([
      400,
      expect.objectContaining({ "error-code": "BAD_REQUEST" }),
    ]);
  });
});

describe("small questions", () => {
  test.each([
    ["/", "handlers"],
    ["/ApplicationStatus", "handlers"],
    ["/state/v1", "resources"],
    ["/state/v1/", "resources"],
    ["/state/v1/health/", "status"],
    ["/state/v1/health", "status"],
    ["/state/v1/config", "config"],
    ["/state/v1/config/", "config"],
    ["/state/v1/version", "version"],
    ["/state/v1/metrics", "metrics"],
    ["/metrics/v2/values", "nodes"],
    ["/application/v2/tenant/", "tenants"],
  ])("%s", async (target, member) => {
    const { gateway } = fresh();
    const { status, body } = await send(gateway, "GET", target);
    expect([status, Object.hasOwn(body, member)]).toEqual([200, true]);
    expect((await gateway.fetch(`http://localhost${target}`, { method: "HEAD" })).status).toBe(200);
  });

  test("the generation of the configuration is the session that is active", async () => {
    const { gateway } = fresh();
    const config = async (): Promise<unknown> => (await send(gateway, "GET", "/state/v1/config")).body["config"];
    expect(await config()).toMatchObject({ generation: 0 });
    await deploy(gateway, FILES);
    await deploy(gateway, FILES);
    const told = { generation: 2, applyOnRestart: false, container: { generation: 2 }, wantedGeneration: 2 };
    expect(await config()).toEqual(told);
    const { body } = await send(gateway, "GET", "/state/v1/");
    const names = ["metrics", "config", "health", "version"];
    const url = (name: string): object => ({ url: `http://localhost:19071/state/v1/${name}` });
    expect(body).toEqual({ resources: names.map(url) });
  });

  test("the handler list names the document interface where `vespa visit` looks for it", async () => {
    const { body } = await send(fresh().gateway, "GET", "/");
    const handlers = body["handlers"] as { class: string; serverBindings: string[] }[];
    const found = handlers.find((handler) => handler.class.endsWith("DocumentV1ApiHandler"));
    expect(found?.serverBindings.some((binding) => binding.includes("/document/v1/"))).toBe(true);
  });

  test("status and life", async () => {
    expect((await send(fresh().gateway, "GET", "/status.html")).status).toBe(200);
    expect((await send(fresh().gateway, "GET", "/livez")).body).toEqual({ text: "ok\n" });
    expect((await send(fresh().gateway, "DELETE", "/livez")).status).toBe(405);
  });

  test("metrics count answers by kind, never by group", async () => {
    const gateway = createGateway({ cluster: fakeCluster() });
    await gateway.fetch("http://localhost/document/v1/ns/mail/group/canary/x");
    await gateway.fetch("http://localhost/search/?streaming.groupname=canary");
    const { body } = await send(gateway, "GET", "/metrics/v2/values");
    const text = JSON.stringify(body);
    expect(text).toContain('"http.document.4xx.count":1,"http.search.2xx.count":1');
    expect(text).not.toContain("canary");
  });
});

test("the generation does not go down where several gateways number the sessions", async () => {
  const { cluster } = fresh();
  const kept = new Map<number, { readonly bytes: Uint8Array; readonly base: number; isPrepared: boolean }>();
  const sessions = {
    // Others have sent some before.
    add: async (bytes: Uint8Array, base: number) => {
      const session = 7 + kept.size;
      kept.set(session, { bytes, base, isPrepared: true });
      return session;
    },
    get: async (session: number) => kept.get(session),
    prepare: async () => undefined,
  };
  const gateway = createGateway({ cluster: Object.assign(cluster, { sessions }), containerPort: () => 8123 });
  const generations: unknown[] = [];
  const note = async (): Promise<void> => {
    const { config } = (await send(gateway, "GET", "/state/v1/config")).body;
    generations.push((config as { readonly generation: number }).generation);
  };
  const created = await send(gateway, "POST", `${TENANT}/session`, writeZip(FILES));
  expect(created.body["session-id"]).toBe("7");
  await send(gateway, "PUT", `${TENANT}/session/7/active`);
  await note();
  await deploy(gateway, FILES);
  await note();
  expect(generations).toEqual([7, 8]);
});
