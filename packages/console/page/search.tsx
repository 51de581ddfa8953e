/** Searching a group: the question, its hits and counts, the ranking, and the calls that ask the same. */
import type { JSX } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type Answer, documentFields, facetsOf, featuresOf, type Hit, hitsOf, totalOf } from "./answer.ts";
import { Detail } from "./detail.tsx";
import { useKeys } from "./keys.ts";
import { bytes, Code, Empty, figure, Marked, messageOf, Problem, shown } from "./parts.tsx";
import { type Filter, NO_QUESTION, type Question, requestOf, SIGNS, typescriptOf, yqlOf } from "./question.ts";
import { Ranking, reranked, type Weights } from "./ranking.tsx";
import type { Schema } from "./sd.ts";
import { ask, curlOf } from "./wire.ts";

/** How long nothing is typed before what stands there is asked, milliseconds. */
const PAUSE_MS = 150;

interface SearchProps {
  readonly schema: Schema;
  readonly group: string;
}

export function SearchView({ schema, group }: SearchProps): JSX.Element {
  const [question, setQuestion] = useState<Question>(NO_QUESTION);
  const [answer, setAnswer] = useState<Answer>();
  const [problem, setProblem] = useState("");
  const [open, setOpen] = useState<string>();
  const [weights, setWeights] = useState<Weights>({});
  const turn = useRef(0);
  const change = (part: Partial<Question>): void => setQuestion((now) => ({ ...now, offset: 0, ...part }));

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
          {hits.length === 0 && answer !== undefined && problem === "" ? (
            <Empty title="No document matches">
              Ask with fewer words or conditions, or ask below why one does not.
            </Empty>
          ) : (
            <section aria-label="Hits">
              {hits.map((hit) => (
                <Row key={hit.id} hit={hit} isOpen={hit.id === open} onOpen={() => setOpen(hit.id)} />
              ))}
            </section>
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

interface BuilderProps {
  readonly schema: Schema;
  readonly question: Question;
  readonly onChange: (part: Partial<Question>) => void;
}

function Builder({ schema, question, onChange }: BuilderProps): JSX.Element {
  const { filters, near } = question;
  const fields = schema.fields.filter(
    ({ type, isAttribute, isIndex }) => (isAttribute || isIndex) && !type.startsWith("tensor"),
  );
  const set = (index: number, part: Partial<Filter>): void =>
    onChange({ filters: filters.map((filter, at) => (at === index ? { ...filter, ...part } : filter)) });
  return (
    <div class="stack">
      <input
        class="field big"
        data-search=""
        type="search"
        aria-label="Search"
        placeholder="Search this group"
        value={question.text}
        onInput={(event) => onChange({ text: event.currentTarget.value })}
      />
      <div class="bar">
        {near !== undefined && (
          <button type="button" class="pill" onClick={() => onChange({ near: undefined, profile: "default" })}>
            near {near.of} <span aria-hidden="true">×</span>
          </button>
        )}
        {filters.map((filter, index) => (
          <span class="bar" key={`${index}`}>
            <select
              aria-label="Field"
              value={filter.field}
              onChange={(event) => set(index, { field: event.currentTarget.value })}
            >
              {fields.map(({ name }) => (
                <option key={name}>{name}</option>
              ))}
            </select>
            <select
              aria-label="Comparison"
              value={filter.sign}
              onChange={(event) =>
                set(index, { sign: SIGNS.find((sign) => sign === event.currentTarget.value) ?? "is" })
              }
            >
              {SIGNS.map((sign) => (
                <option key={sign}>{sign}</option>
              ))}
            </select>
            <input
              aria-label="Value"
              class="field grow"
              value={filter.value}
              onInput={(event) => set(index, { value: event.currentTarget.value })}
            />
            <button
              type="button"
              class="plain"
              aria-label="Remove the condition"
              onClick={() => onChange({ filters: filters.filter((_, at) => at !== index) })}
            >
              ×
            </button>
          </span>
        ))}
        <button
          type="button"
          class="button"
          disabled={fields.length === 0}
          onClick={() => onChange({ filters: [...filters, { field: fields[0]?.name ?? "", sign: "is", value: "" }] })}
        >
          Add a condition
        </button>
        <label class="bar">
          <span class="quiet">Profile</span>
          <select
            value={question.profile}
            onChange={(event) => onChange({ profile: event.currentTarget.value, inputs: {} })}
          >
            {schema.profiles.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      </div>
    </div>
  );
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
      <span class="title">
        <Marked text={first === undefined ? hit.id : shown(first[1])} />
      </span>
      <span class="score" title={features.map(([name, value]) => `${name} ${figure(value)}`).join("\n")}>
        {figure(hit.relevance)}
      </span>
      <span class="more">
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
