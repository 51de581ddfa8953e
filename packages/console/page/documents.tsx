/** The documents of a group in the order they are visited, a page at a time. */
import type { JSX } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type Answer, hitsOf, partsOfId } from "./answer.ts";
import { Detail } from "./detail.tsx";
import { useKeys } from "./keys.ts";
import { Code, Empty, messageOf, Problem, shown } from "./parts.tsx";
import type { Schema } from "./sd.ts";
import { Tail } from "./tail.tsx";
import { ask, curlOf } from "./wire.ts";

/** Documents of a page. */
const PAGE = 50;
/** Fields of a row. */
const COLUMNS = 4;

interface Found {
  readonly documents: readonly { readonly id: string; readonly fields: Readonly<Record<string, unknown>> }[];
  readonly continuation?: string;
}

/** The namespace of the documents that a group has; that of the schema's name where there is none. */
async function namespaceOf(schema: string, group: string): Promise<string> {
  const body = JSON.stringify({
    yql: `select documentid from ${schema} where true`,
    "streaming.groupname": group,
    hits: 1,
  });
  const [hit] = hitsOf(await ask<Answer>({ method: "POST", path: "/search/", body, quiet: true }));
  return hit === undefined ? schema : partsOfId(hit.id).namespace;
}

/** The documents of a group. */
export function Documents({ schema, group }: { readonly schema: Schema; readonly group: string }): JSX.Element {
  const [found, setFound] = useState<Found>();
  /** Where the pages begin that were gone through; "" is the first. */
  const [starts, setStarts] = useState<readonly string[]>([""]);
  const [open, setOpen] = useState<string>();
  const [problem, setProblem] = useState("");
  const [path, setPath] = useState("");
  /** Where the page begins that is shown: another is asked for when it is left. */
  const [shownStart, setShownStart] = useState("");
  const turn = useRef(0);
  const start = starts.at(-1) ?? "";
  const load = useCallback(async () => {
    turn.current += 1;
    const mine = turn.current;
    try {
      const namespace = await namespaceOf(schema.name, group);
      const place = `/document/v1/${[namespace, schema.name, "group", group].map(encodeURIComponent).join("/")}/`;
      const at = `${place}?wantedDocumentCount=${PAGE}${start === "" ? "" : `&continuation=${encodeURIComponent(start)}`}`;
      const answer = await ask<Found>({ path: at, typescript: typescriptOf(schema, group) });
      // Of a page that was left, or of documents as they were: what was asked later may have been answered before.
      if (mine !== turn.current) return;
      setPath(at);
      setFound(answer);
      setShownStart(start);
      setProblem("");
    } catch (error) {
      if (mine === turn.current) setProblem(messageOf(error));
    }
  }, [schema, group, start]);
  useEffect(() => {
    void load();
    addEventListener("brooklet-changed", load);
    return () => removeEventListener("brooklet-changed", load);
  }, [load]);
  useKeys({ Escape: () => setOpen(undefined) });
  return (
    <div class="stack">
      <Problem message={problem} />
      <div class={open === undefined ? "" : "with-detail"}>
        <div class="stack">
          {found?.documents.length === 0 && <Empty title="No documents here">Feed a file under Feed.</Empty>}
          {found !== undefined && found.documents.length > 0 && (
            <Table schema={schema} found={found} onOpen={setOpen} />
          )}
          <Pages starts={starts} next={shownStart === start ? found?.continuation : undefined} onStarts={setStarts} />
          {path !== "" && (
            <div class="beside">
              <Code label="TypeScript" text={typescriptOf(schema, group)} />
              <Code label="curl" text={curlOf({ method: "GET", path, body: "" })} />
            </div>
          )}
          <Tail key={group} group={group} onOpen={setOpen} />
        </div>
        {open !== undefined && <Detail key={open} id={open} schema={schema} onClose={() => setOpen(undefined)} />}
      </div>
    </div>
  );
}

interface TableProps {
  readonly schema: Schema;
  readonly found: Found;
  readonly onOpen: (id: string) => void;
}

/** A page of documents, with their first fields. */
function Table({ schema, found, onOpen }: TableProps): JSX.Element {
  const columns = schema.fields.filter(({ type }) => !type.startsWith("tensor")).slice(0, COLUMNS);
  return (
    <section class="scroll" aria-label="Documents">
      <table>
        <thead>
          <tr>
            <th>id</th>
            {columns.map(({ name }) => (
              <th key={name}>{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {found.documents.map(({ id, fields }) => (
            <tr key={id}>
              <td>
                <button type="button" class="pill hit-link" onClick={() => onOpen(id)}>
                  {partsOfId(id).own}
                </button>
              </td>
              {columns.map(({ name }) => (
                <td key={name} class="value" dir="auto">
                  {shown(fields[name] ?? "").slice(0, 120)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface PagesProps {
  readonly starts: readonly string[];
  readonly next: string | undefined;
  readonly onStarts: (starts: readonly string[]) => void;
}

/** The way to the pages before and after. */
function Pages({ starts, next, onStarts }: PagesProps): JSX.Element {
  return (
    <div class="bar">
      <button type="button" class="button" disabled={starts.length === 1} onClick={() => onStarts(starts.slice(0, -1))}>
        Before
      </button>
      <button
        type="button"
        class="button"
        disabled={next === undefined}
        onClick={() => next !== undefined && onStarts([...starts, next])}
      >
        Next
      </button>
      <span class="quiet">Page {starts.length}</span>
    </div>
  );
}

function typescriptOf({ name }: Schema, group: string): string {
  return `for await (const { id, fields } of db.group(${JSON.stringify(group)}).visit(${name})) …`;
}
