/** The page: notes are imported, kept and searched in it, with or without a network. */
import { BrookletError, type ExplainedOperator, type Explanation, FeedError, open } from "brooklet/browser";
import { FACETS, type FiledNote, idOf, note, readNotes } from "./note.ts";

const HITS = 30;
const SNIPPET_CHARACTERS = 220;
/** How often it is told how far an import is. */
const TOLD_MS = 200;
/** After how long it is told how long it takes, too: what is stored is put in order now and then, and no note comes meanwhile. */
const LONG_MS = 2_000;
/** Notes on their way: few, so that those that are told of are kept. */
const UNDER_WAY = 128;
const MEGABYTE = 1e6;

/** What is shown of a note that was found. */
interface Found {
  readonly title: string;
  readonly body: string;
  readonly tags: readonly string[];
  readonly writtenAt: Date;
  readonly why: readonly string[];
}

const byId = <Kind extends HTMLElement>(id: string): Kind => document.getElementById(id) as Kind;
const query = byId<HTMLInputElement>("query");
const count = byId("count");
const results = byId("results");
const facets = byId("facets");
const chosen = new Set<string>();

/** Everything waits for it, and nothing else: what is typed or chosen while it opens is not lost. */
const opened = open({ name: "notes", schemas: [note] });
const mine = opened.then((database) => database.group("me"));
/** Number of the search that was typed last: what an earlier one finds is nobody's any more. */
let latest = 0;

async function search(): Promise<void> {
  latest += 1;
  const number = latest;
  const typed = query.value.trim();
  const result = await (await mine).search(note, {
    ...(typed === "" ? { orderBy: "writtenAt desc" } : { text: { query: typed, asYouType: true }, explain: true }),
    ...(chosen.size === 0 ? {} : { where: (it) => it.tags.is([...chosen][0] ?? "") }),
    facets: FACETS,
    limit: HITS,
  });
  if (number !== latest) return;
  const { totalCount, hits } = result;
  count.textContent = `${totalCount} ${totalCount === 1 ? "note" : "notes"}`;
  byId("empty").hidden = totalCount > 0 || typed !== "" || chosen.size > 0;
  showTags(result.facets.tags.map(({ value, count: notes }) => tagButton(value, notes)));
  const words = typed.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  results.replaceChildren(
    ...hits.map((hit) => item({ ...hit.fields, why: typed === "" ? [] : reasons(hit.explain()) }, words)),
  );
}

/** Shows the tags in place of those before. Who was at one of them with the keyboard is there again. */
function showTags(buttons: readonly HTMLElement[]): void {
  const { activeElement } = document;
  const tag = facets.contains(activeElement) ? (activeElement as HTMLElement).dataset["tag"] : undefined;
  facets.replaceChildren(...buttons);
  if (tag !== undefined) buttons.find(({ dataset }) => dataset["tag"] === tag)?.focus();
}

function tagButton(tag: string, notes: number): HTMLElement {
  const button = make("button", `${tag} `, make("span", String(notes)));
  button.dataset["tag"] = tag;
  button.setAttribute("aria-pressed", String(chosen.has(tag)));
  button.addEventListener("click", () => {
    const wasChosen = chosen.has(tag);
    chosen.clear();
    if (!wasChosen) chosen.add(tag);
    show();
  });
  return button;
}

function item({ title, body, tags, writtenAt, why }: Found, words: readonly string[]): HTMLElement {
  const day = make("time", writtenAt.toLocaleDateString(undefined, { dateStyle: "medium" }));
  const about = make("p", day, ...tags.map((tag) => make("span", `#${tag}`)));
  about.className = "about";
  const texts = [make("h2", ...markWords(title, words)), make("p", ...markWords(snippet(body, words), words))];
  // A note is written from where its language begins, whatever that of the page is.
  for (const text of texts) text.dir = "auto";
  const parts = [...texts, about];
  if (why.length > 0) {
    const list = make("ul", ...why.map((reason) => make("li", reason)));
    parts.push(make("details", make("summary", "Why this note"), list));
  }
  return make("li", ...parts);
}

/** The part of a text around the first word that was looked for. */
function snippet(text: string, words: readonly string[]): string {
  const found = Math.min(...words.map((word) => text.toLowerCase().indexOf(word)).filter((place) => place >= 0));
  const begin = Number.isFinite(found) ? Math.max(0, found - SNIPPET_CHARACTERS / 3) : 0;
  const piece = text.slice(begin, begin + SNIPPET_CHARACTERS);
  return `${begin > 0 ? "… " : ""}${piece}${begin + piece.length < text.length ? " …" : ""}`;
}

function markWords(text: string, words: readonly string[]): (string | HTMLElement)[] {
  const isLookedFor = (part: string): boolean => words.some((word) => part.toLowerCase().startsWith(word));
  return text.split(/([\p{L}\p{N}]+)/u).map((part) => (isLookedFor(part) ? make("mark", part) : part));
}

