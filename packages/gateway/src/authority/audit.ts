/**
 * What is told of who did what: actions on all groups, deployments and erasures, before they are done and after; refusals; and each token
 * when it is shown for the first time. Nothing of documents or credentials is told, and groups only by a keyed hash of their names.
 */
import type { PartitionKey } from "@brooklet/partition";
import { auditNames, type Grant, ServiceError, type Verb } from "@brooklet/wire";
import type { Call, Reply } from "../call.ts";
import type { DefectListener } from "../failure.ts";
import type { Authority, Caller, NotedAction, Watch } from "./authority.ts";

/** One thing that is told. */
export interface AuditEvent extends Caller {
  readonly time: string;
  /** `search`, `visit` and `change` are of all groups. */
  readonly action: NotedAction | "refused" | "throttled" | "token";
  /** Of an action: before it is done, or after. What reads as it is sent is told when it begins to be. */
  readonly phase?: "asked" | "answered";
  /** The same for all that is told of one request. */
  readonly request: string;
  readonly method: string;
  readonly address?: string;
  readonly status?: number;
  /** Keyed hashes of groups: those of a token, or the one that is erased or was refused. */
  readonly groups?: readonly string[];
  readonly verbs?: readonly Verb[];
}

/** Keeps what it is told. An action is not done where its promise is not kept, or it throws. */
export type AuditListener = (event: AuditEvent) => void | Promise<void>;

/** What is answered only when it is kept what came of it. */
const WRITTEN: ReadonlySet<NotedAction> = new Set(["deploy", "erase", "change"]);

/** Tells a listener of the requests of one gateway. */
export class Audit {
  readonly #listener: AuditListener;
  readonly #onDefect: DefectListener;
  readonly #nameOf: (group: string) => Promise<string>;
  readonly #known = new WeakSet<Grant>();
  #isFailing = false;

  constructor(listener: AuditListener, secret: Uint8Array, onDefect: DefectListener) {
    [this.#listener, this.#onDefect, this.#nameOf] = [listener, onDefect, auditNames(secret)];
  }

  /** Follows a request. */
  begin(call: Call): AuditedRequest {
    return new AuditedRequest(call, (told, groups) => this.#tell(told, groups), this.#known);
  }

  async #tell(told: Omit<AuditEvent, "time">, groups: readonly string[] | undefined): Promise<void> {
    const time = new Date().toISOString();
    try {
      const named = groups && { groups: await Promise.all(groups.map(this.#nameOf)) };
      await this.#listener({ time, ...told, ...named });
      this.#isFailing = false;
    } catch (cause) {
      // Once: who cannot keep one cannot keep the next either.
      if (!this.#isFailing) this.#onDefect(cause, told.request);
      this.#isFailing = true;
      throw cause;
    }
  }
}

type Tell = (told: Omit<AuditEvent, "time">, groups?: readonly string[]) => Promise<void>;

/** What is told of one request. */
export class AuditedRequest {
  readonly #call: Call;
  readonly #tell: Tell;
  readonly #known: WeakSet<Grant>;
  readonly #id: string = crypto.randomUUID();
  readonly #actions = new Map<NotedAction, Promise<void>>();
  #caller: Caller = { by: "nobody" };
  #groups: readonly string[] | undefined;

  constructor(call: Call, tell: Tell, known: WeakSet<Grant>) {
    [this.#call, this.#tell, this.#known] = [call, tell, known];
  }

  /** The authority of the caller, which tells what is done with it. */
  watched(authority: Authority): Authority {
    this.#caller = authority.caller;
    const { grant } = authority;
    if (grant !== undefined && authority.caller.by === "token" && !this.#known.has(grant)) {
      this.#known.add(grant);
      void this.#tell({ ...this.#said("token"), verbs: grant.verbs }, grant.groups).catch(ignore);
    }
    const watch: Watch = {
      refused: (key) => {
        this.#groups = groupsOf(key);
      },
      noted: (action, key) => {
        const told = this.#actions.get(action);
        if (told !== undefined) return told;
        this.#groups = groupsOf(key);
        const asked = this.#tell({ ...this.#said(action), phase: "asked" }, this.#groups).catch((cause: unknown) => {
          throw new ServiceError("UNAVAILABLE", "It cannot be written to the audit log, so it is not done", { cause });
        });
        this.#actions.set(action, asked);
        return asked;
      },
    };
    return authority.watched(watch);
  }

  /** Tells what a request is answered with; kept at once, or when that is kept which has to be. Rejects where it cannot be. */
  async answered({ status }: Reply, isThrottled: boolean): Promise<void> {
    const isRefused = status === 401 || status === 403 || isThrottled;
    if (isRefused)
      void this.#tell({ ...this.#said(isThrottled ? "throttled" : "refused"), status }, this.#groups).catch(ignore);
    for (const [action, asked] of this.#actions) {
      // What was not told beforehand was not done.
      if (
        await asked.then(
          () => false,
          () => true,
        )
      )
        continue;
      const told = this.#tell({ ...this.#said(action), phase: "answered", status }, this.#groups);
      if (WRITTEN.has(action)) await told;
      else told.catch(ignore);
    }
  }

  #said(action: AuditEvent["action"]): Omit<AuditEvent, "time"> {
    const { address, method } = this.#call;
    return { action, request: this.#id, ...this.#caller, method, ...(address === undefined ? {} : { address }) };
  }
}

function groupsOf(key: PartitionKey | undefined): readonly string[] | undefined {
  return key?.startsWith("g:") === true ? [key.slice(2)] : undefined;
}

function ignore(): void {}
