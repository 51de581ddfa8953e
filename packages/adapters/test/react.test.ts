/** `useSearch` in the real React and a document of happy-dom, against a server whose answers are held back as a test likes. */
import type * as Brooklet from "brooklet";
import { Window } from "happy-dom";
import type * as ReactModule from "react";
import { afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";

const built = new URL("../../brooklet/dist/index.js", import.meta.url).href;
const { connect, facet, int, open, schema, serve, string, text } = (await import(built)) as typeof Brooklet;

const note = schema("note", { body: text(), kind: string(), year: int() });

// Only what React asks of a browser: a database in the same process keeps the platform's fetch.
const window = new Window();
const browser = { window, document: window.document, navigator: window.navigator, IS_REACT_ACT_ENVIRONMENT: true };
for (const [name, value] of Object.entries(browser)) {
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}
const React: typeof ReactModule = await import("react");
const { renderToString } = await import("react-dom/server");
const { act, cleanup, configure, render, renderHook, waitFor } = await import("@testing-library/react");
// However busy the machine is: what is waited for comes, or the test's own time is over.
configure({ asyncUtilTimeout: 300_000 });
const { useSearch } = await import("../src/react.ts");

afterEach(cleanup);

/** A request on its way to the server. */
interface Sent {
  readonly body: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
  readonly release: () => void;
  /** Until its answer is there, or it failed. */
  readonly settled: Promise<void>;
}

let url: string;
beforeAll(async () => {
  const server = await serve({ port: 0, threads: 0 });
  url = server.url;
  const client = connect({ url });
  await client.deploy([note]);
  await client.group("alice").feed(note, [
    { id: "a", fields: { body: "an invoice", kind: "mail", year: 2001 } },
    { id: "b", fields: { body: "an invitation", kind: "mail", year: 2002 } },
  ]);
  await client.group("bob").feed(note, [{ id: "c", fields: { body: "the invoice of Bob", kind: "chat", year: 2003 } }]);
  return () => server.close();
});

/** A client whose searches are listed, and wait to be released if they are to. */
function watched(isHeld = false) {
  const sent: Sent[] = [];
  const client = connect({
    url,
    retry: { attempts: 1 },
    fetch: async (address, init) => {
      let release = (): void => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      const signal = init.signal ?? new AbortController().signal;
      const answer = (isHeld ? released : Promise.resolve()).then(() => fetch(address, init));
      const settled = answer.then(
        () => undefined,
        () => undefined,
      );
      sent.push({ body: JSON.parse(String(init.body)), signal, release, settled });
      return await answer;
    },
  });
  return { sent, client };
}

/** How many searches a change begins: each is planned when the effects of the change are done, which is before this returns. */
function searchesBegunBy(change: () => unknown): number {
  const planned = vi.spyOn(globalThis, "setTimeout");
  try {
    change();
    return planned.mock.calls.length;
  } finally {
    planned.mockRestore();
  }
}

const ids = (hits: readonly { readonly id: string }[]): string[] => hits.map(({ id }) => id);
const letters = (query: string) => ({ text: { query, asYouType: true } }) as const;

describe("useSearch", () => {
  test("searches once for what is the same, however often it renders", async () => {
    const { sent, client } = watched();
    const { result, rerender } = renderHook(() =>
      // Group, options and callbacks are others at every render.
      useSearch(client.group("alice"), note, { text: "invoice", where: (it) => it.year.ge(2000) }),
    );
    expect(result.current).toMatchObject({ isSearching: true, result: undefined, hits: [], error: undefined });
    await waitFor(() => expect(ids(result.current.hits)).toEqual(["a"]));
    expect(searchesBegunBy(() => [rerender(), rerender()])).toBe(0);
    expect(sent).toHaveLength(1);
    expect(result.current).toMatchObject({ isSearching: false, result: { totalCount: 1 } });
    act(() => result.current.repeat());
    expect(result.current).toMatchObject({ isSearching: true, hits: [{ id: "a" }] });
    await waitFor(() => expect(result.current.isSearching).toBe(false));
    expect(sent).toHaveLength(2);
  });

  test("waits for the last letter, and keeps the last answer until the next", async () => {
    const { sent, client } = watched();
    const group = client.group("alice");
    const { result, rerender } = renderHook(({ typed }) => useSearch(group, note, letters(typed), { debounceMs: 60 }), {
      initialProps: { typed: "inv" },
    });
    await waitFor(() => expect(ids(result.current.hits).sort()).toEqual(["a", "b"]));
    for (const typed of ["invo", "invoi", "invoic"]) rerender({ typed });
    expect(result.current.isSearching).toBe(true);
    expect(ids(result.current.hits).sort()).toEqual(["a", "b"]);
    await waitFor(() => expect(ids(result.current.hits)).toEqual(["a"]));
    expect(sent).toHaveLength(2);
    expect(JSON.stringify(sent[1]?.body)).toContain("invoic");
  });

  test("aborts what is outdated, and takes no answer of it", async () => {
    const { sent, client } = watched(true);
    const group = client.group("alice");
    const { result, rerender, unmount } = renderHook(
      ({ typed }) => useSearch(group, note, { text: typed }, { debounceMs: 0 }),
      { initialProps: { typed: "invitation" } },
    );
    await waitFor(() => expect(sent).toHaveLength(1));
    rerender({ typed: "invoice" });
    await waitFor(() => expect(sent).toHaveLength(2));
    expect(sent.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    sent[1]?.release();
    await waitFor(() => expect(ids(result.current.hits)).toEqual(["a"]));
    sent[0]?.release();
    await sent[0]?.settled;
    // What comes of it is done by the end of this turn.
    await act(() => new Promise((resolve) => setImmediate(resolve)));
    expect(ids(result.current.hits)).toEqual(["a"]);
    expect(result.current.error).toBeUndefined();
    rerender({ typed: "nothing" });
    await waitFor(() => expect(sent).toHaveLength(3));
    unmount();
    expect(sent[2]?.signal.aborted).toBe(true);
  });

  test("shows nothing of one group while it searches another", async () => {
    const { sent, client } = watched(true);
    const { result, rerender } = renderHook(
      ({ name }: { readonly name: string | undefined }) =>
        useSearch(name === undefined ? undefined : client.group(name), note, { text: "invoice" }),
      { initialProps: { name: "alice" as string | undefined } },
    );
    await waitFor(() => expect(sent).toHaveLength(1));
    sent[0]?.release();
    await waitFor(() => expect(ids(result.current.hits)).toEqual(["a"]));
    rerender({ name: "bob" });
    expect(result.current).toMatchObject({ hits: [], result: undefined, isSearching: true });
    await waitFor(() => expect(sent).toHaveLength(2));
    sent[1]?.release();
    await waitFor(() => expect(ids(result.current.hits)).toEqual(["c"]));
    rerender({ name: undefined });
    expect(result.current).toMatchObject({ hits: [], result: undefined, isSearching: false });
  });

  test("tells errors, keeps the last answer beside them, and forgets them", async () => {
    const { client } = watched();
    const group = client.group("alice");
    const { result, rerender } = renderHook(
      ({ field }) => useSearch(group, note, { where: (it) => it[field].ge(2000) }, { debounceMs: 0 }),
      { initialProps: { field: "year" as const } },
    );
    await waitFor(() => expect(result.current.hits).toHaveLength(2));
    rerender({ field: "yaer" as "year" });
    await waitFor(() => expect(result.current.error?.message).toMatch(/schema note has no field 'yaer'/));
    expect(result.current).toMatchObject({ isSearching: false, hits: [{}, {}] });
    rerender({ field: "year" });
    await waitFor(() => expect(result.current.error).toBeUndefined());
    const nobody = connect({ url: "http://127.0.0.1:9", retry: { attempts: 1 } }).group("alice");
    const lost = renderHook(() => useSearch(nobody, note, { text: "x" }));
    await waitFor(() => expect(lost.result.current.error).toMatchObject({ code: "UNREACHABLE" }));
  });

  test("begins with the answer of the server, without asking again, and pauses", async () => {
    const { sent, client } = watched();
    const group = client.group("alice");
    const options = { text: "invoice", facets: { kinds: facet("kind") } } as const;
    const initial = await group.search(note, options);
    expect(sent).toHaveLength(1);
    const { result, rerender } = renderHook(
      ({ typed, enabled }) => useSearch(group, note, { ...options, text: typed }, { initial, enabled, debounceMs: 0 }),
      { initialProps: { typed: "invoice", enabled: true } },
    );
    expect(result.current).toMatchObject({ isSearching: false, hits: [{ id: "a" }] });
    expect(searchesBegunBy(() => rerender({ typed: "invitation", enabled: false }))).toBe(0);
    expect(sent).toHaveLength(1);
    expect(result.current).toMatchObject({ isSearching: false, hits: [{ id: "a" }] });
    rerender({ typed: "invitation", enabled: true });
    await waitFor(() => expect(ids(result.current.hits)).toEqual(["b"]));
    expect(result.current.result?.facets.kinds).toEqual([{ value: "mail", count: 1 }]);
  });

  test("renders on a server, where it searches nothing", async () => {
    const { sent, client } = watched();
    const group = client.group("alice");
    const initial = await group.search(note, { text: "invoice" });
    function List({ given }: { readonly given?: typeof initial }) {
      const { hits, isSearching } = useSearch(
        group,
        note,
        { text: "invoice" },
        given === undefined ? {} : { initial: given },
      );
      return React.createElement("p", null, isSearching ? "…" : hits.map(({ fields }) => fields.body).join());
    }
    expect(renderToString(React.createElement(List))).toBe("<p>…</p>");
    expect(renderToString(React.createElement(List, { given: initial }))).toBe("<p>an invoice</p>");
    const container = document.createElement("div");
    container.innerHTML = renderToString(React.createElement(List, { given: initial }));
    document.body.append(container);
    render(React.createElement(List, { given: initial }), { container, hydrate: true });
    expect(container.textContent).toBe("an invoice");
    expect(sent).toHaveLength(1);
  });

  test("asks once in strict mode", async () => {
    const { sent, client } = watched();
    const group = client.group("alice");
    const { result } = renderHook(() => useSearch(group, note, { text: "invoice" }), { wrapper: React.StrictMode });
    await waitFor(() => expect(ids(result.current.hits)).toEqual(["a"]));
    expect(sent).toHaveLength(1);
  });

  test("is typed by the schema, and works in the process too", async () => {
    const database = await open({ schemas: [note] });
    onTestFinished(() => database.close());
    const group = database.group("alice");
    await group.put(note, "x", { body: "here", kind: "mail", year: 1 });
    const { result } = renderHook(() => useSearch(group, note, { text: "here", fields: ["year"] }));
    await waitFor(() => expect(result.current.hits).toHaveLength(1));
    const year: number | undefined = result.current.hits[0]?.fields.year;
    expect(year).toBe(1);
    // @ts-expect-error a field that was not asked for
    expect(result.current.hits[0]?.fields.kind).toBeUndefined();
    // @ts-expect-error facets that were not asked for
    expect(result.current.result?.facets).toBeUndefined();
  });
});
