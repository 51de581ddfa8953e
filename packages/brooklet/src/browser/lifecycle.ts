/** When a browser stops a page without ending it: what the page has by then, no other page can have. */

/** An event of a page's life. */
interface LifeEvent {
  /** Whether the page is kept, to be shown again as it was. */
  readonly persisted?: boolean;
}

interface Target {
  addEventListener(kind: string, listener: (event: LifeEvent) => void): void;
  removeEventListener(kind: string, listener: (event: LifeEvent) => void): void;
}

/** Tells when this page is stopped, and when it goes on. What is done when it stops has to be done at once. Ends with what it returns. */
export function followLife(stop: () => void, goOn: () => void): () => void {
  const page = globalThis as unknown as Target & { readonly document?: Target };
  const { document } = page;
  if (document === undefined) return () => undefined;
  const kept =
    (told: () => void) =>
    ({ persisted }: LifeEvent): void => {
      if (persisted === true) told();
    };
  const followed: readonly (readonly [Target, string, (event: LifeEvent) => void])[] = [
    [document, "freeze", stop],
    [document, "resume", goOn],
    [page, "pagehide", kept(stop)],
    [page, "pageshow", kept(goOn)],
  ];
  for (const [target, kind, listener] of followed) target.addEventListener(kind, listener);
  return () => {
    for (const [target, kind, listener] of followed) target.removeEventListener(kind, listener);
  };
}
