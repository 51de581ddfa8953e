/**
 * Retrieval: a search of one group, or several, become one list of passages. Documents have the score of their search, or
 * that of a fusion; their texts are cut into passages, or taken in the chunks they are stored in; near-duplicates folded;
 * and the best taken until the tokens are spent. The same documents and the same question give the same passages, whatever comes first over the wire.
 */
import { membersThere } from "@brooklet/wire";
import { BudgetedText, checkedCounter } from "./budgeted-text.ts";
import { ChatError } from "./chat-error.ts";
import { passageRanges, type Range, shortenRange, trimRange } from "./cutting.ts";
import { compareText, type Fused, type Fusion, fuse } from "./fusion.ts";
import { type Fingerprint, fingerprint, isNearDuplicate } from "./near-duplicate.ts";
import type { Passage, PassageScores } from "./passage.ts";
import { type Reranker, timedReranker } from "./reranker.ts";
import { type TokenCounter, tokensAtMost } from "./token-budget.ts";
import { wordScores } from "./words.ts";

/** A text of a document, or one element of a list of texts. */
export interface StoredText {
  readonly field: string;
  readonly element?: number;
  readonly text: string;
  /** The ranges it was cut into when it was stored; it is cut here if there are none. */
  readonly ranges?: readonly Range[];
  /** How good each range is, by their order, if a ranking said so. */
  readonly rangeScores?: readonly number[];
}

/** A document that a search found. */
export interface FoundTexts {
  readonly documentId: string;
  readonly relevance: number;
  readonly texts: readonly StoredText[];
}

/** From where on passages are worth being read: what is below all that is said is left out. */
export interface PassageFloor {
  /** As a share of the best passage's score. */
  readonly share: number;
  /** As a score. */
  readonly score?: number;
}

/**
 * The floor of searches that rank as `schema()` does by words and a vector, whose score is a mean of what words and cosine say.
 * Chosen on the judged sets (docs/decisions/0039).
 */
export const HYBRID_FLOOR: PassageFloor = { share: 0.5, score: 0.12 };

/** The floor of searches by words: it takes no answer from the first ten of any judged set. */
export const WORDS_FLOOR: PassageFloor = { share: 0.1 };

/** What the searches of a fusion count unless it is said: the same. */
export function weightOf(fusion: Fusion = "relativeScore"): number {
  return fusion === "reciprocalRank" ? 1 : 0.5;
}

/** A search for candidates. Where there are several, they are fused. */
export interface RetrievalSearch {
  /** `hybrid`, `text`, `vector`: what scores are told by. */
  readonly name: string;
  /** How much it counts among others; 1 by default. */
  readonly weight?: number;
  /** From where on its passages are worth being read, where it is the only one and its scores can tell it. */
  readonly floor?: PassageFloor;
  /** A page of its hits, the best first; fewer than asked for if there are no more. */
  run(page: { readonly limit: number; readonly offset: number }): Promise<readonly FoundTexts[]>;
}

