/** A schema: as a type of TypeScript, and as the text that is deployed, to be changed and deployed anew. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Code, messageOf, Problem } from "./parts.tsx";
import { interfaceOf, type Schema, schemaOf } from "./sd.ts";
import { deploy, otherFiles } from "./wire.ts";

const FIRST = `schema note {
  document note {
    field title type string {
      indexing: summary | index
    }
    field body type string {
      indexing: summary | index
      summary: dynamic
    }
    field tag type string {
      indexing: summary | attribute
    }
  }
  fieldset default {
    fields: title, body
  }
  rank-profile default {
    first-phase {
      expression: bm25(title) * 2 + bm25(body)
    }
    match-features: bm25(title) bm25(body)
  }
}
`;

/** A services.xml for schemas by their names. */
function servicesOf(names: readonly string[]): string {
  const documents = names.map((name) => `<document type="${name}" mode="streaming"/>`).join("");
  const content = `<content id="documents" version="1.0"><redundancy>1</redundancy><documents>${documents}</documents></content>`;
  return `<services version="1.0"><container id="default" version="1.0"><search/><document-api/></container>${content}</services>`;
}

interface SchemaProps {
  readonly schema: Schema | undefined;
  readonly files: ReadonlyMap<string, string>;
  /** What was said of the last deployment. */
  readonly told: string;
  readonly onTold: (told: string) => void;
  readonly onDeployed: () => Promise<void>;
}

/** The schema, as types and as its text. */
export function SchemaView({ schema, files, told, onTold, onDeployed }: SchemaProps): JSX.Element {
  const [text, setText] = useState(schema?.text ?? FIRST);
  const [problem, setProblem] = useState("");
  const read = schemaOf("", text);
  const submit = async (): Promise<void> => {
    onTold("");
    try {
      if (read === undefined) throw new Error("The text has no schema NAME { … }");
      if (schema !== undefined && (await otherFiles()).length > 0)
        throw new Error("The package has files that are no text, such as models: deploy it from where they are");
      const warnings = await deploy(changed(files, schema, read.name, text));
      onTold(warnings.length === 0 ? "Deployed." : `Deployed. ${warnings.join(" ")}`);
      setProblem("");
      await onDeployed();
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return (
    <div class="stack">
      <div class="beside">
        <section class="stack" aria-label="The schema as it is deployed">
          <div class="bar">
            <h2 class="grow">{schema === undefined ? "A first schema" : `${schema.name}.sd`}</h2>
            <button type="button" class="button first" onClick={() => void submit()}>
              Deploy
            </button>
          </div>
          <textarea
            aria-label="Text of the schema"
            spellcheck={false}
            rows={28}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <Problem message={problem} />
          <p role="status" class="good">
            {told}
          </p>
        </section>
        <section class="stack" aria-label="The schema as types">
          {read !== undefined && <Code label="TypeScript" text={interfaceOf(read)} />}
          {read !== undefined && <Profiles schema={read} />}
        </section>
      </div>
      <Code
        label="curl"
        text={`curl -X POST '${location.origin}/application/v2/tenant/default/prepareandactivate' \\\n  -H 'Content-Type: application/zip' --data-binary @application.zip`}
      />
    </div>
  );
}

/** The files of the package with a schema changed. */
function changed(
  files: ReadonlyMap<string, string>,
  schema: Schema | undefined,
  name: string,
  text: string,
): ReadonlyMap<string, string> {
  const next = new Map(files);
  const isAdded = schema === undefined || !files.has(schema.path);
  next.set(isAdded ? `schemas/${name}.sd` : schema.path, text);
  if (!next.has("services.xml")) next.set("services.xml", servicesOf([name]));
  return next;
}

function Profiles({ schema }: { readonly schema: Schema }): JSX.Element {
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>Rank profile</th>
            <th>Inputs</th>
          </tr>
        </thead>
        <tbody>
          {schema.profiles.map(({ name, inputs }) => (
            <tr key={name}>
              <td>{name}</td>
              <td>
                {inputs.map((input) => (
                  <div key={input.name}>
                    <code>
                      query({input.name}) {input.type}
                    </code>
                  </div>
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
