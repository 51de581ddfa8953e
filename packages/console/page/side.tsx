/** What is looked at: a schema, and a group of it with the number of its documents. */
import type { JSX } from "preact";
import { useCallback, useEffect, useState } from "preact/hooks";
import { figure, messageOf, Problem } from "./parts.tsx";
import type { Schema } from "./sd.ts";
import { ask } from "./wire.ts";

/** Groups of a page. Each is counted, so there are not many. */
const GROUPS = 50;

interface SideProps {
  readonly schemas: readonly Schema[];
  readonly schema: Schema | undefined;
  readonly group: string;
  readonly isReady: boolean;
  readonly onChange: (part: { readonly schema?: string; readonly group?: string }) => void;
}

interface Listed {
  readonly groups: readonly string[];
  readonly continuation?: string;
}

async function listed(continuation: string | undefined): Promise<Listed> {
  const more = continuation === undefined ? "" : `&continuation=${encodeURIComponent(continuation)}`;
  const path = `/brooklet/v1/groups?wantedGroupCount=${GROUPS}${more}`;
  return await ask<Listed>({ path, typescript: "for await (const group of db.groups()) …" });
}

/** The list of schemas, and of groups. */
export function Side({ schemas, schema, group, isReady, onChange }: SideProps): JSX.Element {
  const [pages, setPages] = useState<readonly Listed[]>([]);
  const [name, setName] = useState("");
  const [problem, setProblem] = useState("");
  const last = pages.at(-1);
  const load = useCallback(async (before: readonly Listed[]) => {
    try {
      setPages([...before, await listed(before.at(-1)?.continuation)]);
      setProblem("");
    } catch (error) {
      setProblem(messageOf(error));
    }
  }, []);
  const isAny = schemas.length > 0;
  useEffect(() => {
    if (isReady && isAny) void load([]);
  }, [isReady, isAny, load]);
  useEffect(() => {
    const fed = (): void => void load([]);
    addEventListener("brooklet-fed", fed);
    return () => removeEventListener("brooklet-fed", fed);
  }, [load]);
  const groups = pages.flatMap((page) => page.groups).filter((one) => one.includes(name));
  const open = (event: Event): void => {
    event.preventDefault();
    if (name !== "") onChange({ group: name });
  };
  return (
    <aside class="side" aria-label="Schemas and groups">
      <Schemas schemas={schemas} schema={schema} onChange={onChange} />
      <h2>Groups</h2>
      <form onSubmit={open}>
        <input
          class="field"
          placeholder="Name, Enter opens it"
          aria-label="Name of a group"
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </form>
      <Problem message={problem} />
      <ul>
        {groups.map((one) => (
          <li key={one}>
            <button type="button" class="item" aria-pressed={one === group} onClick={() => onChange({ group: one })}>
              <span>{one}</span>
              {schema !== undefined && <Size schema={schema.name} group={one} />}
            </button>
          </li>
        ))}
      </ul>
      {last?.continuation !== undefined && (
        <button type="button" class="button" onClick={() => void load(pages)}>
          More groups
        </button>
      )}
    </aside>
  );
}

/** The schemas, of which one is looked at. */
function Schemas({ schemas, schema, onChange }: Pick<SideProps, "schemas" | "schema" | "onChange">): JSX.Element {
  return (
    <>
      <h2>Schemas</h2>
      <ul>
        {schemas.map((one) => (
          <li key={one.name}>
            <button
              type="button"
              class="item"
              aria-pressed={one === schema}
              onClick={() => onChange({ schema: one.name })}
            >
              <span>{one.name}</span>
              <span class="count">{one.fields.length} fields</span>
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

/** How many documents of a schema a group has. */
function Size({ schema, group }: { readonly schema: string; readonly group: string }): JSX.Element {
  const [count, setCount] = useState<number>();
  useEffect(() => {
    const count = (): void => {
      const body = JSON.stringify({ yql: `select * from ${schema} where true`, "streaming.groupname": group, hits: 0 });
      ask<{ root: { fields: { totalCount: number } } }>({ method: "POST", path: "/search/", body, quiet: true }).then(
        ({ root }) => setCount(root.fields.totalCount),
        () => setCount(undefined),
      );
    };
    count();
    addEventListener("brooklet-changed", count);
    return () => removeEventListener("brooklet-changed", count);
  }, [schema, group]);
  return <span class="count">{count === undefined ? "" : figure(count)}</span>;
}