/** What to take. */
export interface RetrievalOptions {
  /** Passages at most; 8 by default. */
  readonly passages?: number;
  /** Passages of one document at most; 2 by default. */
  readonly passagesOfDocument?: number;
  /** Tokens of all passages together at most, joined by empty lines; 12,000 by default. */
  readonly tokens?: number;
  /** Counts tokens; without it every byte counts as one, which is never too few. */
  readonly countTokens?: TokenCounter;
  /**
   * Documents that each search looks at first: by default 16, or as many as `passages`, of one search, and 50 where several
   * are fused or passages are reranked. More are fetched where near-duplicates fill the place.
   */
  readonly candidates?: number;
  /**
   * Leaves out passages with less than this share of the best one's score; 0 keeps all. Unless it is said, searches that rank
   * as `schema()` does have a floor that keeps unrelated passages from the model, and other rankings have none. A reranker is
   * given what is above it; without being said there is none then.
   */
  readonly floor?: number;
  /** About how long passages are that are cut here, in characters; 600 by default. */
  readonly passageLength?: number;
  /** How several searches become one ranking; by relative scores unless it is said. */
  readonly fusion?: Fusion;
  /** Orders the best candidates anew. */
  readonly rerank?: Reranker;
  /** How many candidates it is given; 30 by default. */
  readonly rerankCount?: number;
  /** Time each search may take, and the reranker; without it a search has 5 s, and a reranker its own time, 5 min at most. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** What was retrieved. */
export interface Retrieved {
  readonly passages: readonly Passage[];
  /** What the passages take, counted as the options say. */
  readonly tokens: number;
}

const DEFAULTS = {
  passages: 8,
  passagesOfDocument: 2,
  tokens: 12_000,
  countTokens: tokensAtMost,
  passageLength: 600,
  rerankCount: 30,
  timeoutMs: 300_000,
  fusion: "relativeScore",
} as const;

/** Documents of one search that are looked at first; more are worth it only where they are ordered anew. */
const CANDIDATES = 16;
const CANDIDATES_FUSED = 50;

/** Hits of one page, and how deep it is looked, since servers limit both. */
const PAGE_MAX = 400;
const DEPTH_DOCUMENTS_MAX = 1_000;

/** A passage while it is compared with others. */
interface Candidate {
  readonly document: Fused;
  readonly stored: StoredText;
  readonly range: Range;
  readonly text: string;
  /** What a ranking said of the range, and what the words of the question say. */
  readonly rangeScore: number | undefined;
  wordScore: number;
  share: number;
  rerank?: number;
  /** Documents with a passage like it, once there is one. */
  duplicates: Set<string> | undefined;
}

/** Searches, and gives the passages for a question. */
export async function retrieve(
  question: string,
  searches: readonly RetrievalSearch[],
  options: RetrievalOptions = {},
): Promise<Retrieved> {
  const settings = settingsOf(options, searches);
  checkCounts(settings);
  const gathering = new Gathering(searches, settings);
  for (;;) {
    await gathering.next();
    options.signal?.throwIfAborted();
    const found = candidatesOf(question, gathering, settings);
    const floor = floorOf(found, searches, settings);
    const candidates = floor <= 0 ? found : found.filter((candidate) => scoreOf(candidate) >= floor);
    const kept = foldDuplicates(candidates, settings);
    // Copies of one text may fill the first pages: what else there is must still be reached.
    const isEnough = gathering.isOver(floor) || kept.length >= Math.min(candidates.length, candidateCount(settings));
    if (!isEnough) continue;
    const ordered = await rerankCandidates(question, kept, settings);
    return withinBudget(ordered, settings);
  }
}

type Optional = "rerank" | "signal" | "floor";
type Settings = Required<Omit<RetrievalOptions, Optional>> & Pick<RetrievalOptions, Optional>;

function settingsOf(options: RetrievalOptions, searches: readonly RetrievalSearch[]): Settings {
  const { passages = DEFAULTS.passages, rerank } = options;
  const isOne = searches.length < 2 && rerank === undefined;
  const candidates = isOne ? Math.max(CANDIDATES, passages) : CANDIDATES_FUSED;
  return { ...DEFAULTS, candidates, ...membersThere(options) };
}

function checkCounts(settings: Settings): void {
  for (const name of ["passages", "passagesOfDocument", "candidates", "passageLength", "rerankCount"] as const) {
    const value = settings[name];
    if (!(Number.isInteger(value) && value > 0)) throw new RangeError(`${name} is ${value}: give a positive integer`);
  }
  if (!["relativeScore", "reciprocalRank"].includes(settings.fusion)) {
    throw new RangeError(`fusion is '${settings.fusion}': give 'relativeScore' or 'reciprocalRank'`);
  }
  const { floor = 0 } = settings;
  if (!(floor >= 0 && floor <= 1)) throw new RangeError(`floor is ${floor}: give a share from 0 to 1`);
  if (!(settings.tokens >= 0)) throw new RangeError(`tokens is ${settings.tokens}: give a number that is not negative`);
}

function candidateCount({ passages, rerank, rerankCount }: Settings): number {
  return rerank === undefined ? passages : Math.max(passages, rerankCount);
}

/** The hits of all searches, page by page. */
class Gathering {
  readonly #searches: readonly { readonly search: RetrievalSearch; readonly hits: FoundTexts[]; over: boolean }[];
  readonly #fusion: Fusion;
  #limit: number;

