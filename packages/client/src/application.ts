/** The application package of some schemas: what a server is deployed with, this one as well as a Vespa. */
import { invalidArgument } from "./error.ts";
import type { AnySchema } from "./schema.ts";

/** Settings of an application. */
export interface ApplicationOptions {
  /** Name of the content cluster; `documents` by default. */
  readonly cluster?: string;
}

/** The files of an application, by path. */
export function applicationFiles(
  schemas: readonly AnySchema[],
  options: ApplicationOptions = {},
): ReadonlyMap<string, string> {
  const names = schemas.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw invalidArgument(`two schemas are called '${twice}'`);
  if (schemas.length === 0) throw invalidArgument("an application needs at least one schema");
  return new Map([
    ["services.xml", servicesXml(names, options.cluster ?? "documents")],
    ["hosts.xml", HOSTS_XML],
    ...schemas.map((schema): [string, string] => [`schemas/${schema.name}.sd`, String(schema)]),
  ]);
}

const HOSTS_XML = `<?xml version="1.0" encoding="utf-8" ?>
<hosts>
  <host name="localhost"><alias>node1</alias></host>
</hosts>
`;

function servicesXml(types: readonly string[], cluster: string): string {
  const documents = types.map((type) => `      <document type="${type}" mode="streaming"/>`).join("\n");
  return `<?xml version="1.0" encoding="utf-8" ?>
<services version="1.0">
  <container id="default" version="1.0">
    <search/>
    <document-api/>
    <nodes><node hostalias="node1"/></nodes>
  </container>
  <content id="${cluster}" version="1.0">
    <redundancy>1</redundancy>
    <documents>
${documents}
    </documents>
    <nodes><node hostalias="node1" distribution-key="0"/></nodes>
  </content>
</services>
`;
}
