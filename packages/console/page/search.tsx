/** Searching a group: the question, its hits and counts, the ranking, and the calls that ask the same. */
import type { JSX } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type Answer, documentFields, facetsOf, featuresOf, type Hit, hitsOf, totalOf } from "./answer.ts";
import { Builder } from "./builder.tsx";
import { Detail } from "./detail.tsx";
import { useKeys } from "./keys.ts";
import { bytes, Code, Empty, figure, Marked, messageOf, Problem, shown } from "./parts.tsx";
import { NO_QUESTION, type Question, requestOf, typescriptOf, yqlOf } from "./question.ts";
import { Ranking, reranked, type Weights } from "./ranking.tsx";
import type { Schema } from "./sd.ts";
import { Trace } from "./trace.tsx";
import { ask, curlOf } from "./wire.ts";

/** How long nothing is typed before what stands there is asked, milliseconds. */
const PAUSE_MS = 150;

interface SearchProps {
  readonly schema: Schema;
  readonly group: string;
}

/** The question, and what it finds. */
export function SearchView({ schema, group }: SearchProps): JSX.Element {
  const [question, setQuestion] = useState<Question>(NO_QUESTION);
  const { answer, problem } = useAnswer(schema, group, question);
  const [open, setOpen] = useState<string>();
  const [weights, setWeights] = useState<Weights>({});
  const change = (part: Partial<Question>): void => setQuestion((now) => ({ ...now, offset: 0, ...part }));
  useKeys({ Escape: () => setOpen(undefined) });

  const hits = answer === undefined ? [] : reranked(hitsOf(answer), weights);
  return (
    <div class="stack">
      <Builder schema={schema} question={question} onChange={change} />
      <Problem message={problem} />
      {answer !== undefined && <Told answer={answer} shown={hits.length} question={question} onChange={change} />}
      {answer !== undefined && <Counts answer={answer} question={question} onChange={change} />}
      <div class={open === undefined ? "" : "with-detail"}>
        <div class="stack">
          {answer !== undefined && (
            <Hits hits={hits} isEmpty={hits.length === 0 && problem === ""} open={open} onOpen={setOpen} />
          )}
          <WhyNot onAsk={setOpen} schema={schema} group={group} />
          <Ranking
            schema={schema}
            question={question}
            hits={hits}
            weights={weights}
            onWeights={setWeights}
            onInputs={(inputs) => change({ inputs })}
          />
          <Trace schema={schema} group={group} question={question} />
          <Calls schema={schema} group={group} question={question} />
        </div>
        {open !== undefined && (
          <Detail
            key={open}
            id={open}
            schema={schema}
            request={requestOf(schema, group, question)}
            onClose={() => setOpen(undefined)}
            onNear={(near, profile) => change({ near, profile, text: "" })}
          />
        )}
      </div>
    </div>
  );
}

/** The answer to a question: asked again when it changes, a while after the last letter, and when documents do. */
function useAnswer(
  schema: Schema,
  group: string,
  question: Question,
): { readonly answer: Answer | undefined; readonly problem: string } {
  const [answer, setAnswer] = useState<Answer>();
  const [problem, setProblem] = useState("");
  const turn = useRef(0);
  const search = useCallback(async () => {
    turn.current += 1;
    const mine = turn.current;
    const body = JSON.stringify(requestOf(schema, group, question));
    try {
      const found = await ask<Answer>({
        method: "POST",
        path: "/search/",
        body,
        typescript: typescriptOf(schema, group, question),
      });
      if (mine !== turn.current) return;
      setAnswer(found);
      setProblem(found.root.errors?.[0]?.message ?? "");
    } catch (error) {
      if (mine === turn.current) setProblem(messageOf(error));
    }
  }, [schema, group, question]);
  useEffect(() => {
    const timer = setTimeout(() => void search(), PAUSE_MS);
    addEventListener("brooklet-changed", search);
    return () => {
      clearTimeout(timer);
      removeEventListener("brooklet-changed", search);
    };
  }, [search]);
  return { answer, problem };
}

interface ToldProps {
  readonly answer: Answer;
  readonly shown: number;
  readonly question: Question;
  readonly onChange: (part: Partial<Question>) => void;
}