  constructor(searches: readonly RetrievalSearch[], { candidates, fusion }: Settings) {
    this.#searches = searches.map((search) => ({ search, hits: [], over: false }));
    this.#fusion = fusion;
    this.#limit = Math.min(candidates, PAGE_MAX);
  }

  /** Whether there is nothing further, or nothing of which a passage could reach the floor. */
  isOver(floor: number): boolean {
    const [first, ...others] = this.#searches;
    // Hits come in the order of their scores, and no passage has more than its document.
    const last = others.length === 0 ? first?.hits.at(-1)?.relevance : undefined;
    if (last !== undefined && last >= 0 && last < floor) return true;
    return this.#searches.every(({ over }) => over);
  }

  /** Fetches the next page of every search that has one. */
  async next(): Promise<void> {
    const limit = this.#limit;
    await Promise.all(
      this.#searches.map(async (of) => {
        if (of.over) return;
        const offset = of.hits.length;
        const page = await of.search.run({ limit, offset });
        of.hits.push(...page);
        of.over = page.length < limit || of.hits.length > DEPTH_DOCUMENTS_MAX;
      }),
    );
    this.#limit = PAGE_MAX;
  }

  documents(): readonly Fused[] {
    const [first, ...others] = this.#searches;
    // The scores of one search are as they are, so that they say how good a passage is, and not only which is better.
    if (first !== undefined && others.length === 0 && first.hits.every(({ relevance }) => relevance >= 0)) {
      return alone(first.search.name, first.hits);
    }
    const rankings = this.#searches.map(({ search: { name, weight }, hits }) => ({
      name,
      hits,
      ...membersThere({ weight }),
    }));
    return fuse(rankings, this.#fusion);
  }

  /** The texts of every document, with whatever scores of ranges one of the searches said. */
  texts(): ReadonlyMap<string, readonly StoredText[]> {
    const found = new Map<string, StoredText[]>();
    for (const { documentId, texts } of this.#searches.flatMap(({ hits }) => hits)) {
      const before = found.get(documentId);
      if (before === undefined) found.set(documentId, [...texts]);
      else for (const stored of texts) before.push(stored);
    }
    return this.#searches.length < 2 ? found : new Map([...found].map(([id, texts]) => [id, this.#merged(texts)]));
  }

  #merged(texts: readonly StoredText[]): readonly StoredText[] {
    const merged = new Map<string, StoredText>();
    for (const stored of texts) {
      const name = JSON.stringify([stored.field, stored.element ?? null]);
      const before = merged.get(name);
      if (before === undefined) merged.set(name, stored);
      else if (before.rangeScores === undefined && stored.rangeScores !== undefined) merged.set(name, stored);
    }
    return [...merged.values()];
  }
}

/** The documents of one search, the first of those that come twice. */
function alone(name: string, hits: readonly FoundTexts[]): Fused[] {
  const found = new Map<string, Fused>();
  for (const { documentId, relevance } of hits) {
    if (found.has(documentId)) continue;
    const [ranks, relevances] = [{ [name]: found.size + 1 }, { [name]: relevance }];
    found.set(documentId, { documentId, score: relevance, ranks, relevances });
  }
  return [...found.values()];
}

function scoreOf({ document, share }: Candidate): number {
  return document.score * share;
}

