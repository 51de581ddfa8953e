/** A real S3 service and a real PostgreSQL, and how servers reach each: directly, or by a port that lies before it. */
import { describe, test } from "vitest";
import {
  postgresFolder,
  REQUIRED,
  type Running,
  startPostgres,
  startS3,
  versitygw,
} from "../../object-store/test/servers.ts";

/** A store that runs, and what a server is told of it by way of a port. */
export interface Reached {
  readonly store: Running;
  readonly port: number;
  readonly at: (port: number) => { readonly address: string; readonly environment: Readonly<Record<string, string>> };
}

/** A test over each of them that is here; `folder` is where in a bucket it is. */
export function testReached(
  name: string,
  { folder, timeout }: { readonly folder: string; readonly timeout: number },
  work: (reached: Reached) => Promise<void>,
): void {
  describe.skipIf(!REQUIRED && versitygw() === undefined)("S3", () => {
    test(name, { timeout }, async () => {
      const server = await startS3();
      try {
        const { bucket, accessKeyId, secretAccessKey, endpoint = "" } = server.options;
        const keys = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
        await work({
          store: server,
          port: Number(new URL(endpoint).port),
          at: (port) => ({
            address: `s3://${bucket}/${folder}`,
            environment: { ...keys, AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}` },
          }),
        });
      } finally {
        await server.stop();
      }
    });
  });

  describe.skipIf(!REQUIRED && postgresFolder() === undefined)("PostgreSQL", () => {
    test(name, { timeout }, async () => {
      const server = await startPostgres();
      try {
        await work({
          store: server,
          port: server.connection.port ?? 0,
          at: (port) => ({ address: `postgres://tester@127.0.0.1:${port}/postgres`, environment: {} }),
        });
      } finally {
        await server.stop();
      }
    });
  });
}
