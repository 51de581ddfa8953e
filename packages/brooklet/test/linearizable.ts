/**
 * Whether what clients saw of one document can have happened: an order of their operations, each at one moment between
 * its beginning and its end, in which everyone saw what was there (linearizability). Orders are followed all at once,
 * as far as they differ: what a document may be, and which operations under way have happened.
 */

/** What a document is: a canonical text. */
export type State = string;

/** An operation of a client on one document. */
export interface Operation {
  /** For whoever reads of a failure. */
  readonly about: string;
  /** It changes nothing, and is over as soon as it could have seen what it saw. */
  readonly reads?: boolean;
  /** What the document may be after it happened to `state`; nothing if what the client saw cannot have come of that. */
  readonly outcomes: (state: State) => readonly State[];
}

/** An operation from its beginning to its end, by a clock that all clients share and that shows no time twice. */
interface Span {
  readonly operation: Operation;
  readonly begun: number;
  readonly ended: number;
}

/** One order that is possible so far. */
interface Course {
  readonly state: State;
  /** Operations under way that have happened, by number. */
  readonly happened: ReadonlySet<number>;
}

/** The operations on one document. */
export class DocumentHistory {
  #spans: Span[] = [];

  /** Notes an operation that happened between two moments. */
  record(operation: Operation, begun: number, ended: number): void {
    this.#spans.push({ operation, begun, ended });
  }

  /**
   * What the document may be now if it was one of `initial` at first; nothing else is remembered. Throws what was seen
   * if no order explains it.
   */
  settle(initial: readonly State[]): readonly State[] {
    const spans = this.#spans;
    this.#spans = [];
    const events = spans
      .flatMap(({ begun, ended }, number) => [
        { at: begun, number, isEnd: false },
        { at: ended, number, isEnd: true },
      ])
      .sort((one, other) => one.at - other.at);
    const open = new Map<number, Operation>();
    let courses: readonly Course[] = initial.map((state) => ({ state, happened: new Set<number>() }));
    for (const { at, number, isEnd } of events) {
      const { operation } = spans[number] as Span;
      if (isEnd) {
        courses = distinct(advance(courses, open, number).map((course) => without(course, number)));
        open.delete(number);
      } else {
        open.set(number, operation);
        courses = distinct(courses.map((course) => withReads(course, open)));
      }
      if (courses.length === 0) throw new Error(explain(initial, spans, at));
    }
    return [...new Set(courses.map(({ state }) => state))];
  }
}

/** The courses in which `number` has happened. */
function advance(courses: readonly Course[], open: ReadonlyMap<number, Operation>, number: number): readonly Course[] {
  return follow(courses, open, ({ happened }) => happened.has(number)).filter(({ happened }) => happened.has(number));
}

/** All courses that begin as one of `courses`; those of which `isFarEnough` is true are not followed further. */
function follow(
  courses: readonly Course[],
  open: ReadonlyMap<number, Operation>,
  isFarEnough: (course: Course) => boolean,
): readonly Course[] {
  const found = new Map(courses.map((course) => [keyOf(course), course]));
  // A map is gone through with what is added meanwhile.
  for (const course of found.values()) {
    if (isFarEnough(course)) continue;
    for (const [number, { outcomes }] of open) {
      if (course.happened.has(number)) continue;
      for (const state of outcomes(course.state)) {
        const next = withReads({ state, happened: new Set(course.happened).add(number) }, open);
        const key = keyOf(next);
        if (!found.has(key)) found.set(key, next);
      }
    }
  }
  return [...found.values()];
}

/** Reads happen as soon as they can: that forecloses nothing. */
function withReads(course: Course, open: ReadonlyMap<number, Operation>): Course {
  const now = [...open].filter(
    ([number, { reads, outcomes }]) => reads && !course.happened.has(number) && outcomes(course.state).length > 0,
  );
  if (now.length === 0) return course;
  return { state: course.state, happened: new Set([...course.happened, ...now.map(([number]) => number)]) };
}

function without({ state, happened }: Course, number: number): Course {
  const others = new Set(happened);
  others.delete(number);
  return { state, happened: others };
}

function distinct(courses: readonly Course[]): readonly Course[] {
  return [...new Map(courses.map((course) => [keyOf(course), course])).values()];
}

function keyOf({ state, happened }: Course): string {
  return `${[...happened].sort((one, other) => one - other).join()} ${state}`;
}

/** The last operations before a moment for which no order is possible. */
function explain(initial: readonly State[], spans: readonly Span[], at: number): string {
  const before = spans.filter(({ begun }) => begun <= at).sort((one, other) => one.begun - other.begun);
  const lines = before.slice(-60).map(({ operation, begun, ended }) => `${begun} to ${ended}: ${operation.about}`);
  return `No order explains what was seen until ${at} of a document that was ${initial.join(" or ")}:\n${lines.join("\n")}`;
}
