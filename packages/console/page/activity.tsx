/** What the server does now, and what this page asked of it, slow searches first where one wants that. */
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { type Histogram, histogramOf, quantile, type Sample, samplesOf } from "./metrics.ts";
import { Models } from "./models.tsx";
import { bytes, Code, figure, Problem } from "./parts.tsx";
import { SlowSearches } from "./slow.tsx";
import { useWatch } from "./watch.ts";
import { askText, type Call, calls, curlOf, onCall } from "./wire.ts";

/** How often the server is asked, milliseconds. */
const EVERY_MS = 2_000;
/** Calls that are listed. */
const LISTED = 50;
const KINDS = ["search", "document"] as const;

/** What the server does, and what it was asked by this page. */
export function Activity(): JSX.Element {
  const { answer, problem } = useWatch(() => askText({ path: "/metrics", quiet: true }), EVERY_MS);
  const samples = useMemo(() => samplesOf(answer ?? ""), [answer]);
  return (
    <div class="stack">
      <Problem message={problem} />
      <Figures samples={samples} />
      <div class="beside">
        {KINDS.map((kind) => (
          <Latency key={kind} kind={kind} histogram={histogramOf(samples, "request_seconds", "kind", kind)} />
        ))}
      </div>
      <Stages samples={samples} />
      <Models />
      <SlowSearches />
      <Asked />
    </div>
  );
}

function sum(samples: readonly Sample[], name: string): number {
  return samples.filter((sample) => sample.name === name).reduce((total, { value }) => total + value, 0);
}

function Figures({ samples }: { readonly samples: readonly Sample[] }): JSX.Element {
  const running = sum(samples, "brooklet_admission_running");
  const queued = sum(samples, "brooklet_admission_queued");
  const shown: readonly (readonly [string, string])[] = [
    ["answers", figure(sum(samples, "brooklet_requests_total"))],
    ["at work, waiting", `${figure(running)}, ${figure(queued)}`],
    ["commits", figure(sum(samples, "brooklet_commits_total"))],
    ["in the logs only", bytes(sum(samples, "brooklet_log_bytes"))],
    ["lateness of turns", `${(sum(samples, "brooklet_event_loop_lag_seconds") * 1000).toFixed(0)} ms`],
    ["state", sum(samples, "brooklet_healthy") === 1 ? "healthy" : "not ready"],
  ];
  return (
    <div class="figures">
      {shown.map(([name, value]) => (
        <div class="figure" key={name}>
          <b>{value}</b>
          <span class="quiet">{name}</span>
        </div>
      ))}
    </div>
  );
}

function Latency({ kind, histogram }: { readonly kind: string; readonly histogram: Histogram }): JSX.Element {
  const most = Math.max(1, ...histogram.bars.map(({ count }) => count));
  const told = (share: number): string => {
    const end = quantile(histogram, share);
    return end === undefined ? "none yet" : Number.isFinite(end) ? `≤ ${figure(end * 1000)} ms` : "> 60 s";
  };
  return (
    <section class="figure stack" aria-label={`Time of ${kind} requests`}>
      <div class="bar">
        <h2 class="grow">{kind === "search" ? "Searches" : "Documents"}</h2>
        <span class="quiet">
          half {told(0.5)} · 99 of 100 {told(0.99)}
        </span>
      </div>
      <div class="histogram" role="img" aria-label={`${histogram.count} answers by the time they took`}>
        {histogram.bars.map(({ end, count }) => (
          <div key={end} title={`≤ ${end * 1000} ms: ${count}`} style={{ height: `${(count / most) * 100}%` }} />
        ))}
      </div>
      <div class="axis">
        <span>1 ms</span>
        <span>100 ms</span>
        <span>60 s</span>
      </div>
    </section>
  );
}

/** Where the time of all queries went, whoever asked; nothing before the first. */
function Stages({ samples }: { readonly samples: readonly Sample[] }): JSX.Element | null {
  const names = [...new Set(samples.map(({ labels }) => labels["stage"] ?? ""))].filter((name) => name !== "");
  const stages = names
    .map((name) => ({ name, ...histogramOf(samples, "stage_seconds", "stage", name) }))
    .filter(({ count }) => count > 0)
    .sort((left, right) => right.seconds - left.seconds);
  const whole = stages.reduce((total, { seconds }) => total + seconds, 0);
  if (stages.length === 0) return null;
  const most = (stage: Histogram): string => {
    const end = quantile(stage, 0.99) ?? 0;
    return Number.isFinite(end) ? `≤ ${figure(end * 1000)}` : "> 60,000";
  };
  return (
    <section class="note stack" aria-label="Stages of queries">
      <h2>Stages of queries</h2>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th>stage</th>
              <th>times</th>
              <th>mean, ms</th>
              <th>99 of 100, ms</th>
              <th>share</th>
            </tr>
          </thead>
          <tbody>
            {stages.map((stage) => (
              <tr key={stage.name}>
                <td>{stage.name}</td>
                <td>{figure(stage.count)}</td>
                <td>{figure((stage.seconds / stage.count) * 1000)}</td>
                <td>{most(stage)}</td>
                <td>
                  <meter value={stage.seconds} max={whole} aria-label={`Share of ${stage.name}`} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Asked(): JSX.Element {
  const [, setTurn] = useState(0);
  const [isBySlowness, setBySlowness] = useState(false);
  const [open, setOpen] = useState<Call>();
  useEffect(() => onCall(() => setTurn((turn) => turn + 1)), []);
  const listed = isBySlowness
    ? calls.filter(({ path }) => path.startsWith("/search/")).sort((left, right) => right.ms - left.ms)
    : calls;
  return (
    <section class="stack" aria-label="Calls of this page">
      <div class="bar">
        <h2 class="grow">{isBySlowness ? "Slowest searches of this page" : "Calls of this page"}</h2>
        <label class="bar">
          <input
            type="checkbox"
            checked={isBySlowness}
            onChange={(event) => setBySlowness(event.currentTarget.checked)}
          />
          Slow searches first
        </label>
      </div>
      <section aria-label="Calls">
        {listed.slice(0, LISTED).map((call) => (
          <button
            type="button"
            class="hit"
            key={`${call.at} ${call.path} ${call.ms}`}
            aria-pressed={call === open}
            onClick={() => setOpen(call === open ? undefined : call)}
          >
            <span class="title">
              {call.method} {call.path}
            </span>
            <span class="score">
              {call.status} · {call.ms.toFixed(0)} ms
            </span>
          </button>
        ))}
      </section>
      {open !== undefined && (
        <div class="beside">
          {open.typescript !== "" && <Code label="TypeScript" text={open.typescript} />}
          <Code label="curl" text={curlOf(open)} />
        </div>
      )}
    </section>
  );
}
