/** The application package of some schemas: what a server is deployed with, this one as well as a Vespa. */

import { demandKind, invalidArgument } from "../error.ts";
import type { AnySchema } from "../schema/schema.ts";
import { type ApplicationOptions, type DeployedServices, servicesOf, servicesXml } from "./services.ts";

export type { ApplicationOptions } from "./services.ts";

/**
 * The files of an application, by path.
 *
 * @example
 * ```ts
 * for (const [path, content] of applicationFiles([mail])) console.log(path, content.length);
 * ```
 */
export function applicationFiles(
  schemas: readonly AnySchema[],
  options: ApplicationOptions = {},
  deployed?: DeployedServices & { readonly kept: readonly string[] },
): ReadonlyMap<string, string | Uint8Array> {
  if (!Array.isArray(schemas) || schemas.some((schema: Partial<AnySchema> | undefined) => !schema?.codec))
    throw invalidArgument("an application is made of a list of schemas: [mail]");
  const names = schemas.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw invalidArgument(`two schemas are called '${twice}'`);
  if (schemas.length === 0) throw invalidArgument("an application needs at least one schema");
  const given = Object.entries(options.files ?? {});
  for (const [path, content] of given) if (!(content instanceof Uint8Array)) demandKind(path, content, "a text");
  return new Map<string, string | Uint8Array>([
    ...given,
    ["services.xml", servicesXml(servicesOf(schemas, options, deployed))],
    ["hosts.xml", HOSTS_XML],
    ...schemas.map((schema): [string, string] => [`schemas/${schema.name}.sd`, String(schema)]),
  ]);
}

const HOSTS_XML = `<?xml version="1.0" encoding="utf-8" ?>
<hosts>
  <host name="localhost"><alias>node1</alias></host>
</hosts>
`;
