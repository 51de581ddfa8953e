/**
 * Decides whether a request may be answered at all, and for whom: from which host and page it comes, and what its credential
 * reaches, before anything else of it is looked at.
 *
 * Where there are no keys, who reaches the listener may use it. So it listens on loopback by default, and even there a browser
 * that was led here (another `Host` by DNS rebinding, an `Origin`) is refused.
 */
import type { Cluster } from "@brooklet/partition";
import { documentNameProblem, ServiceError } from "@brooklet/wire";
import type { Context } from "hono";
import { type Digest, webDigest } from "./authority/admin-keys.ts";
import { Authority, type Bounds, type Caller, type Reach } from "./authority/authority.ts";
import { asksForCredentials, type CredentialOptions, Credentials } from "./authority/credentials.ts";
import { GroupRates } from "./authority/group-rates.ts";
import type { Call, CallHead, Reply } from "./call.ts";
import { echo } from "./echo.ts";
import type { GatewayLimits } from "./limits.ts";

/** Whom to answer. */
export interface AccessOptions extends CredentialOptions {
  /** Host names (without port) a request may be addressed to; nothing: any. */
  readonly allowedHosts?: readonly string[];
  /** Whether a search may address all partitions there are, which it does only by `streaming.selection`. Default: yes. */
  readonly searchOfAll?: boolean;
  /** The only group there is for whoever asks: requests that name none are of it, those that name another are refused. */
  readonly group?: string;
  /** Whether applications may be deployed over HTTP. Default: yes, by whoever may do everything. */
  readonly deploys?: boolean;
  /** Origins of web pages that may ask, as browsers write them. None by default. */
  readonly allowedOrigins?: readonly string[];
  /** Whether the gateway has a page of its own, which may ask it. Default: no. */
  readonly hasOwnPage?: boolean;
  /**
   * Says what a request reaches, where the gateway is mounted in an application that knows its users: everything, or what is
   * granted. Nothing: only what its key or token says.
   */
  readonly authorise?: (context: Context) => Reach | undefined | Promise<Reach | undefined>;
  /** How to make digests of keys, where the platform has a faster way than the Web's. */
  readonly digest?: Digest;
}

/** An origin as a browser writes it. Throws a `RangeError` for what no browser would: it would be allowed in vain. */
function pageOrigin(text: string): string {
  const isWeb = /^https?:/i.test(text);
  const isOrigin = isWeb
    ? URL.canParse(text) && new URL(text).origin === text
    : /^[a-z][a-z0-9+.-]*:\/\/[^/\s]+$/.test(text);
  if (isOrigin) return text;
  throw new RangeError(`'${text}' is no origin of a page: give one like https://notes.example.com, without a path`);
}

/** The names of this machine for itself. */
export const LOOPBACK_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/** Cookies are not sent along: a page shows a token, or nothing. */
const SHARED = { "access-control-expose-headers": "allow, retry-after", vary: "origin" };
/** What a page may send, told to browsers that ask before. */
const PREFLIGHT = {
  "access-control-allow-methods": "GET, POST, PUT, DELETE",
  "access-control-allow-headers": "authorization, content-type, accept, mcp-protocol-version",
  "access-control-max-age": "600",
};

/** The answer to a browser that asks what a page of an allowed origin may send; nothing: the call is no such question. */
export function preflight(call: Call): Reply | undefined {
  const isAsked = call.method === "OPTIONS" && call.header("access-control-request-method") !== undefined;
  return isAsked && call.header("origin") !== undefined ? { status: 204, headers: PREFLIGHT, body: "" } : undefined;
}

