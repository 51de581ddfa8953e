/** What the object of a group is made of: what differs from platform to platform. */
import type { SqlConnection } from "@brooklet/store";
import type { BucketHost } from "../bucket-host.ts";
import type { PartitionKey } from "../cluster.ts";
import type { OpenQueries } from "../query/open-queries.ts";
import type { Surroundings } from "../surroundings.ts";
import type { DeployedCore } from "./isolate.ts";
import type { ObjectAdmissionLimits } from "./object-admission.ts";
import type { ObjectPort } from "./object-calls.ts";
import type { ObjectExpiry } from "./object-expiry.ts";

/** The platform's alarm of an object. */
export interface Alarm {
  /** When it rings, milliseconds since the epoch; nothing: it is not set. */
  get(): Promise<number | undefined>;
  set(atMs: number): Promise<void>;
  clear(): Promise<void>;
}

/** What an object is made of. */
export interface GroupObjectOptions {
  readonly key: PartitionKey;
  /** Which of the shards of the group it is; the home by default. */
  readonly shard?: number;
  /** Bytes from which on it is split, if it ever is. */
  readonly shardBytes?: number;
  readonly isolate: DeployedCore;
  readonly connection: SqlConnection;
  /** The table of the group, where the database has others too. */
  readonly table?: string;
  /** Removes everything in the database. */
  readonly removeAll: () => Promise<void>;
  readonly alarm: Alarm;
  readonly port: ObjectPort;
  /** What it takes on at a time, if it is not the default. */
  readonly admission?: ObjectAdmissionLimits;
  /** In which of the directories the group is listed. */
  readonly directory: number;
  readonly surroundings: Surroundings;
  /** Told of every failure that no caller sees. */
  readonly onProblem: (error: unknown) => void;
}

/** What is there from one erasure to the next. */
export interface Served {
  readonly host: BucketHost;
  readonly queries: OpenQueries;
  /** How many there were. */
  queried: number;
  /** The group that is stored here was listed, and it was asked what may be written. */
  isListed: boolean;
  /** What did not rest was looked for since the object has this memory, and this application. */
  isWatched: boolean;
  /** What its application does not keep for good. */
  expiry: ObjectExpiry;
}
