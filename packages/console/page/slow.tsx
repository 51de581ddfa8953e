/** The searches that took long, whoever asked: what the server keeps of them, the latest first. */
import type { JSX } from "preact";
import { bytes, Code, figure, Problem } from "./parts.tsx";
import { useWatch } from "./watch.ts";
import { ask, curlOf } from "./wire.ts";

const PATH = "/brooklet/v1/queries/slow";
/** How often the server is asked, milliseconds. */
const EVERY_MS = 5_000;
/** Searches that are listed. */
const LISTED = 50;

interface SlowSearch {
  readonly time: string;
  readonly ms: number;
  readonly status: number;
  readonly stages: Readonly<Record<string, number>>;
  readonly bytesRead: number;
  readonly bytesScanned: number;
  readonly groups?: readonly string[];
  readonly yql?: string;
  readonly profile?: string;
}

interface Listed {
  readonly thresholdMs: number;
  readonly queries: readonly SlowSearch[];
}

/** The log of slow searches. */
export function SlowSearches(): JSX.Element {
  const { answer: listed, problem } = useWatch(() => ask<Listed>({ path: PATH, quiet: true }), EVERY_MS);
  const { thresholdMs = 0, queries = [] } = listed ?? {};
  return (
    <section class="note stack" aria-label="Slow searches">
      <h2>Slow searches</h2>
      <Problem message={problem} />
      {listed !== undefined && queries.length === 0 && (
        <p class="quiet">
          None took {figure(thresholdMs)} ms. Start the server with <code>--slow-ms</code> to see faster ones.
        </p>
      )}
      {queries.length > 0 && <Searches queries={queries.slice(0, LISTED)} />}
      <Code label="curl" text={curlOf({ method: "GET", path: PATH, body: "" })} />
    </section>
  );
}

function Searches({ queries }: { readonly queries: readonly SlowSearch[] }): JSX.Element {
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>when</th>
            <th>ms</th>
            <th>stages, ms</th>
            <th>looked at</th>
            <th>query</th>
            <th>group</th>
          </tr>
        </thead>
        <tbody>
          {queries.map(({ time, ms, status, stages, bytesScanned, yql, profile, groups }, index) => (
            <tr key={`${time} ${index}`}>
              <td>{new Date(time).toLocaleTimeString("en-GB")}</td>
              <td>{figure(ms)}</td>
              <td>
                {Object.entries(stages)
                  .map(([name, spent]) => `${name} ${figure(spent)}`)
                  .join(", ")}
              </td>
              <td>{bytes(bytesScanned)}</td>
              <td>
                <code>{yql ?? `answered ${status}`}</code>
                {profile !== undefined && <span class="quiet"> {profile}</span>}
              </td>
              <td title="A keyed hash: brooklet audit group NAME says which is which">
                {groups === undefined ? "all" : groups.map((name) => name.slice(0, 8)).join(" ")}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
