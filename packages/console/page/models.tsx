/** The models of the application: whether each can be asked, why not, and what it was asked. */
import type { JSX } from "preact";
import { Code, figure, Problem } from "./parts.tsx";
import { useWatch } from "./watch.ts";
import { ask, curlOf } from "./wire.ts";

const PATH = "/brooklet/v1/models";
/** How often the server is asked, milliseconds. */
const EVERY_MS = 5_000;

interface Calls {
  readonly purpose: "query" | "document";
  readonly running: number;
  readonly waiting: number;
  readonly items: number;
  readonly calls: number;
  readonly seconds: number;
  readonly p99Seconds?: number;
  readonly failures: Readonly<Record<string, number>>;
}

interface Model {
  readonly id: string;
  readonly kind: "embedder" | "endpoint" | "onnx" | "generator" | "language-model" | "reranker";
  readonly type?: string;
  readonly state: "ready" | "unloaded" | "failed";
  readonly problem?: string;
  readonly dimensions?: number;
  readonly sessions?: number;
  readonly sessionsGivenUp?: number;
  readonly batches?: number;
  readonly tokens?: number;
  readonly calls: readonly Calls[];
}

interface Told {
  readonly models: readonly Model[];
}

const KINDS: Readonly<Record<Model["kind"], string>> = {
  embedder: "embedder",
  endpoint: "endpoint",
  onnx: "ONNX model",
  generator: "generator",
  "language-model": "language model",
  reranker: "reranker",
};

/** The state of all models. */
export function Models(): JSX.Element {
  const { answer, problem } = useWatch(() => ask<Told>({ path: PATH, quiet: true }), EVERY_MS);
  const models = answer?.models;
  return (
    <section class="note stack" aria-label="Models">
      <h2>Models</h2>
      <Problem message={problem} />
      {models?.length === 0 && <p class="quiet">There are no models: words need none.</p>}
      {models !== undefined && models.length > 0 && <Table models={models} />}
      <Code label="curl" text={curlOf({ method: "GET", path: PATH, body: "" })} />
    </section>
  );
}

function Table({ models }: { readonly models: readonly Model[] }): JSX.Element {
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>model</th>
            <th>state</th>
            <th>asked for</th>
            <th>calls</th>
            <th>items</th>
            <th>now, waiting</th>
            <th>mean, ms</th>
            <th>99 of 100, ms</th>
            <th>failed</th>
          </tr>
        </thead>
        {models.map((model) => (
          <tbody key={`${model.kind} ${model.id}`}>
            <Rows model={model} />
          </tbody>
        ))}
      </table>
    </div>
  );
}

/** A row for each purpose that a model was asked for, or one that says so where there was none. */
function Rows({ model }: { readonly model: Model }): JSX.Element {
  const asked = model.calls.filter(({ calls, running, waiting }) => calls + running + waiting > 0);
  return (
    <>
      <tr>
        <td rowSpan={Math.max(1, asked.length)}>
          <b>{model.id}</b>
          <div class="quiet">{outline(model)}</div>
        </td>
        <td rowSpan={Math.max(1, asked.length)}>
          {model.state}
          {model.problem !== undefined && <div class="quiet">{model.problem}</div>}
        </td>
        {asked.length === 0 ? <td colSpan={7}>nothing yet</td> : <Cells calls={asked[0]} />}
      </tr>
      {asked.slice(1).map((calls) => (
        <tr key={calls.purpose}>
          <Cells calls={calls} />
        </tr>
      ))}
    </>
  );
}

function Cells({ calls }: { readonly calls: Calls | undefined }): JSX.Element | null {
  if (calls === undefined) return null;
  const { purpose, running, waiting, items, calls: ended, seconds, p99Seconds, failures } = calls;
  const failed = Object.entries(failures).map(([code, count]) => `${code} ${count}`);
  return (
    <>
      <td>{purpose === "query" ? "queries" : "documents"}</td>
      <td>{figure(ended)}</td>
      <td>{figure(items)}</td>
      <td>{`${figure(running)}, ${figure(waiting)}`}</td>
      <td>{ended === 0 ? "" : figure((seconds / ended) * 1000)}</td>
      <td>{ended === 0 ? "" : p99Seconds === undefined ? "> 60,000" : `≤ ${figure(p99Seconds * 1000)}`}</td>
      <td>{failed.join(", ")}</td>
    </>
  );
}

/** What a model is, in a line. */
function outline({ kind, type, dimensions, sessions, sessionsGivenUp = 0, batches, tokens }: Model): string {
  const told = [
    type ?? KINDS[kind],
    dimensions === undefined ? "" : `${figure(dimensions)} values`,
    sessions === undefined || sessions === 0 ? "" : `${figure(sessions)} sessions`,
    sessionsGivenUp === 0 ? "" : `${figure(sessionsGivenUp)} of them do not return`,
    batches === undefined || batches === 0 ? "" : `${figure(batches)} batches`,
    tokens === undefined || tokens === 0 ? "" : `${figure(tokens)} tokens`,
  ];
  return told.filter((one) => one !== "").join(" · ");
}