/** How many there are, how long that took, and the pages. */
function Told({ answer, shown: count, question, onChange }: ToldProps): JSX.Element {
  const total = totalOf(answer);
  const { timing } = answer;
  const { offset, hits } = question;
  return (
    <div class="bar">
      <span role="status">
        <b>{figure(total)}</b> {total === 1 ? "match" : "matches"}
        {count < total && `, ${offset + 1} to ${offset + count}`}
      </span>
      {timing !== undefined && (
        <span class="quiet grow" title="match and rank, from stored data read, of data looked at">
          {(timing.querytime * 1000).toFixed(1)} ms to search · {bytes(timing.bytesread ?? 0)} read ·{" "}
          {bytes(timing.bytesscanned ?? 0)} scanned
        </span>
      )}
      <button
        type="button"
        class="button"
        disabled={offset === 0}
        onClick={() => onChange({ offset: Math.max(0, offset - hits) })}
      >
        Before
      </button>
      <button
        type="button"
        class="button"
        disabled={offset + count >= total}
        onClick={() => onChange({ offset: offset + hits })}
      >
        Next
      </button>
    </div>
  );
}

function Counts({ answer, question, onChange }: Omit<ToldProps, "shown">): JSX.Element {
  const facets = facetsOf(answer).filter(({ values }) => values.length > 0);
  return (
    <div class="stack">
      {facets.map(({ field, values }) => (
        <section class="bar" key={field} aria-label={`Values of ${field}`}>
          <span class="label">{field}</span>
          {values.map(({ value, count }) => (
            <button
              type="button"
              class="pill"
              key={value}
              onClick={() =>
                onChange({
                  filters: [...question.filters.filter((one) => one.field !== field), { field, sign: "is", value }],
                })
              }
            >
              {value === "" ? "(empty)" : value} <span class="count">{figure(count)}</span>
            </button>
          ))}
        </section>
      ))}
    </div>
  );
}

interface HitsProps {
  readonly hits: readonly Hit[];
  readonly isEmpty: boolean;
  readonly open: string | undefined;
  readonly onOpen: (id: string) => void;
}

function Hits({ hits, isEmpty, open, onOpen }: HitsProps): JSX.Element {
  if (isEmpty)
    return (
      <Empty title="No document matches">Ask with fewer words or conditions, or ask below why one does not.</Empty>
    );
  return (
    <section aria-label="Hits">
      {hits.map((hit) => (
        <Row key={hit.id} hit={hit} isOpen={hit.id === open} onOpen={() => onOpen(hit.id)} />
      ))}
    </section>
  );
}

function Row({
  hit,
  isOpen,
  onOpen,
}: {
  readonly hit: Hit;
  readonly isOpen: boolean;
  readonly onOpen: () => void;
}): JSX.Element {
  const [first, ...others] = documentFields(hit).filter(([, value]) => typeof value !== "object");
  const features = Object.entries(featuresOf(hit));
  return (
    <button type="button" class="hit" aria-pressed={isOpen} onClick={onOpen}>
      <span class="title" dir="auto">
        <Marked text={first === undefined ? hit.id : shown(first[1])} />
      </span>
      <span class="score" title={features.map(([name, value]) => `${name} ${figure(value)}`).join("\n")}>
        {figure(hit.relevance)}
      </span>
      <span class="more" dir="auto">
        <Marked text={others.map(([, value]) => shown(value)).join(" · ")} />
      </span>
    </button>
  );
}

interface WhyNotProps extends SearchProps {
  readonly onAsk: (id: string) => void;
}

/** Asks about a document that is no hit. */
function WhyNot({ schema, group, onAsk }: WhyNotProps): JSX.Element {
  const [text, setText] = useState("");
  const asked = (event: Event): void => {
    event.preventDefault();
    if (text !== "") onAsk(text.startsWith("id:") ? text : `id:${schema.name}:${schema.name}:g=${group}:${text}`);
  };
  return (
    <form class="bar" onSubmit={asked}>
      <label class="bar grow">
        <span class="quiet">Why not</span>
        <input
          class="field grow"
          placeholder="id of a document"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="button">
        Explain
      </button>
    </form>
  );
}

function Calls({ schema, group, question }: SearchProps & { readonly question: Question }): JSX.Element {
  const body = JSON.stringify(requestOf(schema, group, question));
  return (
    <section aria-label="The same as code" class="beside">
      <Code label="TypeScript" text={typescriptOf(schema, group, question)} />
      <Code label="YQL" text={yqlOf(schema, question)} />
      <Code label="curl" text={curlOf({ method: "POST", path: "/search/", body })} />
    </section>
  );
}
