/** What can migrate its documents: a database, and a server that is connected to. */
import type { AnySchema, Client } from "@brooklet/client";
import type { FieldMigrations } from "./changes.ts";
import type { MigrationOptions, MigrationReport } from "./report.ts";

/** Migrates documents. */
export interface Migrating {
  /**
   * Changes the fields of all documents of a schema, group by group: gives values to those that lack one, renames and copies
   * fields, computes one of another, has the server make a field again. A document is changed in one write, on the condition
   * that it is as it was read. What is done is seen by the documents: a run that was cut is gone on with by running it again.
   *
   * @example
   * ```ts
   * const paper = schema("paper", { subject: text().optional(), title: text().optional(), pages: int() });
   * const { changed } = await client.migrate(paper, { title: { rename: "subject" }, pages: { value: 1 } });
   * ```
   */
  migrate<S extends AnySchema>(
    schema: S,
    changes: FieldMigrations<S["fields"]>,
    options?: MigrationOptions,
  ): Promise<MigrationReport>;
}

/** The client with its migrations, which are loaded when one is run. */
export function migrating<C extends Client>(client: C): C & Migrating {
  return {
    ...client,
    migrate: async (schema, changes, options = {}) => {
      const { migrate } = await import("./run.ts");
      return await migrate(client, schema, changes, options);
    },
  };
}
