/**
 * Where the models of an application may be, and which secrets go there: the operator says it, an application that was deployed
 * does not. What is not named has to be a public name behind TLS; a secret goes to the origin that it is bound to, and nowhere else.
 */
import { echo, ServiceError } from "@brooklet/wire";
import { configuredModel, secretNameOf } from "./configured-model.ts";

/** What the operator names. */
export interface OriginOptions {
  /** Origins that models may be at although they are not public or not behind TLS, as in `http://127.0.0.1:11434`. */
  readonly origins?: readonly string[];
  /** The origin, or the origins, of each secret, by the name that services.xml has for it. */
  readonly secrets?: Readonly<Record<string, string | readonly string[]>>;
  /** How an operator names an origin here, for messages; `--model-origin` of the command unless it is said. */
  readonly setting?: string;
}

/** A component of an application, with what services.xml says of it. */
interface Component {
  readonly id: string;
  readonly settings: readonly (readonly [name: string, value: string])[];
}

/** The models of an application, as a report of its deployment has them. */
export interface ModelComponents {
  readonly languageModels?: readonly Component[];
  readonly embedders?: readonly (Component & { readonly type: string })[];
}

/** Names of machines that are not public, however they are resolved. */
const PRIVATE_NAME = /(?:^|\.)(?:localhost|local|internal|intranet|private|corp|home|lan|arpa|test|invalid|onion)$/;
/** Addresses in digits: dotted, or in brackets. The URL has every other way to write them turned into these. */
const ADDRESS = /^(?:\d+(?:\.\d+){3}|\[.*\])$/;
/** Where an embedder of this type asks, unless it says so. */
const OPENAI_EMBEDDINGS = "https://api.openai.com/v1/embeddings";

/** What the operator of a server named. */
export class Origins {
  readonly #origins: ReadonlySet<string>;
  readonly #ofSecrets: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #setting: string;

  /** Throws a `RangeError` for what is no origin. */
  constructor({ origins = [], secrets = {}, setting = "--model-origin" }: OriginOptions) {
    this.#setting = setting;
    const bound = Object.entries(secrets).map(([name, of]): [string, ReadonlySet<string>] => {
      const all = (typeof of === "string" ? [of] : of).map(originOf);
      if (all.length === 0) throw new RangeError(`The secret '${name}' is bound to no origin`);
      return [name, new Set(all)];
    });
    this.#ofSecrets = new Map(bound);
    this.#origins = new Set([...origins.map(originOf), ...bound.flatMap(([, of]) => [...of])]);
  }

  /** Whether the operator named the origin of an address. */
  isNamed(address: string): boolean {
    return URL.canParse(address) && this.#origins.has(new URL(address).origin);
  }

  /** Why nothing may be sent to an address; nothing if it may. What its name is resolved to is not looked at. */
  problem(address: string): string | undefined {
    if (!URL.canParse(address)) return `'${echo(address)}' is no address`;
    const { protocol, hostname, origin, username, password } = new URL(address);
    if (protocol !== "https:" && protocol !== "http:") return `'${echo(address)}' begins with neither https: nor http:`;
    if (username !== "" || password !== "") return `the address at '${echo(hostname)}' has a name or password in it`;
    if (this.#origins.has(origin)) return undefined;
    const remedy = `name it with ${this.#setting} ${origin} if it is to be asked`;
    if (protocol === "http:") return `'${origin}' is not behind TLS: ${remedy}`;
    const name = hostname.replace(/\.$/, "");
    if (!ADDRESS.test(name) && name.includes(".") && !PRIVATE_NAME.test(name)) return undefined;
    return `'${origin}' is no public name: ${remedy}`;
  }

  /** Why a secret may not be sent to an address; nothing if it may. */
  secretProblem(name: string, address: string): string | undefined {
    const bound = this.#ofSecrets.get(name);
    const origin = URL.canParse(address) ? new URL(address).origin : echo(address);
    if (bound?.has(origin) === true) return undefined;
    const whither = bound === undefined ? "is bound to no origin" : `is bound to ${[...bound].join(" and ")}`;
    return `the secret '${echo(name)}' ${whither}, and is asked for '${origin}': --secret ${echo(name)}=${origin} binds it there`;
  }

  /** Throws unless something may be sent to an address. */
  demand(address: string): void {
    const problem = this.problem(address);
    if (problem !== undefined) throw new ServiceError("SCOPE_REFUSED", `Nothing is sent there: ${problem}`);
  }

  /** Throws unless a secret may be sent to an address. */
  demandSecret(name: string, address: string): void {
    const problem = this.secretProblem(name, address);
    if (problem !== undefined) throw new ServiceError("SCOPE_REFUSED", `The secret is not sent: ${problem}`);
  }

  /** What is to be said against an application: where its models are, and which secrets it would have sent there. */
  objections({ languageModels = [], embedders = [] }: ModelComponents): readonly string[] {
    const ofModels = languageModels.flatMap(({ id, settings }) => {
      const values = new Map(settings);
      return this.#against(`language model '${id}'`, configuredModel(values).url, secretNameOf(values));
    });
    const ofEmbedders = embedders.flatMap(({ id, type, settings }) => {
      const values = new Map(settings);
      const files = settings.flatMap(([name, value]) => (name.endsWith("@url") ? [value] : []));
      const told = files.flatMap((url) => this.#against(`embedder '${id}'`, url, undefined));
      const endpoint = values.get("endpoint") || (type === "openai-embedder" ? OPENAI_EMBEDDINGS : undefined);
      const secret = values.get("api-key-secret-ref") || undefined;
      return endpoint === undefined ? told : [...told, ...this.#against(`embedder '${id}'`, endpoint, secret)];
    });
    return [...ofModels, ...ofEmbedders];
  }

  #against(what: string, address: string, secret: string | undefined): readonly string[] {
    const problems = [this.problem(address), secret === undefined ? undefined : this.secretProblem(secret, address)];
    return problems.flatMap((problem) => (problem === undefined ? [] : [`${what}: ${problem}`]));
  }
}

function originOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isOrigin = url !== undefined && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`;
  if (isOrigin) return url.origin;
  throw new RangeError(`'${text}' is no origin: give one like https://api.example.com, without a path`);
}
