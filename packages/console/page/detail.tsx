/** One document: its fields to be changed, why it is a hit or is not, what is near it, and its removal. */
import type { JSX } from "preact";
import { useCallback, useEffect, useState } from "preact/hooks";
import {
  type Answer,
  type ExplainedFormula,
  type ExplainedQuery,
  type Explanation,
  partsOfId,
  pathOfId,
} from "./answer.ts";
import { Code, figure, messageOf, Problem, shown } from "./parts.tsx";
import type { Near } from "./question.ts";
import { isVector, nearProfile, type Schema } from "./sd.ts";
import { Tail } from "./tail.tsx";
import { ask, curlOf, parsed, Refusal } from "./wire.ts";

type Fields = Readonly<Record<string, unknown>>;

interface DetailProps {
  readonly id: string;
  readonly schema: Schema;
  /** The search that the document is, or is not, a hit of; nothing: none was asked. */
  readonly request?: Readonly<Record<string, unknown>>;
  readonly onClose: () => void;
  readonly onNear?: (near: Near, profile: string) => void;
}

/** A document: its fields, why it is a hit or is none, and what can be done with it. */
export function Detail({ id, schema, request, onClose, onNear }: DetailProps): JSX.Element {
  const [fields, setFields] = useState<Fields>();
  const [problem, setProblem] = useState("");
  const path = pathOfId(id);
  const { group, own } = partsOfId(id);
  const call = `db.group(${JSON.stringify(group)})`;
  const read = useCallback(async () => {
    try {
      const typescript = `await ${call}.get(${schema.name}, ${JSON.stringify(own)})`;
      setFields((await ask<{ fields?: Fields }>({ path, typescript })).fields ?? {});
      setProblem("");
    } catch (error) {
      const isMissing = error instanceof Refusal && error.status === 404;
      setProblem(isMissing ? "There is no such document" : messageOf(error));
    }
  }, [path, call, schema.name, own]);
  useEffect(() => void read(), [read]);
  const vectors = onNear === undefined ? [] : schema.fields.filter(isVector);
  return (
    <section class="detail" aria-label={`Document ${own}`}>
      <div class="bar">
        <h2 class="grow">{own}</h2>
        <button type="button" class="plain" aria-label="Close the document" onClick={onClose}>
          Esc
        </button>
      </div>
      <Problem message={problem} />
      {request !== undefined && <Why id={id} request={request} />}
      {fields !== undefined && (
        <>
          <div class="bar">
            {vectors.map((field) => (
              <NearButton
                key={field.name}
                schema={schema}
                field={field.name}
                value={fields[field.name]}
                of={own}
                onNear={onNear}
              />
            ))}
          </div>
          <Editor
            fields={fields}
            path={path}
            own={own}
            call={call}
            schema={schema}
            onChanged={read}
            onRemoved={onClose}
          />
          <Code label="curl" text={curlOf({ method: "GET", path, body: "" })} />
        </>
      )}
      <Tail group={group} id={id} />
    </section>
  );
}

interface NearProps {
  readonly schema: Schema;
  readonly field: string;
  readonly value: unknown;
  readonly of: string;
  readonly onNear: DetailProps["onNear"];
}

function NearButton({ schema, field, value, of, onNear }: NearProps): JSX.Element | null {
  const described = schema.fields.find(({ name }) => name === field);
  const vector = Array.isArray(value) ? value : (value as { readonly values?: unknown } | undefined)?.values;
  const taken = described && nearProfile(schema, described);
  if (!Array.isArray(vector)) return null;
  const isAsked = taken !== undefined && onNear !== undefined;
  return (
    <button
      type="button"
      class="button"
      disabled={!isAsked}
      title={isAsked ? "" : "No rank profile has an input of its type"}
      onClick={() => isAsked && onNear({ field, vector: vector.map(Number), of, input: taken.input }, taken.profile)}
    >
      Near by {field}
    </button>
  );
}

interface EditorProps {
  readonly fields: Fields;
  readonly path: string;
  readonly own: string;
  readonly call: string;
  readonly schema: Schema;
  readonly onChanged: () => Promise<void>;
  readonly onRemoved: () => void;
}

