/** One search asked again with a trace: what each part of it took, and what the server tells of it on its way. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Answer, TraceNode } from "./answer.ts";
import { figure, messageOf, Problem } from "./parts.tsx";
import { type Question, requestOf } from "./question.ts";
import type { Schema } from "./sd.ts";
import { ask } from "./wire.ts";

/** As much as there is. */
const LEVEL = 9;

interface TraceProps {
  readonly schema: Schema;
  readonly group: string;
  readonly question: Question;
}

/** A line of a trace. */
interface Line {
  readonly depth: number;
  readonly timestamp: number | undefined;
  readonly message: string;
}

/** Asks with a trace, and shows it. */
export function Trace({ schema, group, question }: TraceProps): JSX.Element {
  const [answer, setAnswer] = useState<Answer>();
  const [problem, setProblem] = useState("");
  // What was traced is another question from the next letter on.
  useEffect(() => setAnswer(undefined), [schema, group, question]);
  const trace = async (): Promise<void> => {
    const asked = { ...requestOf(schema, group, question), "trace.level": LEVEL, "trace.timestamps": true };
    try {
      setAnswer(await ask<Answer>({ method: "POST", path: "/search/", body: JSON.stringify(asked) }));
      setProblem("");
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return (
    <section class="stack" aria-label="Trace">
      <div class="bar">
        <button type="button" class="button" onClick={() => void trace()}>
          Trace this search
        </button>
      </div>
      <Problem message={problem} />
      {answer !== undefined && <Told answer={answer} />}
    </section>
  );
}

function Told({ answer }: { readonly answer: Answer }): JSX.Element {
  const { querytime = 0, summaryfetchtime = 0, searchtime = 0 } = answer.timing ?? {};
  const stages = [
    ["match and rank", querytime],
    ["summaries", summaryfetchtime],
    ["the rest: reading, rendering", Math.max(0, searchtime - querytime - summaryfetchtime)],
  ] as const;
  return (
    <div class="note stack">
      <dl>
        {stages.map(([name, seconds]) => (
          <>
            <dt>{name}</dt>
            <dd>
              <meter value={seconds} max={Math.max(searchtime, Number.MIN_VALUE)} aria-label={name} />{" "}
              {figure(seconds * 1000)} ms
            </dd>
          </>
        ))}
      </dl>
      <ol class="trace">
        {linesOf(answer.trace).map(({ depth, timestamp, message }, index) => (
          <li key={`${index}`} style={{ marginLeft: `${depth}em` }}>
            <span class="quiet">{timestamp === undefined ? "" : `${timestamp} ms `}</span>
            <code>{message}</code>
          </li>
        ))}
      </ol>
    </div>
  );
}

/** The messages of a trace, each as deep as it stands. */
export function linesOf(node: TraceNode | undefined, depth = 0): readonly Line[] {
  if (node === undefined) return [];
  const { timestamp, message, children = [] } = node;
  const text = typeof message === "string" ? message : JSON.stringify(message);
  const own = message === undefined ? [] : [{ depth, timestamp, message: text ?? "" }];
  return [...own, ...children.flatMap((child) => linesOf(child, own.length === 0 && depth === 0 ? 0 : depth + 1))];
}
