/**
 * What a caller may reach, and the one thing that opens a partition: nobody else asks the cluster for one, or for what is in
 * several. It is made for a caller before anything of a request is read, and what lies outside of it is refused in one sentence
 * before anything is opened, so that a group that is another's and one that is not there cannot be told apart.
 */
import {
  type Answer,
  type Cluster,
  type Erasure,
  type FedOperation,
  type FeedOptions,
  type MassOperation,
  type MassOutcome,
  type PartitionHandle,
  type PartitionKey,
  type Purge,
  type QueryHandle,
  type SearchRequest,
  type SearchScope,
  shownType,
  type Visit,
  type VisitPage,
  type VisitStep,
} from "@brooklet/partition";
import { type Grant, ServiceError, VERBS, type Verb } from "@brooklet/wire";
import { type DocumentPath, inGroup } from "../document-path.ts";
import { echo } from "../echo.ts";
import type { GroupRates } from "./group-rates.ts";

/** What somebody may do: everything, or what is granted. */
export type Reach = "admin" | Grant;

/** Who asks, as far as it may be told: an admin key by the first bytes of its digest, a token by its `jti`. */
export interface Caller {
  readonly by: "anybody" | "admin" | "token" | "session" | "nobody";
  readonly id?: string;
}

/** What is noted of who may do it. `search`, `visit` and `change` are of all groups. */
export type NotedAction = "deploy" | "erase" | "search" | "visit" | "change";

/** Who is told what is done. */
export interface Watch {
  /** Something is about to be done, which waits until that is noted. */
  noted(action: NotedAction, key?: PartitionKey): Promise<void>;
  /** A partition is not reached. */
  refused(key: PartitionKey | undefined): void;
}

/** What a server lets nobody do, whoever asks. */
export interface Bounds {
  /** Whether a search may address all partitions there are. */
  readonly searchOfAll: boolean;
  /** The only group there is. */
  readonly group: string | undefined;
  /** Whether applications may be deployed. */
  readonly deploys: boolean;
  /** How often groups may be asked; nothing: as often as they are. */
  readonly rates: GroupRates | undefined;
}

const NOTHING: readonly (readonly [name: string, value: string])[] = [];
/** What names the documents that a query is about. */
const SCOPE_PARAMETERS = ["streaming.groupname", "streaming.userid", "streaming.selection"];
const RESTRICTION = "model.restrict";

/** The one refusal of what a caller does not reach. It says nothing of what is there. */
function outside(): ServiceError {
  return new ServiceError("SCOPE_REFUSED", "The token of this request does not reach what it asks for");
}

/** What a caller may reach. */
export class Authority {
  readonly #cluster: Cluster;
  readonly #bounds: Bounds;
  /** Nothing: everything is granted. */
  readonly grant: Grant | undefined;
  readonly caller: Caller;
  readonly #watch: Watch | undefined;
  readonly #keys: ReadonlySet<PartitionKey>;
  /** The group of searches that name none. */
  readonly #assumed: string | undefined;

