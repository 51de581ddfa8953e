/** What is used of a browser. Structural types: those of Node and of the DOM are not wanted in one program. */

/** A message that came. */
export interface Arrived {
  readonly data: unknown;
}

/** What messages go through. */
export interface MessageEnd {
  postMessage(message: unknown, transfer?: readonly ArrayBuffer[]): void;
  onmessage: ((event: Arrived) => void) | null;
}

/** A channel between the pages of a site. */
export interface Channel {
  postMessage(message: unknown): void;
  onmessage: ((event: Arrived) => void) | null;
  close(): void;
}

/** A worker, to the page that made it. */
export interface PageWorker extends MessageEnd {
  onerror: ((event: { readonly message?: string; preventDefault?(): void }) => void) | null;
  terminate(): void;
}

/** A file that one script has for itself. */
export interface AccessHandle {
  getSize(): number;
  write(bytes: Uint8Array, options: { readonly at: number }): number;
  truncate(bytes: number): void;
  flush(): void;
  close(): void;
}

/** A file of the browser's storage. */
export interface FileHandle {
  readonly kind: "file";
  createSyncAccessHandle?(): Promise<AccessHandle>;
}

/** A folder of the browser's storage. */
export interface FolderHandle {
  readonly kind: "directory";
  getDirectoryHandle(name: string, options: { readonly create: boolean }): Promise<FolderHandle>;
  getFileHandle(name: string, options: { readonly create: boolean }): Promise<FileHandle>;
  values(): AsyncIterable<FileHandle | FolderHandle>;
}

interface Locks {
  request(name: string, options: { readonly signal?: AbortSignal }, held: () => Promise<void>): Promise<void>;
}

/** What a browser may have or lack. */
export interface Browser {
  readonly isSecureContext?: boolean;
  readonly Worker?: unknown;
  readonly WebAssembly?: object;
  readonly BroadcastChannel?: new (name: string) => Channel;
  readonly navigator?: {
    readonly locks?: Locks;
    readonly storage?: { readonly getDirectory?: () => Promise<FolderHandle> };
  };
}

/** The browser this runs in. */
export const browser: Browser = globalThis as unknown as Browser;

/** What the browser lacks that a stored database needs; nothing if it has all of it. */
export function lackOfStorage({ isSecureContext, navigator, BroadcastChannel: channel }: Browser): string | undefined {
  if (isSecureContext === false) return "the page is not served over https or from localhost";
  if (navigator?.storage?.getDirectory === undefined) return "this browser has no private file system (OPFS)";
  if (navigator.locks === undefined) return "this browser has no Web Locks";
  return channel === undefined ? "this browser has no BroadcastChannel" : undefined;
}

/** Whether a browser says that a page may not: frames of other sites and private windows may keep nothing. */
export function isRefusal(error: unknown): error is Error {
  return (error as { readonly name?: unknown } | undefined)?.name === "SecurityError";
}

/** Why nothing is kept where that is refused. */
export function nothingKept({ message }: Error): string {
  return `the browser lets this page keep nothing (${message})`;
}

/** A channel, where there are any. */
export function openChannel(name: string): Channel {
  const Channel = browser.BroadcastChannel;
  if (Channel === undefined) throw new Error("this browser has no BroadcastChannel");
  return new Channel(name);
}
