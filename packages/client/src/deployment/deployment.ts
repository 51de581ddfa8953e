/**
 * Deploying schemas to a server that may have others already: those of other applications stay, unless it is told to remove
 * them. What is deployed is read as files and put together anew; of a services.xml that this package did not write only its author knows what
 * may become of it, so it is refused by name.
 */
import { type DeployAnswer, pause, waitMs } from "@brooklet/wire";
import { BrookletError, FLAG, refuseUnknown } from "../error.ts";
import { type ExchangeAnswer, type ExchangeOptions, type ExchangeRequest, exchange } from "../exchange.ts";
import type { RequestOptions } from "../request-options.ts";
import type { AnySchema } from "../schema/schema.ts";
import { type ApplicationOptions, applicationFiles } from "./application.ts";
import { refusedDeployment } from "./schema-failure.ts";
import { type DeployedServices, readServices } from "./services.ts";
import { zip } from "./zip.ts";

/** What came of a deployment. */
export interface Deployment {
  /** What the server thinks of the schemas, and serves nevertheless. */
  readonly warnings: readonly string[];
  /** Schemas that the server had, and has still. */
  readonly kept: readonly string[];
}

/** How to deploy. */
export interface DeployOptions extends ApplicationOptions, RequestOptions {
  /** Whether schemas that are not among these are removed, with all their documents. They stay unless it is said. */
  readonly remove?: boolean;
}

const TENANT = "/application/v2/tenant/default";
const CONTENT = `${TENANT}/application/default/environment/prod/region/default/instance/default/content/`;
const OVERRIDES = "validation-overrides.xml";
const ATTEMPTS = 10;
const OPTIONS = { cluster: true, embedders: true, files: true, remove: FLAG, signal: true } as const;
const DAY_MS = 86_400_000;

/** Deploys schemas beside those that there are, or in their place. */
export async function deploySchemas(
  to: ExchangeOptions,
  schemas: readonly AnySchema[],
  options: DeployOptions,
): Promise<Deployment> {
  refuseUnknown("deploy", options, OPTIONS);
  const { remove = false, signal, ...application } = options;
  const own = applicationFiles(schemas, application);
  // Who says himself what may be lost says all that there is.
  if (remove || own.has(OVERRIDES)) {
    const files = own.has(OVERRIDES) ? own : new Map([...own, [OVERRIDES, removals()]]);
    return { warnings: await send(to, files, schemas, signal), kept: [] };
  }
  for (let attempt = 1; ; attempt += 1) {
    const paths = await deployedPaths(to, signal);
    const { files, kept } = await together(to, paths, schemas, application, signal);
    const later = await laterFields(to, paths, schemas, signal);
    try {
      return { warnings: [...(await send(to, files, schemas, signal)), ...later], kept };
    } catch (error) {
      // Another application has deployed in between: what there is now has to be read again.
      const isOvertaken =
        BrookletError.is(error) && (error.status === 409 || /schema-removal/.test(String(error.cause)));
      if (!isOvertaken || attempt === ATTEMPTS) throw error;
      await pause(waitMs(to.retry, attempt), signal);
    }
  }
}

async function send(
  to: ExchangeOptions,
  files: ReadonlyMap<string, string | Uint8Array>,
  schemas: readonly AnySchema[],
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  const request: ExchangeRequest = {
    method: "POST",
    target: `${TENANT}/prepareandactivate`,
    body: zip(files),
    contentType: "application/zip",
    signal,
    isRepeatable: true,
  };
  const answer: ExchangeAnswer = await exchange(to, request).catch((error: unknown) =>
    refusedDeployment(error, schemas),
  );
  const log = (answer.json as Partial<DeployAnswer>).log ?? [];
  return log.filter(({ level }) => level === "WARNING").map(({ message }) => message);
}

/** Leave to remove, until tomorrow: the server asks for a day, and it is asked for now. */
function removals(): string {
  const until = new Date(Date.now() + DAY_MS).toISOString().slice(0, 10);
  const allowed = ["schema-removal", "content-cluster-removal"].map(
    (what) => `<allow until="${until}">${what}</allow>`,
  );
  return `<validation-overrides>${allowed.join("")}</validation-overrides>\n`;
}