  constructor(cluster: Cluster, bounds: Bounds, reach: Reach, caller: Caller, watch?: Watch) {
    [this.#cluster, this.#bounds, this.caller, this.#watch] = [cluster, bounds, caller, watch];
    this.grant = reach === "admin" ? undefined : reach;
    const groups = this.grant?.groups ?? [];
    this.#keys = new Set(groups.map((group): PartitionKey => `g:${group}`));
    this.#assumed = bounds.group ?? (groups.length === 1 ? groups[0] : undefined);
  }

  /** The same, and somebody is told what is done with it. */
  watched(watch: Watch): Authority {
    return new Authority(this.#cluster, this.#bounds, this.grant ?? "admin", this.caller, watch);
  }

  /** The partition of the only group there is here; nothing: all of them are. */
  get onlyKey(): PartitionKey | undefined {
    const { group } = this.#bounds;
    return group === undefined ? undefined : `g:${group}`;
  }

  /**
   * The partition that a search is about, where that is plain before it is read: the one that is named, if it may be reached, or
   * else the only one there is for the caller.
   */
  plainKey(named: PartitionKey | undefined): PartitionKey | undefined {
    const assumed: PartitionKey | undefined = this.#assumed === undefined ? undefined : `g:${this.#assumed}`;
    if (this.grant === undefined && this.#bounds.group === undefined) return named ?? assumed;
    return named === undefined || named === assumed ? assumed : this.#keys.has(named) ? named : undefined;
  }

  /** Throws unless everything is granted. */
  demandAdmin(): void {
    if (this.grant !== undefined) throw outside();
  }

  /** The one group that there is for the caller, and what may be done there. Throws where there is none, or are several. */
  demandGroup(): { readonly group: string; readonly grant: Omit<Grant, "groups"> } {
    const { groups, ...grant } = this.grant ?? { groups: [], verbs: VERBS };
    const group = this.#assumed;
    if (group !== undefined) {
      this.#checkKey(`g:${group}`);
      return { group, grant };
    }
    const shown = this.grant === undefined ? "an admin key, which is for none" : `a token for ${groups.length} groups`;
    throw new ServiceError("SCOPE_REFUSED", `This serves one group, and the request has ${shown}: use a token for one`);
  }

  /** Throws, or rejects, unless deployments are taken here. */
  async demandDeploys(): Promise<void> {
    this.demandAdmin();
    this.demandAllGroups("A deployment");
    if (!this.#bounds.deploys) throw new ServiceError("SCOPE_REFUSED", "Nothing can be deployed to this server");
    await this.#watch?.noted("deploy");
  }

  /** Throws unless all of these verbs are granted. */
  demand(...verbs: readonly Verb[]): void {
    const missing = verbs.find((verb) => !this.#has(verb));
    if (missing !== undefined)
      throw new ServiceError("SCOPE_REFUSED", `The token of this request has no verb '${missing}'`);
  }

  /** Throws unless searches are granted, of documents or of what a model says of them. */
  demandSearch(): void {
    if (!this.#has("ask")) this.demand("search");
  }

  /** The documents that a path means here. Throws if they are not to be reached. */
  documents(path: DocumentPath): DocumentPath {
    const { group } = this.#bounds;
    const meant = group === undefined ? path : inGroup(path, group);
    this.#checkKey(meant.group?.partition ?? (meant.id === undefined ? undefined : "d:"));
    if (meant.type !== undefined) this.#checkTypes([meant.type]);
    return meant;
  }

  /** Throws where there is one group only, or some are granted, of what is about all of them. */
  demandAllGroups(what: string): void {
    const { group } = this.#bounds;
    if (group !== undefined)
      throw new ServiceError("SCOPE_REFUSED", `${what} is about all groups, and here there is only '${echo(group)}'`);
    this.demandAdmin();
  }

  /** The partition of a group, to do this there. */
  partition(key: PartitionKey, ...verbs: readonly Verb[]): PartitionHandle {
    this.#checkKey(key);
    this.demand(...verbs);
    // Removes give room, and are the last to be refused.
    if (!verbs.includes("remove")) this.#bounds.rates?.take(key);
    return this.#cluster.partition(key);
  }

  /** Throws unless a group may be erased: all of it, of whatever schema. */
  checkErasure(key: PartitionKey): void {
    this.#checkKey(key);
    this.demand("erase");
    if (this.grant?.schemas !== undefined) throw outside();
  }

  /** Erases a group whole. */
  async erase(key: PartitionKey): Promise<Erasure> {
    this.checkErasure(key);
    await this.#watch?.noted("erase", key);
    return await this.#cluster.erase(key);
  }

  /** Waits until what was erased is gone from the files. */
  async purge(erasure: Erasure): Promise<Purge | undefined> {
    return await this.#cluster.purge?.(erasure);
  }

  /** Throws unless whatever stands in a feed may be done, if only to documents of some groups. */
  demandFeed(): void {
    if (this.grant === undefined) this.demandAllGroups("A feed");
    else if (this.#bounds.group !== undefined || this.grant.schemas !== undefined) throw outside();
    this.demand("put", "update", "remove", "get");
  }

  /** Writes documents of whatever groups a feed names and may be reached. */
  feed(
    input: AsyncIterable<Uint8Array>,
    options: FeedOptions,
  ): AsyncGenerator<readonly FedOperation[], void, undefined> {
    this.demandFeed();
    // However many operations there are in it.
    if (this.#assumed !== undefined) this.#bounds.rates?.take(`g:${this.#assumed}`);
    return this.#cluster.feed(input, this.grant === undefined ? options : { ...options, keys: this.#keys });
  }

  /** Documents of all groups of a bucket, or of one. */
  visit(visit: Visit, step: VisitStep, timeoutMs: number, gone?: AbortSignal): Promise<VisitPage> {
    this.#checkKey(step.key);
    this.#checkTypes(visit.types);
    if (step.key !== undefined) this.#bounds.rates?.take(step.key);
    const visited = (): Promise<VisitPage> => this.#cluster.visit(visit, step, timeoutMs, gone);
    return step.key === undefined ? this.#noted("visit", visited) : visited();
  }

  /** Changes documents of all groups of a bucket, or of one. */
  applyWhere(
    visit: Visit,
    step: VisitStep,
    operation: MassOperation,
    timeoutMs: number,
    gone?: AbortSignal,
  ): Promise<MassOutcome> {
    this.#checkKey(step.key);
    this.#checkTypes(visit.types);
    const applied = (): Promise<MassOutcome> => this.#cluster.applyWhere(visit, step, operation, timeoutMs, gone);
    return step.key === undefined ? this.#noted("change", applied) : applied();
  }

  /**
   * The answer to a query that seems to be of one partition alone. Nothing: it has to be opened, or the caller might not reach
   * everything that it is about, which is found out when it is opened.
   */
  async searchPlain(key: PartitionKey, request: SearchRequest, timeoutMs: number): Promise<Answer | undefined> {
    const { grant } = this;
    // Where requests are counted they are when it is opened.
    if (this.#bounds.group !== undefined || this.#bounds.rates !== undefined || !this.#has("search")) return undefined;
    if (grant !== undefined && (grant.schemas !== undefined || !this.#keys.has(key))) return undefined;
    return await this.#cluster.searchPlain?.(key, request, timeoutMs);
  }

  /** Opens a query, which its caller disposes of. It is searched in whatever partitions it names, if it may name those. */
  query(request: SearchRequest): QueryHandle {
    this.demandSearch();
    const query = this.#open(request);
    try {
      // Also of a chain that only asks a model, which searches nowhere.
      if (this.grant !== undefined) this.#checkScope(query.scope ?? { keys: [] });
      for (const key of query.scope?.keys ?? []) this.#bounds.rates?.take(key);
    } catch (error) {
      query[Symbol.dispose]();
      throw error;
    }
    const { scope } = query;
    // Nothing more is to be asked of who may do everything: of a search in named partitions nobody is told.
    if (this.#isFree && (scope === undefined || scope.keys !== undefined)) return query;
    return {
      scope,
      parameter: (name) => query.parameter(name),
      get stageMs() {
        return query.stageMs;
      },
      search: async (timeoutMs, gone) => {
        this.#checkScope(query.scope ?? { keys: [] });
        if (query.scope !== undefined && query.scope.keys === undefined) await this.#watch?.noted("search");
        return await query.search(timeoutMs, gone);
      },
      [Symbol.dispose]: () => query[Symbol.dispose](),
    };
  }

  /** Opens a query with what the caller need not say: whose documents, where only one group can be meant, and of which schemas. */
  #open(request: SearchRequest): QueryHandle {
    const asked = this.#cluster.query(request);
    try {
      const said = this.#saidFor(asked);
      if (said.length === 0) return asked;
      const query = this.#cluster.query({ ...request, properties: [...request.properties, ...said] });
      // A query profile may hold on to a value of its own.
      if (said.every(([name, value]) => query.parameter(name) === value)) {
        asked[Symbol.dispose]();
        return query;
      }
      query[Symbol.dispose]();
      throw outside();
    } catch (error) {
      asked[Symbol.dispose]();
      throw error;
    }
  }

  #saidFor(query: QueryHandle): readonly (readonly [name: string, value: string])[] {
    // Who may do everything need say nothing.
    if (this.grant === undefined && this.#assumed === undefined) return NOTHING;
    const said: (readonly [string, string])[] = [];
    if (!SCOPE_PARAMETERS.some((name) => query.parameter(name) !== undefined)) {
      if (this.#assumed !== undefined) said.push(["streaming.groupname", this.#assumed]);
      else this.demandAdmin();
    }
    const { schemas } = this.grant ?? {};
    if (schemas === undefined) return said;
    const names = (query.parameter(RESTRICTION) ?? "").split(",").map((name) => name.trim());
    const asked = names.filter((name) => name !== "" && name !== "*");
    this.#checkTypes(asked);
    return [...said, [RESTRICTION, (asked.length === 0 ? schemas : asked).join(",")]];
  }

  #noted<Result>(action: NotedAction, work: () => Promise<Result>): Promise<Result> {
    return this.#watch === undefined ? work() : this.#watch.noted(action).then(work);
  }

  /** Whether any partition may be reached. */
  get #isFree(): boolean {
    return this.grant === undefined && this.#bounds.group === undefined;
  }

  #has(verb: Verb): boolean {
    return this.grant === undefined || this.grant.verbs.includes(verb);
  }

  /** Throws unless a partition may be reached; nothing: all of them. */
  #checkKey(key: PartitionKey | undefined): void {
    if (this.grant !== undefined && (key === undefined || !this.#keys.has(key))) {
      this.#watch?.refused(key);
      throw outside();
    }
    const { group } = this.#bounds;
    if (group === undefined || key === `g:${group}`) return;
    const asked =
      key === undefined ? "all groups" : key === "d:" ? "documents without a group" : `'${echo(key.slice(2))}'`;
    throw new ServiceError(
      "SCOPE_REFUSED",
      `There is only the group '${echo(group)}' here, and this asks for ${asked}`,
    );
  }

  #checkTypes(types: readonly string[]): void {
    const { schemas } = this.grant ?? {};
    if (schemas !== undefined && !types.every((type) => schemas.includes(shownType(type)))) throw outside();
  }

  #checkScope({ keys }: SearchScope): void {
    if (keys === undefined) this.#checkKey(undefined);
    for (const key of keys ?? []) this.#checkKey(key);
    if (keys === undefined && !this.#bounds.searchOfAll) {
      const message = "A search of all groups is not allowed here: name those to search in streaming.selection";
      throw new ServiceError("SCOPE_REFUSED", message);
    }
  }
}
