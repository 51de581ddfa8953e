/**
 * A `fetch` for the models of an application, which sends nothing to where the operator would not have it sent: an origin that is not
 * named has to be a public one, by its name, by every address that this is resolved to, and after every redirect. What was looked at
 * is what is connected to: a name that is resolved to something else a moment later leads nowhere.
 */
import { lookup as lookUp } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { ServiceError } from "@brooklet/wire";
import type { Agent } from "undici";

/** Sends what models are asked. */
export type ModelFetch = (url: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** Resolves a name to all of its addresses, as Node does; without Node's types, which nobody has to have who imports this. */
export type Resolve = (
  name: string,
  options: { readonly all: true; readonly family?: number | "IPv4" | "IPv6" | undefined },
  done: (error: Error | null, addresses: { address: string; family: number }[]) => void,
) => void;

const REDIRECTS_MAX = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** This machine, its networks, what has no owner, and ways to write an older address in a newer one. */
const PRIVATE_4 = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
] as const;
const PRIVATE_6 = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
] as const;
/** All that is given out to anybody. */
const PUBLIC_6 = ["2000::", 3] as const;

const privates = new BlockList();
for (const [net, prefix] of PRIVATE_4) privates.addSubnet(net, prefix, "ipv4");
const privates6 = new BlockList();
for (const [net, prefix] of PRIVATE_6) privates6.addSubnet(net, prefix, "ipv6");
const publics6 = new BlockList();
publics6.addSubnet(...PUBLIC_6, "ipv6");

/** Whether everybody on the Internet means the same machine by an address. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !privates.check(address, "ipv4");
  return family === 6 && publics6.check(address, "ipv6") && !privates6.check(address, "ipv6");
}

/** What the operator of a server named. */
export interface AddressRules {
  isNamed(address: string): boolean;
  /** Throws unless something may be sent to an address. */
  demand(address: string): void;
}

/** Makes the `fetch` of what an operator named. */
export function guardedFetch(origins: AddressRules, resolve: Resolve = lookUp): ModelFetch {
  let agent: Promise<Agent> | undefined;
  const send = async (url: string, init: RequestInit): Promise<Response> => {
    origins.demand(url);
    if (origins.isNamed(url)) return await fetch(url, init);
    // Loaded when something is sent for the first time: few servers do.
    const { Agent: MakeAgent, fetch: fetchBy } = await import("undici");
    agent ??= Promise.resolve(new MakeAgent({ connect: { lookup: guardLookup(resolve) } }));
    try {
      const how = { ...init, dispatcher: await agent } as Parameters<typeof fetchBy>[1];
      return (await fetchBy(url, how)) as unknown as Response;
    } catch (error) {
      const { cause } = error as { readonly cause?: unknown };
      throw ServiceError.is(cause) ? cause : error;
    }
  };
  return async (input, init = {}) => {
    if (input instanceof Request) throw new TypeError("a model is asked by its address");
    let url = String(input);
    for (let redirects = 0; ; redirects += 1) {
      const response = await send(url, { ...init, redirect: "manual" });
      const location = REDIRECTS.has(response.status) ? response.headers.get("location") : null;
      // Who sends a text with it is told of the redirect; only what is merely read is looked for elsewhere.
      if (location === null || init.redirect === "manual" || (init.method ?? "GET") !== "GET") return response;
      await response.body?.cancel();
      if (redirects === REDIRECTS_MAX || !URL.canParse(location, url))
        throw new ServiceError(
          "UNAVAILABLE",
          `The address redirects more than ${REDIRECTS_MAX} times, or to no address`,
        );
      url = new URL(location, url).href;
    }
  };
}

/** Resolves a name for a connection, unless any of its addresses is none that is public. */
function guardLookup(resolve: Resolve): LookupFunction {
  return (name, options, done) => {
    const { family } = options;
    resolve(name, { all: true, ...(family === undefined ? {} : { family }) }, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error !== null || first === undefined) return done(error ?? new Error(`${name} has no address`), "");
      if (addresses.every(({ address }) => isPublicAddress(address))) {
        return options.all === true ? done(null, addresses) : done(null, first.address, first.family);
      }
      const message = `Nothing is sent there: '${name}' is resolved to an address that is not public: --model-origin names what is asked all the same`;
      return done(new ServiceError("SCOPE_REFUSED", message), "");
    });
  };
}