/** The host of a target in the absolute form (`GET http://host/path`), with its port. */
function absoluteHost(target: string): string | undefined {
  return /^https?:\/\/([^/?#]*)/i.exec(target)?.[1];
}

const ANYBODY: Caller = { by: "anybody" };
const NOBODY: Reach = { groups: [], verbs: [] };

/** The guard before every route. */
export class Access {
  readonly #cluster: Cluster;
  readonly #limits: GatewayLimits;
  readonly #hosts: ReadonlySet<string> | undefined;
  readonly #origins: ReadonlySet<string>;
  readonly #hasOwnPage: boolean;
  readonly #bounds: Bounds;
  /** Nothing: nobody is asked. */
  readonly #credentials: Credentials | undefined;
  readonly #authorise: AccessOptions["authorise"];
  /** All that there is, by the id of the admin key that reaches it. */
  readonly #everything: Map<string, Authority> = new Map();
  /** The authority of a grant, as long as that is in use. */
  readonly #granted: WeakMap<object, Authority> = new WeakMap();
  /** What reaches nothing: for those who are not asked who they are. */
  readonly nobody: Authority;

  constructor(cluster: Cluster, limits: GatewayLimits, options: AccessOptions) {
    this.#cluster = cluster;
    this.#limits = limits;
    this.#hosts = options.allowedHosts && new Set(options.allowedHosts.map((host) => host.toLowerCase()));
    this.#origins = new Set(options.allowedOrigins?.map(pageOrigin));
    this.#hasOwnPage = options.hasOwnPage === true;
    const { group, searchOfAll = true, deploys = true } = options;
    const problem = group === undefined ? undefined : documentNameProblem("group", group);
    if (problem !== undefined) throw new RangeError(`'${group}' cannot be the name of a group: ${problem}`);
    const rates = limits.groupRate.requestsPerSecond > 0 ? new GroupRates(limits.groupRate) : undefined;
    this.#bounds = { group, searchOfAll, deploys, rates };
    this.#authorise = options.authorise;
    const isAsked = asksForCredentials(options) || options.authorise !== undefined;
    this.#credentials = isAsked
      ? new Credentials(options, options.digest ?? webDigest, limits.wrongCredentials)
      : undefined;
    this.nobody = new Authority(cluster, this.#bounds, NOBODY, { by: "nobody" });
  }

  /** Whether who asks is known to the platform before this, which has to be there to be asked. */
  get asksPlatform(): boolean {
    return this.#authorise !== undefined;
  }

  /** Throws unless a request may be looked at. Costs nothing that depends on its body. */
  check(call: CallHead): void {
    const { targetBytes, headerBytes, headerCount } = this.#limits;
    if (call.target.length > targetBytes) {
      const message = `The request target has ${call.target.length} bytes, more than ${targetBytes} (limit L-head)`;
      throw new ServiceError("TARGET_TOO_LONG", message);
    }
    if (call.headerBytes > headerBytes || call.headerCount > headerCount) {
      const message = `${call.headerCount} headers of ${call.headerBytes} bytes; at most ${headerCount} of ${headerBytes}`;
      throw new ServiceError("HEADERS_TOO_LARGE", `${message} are accepted (limit L-head)`);
    }
    this.#checkHost(call.header("host"), call.target.startsWith("/") ? undefined : absoluteHost(call.target));
    this.#checkOrigin(call.header("origin"), call.header("sec-fetch-site"), call.header("host"));
  }

  /** What everybody reaches, where nobody is asked for a key. */
  get anybody(): Authority | undefined {
    return this.#credentials === undefined ? this.#ofAll(ANYBODY) : undefined;
  }

  /** What the caller of a request reaches, where that is known without waiting; nothing: it has to be asked. */
  knownAtOnce(call: CallHead): Authority | undefined {
    if (this.#credentials === undefined) return this.#ofAll(ANYBODY);
    const known = this.#authorise === undefined ? this.#credentials.remembered(call) : undefined;
    return known && this.#authorityOf(known.reach, known.reach === "admin" ? "admin" : "token", known.id);
  }

  /** What the caller of a request reaches. Throws unless that is known. */
  authorise(call: Call, context: Context | undefined): Authority | Promise<Authority> {
    return this.#credentials === undefined ? this.#ofAll(ANYBODY) : this.#authority(call, context, this.#credentials);
  }

  async #authority(call: Call, context: Context | undefined, credentials: Credentials): Promise<Authority> {
    const ofSession = context === undefined ? undefined : await this.#authorise?.(context);
    const { reach, id } = ofSession === undefined ? await credentials.known(call) : { reach: ofSession };
    const by = ofSession !== undefined ? "session" : reach === "admin" ? "admin" : "token";
    return this.#authorityOf(reach, by, id);
  }

  #authorityOf(reach: Reach, by: Caller["by"], id: string | undefined): Authority {
    const caller: Caller = { by, ...(id === undefined ? {} : { id }) };
    if (reach === "admin") return this.#ofAll(caller);
    const made = this.#granted.get(reach) ?? new Authority(this.#cluster, this.#bounds, reach, caller);
    this.#granted.set(reach, made);
    return made;
  }

  #ofAll(caller: Caller): Authority {
    const name = caller.id ?? caller.by;
    const made = this.#everything.get(name) ?? new Authority(this.#cluster, this.#bounds, "admin", caller);
    this.#everything.set(name, made);
    return made;
  }

  /** What lets a page of an allowed origin read the answer; nothing where no page asks. Only of a call that was checked. */
  sharing(call: CallHead): Readonly<Record<string, string>> | undefined {
    const origin = call.header("origin");
    return origin === undefined ? undefined : { ...SHARED, "access-control-allow-origin": origin };
  }

  #checkHost(given: string | undefined, ofTarget: string | undefined): void {
    // Several come joined: whoever stands between would look at one, and this at another.
    if (given?.includes(",") === true) throw new ServiceError("BAD_REQUEST", "The request names more than one host");
    const host = given ?? ofTarget;
    if (ofTarget !== undefined && ofTarget.toLowerCase() !== host?.toLowerCase()) {
      const message = `The target is of host '${echo(ofTarget)}', and the request of '${echo(host ?? "")}'`;
      throw new ServiceError("MISDIRECTED", message);
    }
    if (this.#hosts === undefined) return;
    const name = (host ?? "").replace(/:\d*$/, "").toLowerCase();
    if (!this.#hosts.has(name)) {
      throw new ServiceError("MISDIRECTED", `Host '${echo(host ?? "")}' is not one of the allowed hosts`);
    }
  }

  #checkOrigin(origin: string | undefined, site: string | undefined, host: string | undefined): void {
    // A link, an image or a form: for these a browser may name no origin, but it says that it is another's page.
    if (origin === undefined && site !== undefined && site !== "same-origin" && site !== "none")
      throw new ServiceError("ORIGIN_REFUSED", `A page of another site asks (Sec-Fetch-Site: ${echo(site)})`);
    if (origin !== undefined && !this.#origins.has(origin) && !this.#isOwnPage(origin, site, host)) {
      throw new ServiceError("ORIGIN_REFUSED", `Origin '${echo(origin)}' is not one of the allowed origins`);
    }
  }

  /**
   * Whether the gateway's own page asks. That a page came from the host it asks says nothing where any host is answered, and nobody is
   * asked for a key: a name of its own can be made to lead here (DNS rebinding).
   */
  #isOwnPage(origin: string, site: string | undefined, host: string | undefined): boolean {
    if (!this.#hasOwnPage || host === undefined) return false;
    if (this.#hosts === undefined && this.#credentials === undefined) return false;
    const isSame = origin === `http://${host}` || origin === `https://${host}`;
    return isSame && (site === undefined || site === "same-origin");
  }
}
