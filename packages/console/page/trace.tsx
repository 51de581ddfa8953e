/** One search asked again with a trace: what each stage of it took and read, and what the server tells of it on its way. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Answer, TraceNode } from "./answer.ts";
import { bytes, figure, messageOf, Problem } from "./parts.tsx";
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

/** What the stages are, by their names in an answer. */
const STAGES: Readonly<Record<string, string>> = {
  wait: "wait: queue, opening, embedding",
  load: "load: manifest and tail",
  match: "match",
  scan: "scan: vectors by their codes",
  exact: "exact: vectors by their cells",
  rank: "rank",
  group: "group: facets",
  order: "order: ids of the best",
  phases: "phases: what later ones decide",
  summary: "summary: fields of hits",
  models: "models",
};

function Told({ answer }: { readonly answer: Answer }): JSX.Element {
  return (
    <div class="note stack">
      <Stages answer={answer} />
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

/** Time and bytes of each stage, and of all together. */
function Stages({ answer }: { readonly answer: Answer }): JSX.Element {
  const { searchtime = 0, bytesread = 0, bytesscanned = 0, stages = {} } = answer.timing ?? {};
  const longest = Math.max(...Object.values(stages).map(({ time }) => time), Number.MIN_VALUE);
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>stage</th>
            <th>ms</th>
            <th title="beside the longest stage">share</th>
            <th title="of stored documents, from the store">read</th>
            <th title="of stored documents, in memory or not">looked at</th>
          </tr>
        </thead>
        <tbody>
          {Object.entries(stages).map(([name, stage]) => (
            <tr key={name}>
              <td>{STAGES[name] ?? name}</td>
              <td>{figure(stage.time * 1000)}</td>
              <td>
                <meter value={stage.time} max={longest} aria-label={name} />
              </td>
              <td>{bytes(stage.bytesread)}</td>
              <td>{bytes(stage.bytesscanned)}</td>
            </tr>
          ))}
          <tr>
            <td>
              <b>all</b>
            </td>
            <td>{figure(searchtime * 1000)}</td>
            <td />
            <td>{bytes(bytesread)}</td>
            <td>{bytes(bytesscanned)}</td>
          </tr>
        </tbody>
      </table>
    </div>
  );
}

/** The messages of a trace, each as deep as it stands. */
function linesOf(node: TraceNode | undefined, depth = 0): readonly Line[] {
  if (node === undefined) return [];
  const { timestamp, message, children = [] } = node;
  const text = typeof message === "string" ? message : JSON.stringify(message);
  const own = message === undefined ? [] : [{ depth, timestamp, message: text ?? "" }];
  return [...own, ...children.flatMap((child) => linesOf(child, own.length === 0 && depth === 0 ? 0 : depth + 1))];
}
