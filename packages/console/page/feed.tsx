/** A file of operations that is dropped here is fed, a part after the other, and one sees how far it is. */
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { Code, figure, messageOf, Problem } from "./parts.tsx";
import { ask, parsed } from "./wire.ts";

/** Characters of a part that is sent at once. */
const PART = 256 * 1024;
/** Failures that are shown. */
const FAILURES_MAX = 20;

interface Fed {
  readonly operations: number;
  readonly applied: number;
  readonly failed: number;
  readonly ignored: number;
  readonly failures: readonly unknown[];
}

interface Progress extends Fed {
  readonly name: string;
  readonly read: number;
  readonly size: number;
  readonly isDone: boolean;
  readonly group: string;
}

/** The operations of a text: a list of JSON, or lines. */
function linesOf(text: string): readonly string[] {
  if (!text.trimStart().startsWith("[")) return text.split("\n").filter((line) => line.trim() !== "");
  return (parsed(text) as readonly unknown[]).map((operation) => JSON.stringify(operation));
}

/** Lines joined to parts of about the same size. */
function partsOf(lines: readonly string[]): readonly string[] {
  const parts: string[] = [];
  let part: string[] = [];
  let size = 0;
  for (const line of lines) {
    part.push(line);
    size += line.length;
    if (size < PART) continue;
    parts.push(part.join("\n"));
    part = [];
    size = 0;
  }
  return part.length === 0 ? parts : [...parts, part.join("\n")];
}

async function feed(file: File, onProgress: (progress: Progress) => void): Promise<void> {
  const lines = linesOf(await file.text());
  const parts = partsOf(lines);
  const size = parts.reduce((sum, part) => sum + part.length, 0);
  const group = /"(?:put|id)"\s*:\s*"id:[^:]*:[^:]*:g=([^:"]*):/.exec(lines[0] ?? "")?.[1] ?? "";
  let sum: Progress = {
    name: file.name,
    read: 0,
    size,
    operations: 0,
    applied: 0,
    failed: 0,
    ignored: 0,
    failures: [],
    isDone: false,
    group,
  };
  onProgress(sum);
  for (const part of parts) {
    const typescript = `for await (const { id, ok } of db.feed(operations)) …`;
    const fed = await ask<Fed>({ method: "POST", path: "/brooklet/v1/feed", body: part, typescript });
    sum = {
      ...sum,
      read: sum.read + part.length,
      operations: sum.operations + fed.operations,
      applied: sum.applied + fed.applied,
      failed: sum.failed + fed.failed,
      ignored: sum.ignored + fed.ignored,
      failures: [...sum.failures, ...fed.failures].slice(0, FAILURES_MAX),
    };
    onProgress(sum);
  }
  onProgress({ ...sum, isDone: true });
}

/** Where a file is dropped. */
export function FeedView({ onGroup }: { readonly onGroup: (group: string) => void }): JSX.Element {
  const [progress, setProgress] = useState<Progress>();
  const [problem, setProblem] = useState("");
  const [isOver, setOver] = useState(false);
  const chooser = useRef<HTMLInputElement>(null);
  const take = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    setProblem("");
    try {
      await feed(file, setProgress);
      dispatchEvent(new Event("brooklet-fed"));
      dispatchEvent(new Event("brooklet-changed"));
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  const dropped = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    void take(event.dataTransfer?.files[0]);
  };
  const over = (event: DragEvent): void => {
    event.preventDefault();
    setOver(true);
  };
  return (
    <div class="stack">
      <section
        aria-label="A file to feed"
        class={isOver ? "drop over" : "drop"}
        onDragOver={over}
        onDragLeave={() => setOver(false)}
        onDrop={dropped}
      >
        <h2>Drop a file of operations here</h2>
        <p class="quiet">One put, update or remove a line, or a list of them, as Vespa's feed has them.</p>
        <button type="button" class="button first" onClick={() => chooser.current?.click()}>
          Choose a file
        </button>
        <input
          ref={chooser}
          type="file"
          hidden
          aria-label="File of operations"
          onChange={(event) => void take(event.currentTarget.files?.[0])}
        />
      </section>
      <Problem message={problem} />
      {progress !== undefined && <Told progress={progress} onGroup={onGroup} />}
      <div class="beside">
        <Code
          label="A line"
          text={'{"put": "id:note:note:g=alice:n1", "fields": {"title": "Invoice 42", "body": "Due on Friday"}}'}
        />
        <Code label="curl" text={`curl -X POST '${location.origin}/brooklet/v1/feed' --data-binary @FILE`} />
      </div>
    </div>
  );
}

interface ToldProps {
  readonly progress: Progress;
  readonly onGroup: (group: string) => void;
}

/** How far it is, and what failed. */
function Told({ progress, onGroup }: ToldProps): JSX.Element {
  const { name, read, size, applied, failed, ignored, failures, isDone, group } = progress;
  return (
    <section class="note stack" aria-label="Progress">
      <div class="bar">
        <h2 class="grow">{name}</h2>
        <span role="status">{isDone ? "Done" : `${Math.round((read / Math.max(size, 1)) * 100)} %`}</span>
      </div>
      <progress max={Math.max(size, 1)} value={read} aria-label="Fed so far" />
      <p>
        <b>{figure(applied)}</b> applied, <b class={failed > 0 ? "bad" : ""}>{figure(failed)}</b> failed
        {ignored > 0 && `, ${figure(ignored)} ignored by the cluster's selection`}
      </p>
      {failures.length > 0 && <pre>{failures.map((one) => JSON.stringify(one)).join("\n")}</pre>}
      {isDone && group !== "" && (
        <button type="button" class="button" onClick={() => onGroup(group)}>
          Search group {group}
        </button>
      )}
    </section>
  );
}
