/** services.xml: which schemas are served, in which content cluster, with which embedders. */

import { componentsXml, type EmbedderComponent } from "../schema/embedder-component.ts";
import type { AnySchema } from "../schema/schema.ts";

/** Settings of an application. */
export interface ApplicationOptions {
  /** Name of the content cluster; `documents` by default. */
  readonly cluster?: string;
  /** Embedders by the name that schemas and queries have for them. */
  readonly embedders?: Readonly<Record<string, EmbedderComponent>>;
  /** Files beside the schemas, by their path: models, constants. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
}

/** What services.xml says, as far as this package writes it. */
export interface DeployedServices {
  readonly cluster: string;
  /** The `document` elements, by type. */
  readonly documents: ReadonlyMap<string, string>;
  /** The `component` elements, by id. */
  readonly components: ReadonlyMap<string, string>;
  /** Seconds from one look for expired documents to the next; nothing: none expire. */
  readonly intervalSeconds?: number;
}

/** The services of some schemas, and of those that are deployed and kept. */
export function servicesOf(
  schemas: readonly AnySchema[],
  { cluster, embedders = {} }: ApplicationOptions,
  deployed?: DeployedServices & { readonly kept: readonly string[] },
): DeployedServices {
  const own = schemas.map(({ name, expires }): [string, string] => {
    const kept = expires === undefined ? "" : ` selection="${expires.selection.replaceAll(">", "&gt;")}"`;
    return [name, `      <document type="${name}" mode="streaming"${kept}/>\n`];
  });
  // Each keeps its place, so that what is deployed again is the same text.
  const isHere = (name: string): boolean => deployed?.kept.includes(name) === true || own.some(([one]) => one === name);
  const kept = [...(deployed?.documents ?? [])].filter(([name]) => isHere(name));
  const components = Object.entries(embedders).map(([id, one]): [string, string] => [id, componentsXml({ [id]: one })]);
  const intervals = [intervalOf(schemas), deployed?.intervalSeconds].filter((seconds) => seconds !== undefined);
  return {
    cluster: cluster ?? deployed?.cluster ?? "documents",
    documents: new Map([...kept, ...own]),
    components: new Map([...(deployed?.components ?? []), ...components]),
    ...(intervals.length === 0 ? {} : { intervalSeconds: Math.min(...intervals) }),
  };
}

const DOCUMENT = /^ {6}<document type="(\w+)" mode="streaming"(?: selection="[^"]*")?\/>\n/gm;
const COMPONENT = /^ {4}<component id="([^"]+)"[\s\S]*?^ {4}<\/component>\n/gm;

/** What a services.xml says; nothing if it is none that this package wrote. */
export function readServices(text: string): DeployedServices | undefined {
  const [, cluster = ""] = /<content id="([^"]+)"/.exec(text) ?? [];
  const [, seconds] = /garbage-collection-interval="(\d+)"/.exec(text) ?? [];
  const named = (pattern: RegExp): Map<string, string> =>
    new Map([...text.matchAll(pattern)].map(([element, name = ""]) => [name, element]));
  const read: DeployedServices = {
    cluster,
    documents: named(DOCUMENT),
    components: named(COMPONENT),
    ...(seconds === undefined ? {} : { intervalSeconds: Number(seconds) }),
  };
  return servicesXml(read) === text ? read : undefined;
}

/** How often it is looked for what has expired, at most and at least. */
const INTERVALS_SECONDS = { longest: 3_600, shortest: 60 };

/** How often it is looked for expired documents, if any expire: ten times in the shortest life. */
function intervalOf(schemas: readonly AnySchema[]): number | undefined {
  const lives = schemas.flatMap(({ expires }) => expires?.seconds ?? []);
  if (lives.length === 0) return undefined;
  const { longest, shortest } = INTERVALS_SECONDS;
  return Math.min(longest, Math.max(shortest, Math.floor(Math.min(...lives) / 10)));
}

/** The text of a services.xml. */
export function servicesXml({ cluster, documents, components, intervalSeconds }: DeployedServices): string {
  const collected =
    intervalSeconds === undefined ? "" : ` garbage-collection="true" garbage-collection-interval="${intervalSeconds}"`;
  return `<?xml version="1.0" encoding="utf-8" ?>
<services version="1.0">
  <container id="default" version="1.0">
    <search/>
    <document-api/>
${[...components.values()].join("")}    <nodes><node hostalias="node1"/></nodes>
  </container>
  <content id="${cluster}" version="1.0">
    <redundancy>1</redundancy>
    <documents${collected}>
${[...documents.values()].join("")}    </documents>
    <nodes><node hostalias="node1" distribution-key="0"/></nodes>
  </content>
</services>
`;
}
