/** The page: where one is, what is chosen at its side, and the keys. */
import { type JSX, render } from "preact";
import { useCallback, useEffect, useState } from "preact/hooks";
import { Activity } from "./activity.tsx";
import { Documents } from "./documents.tsx";
import { FeedView } from "./feed.tsx";
import { moveSelection, useKeys } from "./keys.ts";
import { Empty, messageOf, Problem } from "./parts.tsx";
import { SchemaView } from "./schema.tsx";
import { type Schema, schemaOf } from "./sd.ts";
import { SearchView } from "./search.tsx";
import { Side } from "./side.tsx";
import { key, onLocked, packageFiles, Refusal, setKey } from "./wire.ts";

/** After what time a server that did not answer is asked again. */
const AGAIN_MS = 2_000;
const VIEWS = ["search", "documents", "schema", "feed", "activity"] as const;
type View = (typeof VIEWS)[number];

interface Place {
  readonly view: View;
  readonly schema: string;
  readonly group: string;
}

function placeOfAddress(): Place {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const words = new URLSearchParams(query);
  const view = VIEWS.find((one) => one === path) ?? "search";
  return { view, schema: words.get("schema") ?? "", group: words.get("group") ?? "" };
}

/** A key that the address has is kept for this tab, and taken out of the address. */
function keyOfAddress(): void {
  const given = /^#key=([^&]+)/.exec(location.hash)?.[1];
  if (given === undefined) return;
  setKey(decodeURIComponent(given));
  history.replaceState(null, "", location.pathname);
}

interface Deployed {
  /** The files of the package; nothing: they have not been read. */
  readonly files: ReadonlyMap<string, string> | undefined;
  readonly problem: string;
  readonly isLocked: boolean;
  readonly load: () => Promise<void>;
}

/** What is deployed, which is asked for again while the server is away. */
function useDeployed(): Deployed {
  const [files, setFiles] = useState<ReadonlyMap<string, string>>();
  const [problem, setProblem] = useState("");
  const [isLocked, setLocked] = useState(false);
  // How often it was asked while the server was away; 0: it is there, or says itself what is wrong.
  const [timesAway, setTimesAway] = useState(0);

  const load = useCallback(async () => {
    try {
      setFiles(await packageFiles());
      setProblem("");
      setLocked(false);
      setTimesAway(0);
    } catch (error) {
      const isAway = error instanceof Refusal && (error.status === 0 || error.status >= 500);
      setTimesAway((times) => (isAway ? times + 1 : 0));
      if (error instanceof Refusal && (error.status === 401 || error.status === 403)) setLocked(true);
      setProblem(messageOf(error));
    }
  }, []);
  useEffect(() => void load(), [load]);
  useEffect(() => {
    if (timesAway === 0) return;
    const timer = setTimeout(() => void load(), AGAIN_MS);
    return () => clearTimeout(timer);
  }, [load, timesAway]);
  useEffect(() => onLocked(() => setLocked(true)), []);
  return { files, problem, isLocked, load };
}

function Shell(): JSX.Element {
  const [place, setPlace] = useState(placeOfAddress);
  const [isHelping, setHelping] = useState(false);
  const { files, problem, isLocked, load } = useDeployed();
  useEffect(() => {
    const words = new URLSearchParams();
    if (place.schema !== "") words.set("schema", place.schema);
    if (place.group !== "") words.set("group", place.group);
    history.replaceState(null, "", `#/${place.view}${words.size === 0 ? "" : `?${words}`}`);
  }, [place]);
  useKeys({
    "?": () => setHelping(true),
    "/": () => document.querySelector<HTMLInputElement>("[data-search]")?.focus(),
    j: () => moveSelection(1),
    k: () => moveSelection(-1),
    ...Object.fromEntries(VIEWS.map((view, index) => [String(index + 1), () => setPlace((now) => ({ ...now, view }))])),
  });

  const schemas = [...(files ?? [])].flatMap(([path, text]) => schemaOf(path, text) ?? []);
  const schema = schemas.find(({ name }) => name === place.schema) ?? schemas[0];
  const change = (part: Partial<Place>): void => setPlace((now) => ({ ...now, ...part }));
  return (
    <div class="shell">
      <Top view={place.view} onView={(view) => change({ view })} onHelp={() => setHelping(true)} />
      <Side
        schemas={schemas}
        schema={schema}
        group={place.group}
        onChange={change}
        isReady={!isLocked && files !== undefined}
      />
      <main class="main" id="main">
        {isLocked ? (
          <Unlock message={problem} onKey={load} />
        ) : (
          <>
            <Problem message={problem} />
            {files !== undefined && (
              <Viewed place={place} schema={schema} files={files} onDeployed={load} onChange={change} />
            )}
          </>
        )}
      </main>
      {isHelping && <Help onClose={() => setHelping(false)} />}
    </div>
  );
}