/** The score from which on passages are worth being read, of candidates in order. */
function floorOf(
  [best]: readonly Candidate[],
  searches: readonly RetrievalSearch[],
  { floor, rerank }: Settings,
): number {
  if (best === undefined) return 0;
  const [search, ...others] = searches;
  const usual = others.length === 0 && rerank === undefined ? search?.floor : undefined;
  const { share = 0, score = Number.POSITIVE_INFINITY } = usual ?? {};
  return floor === undefined ? Math.min(share * scoreOf(best), score) : floor * scoreOf(best);
}

/** The best passages of every document, the best of all first. */
function candidatesOf(question: string, gathering: Gathering, settings: Settings): Candidate[] {
  const all: Candidate[] = [];
  const texts = gathering.texts();
  for (const document of gathering.documents()) {
    for (const stored of texts.get(document.documentId) ?? []) {
      const ranges = stored.ranges ?? passageRanges(stored.text, settings.passageLength);
      ranges.forEach((whole, index) => {
        const range = trimRange(stored.text, whole);
        const text = stored.text.slice(range.start, range.end);
        const rangeScore = stored.rangeScores?.[index];
        if (text === "") return;
        all.push({ document, stored, range, text, rangeScore, wordScore: 0, share: 1, duplicates: undefined });
      });
    }
  }
  const documents = byDocument(all);
  // The only passage of a document has all of its score, whatever its words.
  const several = documents.filter((own) => own.length > 1).flat();
  const scores = wordScores(
    question,
    several.map(({ text }) => text),
  );
  several.forEach((candidate, index) => {
    candidate.wordScore = scores[index] ?? 0;
  });
  return documents.flatMap((own) => bestOf(own, settings.passagesOfDocument)).sort(better);
}

function byDocument(all: readonly Candidate[]): Candidate[][] {
  const documents = new Map<string, Candidate[]>();
  for (const candidate of all) {
    const own = documents.get(candidate.document.documentId);
    if (own === undefined) documents.set(candidate.document.documentId, [candidate]);
    else own.push(candidate);
  }
  return [...documents.values()];
}

/**
 * The best passages of one document, each with its share of the best one: the mean of what the ranking says of it and of
 * what the words of the question say, each as a share of the best there is.
 */
function bestOf(own: readonly Candidate[], count: number): Candidate[] {
  const byRange = shares(own.map(({ rangeScore }) => rangeScore));
  const byWords = shares(own.map(({ wordScore }) => wordScore));
  own.forEach((candidate, index) => {
    const said = [byRange[index], byWords[index]].filter((share) => share !== undefined);
    candidate.share = said.length === 0 ? 0 : said.reduce((sum, share) => sum + share, 0) / said.length;
  });
  const ordered = own.toSorted((left, right) => right.share - left.share || comparePlaces(left, right));
  const best = ordered[0]?.share ?? 0;
  for (const candidate of ordered) {
    // A question of which the document has no word says nothing of its passages: then the first is the best.
    candidate.share = best > 0 ? candidate.share / best : candidate === ordered[0] ? 1 : SHARE_UNKNOWN;
  }
  return ordered.slice(0, count);
}

/** The share of a passage of which nothing is known, beside the first of its document. */
const SHARE_UNKNOWN = 0.5;

/** Scores as shares of the best; nothing if none tells them apart. Scores below zero (distances) are moved up. */
function shares(scores: readonly (number | undefined)[]): (number | undefined)[] {
  const known = scores.filter((score) => score !== undefined && Number.isFinite(score)) as number[];
  // A document may have more passages than a call can be given.
  const floor = known.reduce((least, score) => Math.min(least, score), 0);
  const best = known.reduce((most, score) => Math.max(most, score), Number.NEGATIVE_INFINITY) - floor;
  if (best <= 0) return scores.map(() => undefined);
  return scores.map((score) => (score === undefined || !Number.isFinite(score) ? undefined : (score - floor) / best));
}

function better(left: Candidate, right: Candidate): number {
  return (
    scoreOf(right) - scoreOf(left) ||
    compareText(left.document.documentId, right.document.documentId) ||
    comparePlaces(left, right)
  );
}

