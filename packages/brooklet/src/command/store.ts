/** The store that an address on the command line names. */
import process from "node:process";
import { type Environment, type ObjectStore, type PostgresClient, postgresObjectStore } from "@brooklet/object-store";
import { s3At } from "../node/s3-address.ts";
import { UsageError } from "./surroundings.ts";

/** What is used of the library of PostgreSQL. */
interface PostgresLibrary {
  readonly Pool: new (options: {
    readonly connectionString: string;
    readonly max: number;
    readonly connectionTimeoutMillis: number;
    readonly query_timeout: number;
  }) => PostgresClient & { on(event: "error", listener: () => void): unknown; end(): Promise<void> };
}

const CONNECTIONS = 8;
const REQUEST_MS = 10_000;

/** Opens the store of an address; credentials of a bucket are in the environment. */
export async function storeAt(address: string, environment: Environment): Promise<ObjectStore> {
  if (address.startsWith("s3://")) {
    try {
      return s3At(address, environment);
    } catch (error) {
      throw new UsageError((error as Error).message);
    }
  }
  if (/^postgres(ql)?:/.test(address)) {
    const { Pool } = postgres();
    const pool = new Pool({
      connectionString: address,
      max: CONNECTIONS,
      // What hangs is asked again: a server that went away says nothing.
      connectionTimeoutMillis: REQUEST_MS,
      query_timeout: REQUEST_MS,
    });
    // A connection that was lost is made anew by the next request.
    pool.on("error", () => undefined);
    return { ...(await postgresObjectStore(pool)), close: () => pool.end() };
  }
  throw new UsageError(`a store is s3://bucket/prefix or postgres://…, not '${address}'`);
}

function postgres(): PostgresLibrary {
  try {
    return process.getBuiltinModule("node:module").createRequire(import.meta.url)("pg") as PostgresLibrary;
  } catch (cause) {
    throw new UsageError("a store in PostgreSQL needs the library pg: npm install pg", { cause });
  }
}
