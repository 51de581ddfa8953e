import pg from "pg";
import { afterAll, beforeAll, describe, test } from "vitest";
import { testObjectStore } from "../src/contract.ts";
import { memoryObjectStore, ObjectMemory } from "../src/memory.ts";
import { postgresObjectStore } from "../src/postgres.ts";
import { s3ObjectStore } from "../src/s3.ts";
import { postgresFolder, REQUIRED, startPostgres, startS3, versitygw } from "./servers.ts";

describe("memory", () => {
  const memory = new ObjectMemory();
  for (const [name, check] of testObjectStore(async () => memoryObjectStore(memory))) test(name, check);
});

describe.skipIf(!REQUIRED && versitygw() === undefined)("S3", () => {
  let server: Awaited<ReturnType<typeof startS3>>;
  beforeAll(async () => {
    server = await startS3();
  });
  afterAll(() => server?.stop());
  for (const [name, check] of testObjectStore(async () => s3ObjectStore({ ...server.options, prefix: "some/place" })))
    test(name, check);
});

describe.skipIf(!REQUIRED && postgresFolder() === undefined)("PostgreSQL", () => {
  let server: Awaited<ReturnType<typeof startPostgres>>;
  let pool: pg.Pool;
  beforeAll(async () => {
    server = await startPostgres();
    pool = new pg.Pool({ ...server.connection, max: 8 });
    pool.on("error", () => undefined);
  });
  afterAll(async () => {
    await pool?.end();
    await server?.stop();
  });
  for (const [name, check] of testObjectStore(() => postgresObjectStore(pool))) test(name, check);
});