interface ViewedProps {
  readonly place: Place;
  readonly schema: Schema | undefined;
  readonly files: ReadonlyMap<string, string>;
  readonly onDeployed: () => Promise<void>;
  readonly onChange: (part: Partial<Place>) => void;
}

function Viewed({ place, schema, files, onDeployed, onChange }: ViewedProps): JSX.Element {
  // Here, because the view of a first schema becomes that of a schema with a name when it is deployed.
  const [told, setTold] = useState("");
  useEffect(() => setTold(""), [place.view, place.schema]);
  if (place.view === "activity") return <Activity />;
  if (place.view === "feed") return <FeedView onGroup={(group) => onChange({ group, view: "search" })} />;
  if (place.view === "schema")
    return (
      <SchemaView
        key={schema?.name}
        schema={schema}
        files={files}
        told={told}
        onTold={setTold}
        onDeployed={onDeployed}
      />
    );
  if (schema === undefined)
    return (
      <Empty title="Nothing is deployed yet">
        Write a schema under <b>Schema</b>, or start the server with <code>--app</code>.
      </Empty>
    );
  if (place.group === "")
    return (
      <Empty title="Choose a group">
        Every search is of one group. Its name stands at the side; feed a file under <b>Feed</b> where there is none.
      </Empty>
    );
  const View = place.view === "documents" ? Documents : SearchView;
  return <View key={`${schema.name} ${place.group}`} schema={schema} group={place.group} />;
}

function Top({
  view,
  onView,
  onHelp,
}: {
  readonly view: View;
  readonly onView: (view: View) => void;
  readonly onHelp: () => void;
}): JSX.Element {
  return (
    <header class="top">
      <h1 class="brand">
        <svg viewBox="0 0 16 16" fill="none" stroke-width="1.8" stroke-linecap="round" aria-hidden="true">
          <path d="M1 5c3-4 5 4 8 0s4 1 6 0M1 11c3-4 5 4 8 0s4 1 6 0" />
        </svg>
        brooklet
      </h1>
      <nav class="tabs" aria-label="Views">
        {VIEWS.map((one) => (
          <button type="button" key={one} aria-current={one === view ? "page" : undefined} onClick={() => onView(one)}>
            {one.charAt(0).toUpperCase() + one.slice(1)}
          </button>
        ))}
      </nav>
      <button type="button" class="plain" aria-label="Keys" onClick={onHelp}>
        <kbd>?</kbd>
      </button>
    </header>
  );
}

function Unlock({ message, onKey }: { readonly message: string; readonly onKey: () => Promise<void> }): JSX.Element {
  const [text, setText] = useState(key());
  const [isTried, setTried] = useState(false);
  const unlock = async (event: Event): Promise<void> => {
    event.preventDefault();
    setKey(text.trim());
    await onKey();
    setTried(true);
  };
  return (
    <form class="drop" onSubmit={(event) => void unlock(event)}>
      <h2>This server asks for a key</h2>
      <p class="quiet">It is kept for this tab, and sent to this server only. The console is for admin keys.</p>
      <label class="bar">
        <span>Key</span>
        <input
          class="field grow"
          type="password"
          value={text}
          autocomplete="off"
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="button first">
        Open
      </button>
      {isTried && <Problem message={message} />}
    </form>
  );
}

const KEYS: readonly (readonly [string, string])[] = [
  ["/", "to the search box"],
  ["j, k", "the next hit, the one before"],
  ["Enter", "open it"],
  ["Esc", "close what is open"],
  ["1 … 5", "the views"],
  ["?", "this list"],
];

function Help({ onClose }: { readonly onClose: () => void }): JSX.Element {
  return (
    <dialog
      ref={(element) => void (element?.open === false && element.showModal())}
      onClose={onClose}
      aria-label="Keys"
    >
      <h2>Keys</h2>
      <dl>
        {KEYS.map(([name, does]) => (
          <>
            <dt>
              <kbd>{name}</kbd>
            </dt>
            <dd>{does}</dd>
          </>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit" class="button">
          Close
        </button>
      </form>
    </dialog>
  );
}

keyOfAddress();
render(<Shell />, document.body);
