/** A second type for an application, made of its own: all names are the same, what they mean is something else. */
import { applicationOf, feedOf, type Recorded, type Step } from "./conversation-rows.ts";

/** Type, settings and a value of a field. */
type Kind = readonly [type: string, settings: string, value: unknown];

const KINDS: readonly Kind[] = [
  ["string", "indexing: summary | index\n match { gram\n gram-size: 2 }", "abc"],
  ["string", "indexing: summary | attribute\n match: exact", "abc"],
  ["int", "indexing: summary | attribute", 7],
  ["string", "indexing: summary | index\n match: cased\n stemming: none\n normalizing: none", "Abc d"],
  ["tensor<float>(other[3])", "indexing: summary | attribute", { values: [1, 2, 3] }],
  ["array<string>", "indexing: summary | attribute", ["abc", "d"]],
  ["map<string, string>", "indexing: summary", { a: "abc" }],
  ["string", "indexing: summary | index\n match: substring", "abc"],
  ["uri", "indexing: summary | index", "http://a.example/b"],
  ["position", "indexing: summary | attribute", { lat: 1, lng: 2 }],
  ["double", "indexing: summary | attribute", 2.5],
  ["string", "indexing: summary | index\n match: word", "abc"],
  ["bool", "indexing: summary | attribute", true],
  ["weightedset<int>", "indexing: summary | attribute", { "3": 4 }],
  ["array<otherpart>", "indexing: summary", [{ key: "abc", value: 3 }]],
  ["string", "indexing: summary | index\n index: enable-bm25", "abc d"],
  ["raw", "indexing: summary", "YWJj"],
];
const INPUTS = ["tensor<float>(other[3])", "double", "tensor<int8>(other[5])", "tensor(other{})", "string"];
/** Names that no field may have. */
const RESERVED = /^(documentid|sddocname|relevancy|default)$/i;

/** One more type of an application. */
export interface Other {
  /** It says where it sorts. */
  readonly name: string;
  /** Which kinds its fields are of. */
  readonly turn: number;
  /** The content clusters that have it: the first there is, and one of its own. */
  readonly clusters: readonly ("first" | "own")[];
  readonly mode: "streaming" | "store-only";
}

/** An element of a list that goes round. */
function at<T>(list: readonly T[], index: number): T {
  const found = list[index % list.length];
  if (found === undefined) throw new Error("the list is empty");
  return found;
}

/** The names that a pattern finds in texts, each once in any case. */
function namesIn(texts: readonly string[], pattern: RegExp): readonly string[] {
  const found = texts.flatMap((text) => [...text.matchAll(pattern)].map(([, name = ""]) => name));
  const folded = found.map((name) => name.toLowerCase());
  return found.filter((_, index) => folded.indexOf(at(folded, index)) === index);
}

