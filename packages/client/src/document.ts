/** Documents as they are sent: as JSON, checked before. */
import { suggestion } from "@brooklet/wire";
import { invalidArgument } from "./error.ts";
import type { AnySchema } from "./schema/schema.ts";

/** A document as JSON, checked before it is sent. */
export function encodeDocument(schema: AnySchema, id: string, fields: unknown): unknown {
  const checked = schema.zod.safeParse(fields);
  if (checked.success) {
    refuseExpired(schema, id, fields as Readonly<Record<string, unknown>>);
    return schema.codec.encode(fields);
  }
  const problems = checked.error.issues.slice(0, 3).map((issue) => {
    const place = issue.path.join(".");
    if (issue.keys !== undefined) {
      const hint = place === "" ? suggestion(issue.keys[0] ?? "", Object.keys(schema.fields)) : "";
      return `there is no field '${[...issue.path, issue.keys[0]].join(".")}'${hint}`;
    }
    return place === "" ? issue.message : `${place}: ${issue.message}`;
  });
  throw invalidArgument(`document '${id}' of schema ${schema.name} cannot be put: ${problems.join("; ")}`);
}

/** A server drops what is over already, and says so nowhere that anybody looks. */
function refuseExpired({ name, expires }: AnySchema, id: string, fields: Readonly<Record<string, unknown>>): void {
  const date = expires === undefined ? undefined : fields[expires.of];
  if (expires === undefined || !(date instanceof Date) || date.getTime() / 1_000 > Date.now() / 1_000 - expires.seconds)
    return;
  const reason = `'${expires.of}' is ${date.toISOString()}, and documents expire ${expires.seconds} s after it`;
  throw invalidArgument(`document '${id}' of schema ${name} cannot be put: ${reason}`);
}