/** The files that are deployed; none if nothing is. */
async function deployedPaths(to: ExchangeOptions, signal: AbortSignal | undefined): Promise<readonly string[]> {
  const target = `${CONTENT}?recursive=true`;
  const answer = await exchange(to, { method: "GET", target, signal, alsoAccept: 404, isRepeatable: true });
  if (answer.status === 404 || !Array.isArray(answer.json)) return [];
  return (answer.json as readonly unknown[]).flatMap((url) => {
    const [, path = ""] = /\/content\/(.*[^/])$/.exec(String(url)) ?? [];
    return path === "" ? [] : [path.split("/").map(decodeURIComponent).join("/")];
  });
}

async function deployedFile(to: ExchangeOptions, path: string, signal: AbortSignal | undefined): Promise<Uint8Array> {
  const target = CONTENT + path.split("/").map(encodeURIComponent).join("/");
  const { json } = await exchange(to, { method: "GET", target, signal, isRepeatable: true, isFile: true });
  return json as Uint8Array;
}

/** Fields that documents cannot be read without, of schemas that may have documents from before them. */
async function laterFields(
  to: ExchangeOptions,
  paths: readonly string[],
  schemas: readonly AnySchema[],
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  const known = schemas.filter(({ name }) => paths.includes(`schemas/${name}.sd`));
  const told = known.map(async ({ name, fields }) => {
    const there = partsOf(new TextDecoder().decode(await deployedFile(to, `schemas/${name}.sd`, signal)));
    const later = Object.keys(fields).filter((field) => !there.has(`fields.${field}`));
    // A file in which none of them is found was not written by schema().
    if (later.length === Object.keys(fields).length) return [];
    const needed = later.filter((field) => {
      const { isOptional = true, defaultValue, codec } = fields[field] ?? {};
      return !isOptional && defaultValue === undefined && codec?.empty === undefined;
    });
    return needed.map(
      (field) =>
        `fields.${field} of schema ${name} is new and required: documents from before it cannot be read. Give it to them by db.migrate(${name}, { ${field}: { value: … } }), or declare it .optional() or .default(…)`,
    );
  });
  return (await Promise.all(told)).flat();
}

/** What is deployed, and these schemas. */
async function together(
  to: ExchangeOptions,
  paths: readonly string[],
  schemas: readonly AnySchema[],
  application: ApplicationOptions,
  signal: AbortSignal | undefined,
): Promise<{ readonly files: ReadonlyMap<string, string | Uint8Array>; readonly kept: readonly string[] }> {
  const names = new Set(schemas.map(({ name }) => name));
  const others = paths.filter((path) => !names.has(/^schemas\/(.*)\.sd$/.exec(path)?.[1] ?? ""));
  const kept = others.flatMap((path) => /^schemas\/(.*)\.sd$/.exec(path)?.[1] ?? []);
  if (kept.length === 0) return { files: applicationFiles(schemas, application), kept };
  const services = readServices(new TextDecoder().decode(await deployedFile(to, "services.xml", signal)));
  checkServices(services, kept, application);
  const files = applicationFiles(schemas, application, { ...services, kept });
  const missing = others.filter((path) => !files.has(path) && path !== OVERRIDES);
  const read = await Promise.all(missing.map(async (path) => [path, await deployedFile(to, path, signal)] as const));
  return { files: new Map([...read, ...files]), kept };
}

function checkServices(
  services: DeployedServices | undefined,
  kept: readonly string[],
  { cluster }: ApplicationOptions,
): asserts services is DeployedServices {
  const there = `the server has ${kept.map((name) => `'${name}'`).join(", ")}`;
  const fix = "deploy with { remove: true } to have only these schemas there";
  if (services === undefined) {
    const reason = `${there}, of an application that was not deployed by schema()`;
    throw new BrookletError("INVALID_ARGUMENT", `Nothing was deployed: ${reason}. Add the schemas to it, or ${fix}`);
  }
  if (cluster === undefined || cluster === services.cluster) return;
  const reason = `${there} in the cluster '${services.cluster}', not '${cluster}'`;
  throw new BrookletError("INVALID_ARGUMENT", `Nothing was deployed: ${reason}. Leave \`cluster\` out, or ${fix}`);
}