/** Why a note was found, in words. */
function reasons({ query: asked }: Explanation): string[] {
  const found = new Set<string>();
  const look = ({ fields = [], children = [] }: ExplainedOperator): void => {
    for (const { asks, field, matched } of fields)
      if (matched && (field === "title" || field === "body")) found.add(`${asks} in the ${field}`);
    children.forEach(look);
  };
  look(asked);
  return [...found];
}

/** Imports, one after the other: what is told of one is not told of another. */
let importing: Promise<void> = Promise.resolve();
let isStopped = false;
/** How far the import is. */
let progress = "";

/** Tells how far an import that began then is. */
function tell(beganMs: number): void {
  const tookMs = performance.now() - beganMs;
  byId("told").textContent = tookMs < LONG_MS ? progress : `${progress} ${Math.floor(tookMs / 1_000)} s`;
}

function add(read: () => Promise<readonly FiledNote[]>): void {
  importing = importing.then(() => importNotes(read));
}

async function importNotes(read: () => Promise<readonly FiledNote[]>): Promise<void> {
  const stop = byId<HTMLButtonElement>("stop");
  isStopped = false;
  progress = "Reading …";
  stop.hidden = false;
  const beganMs = performance.now();
  const timer = setInterval(tell, TOLD_MS, beganMs);
  let notes: readonly FiledNote[] = [];
  try {
    const reading = read();
    tell(beganMs);
    notes = await reading;
    const { applied } = await (await mine).feed(note, documentsOf(notes), { concurrency: UNDER_WAY });
    const some = `${applied} of ${notes.length} notes imported. Stopped.`;
    byId("told").textContent =
      applied < notes.length ? some : `${applied} ${applied === 1 ? "note" : "notes"} imported.`;
  } catch (error) {
    const { applied, reason } = failureOf(error);
    byId("told").textContent = applied > 0 ? `${applied} of ${notes.length} notes imported. ${reason}` : reason;
  }
  clearInterval(timer);
  // Who stopped it with the keyboard goes on where it was begun.
  if (document.activeElement === stop) byId("file").focus();
  stop.hidden = true;
  await search().catch((error: unknown) => {
    count.textContent = (error as Error).message;
  });
}

/** What is fed of notes, as it is wanted: it ends when it is stopped, and what was begun by then is imported. */
async function* documentsOf(notes: readonly FiledNote[]): AsyncGenerator<{ id: string; fields: FiledNote }> {
  for (const [number, fields] of notes.entries()) {
    if (isStopped) return;
    progress = `Importing: ${number} of ${notes.length} …`;
    yield { id: await idOf(fields), fields };
  }
}

/** How many notes were imported all the same, and why not all. */
function failureOf(error: unknown): { readonly applied: number; readonly reason: string } {
  const failed = error instanceof FeedError ? error.failures[0]?.error : error;
  const isFull = BrookletError.is(failed) && failed.code === "INSUFFICIENT_STORAGE";
  const reason = isFull ? "This browser has no room for more notes." : (error as Error).message;
  return { applied: error instanceof FeedError ? error.applied : 0, reason };
}

function make(name: string, ...children: (string | HTMLElement)[]): HTMLElement {
  const element = document.createElement(name);
  element.append(...children);
  return element;
}

function show(): void {
  search().catch((error: unknown) => {
    count.textContent = (error as Error).message;
  });
}

query.addEventListener("input", show);
byId<HTMLInputElement>("file").addEventListener("change", ({ target }) => {
  const input = target as HTMLInputElement;
  const files = [...(input.files ?? [])];
  // The same file can be chosen again, as it is by then.
  input.value = "";
  add(() => notesOf(files));
});
byId("stop").addEventListener("click", () => {
  isStopped = true;
});
byId("sample").addEventListener("click", () => add(sampleNotes));

async function notesOf(files: readonly File[]): Promise<FiledNote[]> {
  const notes: FiledNote[][] = [];
  const allBytes = files.reduce((sum, { size }) => sum + size, 0);
  let before = 0;
  for (const file of files) {
    const goesOn = (bytes: number): boolean => {
      const [read, all] = [before + bytes, allBytes].map((one) => (one / MEGABYTE).toFixed(1));
      progress = `Reading: ${read} of ${all} MB …`;
      return !isStopped;
    };
    notes.push(await readNotes(file, file.name, new Date(file.lastModified), goesOn));
    before += file.size;
  }
  return notes.flat();
}

async function sampleNotes(): Promise<readonly FiledNote[]> {
  const sample = await fetch("sample.txt").catch(() => undefined);
  if (sample?.ok !== true) throw new Error("The sample cannot be reached.");
  return await readNotes(await sample.blob(), "sample", new Date());
}

const database = await opened.catch((error: unknown) => {
  count.textContent = (error as Error).message;
  throw error;
});
const kept = database.isStored ? ["Kept in this browser, searched in this page."] : [];
byId("kept").textContent = [...kept, ...database.warnings].join(" ");
await search();
// The files of the page themselves are kept by a service worker, so that it also opens without a network.
await navigator.serviceWorker?.register("offline.js").catch(() => undefined);