/** The rank profiles of the same names, with inputs of other types and functions of the same names. */
function profilesIn(schemas: readonly string[], turn: number): string {
  const inputs = namesIn(schemas, /\bquery\(\s*(\w+)\s*\)/g).map((name, i) => `query(${name}) ${at(INPUTS, i + turn)}`);
  const functions = namesIn(schemas, /\bfunction\s+(?:inline\s+)?(\w+)\s*\(/g);
  const constants = namesIn(schemas, /\bconstant\s+(\w+)/g).map((name) => `${name} tensor(other{}): {a: 3}`);
  return namesIn([...schemas, "rank-profile default"], /\brank-profile\s+([\w-]+)/g)
    .map(
      (profile) => `rank-profile ${profile} {
        inputs {\n${inputs.join("\n")}\n}
        constants {\n${constants.join("\n")}\n}
        ${functions.map((name) => `function ${name}() { expression: 4 }`).join("\n")}
        function other() { expression: 3 }
        first-phase { expression: 77
          rank-score-drop-limit: 5.0 }
        second-phase { expression: firstPhase * 2 }
        match-features: other
        summary-features: firstPhase
        rank-properties { brooklet.stemming: german } }`,
    )
    .join("\n");
}

/** The schema, and the fields of its documents. It has fields of the names that `asked` asks for, too. */
function otherSchema({ name, turn }: Other, schemas: readonly string[], asked: string): readonly [string, object] {
  const flat = schemas.map((text) => text.replace(/struct\s+\w+[^{]*\{(?:[^{}]|\{[^{}]*\})*\}/g, ""));
  const named = [...asked.matchAll(/\b([a-z]\w*)(?: contains|:| *[=<>])/gi)].map(([, field]) => `field ${field} type `);
  const fields = namesIn([...flat, ...named], /\bfield\s+(\w+)\s+type\s/g).filter((field) => !RESERVED.test(field));
  const kinds = fields.map((_, index) => at(KINDS, index + turn));
  const texts = ["otherwords", ...fields.filter((_, index) => at(kinds, index)[0] === "string")];
  const sets = namesIn([...schemas, "fieldset default"], /\bfieldset\s+(\w+)/g).filter((set) => !fields.includes(set));
  const summaries = namesIn(schemas, /\bdocument-summary\s+(\w+)/g).filter((summary) => summary !== "default");
  const text = `schema ${name} { document ${name} {
    ${namesIn(schemas, /\bstruct\s+(\w+)/g)
      .map((struct) => `struct ${struct} { field name type int {}\n field otherpart type long {} }`)
      .join("\n")}
    struct otherpart { field key type string {}\n field value type int {} }
    field otherwords type string { indexing: summary | index }
    ${fields.map((field, i) => `field ${field} type ${at(kinds, i)[0]} { ${at(kinds, i)[1]} }`).join("\n")}
  }
  ${sets.map((set, i) => `fieldset ${set} { fields: ${at(texts, i + turn)} }`).join("\n")}
  ${profilesIn(schemas, turn)}
  ${summaries.map((summary, i) => `document-summary ${summary} { summary ${at(texts, i + turn)} {} }`).join("\n")}
  }`;
  return [
    text,
    Object.fromEntries([["otherwords", "abc"], ...fields.map((field, index) => [field, at(kinds, index)[2]])]),
  ];
}

/** The services of an application, with one more type. */
function servicesWith(services: string, { name, clusters, mode }: Other): string {
  const entry = `<document type="${name}" mode="${mode}"/>`;
  const own = `<content id="own" version="1.0"><redundancy>1</redundancy><documents>${entry}</documents></content>`;
  const first = clusters.includes("first") ? services.replace(/(<documents[^>]*>)/, `$1${entry}`) : services;
  return clusters.includes("own") ? first.replace("</services>", `${own}</services>`) : first;
}

/** The same conversation in an application with one more type, which has documents in all groups. */
export function besideOther(recorded: Recorded, other: Other): Recorded {
  const files = new Map([...applicationOf(recorded)].map(([path, bytes]) => [path, Buffer.from(bytes)]));
  const schemas = [...files].filter(([path]) => path.endsWith(".sd")).map(([, text]) => String(text));
  const asked = JSON.stringify(recorded.conversation.steps).replaceAll('\\"', '"');
  const [schema, fields] = otherSchema(other, schemas, asked);
  files.set(`schemas/${other.name}.sd`, Buffer.from(schema));
  files.set("services.xml", Buffer.from(servicesWith(String(files.get("services.xml")), other)));
  const own = feedOf(recorded.file);
  const ids = [...own, ...recorded.conversation.steps].flatMap(
    ({ put, update, remove }) => put ?? update ?? remove ?? [],
  );
  const named = ids.map((id) => id.split(":")[3] ?? "").filter((group) => /^$|^g=.|^n=\d+$/.test(group));
  const groups = new Set(["g=alice", ...named]);
  const put = (number: number): readonly Step[] =>
    [...groups].map((group) => ({ put: `id:n:${other.name}:${group}:${number}`, fields }));
  return {
    about: recorded.about,
    file: {
      ...(recorded.file.runs && { runs: recorded.file.runs }),
      files: Object.fromEntries([...files].map(([path, bytes]) => [path, { base64: bytes.toString("base64") }])),
      feed: [...put(1), ...own, ...put(2)],
      conversations: [],
    },
    conversation: { ...recorded.conversation, files: {} },
  };
}

/** The types of an application. */
export function typesOf(recorded: Recorded): readonly string[] {
  const paths = [...applicationOf(recorded).keys()].filter((path) => path.endsWith(".sd"));
  return paths.map((path) => path.replace(/^.*\/|\.sd$/g, "")).sort();
}

/** The same conversation, in which every search says which types it is of: by `from`, where it does, or by a restriction. */
export function restricted(recorded: Recorded): Recorded {
  const types = typesOf(recorded);
  const steps = recorded.conversation.steps.map((step): Step => {
    if ([step.put, step.update, step.remove, step.get, step.compact].some((id) => id !== undefined)) return step;
    const pairs: readonly (readonly [string, string])[] = Array.isArray(step.search)
      ? step.search
      : Object.entries(step.search ?? {});
    const text = JSON.stringify([pairs, step.body]);
    const [, from = ""] = /"yql\W+select .*? from (\w+)/i.exec(text) ?? [];
    if (/restrict/.test(text) || types.includes(from)) return step;
    return { ...step, search: [...pairs, ["model.restrict", types.join(",")]] };
  });
  return { ...recorded, conversation: { ...recorded.conversation, steps } };
}