/** Sees to it that the server has these schemas, and no others of their names. What it thinks of them, if it was given them now. */
export async function ensureSchemas(
  to: ExchangeOptions,
  schemas: readonly AnySchema[],
  application: DeployOptions,
  mayDeploy: boolean,
): Promise<readonly string[]> {
  const told = await differences(to, schemas, application);
  if (told.length === 0) return [];
  const what = `The server's schemas differ from these: ${told.join("; ")}`;
  if (!mayDeploy) throw new BrookletError("SCHEMAS_DIFFER", `${what}. Deploy them, or connect without deploy: false`);
  try {
    return (await deploySchemas(to, schemas, application)).warnings;
  } catch (error) {
    if (!BrookletError.is(error) || ![401, 403, 404, 405].includes(error.status)) throw error;
    const { status } = error;
    const reason = `${what}; and nothing may be deployed from here (${error.message})`;
    throw new BrookletError("SCHEMAS_DIFFER", reason, { status, cause: error });
  }
}

/** What is there of these schemas is what is said here, or it is told what is not. */
async function differences(
  to: ExchangeOptions,
  schemas: readonly AnySchema[],
  options: DeployOptions,
): Promise<readonly string[]> {
  const { signal, remove, ...application } = options;
  const paths = await deployedPaths(to, signal);
  if (remove === true && paths.some((path) => isOther(path, schemas))) return ["the server has other schemas"];
  const { files } = await together(to, paths, schemas, application, signal);
  const changed = [...files].map(async ([path, content]): Promise<readonly string[]> => {
    if (!paths.includes(path)) return [missing(path)];
    const deployed = await deployedFile(to, path, signal);
    const wanted = typeof content === "string" ? new TextEncoder().encode(content) : content;
    if (deployed.length === wanted.length && wanted.every((byte, at) => byte === deployed[at])) return [];
    return differing(path, new TextDecoder().decode(deployed), new TextDecoder().decode(wanted));
  });
  return (await Promise.all(changed)).flat();
}

function isOther(path: string, schemas: readonly AnySchema[]): boolean {
  const [, name] = /^schemas\/(.*)\.sd$/.exec(path) ?? [];
  return name !== undefined && !schemas.some((schema) => schema.name === name);
}

function missing(path: string): string {
  const [, name] = /^schemas\/(.*)\.sd$/.exec(path) ?? [];
  return name === undefined ? `${path} is not there` : `schema ${name} is not there`;
}

/** What of a file is another there: of a schema its fields and the rest, by name. */
function differing(path: string, deployed: string, wanted: string): readonly string[] {
  const [, name] = /^schemas\/(.*)\.sd$/.exec(path) ?? [];
  if (name === undefined)
    return [path === "services.xml" ? "its settings (services.xml) are others" : `${path} is another`];
  const [there, here] = [partsOf(deployed), partsOf(wanted)];
  const told = [...new Set([...here.keys(), ...there.keys()])].flatMap((part) => {
    if (there.get(part) === here.get(part)) return [];
    if (!there.has(part)) return [`${part} of schema ${name} is not there`];
    return [here.has(part) ? `${part} of schema ${name} is another there` : `${part} of schema ${name} is only there`];
  });
  return told.length > 0 ? told : [`schema ${name} is another there`];
}

/** The text of each field, profile, struct and field set of a schema file. */
function partsOf(text: string): ReadonlyMap<string, string> {
  const parts = new Map<string, string>();
  let part = "";
  for (const line of text.split("\n")) {
    const [, kind = "", name = ""] = /^ {2,4}(field|struct|fieldset|rank-profile) (\w+)/.exec(line) ?? [];
    if (kind !== "")
      part = kind === "field" ? `fields.${name}` : kind === "rank-profile" ? `profiles.${name}` : `${kind} ${name}`;
    if (part !== "") parts.set(part, `${parts.get(part) ?? ""}${line.trim()}\n`);
  }
  return parts;
}