function comparePlaces(left: Candidate, right: Candidate): number {
  return (
    compareText(left.stored.field, right.stored.field) ||
    (left.stored.element ?? 0) - (right.stored.element ?? 0) ||
    left.range.start - right.range.start
  );
}

/** Keeps the best of passages that say nearly the same, up to as many as can be wanted. */
function foldDuplicates(candidates: readonly Candidate[], settings: Settings): Candidate[] {
  const kept: { readonly candidate: Candidate; readonly print: Fingerprint }[] = [];
  // Passages may not fit into the budget, so some more are kept than are returned.
  const most = 2 * candidateCount(settings);
  for (const candidate of candidates) {
    if (kept.length >= most) break;
    candidate.duplicates = undefined;
    const print = fingerprint(candidate.text);
    const same = kept.find((other) => isNearDuplicate(other.print, print));
    if (same !== undefined) {
      if (same.candidate.document !== candidate.document) {
        same.candidate.duplicates ??= new Set();
        same.candidate.duplicates.add(candidate.document.documentId);
      }
    } else kept.push({ candidate, print });
  }
  return kept.map(({ candidate }) => candidate);
}

async function rerankCandidates(
  question: string,
  kept: readonly Candidate[],
  settings: Settings,
): Promise<readonly Candidate[]> {
  const { rerank, rerankCount, timeoutMs, signal } = settings;
  if (rerank === undefined || kept.length === 0) return kept;
  const [head, tail] = [kept.slice(0, rerankCount), kept.slice(rerankCount)];
  const scores = await timedReranker(rerank, timeoutMs)(
    question,
    head.map(({ text }) => text),
    signal,
  );
  signal?.throwIfAborted();
  // A list with holes has none of them in `some`, and a function that forgets its `return` gives no list.
  if (scores?.length !== head.length || !head.every((_, index) => Number.isFinite(scores[index]))) {
    throw new ChatError("malformed", `The reranker must give a finite number for each of ${head.length} passages`);
  }
  head.forEach((candidate, index) => {
    candidate.rerank = scores[index] ?? 0;
  });
  return [...head.toSorted((left, right) => (right.rerank ?? 0) - (left.rerank ?? 0) || better(left, right)), ...tail];
}

/** Takes the best that fit. The first may be shortened, so that a small budget gives something. */
function withinBudget(ordered: readonly Candidate[], settings: Settings): Retrieved {
  const { passages: count, tokens: budget } = settings;
  const countTokens = checkedCounter(settings.countTokens);
  const taken: Passage[] = [];
  const budgeted = new BudgetedText(countTokens, budget);
  for (const candidate of ordered) {
    if (taken.length >= count) break;
    const { text } = candidate.stored;
    const { range } = candidate;
    const fits = ({ start, end }: Range): boolean => countTokens(text.slice(start, end)) <= budget;
    const isFirst = taken.length === 0;
    const fitting = budgeted.fits(candidate.text) ? range : isFirst ? shortenRange(text, range, fits) : undefined;
    if (fitting === undefined) continue;
    const passage = passageOf(candidate, fitting);
    budgeted.add(passage.text);
    taken.push(passage);
  }
  return { passages: taken.slice(0, budgeted.end()), tokens: budgeted.tokens };
}

function passageOf(candidate: Candidate, range: Range): Passage {
  const { document, stored, share, rerank, duplicates } = candidate;
  const scores: PassageScores = {
    fused: document.score,
    share,
    ranks: document.ranks,
    relevances: document.relevances,
    ...membersThere({ rerank }),
  };
  return {
    documentId: document.documentId,
    field: stored.field,
    ...membersThere({ element: stored.element }),
    start: range.start,
    end: range.end,
    text: stored.text.slice(range.start, range.end),
    score: rerank ?? scoreOf(candidate),
    scores,
    duplicates: [...(duplicates ?? [])].sort(compareText),
  };
}
