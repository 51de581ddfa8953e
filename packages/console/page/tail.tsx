/** What was written to a group lately and is not folded yet, the newest first: of all its documents, or of one. */
import type { JSX } from "preact";
import { useCallback, useEffect, useState } from "preact/hooks";
import { partsOfId } from "./answer.ts";
import { bytes, Code, messageOf, Problem } from "./parts.tsx";
import { ask, curlOf, segment } from "./wire.ts";

/** Operations of a page. */
const PAGE = 20;
const MICROS_PER_MS = 1_000;

interface Operation {
  readonly put?: string;
  readonly remove?: string;
  /** Microseconds since the epoch; nothing: that is not known. */
  readonly timestamp?: number;
  readonly bytes: number;
}

interface Page {
  readonly operations: readonly Operation[];
  readonly continuation?: string;
}

interface TailProps {
  readonly group: string;
  /** The only document whose operations are shown. */
  readonly id?: string;
  readonly onOpen?: (id: string) => void;
}

/** Asks for the tail when one wants it, and shows it. */
export function Tail({ group, id, onOpen }: TailProps): JSX.Element {
  const [operations, setOperations] = useState<readonly Operation[]>();
  const [next, setNext] = useState<string>();
  const [problem, setProblem] = useState("");
  const [path, setPath] = useState("");
  const read = useCallback(
    async (before: readonly Operation[], continuation?: string) => {
      const words = new URLSearchParams({ wantedOperationCount: String(PAGE) });
      if (id !== undefined) words.set("selection", `id == ${JSON.stringify(id)}`);
      if (continuation !== undefined) words.set("continuation", continuation);
      const at = `/brooklet/v1/groups/${segment(group)}/tail?${words}`;
      setPath(at);
      try {
        const page = await ask<Page>({ path: at });
        setOperations([...before, ...page.operations]);
        setNext(page.continuation);
        setProblem("");
      } catch (error) {
        setProblem(messageOf(error));
      }
    },
    [group, id],
  );
  const isOpen = operations !== undefined;
  const title = id === undefined ? "Written lately" : "History";
  useEffect(() => {
    const changed = (): void => void (isOpen && read([]));
    addEventListener("brooklet-changed", changed);
    return () => removeEventListener("brooklet-changed", changed);
  }, [isOpen, read]);
  return (
    <section class="stack" aria-label={title}>
      <div class="bar">
        <button type="button" class="button" onClick={() => void read([])}>
          {title}
        </button>
        {isOpen && <span class="quiet">The tail: what is not folded into segments yet, the newest first</span>}
      </div>
      <Problem message={problem} />
      {operations?.length === 0 && <p class="quiet">Nothing: what was written is folded, and stands in segments.</p>}
      {isOpen && operations.length > 0 && (
        <Operations operations={operations} isOfOne={id !== undefined} onOpen={onOpen} />
      )}
      {next !== undefined && (
        <button type="button" class="button" onClick={() => void read(operations ?? [], next)}>
          Older
        </button>
      )}
      {isOpen && <Code label="curl" text={curlOf({ method: "GET", path, body: "" })} />}
    </section>
  );
}

interface OperationsProps {
  readonly operations: readonly Operation[];
  readonly isOfOne: boolean;
  readonly onOpen: TailProps["onOpen"];
}

function Operations({ operations, isOfOne, onOpen }: OperationsProps): JSX.Element {
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>when</th>
            <th>what</th>
            {!isOfOne && <th>document</th>}
            <th>size</th>
          </tr>
        </thead>
        <tbody>
          {operations.map(({ put, remove, timestamp, bytes: size }, index) => {
            const id = put ?? remove ?? "";
            const { own, type } = partsOfId(id);
            return (
              <tr key={`${index} ${id}`}>
                <td>
                  {timestamp === undefined ? "" : new Date(timestamp / MICROS_PER_MS).toLocaleTimeString("en-GB")}
                </td>
                <td>{put === undefined ? "remove" : "put"}</td>
                {!isOfOne && (
                  <td>
                    {onOpen === undefined || put === undefined ? (
                      `${type} ${own}`
                    ) : (
                      <button type="button" class="pill hit-link" onClick={() => onOpen(id)}>
                        {type} {own}
                      </button>
                    )}
                  </td>
                )}
                <td>{bytes(size)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
