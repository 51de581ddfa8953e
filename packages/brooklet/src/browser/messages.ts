/** What pages and the worker that has the database say to each other. */
import type { BrookletErrorCode } from "@brooklet/client";

/** A request, as `fetch` would be given it. */
export interface Ask {
  readonly kind: "ask";
  readonly number: number;
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
}

/** What a page says to whoever has the database. */
export type ToOwner =
  | Ask
  | { readonly kind: "abort"; readonly number: number }
  /** Asks who has the database. */
  | { readonly kind: "hello" };

/** What a page hears from whoever has the database. */
export type FromOwner =
  | {
      readonly kind: "answer";
      readonly number: number;
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: ArrayBuffer;
    }
  /** Nothing was done: the database is being closed here, and another page will have it. */
  | { readonly kind: "moved"; readonly number: number }
  /** The sender lets go of the database, or has got it and is not ready yet: nobody else is to be asked until somebody serves. */
  | { readonly kind: "closing" | "opening" }
  /** `isNew`, `isFull`: nothing had been deployed there when the sender opened it, or the browser had no room. */
  | { readonly kind: "serving"; readonly isNew: boolean; readonly isFull?: boolean };

/** What goes over the channel that all pages of a database hear. */
export interface Envelope<Message> {
  /** What the sender understands (`PROTOCOL`). */
  readonly protocol: number;
  /** A page, or its worker; or whoever is the owner, or all pages. */
  readonly to: string;
  readonly from: string;
  readonly message: Message;
}

/** Whoever has the database, as an address. */
export const OWNER = "owner";

/** The worker of a page, as an address. */
export function workerOf(page: string): string {
  return `${OWNER} ${page}`;
}

/** All pages, as an address. */
export const EVERYBODY = "everybody";

/** Where files are that the worker needs. */
export interface WorkerAssets {
  readonly core?: string;
  readonly sqlite?: string;
}

/** What the page that starts a worker says to it. */
export type ToWorker =
  | ToOwner
  | {
      readonly kind: "start";
      readonly protocol: number;
      /** The database to open in the browser's storage, and the worker's own address; in memory without. */
      readonly stored?: { readonly name: string; readonly owner: string };
      readonly cacheBytes: number;
      readonly assets: WorkerAssets;
    }
  | { readonly kind: "close" };

/** What the page that started a worker hears of it. */
export type FromWorker =
  | FromOwner
  | { readonly kind: "started"; readonly protocol: number; readonly isNew: boolean; readonly isFull?: boolean }
  /** Another worker has the files, though this page got the lock. */
  | { readonly kind: "waiting" }
  /** The files were removed from below. */
  | { readonly kind: "cleared" }
  /** `lacks`: nothing failed, but the browser has no storage for it. */
  | {
      readonly kind: "failed";
      readonly code: BrookletErrorCode;
      readonly status: number;
      readonly message: string;
      readonly lacks: boolean;
    }
  | { readonly kind: "problem"; readonly problem: unknown }
  | { readonly kind: "closed" };

/** The channel of a database. */
export function channelOf(name: string): string {
  return `brooklet ${name}`;
}
