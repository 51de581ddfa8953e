/**
 * PostgreSQL as a store of objects, for a few milliseconds a write: a place of a log is a row under a primary key, of which one insert
 * wins. The server has to keep its promises of a commit (`synchronous_commit` on, as it is by default).
 */
import { Costs, type ObjectFiles, type ObjectLog, type ObjectStore, type TaggedBytes } from "./object-store.ts";

/** What is used of a pool or a client of `pg`; others have the same form. */
export interface PostgresClient {
  query(statement: string, values?: unknown[]): Promise<{ readonly rows: unknown[]; readonly rowCount: number | null }>;
}

const TABLES = [
  "CREATE TABLE IF NOT EXISTS brooklet_log (log text NOT NULL, place bigint NOT NULL, bytes bytea NOT NULL, PRIMARY KEY (log, place))",
  "CREATE TABLE IF NOT EXISTS brooklet_snapshot (log text PRIMARY KEY, tag bigint NOT NULL, bytes bytea NOT NULL)",
  'CREATE TABLE IF NOT EXISTS brooklet_file (name text COLLATE "C" PRIMARY KEY, bytes bytea NOT NULL)',
];
/** Of what is written once and not compressible, compression is time. */
const PLAIN = ["brooklet_log", "brooklet_snapshot", "brooklet_file"].map(
  (table) => `ALTER TABLE ${table} ALTER COLUMN bytes SET STORAGE EXTERNAL`,
);
/** Of several gateways that begin at once, one makes the tables. */
const MAKING_LOCK = 7_301_982_113;
const LISTED = 1_000;
/** Comes after every character of names. */
const BEHIND = "~";

interface BytesRow {
  readonly bytes: Uint8Array;
}

/** A store in a database; the tables are made if they are not there. */
export async function postgresObjectStore(client: PostgresClient): Promise<ObjectStore> {
  const [found] = (await client.query("SELECT to_regclass('brooklet_file') IS NOT NULL AS made")).rows;
  if ((found as { readonly made: boolean }).made !== true) await makeTables(client);
  const costs = new Costs();
  return { costs, log: logIn(client, costs), files: filesIn(client, costs) };
}

function logIn(client: PostgresClient, costs: Costs): ObjectLog {
  return {
    append: async (log, place, bytes) => {
      costs.put(bytes);
      const insert = "INSERT INTO brooklet_log (log, place, bytes) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
      return (await client.query(insert, [log, place, bytes])).rowCount === 1 ? "won" : "taken";
    },
    read: async (log, place) =>
      bytesOf(
        (await client.query("SELECT bytes FROM brooklet_log WHERE log = $1 AND place = $2", [log, place])).rows,
        costs,
      ),
    after: async (log, place) => {
      costs.lists += 1;
      const select = "SELECT place FROM brooklet_log WHERE log = $1 AND place >= $2 ORDER BY place LIMIT $3";
      return (await client.query(select, [log, place, LISTED])).rows.map((row) =>
        Number((row as { place: unknown }).place),
      );
    },
    overwrite: async (log, place, bytes) => {
      costs.put(bytes);
      const insert =
        "INSERT INTO brooklet_log (log, place, bytes) VALUES ($1, $2, $3) ON CONFLICT (log, place) DO UPDATE SET bytes = EXCLUDED.bytes";
      await client.query(insert, [log, place, bytes]);
    },
    remove: async (log, place) => {
      costs.removes += 1;
      await client.query("DELETE FROM brooklet_log WHERE log = $1 AND place = $2", [log, place]);
    },
    snapshot: async (log) => {
      const { rows } = await client.query("SELECT tag, bytes FROM brooklet_snapshot WHERE log = $1", [log]);
      const bytes = bytesOf(rows, costs);
      if (bytes === undefined) return undefined;
      return { bytes, tag: String((rows[0] as { readonly tag: unknown }).tag) } satisfies TaggedBytes;
    },
    replaceSnapshot: async (log, bytes, tag) => {
      costs.put(bytes);
      const { rowCount } =
        tag === undefined
          ? await client.query(
              "INSERT INTO brooklet_snapshot (log, tag, bytes) VALUES ($1, 1, $2) ON CONFLICT DO NOTHING",
              [log, bytes],
            )
          : await client.query("UPDATE brooklet_snapshot SET tag = tag + 1, bytes = $3 WHERE log = $1 AND tag = $2", [
              log,
              tag,
              bytes,
            ]);
      return rowCount === 1 ? "won" : "taken";
    },
  };
}

function filesIn(client: PostgresClient, costs: Costs): ObjectFiles {
  return {
    put: async (name, bytes) => {
      costs.put(bytes);
      const insert =
        "INSERT INTO brooklet_file (name, bytes) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET bytes = EXCLUDED.bytes";
      await client.query(insert, [name, bytes]);
    },
    read: async (name, from = 0, to) => {
      const part =
        to === undefined
          ? ["SELECT substring(bytes FROM $2::int) AS bytes FROM brooklet_file WHERE name = $1", [name, from + 1]]
          : [
              "SELECT substring(bytes FROM $2::int FOR $3::int) AS bytes FROM brooklet_file WHERE name = $1",
              [name, from + 1, Math.max(to - from, 0)],
            ];
      const [statement, values] = part as [string, unknown[]];
      return bytesOf((await client.query(statement, values)).rows, costs);
    },
    remove: async (name) => {
      costs.removes += 1;
      await client.query("DELETE FROM brooklet_file WHERE name = $1", [name]);
    },
    names: async (prefix, after = "") => {
      costs.lists += 1;
      // A part of the key, in its order: what begins so is not looked for in all there is.
      const select =
        'SELECT name FROM brooklet_file WHERE name COLLATE "C" >= $1 AND name COLLATE "C" < $2 AND name COLLATE "C" > $3 ORDER BY name COLLATE "C" LIMIT $4';
      const { rows } = await client.query(select, [prefix, `${prefix}${BEHIND}`, after, LISTED]);
      return rows.map((row) => (row as { name: string }).name);
    },
  };
}

/** The bytes of the first row. */
function bytesOf(rows: readonly unknown[], costs: Costs): Uint8Array | undefined {
  const row = rows[0] as BytesRow | undefined;
  const bytes = row === undefined ? undefined : new Uint8Array(row.bytes);
  costs.got(bytes);
  return bytes;
}

async function makeTables(client: PostgresClient): Promise<void> {
  // A statement of several parts is one transaction, whatever connection of a pool it is given to.
  await client.query(
    ["BEGIN", `SELECT pg_advisory_xact_lock(${MAKING_LOCK})`, ...TABLES, ...PLAIN, "COMMIT"].join("; "),
  );
}
