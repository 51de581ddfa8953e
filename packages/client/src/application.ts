/** The application package of some schemas: what a server is deployed with, this one as well as a Vespa. */

import { invalidArgument } from "./error.ts";
import { componentsXml, type EmbedderComponent } from "./schema/embedder-component.ts";
import type { AnySchema } from "./schema/schema.ts";

/** Settings of an application. */
export interface ApplicationOptions {
  /** Name of the content cluster; `documents` by default. */
  readonly cluster?: string;
  /** Embedders by the name that schemas and queries have for them. */
  readonly embedders?: Readonly<Record<string, EmbedderComponent>>;
  /** Files beside the schemas, by their path: models, constants. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
}

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
): ReadonlyMap<string, string | Uint8Array> {
  if (!Array.isArray(schemas)) throw invalidArgument("an application is made of a list of schemas: [mail]");
  const names = schemas.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw invalidArgument(`two schemas are called '${twice}'`);
  if (schemas.length === 0) throw invalidArgument("an application needs at least one schema");
  return new Map<string, string | Uint8Array>([
    ...Object.entries(options.files ?? {}),
    ["services.xml", servicesXml(schemas, options.cluster ?? "documents", componentsXml(options.embedders ?? {}))],
    ["hosts.xml", HOSTS_XML],
    ...schemas.map((schema): [string, string] => [`schemas/${schema.name}.sd`, String(schema)]),
  ]);
}

const HOSTS_XML = `<?xml version="1.0" encoding="utf-8" ?>
<hosts>
  <host name="localhost"><alias>node1</alias></host>
</hosts>
`;

/** How often it is looked for what has expired, at most and at least. */
const INTERVALS_SECONDS = { longest: 3_600, shortest: 60 };

function servicesXml(schemas: readonly AnySchema[], cluster: string, components: string): string {
  const documents = schemas.map(({ name, expires }) => {
    const kept = expires === undefined ? "" : ` selection="${expires.selection.replaceAll(">", "&gt;")}"`;
    return `      <document type="${name}" mode="streaming"${kept}/>`;
  });
  return `<?xml version="1.0" encoding="utf-8" ?>
<services version="1.0">
  <container id="default" version="1.0">
    <search/>
    <document-api/>
${components}    <nodes><node hostalias="node1"/></nodes>
  </container>
  <content id="${cluster}" version="1.0">
    <redundancy>1</redundancy>
    <documents${collectionXml(schemas)}>
${documents.join("\n")}
    </documents>
    <nodes><node hostalias="node1" distribution-key="0"/></nodes>
  </content>
</services>
`;
}

/** That documents expire, if any do, and how often it is looked for them: ten times in the shortest life. */
function collectionXml(schemas: readonly AnySchema[]): string {
  const lives = schemas.flatMap(({ expires }) => expires?.seconds ?? []);
  if (lives.length === 0) return "";
  const { longest, shortest } = INTERVALS_SECONDS;
  const seconds = Math.min(longest, Math.max(shortest, Math.floor(Math.min(...lives) / 10)));
  return ` garbage-collection="true" garbage-collection-interval="${seconds}"`;
}
