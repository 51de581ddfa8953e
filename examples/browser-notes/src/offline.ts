/** The service worker: keeps the files of the page, so that it opens without a network. `build.mjs` says which they are. */
declare const FILES: readonly string[];
declare const VERSION: string;

interface Lasting {
  waitUntil(work: Promise<unknown>): void;
}
interface Fetching {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
}
interface Scope {
  addEventListener(type: "install" | "activate", listener: (event: Lasting) => void): void;
  addEventListener(type: "fetch", listener: (event: Fetching) => void): void;
}

const scope = globalThis as unknown as Scope;
/** Caches are those of all pages of an origin: these are ours. */
const OURS = "browser-notes ";
const CACHE = OURS + VERSION;

scope.addEventListener("install", (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll([...FILES])));
});
scope.addEventListener("activate", (event) => {
  const removeOld = async (): Promise<void> => {
    const ours = (await caches.keys()).filter((name) => name.startsWith(OURS));
    for (const name of ours) if (name !== CACHE) await caches.delete(name);
  };
  event.waitUntil(removeOld());
});
scope.addEventListener("fetch", (event) => {
  const answer = async (): Promise<Response> => (await caches.match(event.request)) ?? (await fetch(event.request));
  event.respondWith(answer());
});