function Editor({ fields, path, own, call, schema, onChanged, onRemoved }: EditorProps): JSX.Element {
  const [draft, setDraft] = useState<string>();
  const [isSure, setSure] = useState(false);
  const [problem, setProblem] = useState("");
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
      setProblem("");
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  const save = (): Promise<void> =>
    attempt(async () => {
      const now = parsed(draft ?? "{}") as Fields;
      const typescript = `await ${call}.put(${schema.name}, ${JSON.stringify(own)}, ${JSON.stringify(now)})`;
      await ask({ method: "POST", path, body: JSON.stringify({ fields: now }), typescript });
      setDraft(undefined);
      await onChanged();
      dispatchEvent(new Event("brooklet-changed"));
    });
  const remove = (): Promise<void> =>
    attempt(async () => {
      await ask({ method: "DELETE", path, typescript: `await ${call}.remove(${schema.name}, ${JSON.stringify(own)})` });
      onRemoved();
      dispatchEvent(new Event("brooklet-changed"));
    });
  const text = JSON.stringify(fields, null, 2);
  return (
    <>
      {draft === undefined ? (
        <dl>
          {Object.entries(fields).map(([name, value]) => (
            <>
              <dt>{name}</dt>
              <dd dir="auto">{shown(value)}</dd>
            </>
          ))}
        </dl>
      ) : (
        <textarea
          aria-label="Fields as JSON"
          rows={Math.min(20, text.split("\n").length + 1)}
          value={draft}
          onInput={(event) => setDraft(event.currentTarget.value)}
        />
      )}
      <Problem message={problem} />
      <div class="bar">
        {draft === undefined ? (
          <button type="button" class="button" onClick={() => setDraft(text)}>
            Edit
          </button>
        ) : (
          <>
            <button type="button" class="button first" onClick={() => void save()}>
              Save
            </button>
            <button type="button" class="button" onClick={() => setDraft(undefined)}>
              Leave as it was
            </button>
          </>
        )}
        <button type="button" class="button danger" onClick={() => (isSure ? void remove() : setSure(true))}>
          {isSure ? "Remove for good" : "Remove"}
        </button>
      </div>
    </>
  );
}

const OUTCOMES: Readonly<Record<string, string>> = {
  RETURNED: "It is a hit.",
  OUTSIDE_WINDOW: "It matches, and better hits fill the page.",
  COLLAPSED: "It matches; a better hit has its value.",
  DROPPED: "It matches, and its score is below the limit of the profile.",
  NOT_MATCHED: "It does not match.",
  NOT_RANKED: "It matches; the search asks for no hits.",
  NOT_FOUND: "It is not in this group and schema.",
};

/** Why a document is a hit of a search, or is none. */
function Why({
  id,
  request,
}: {
  readonly id: string;
  readonly request: Readonly<Record<string, unknown>>;
}): JSX.Element {
  const [explanation, setExplanation] = useState<Explanation>();
  const [problem, setProblem] = useState("");
  const body = JSON.stringify({ ...request, "explain.id": id });
  useEffect(() => {
    const { group, type, own } = partsOfId(id);
    const typescript = `await db.group(${JSON.stringify(group)}).explain(${type}, ${JSON.stringify(own)}, { … })`;
    ask<Answer>({ method: "POST", path: "/search/", body, typescript }).then(
      ({ explain }) => setExplanation(explain),
      (error: unknown) => setProblem(messageOf(error)),
    );
  }, [body, id]);
  const { outcome = "", reasons = [], position, query, ranking } = explanation ?? {};
  return (
    <section class="stack" aria-label="Why">
      <h3>Why</h3>
      <Problem message={problem} />
      {explanation !== undefined && (
        <>
          <p class={outcome === "RETURNED" ? "good" : "quiet"}>
            {OUTCOMES[outcome] ?? outcome}
            {position !== undefined && ` It is number ${figure(position + 1)}.`}
          </p>
          {reasons.length > 0 && <pre>{reasons.map((reason) => reasonOf(reason)).join("\n")}</pre>}
          {query !== undefined && (
            <ul class="tree root">
              <QueryPart part={query} />
            </ul>
          )}
          {ranking?.firstPhase !== undefined && <Phase name="First phase" formula={ranking.firstPhase} />}
          {ranking?.secondPhase !== undefined && <Phase name="Second phase" formula={ranking.secondPhase} />}
        </>
      )}
    </section>
  );
}

function reasonOf(reason: unknown): string {
  return typeof reason === "string" ? reason : JSON.stringify(reason);
}

function Phase({ name, formula }: { readonly name: string; readonly formula: ExplainedFormula }): JSX.Element {
  return (
    <div>
      <span class="label">{name}</span>
      <ul class="tree root">
        <FormulaPart part={formula} />
      </ul>
    </div>
  );
}

function QueryPart({ part }: { readonly part: ExplainedQuery }): JSX.Element {
  const sign = (matched: boolean): JSX.Element => (
    <span class={matched ? "good" : "quiet"}>{matched ? "matches" : "does not match"}</span>
  );
  return (
    <li>
      <div class="part">
        <code>{part.operator}</code>
        {sign(part.matched)}
      </div>
      <ul class="tree">
        {part.fields?.map(({ field, asks, matched, count = 0 }) => (
          <li class="part" key={field}>
            <code>
              {field}: {asks}
            </code>
            {matched ? <span class="good">{count > 1 ? `${count} times` : "matches"}</span> : sign(false)}
          </li>
        ))}
        {part.children?.map((child, index) => (
          <QueryPart key={`${index}`} part={child} />
        ))}
      </ul>
    </li>
  );
}

function FormulaPart({ part }: { readonly part: ExplainedFormula }): JSX.Element {
  return (
    <li>
      <div class="part">
        <code>{part.expression}</code>
        <span class="count">{part.value === undefined ? "" : figure(part.value)}</span>
      </div>
      {part.children !== undefined && (
        <ul class="tree">
          {part.children.map((child, index) => (
            <FormulaPart key={`${index}`} part={child} />
          ))}
        </ul>
      )}
    </li>
  );
}
