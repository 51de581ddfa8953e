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

scope.addEventListener("install", (event) => {
  event.waitUntil(caches.open(VERSION).then((cache) => cache.addAll([...FILES])));
});
scope.addEventListener("activate", (event) => {
  const removeOld = async (): Promise<void> => {
    for (const name of await caches.keys()) if (name !== VERSION) await caches.delete(name);
  };
  event.waitUntil(removeOld());
});
scope.addEventListener("fetch", (event) => {
  const answer = async (): Promise<Response> => (await caches.match(event.request)) ?? (await fetch(event.request));
  event.respondWith(answer());
});
