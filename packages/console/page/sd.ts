/**
 * What the page shows of a schema: the names and types of its fields, and its rank profiles, read from the text that was deployed.
 * It is for looking at; what a schema means the server says.
 */

/** A field of documents. */
export interface Field {
  readonly name: string;
  /** As the schema has it: `array<string>`. */
  readonly type: string;
  readonly isAttribute: boolean;
  readonly isIndex: boolean;
}

/** A number or tensor that a profile takes with a query. */
export interface Input {
  readonly name: string;
  readonly type: string;
  readonly value: number;
}

/** A rank profile. */
export interface Profile {
  readonly name: string;
  /** Those of the profiles that it inherits, too. */
  readonly inputs: readonly Input[];
  /** What its first phase says, as it is written; "": what it inherits, or nothing. */
  readonly firstPhase: string;
}

/** A schema with the text that it was deployed as. */
export interface Schema {
  readonly name: string;
  readonly path: string;
  readonly text: string;
  readonly fields: readonly Field[];
  readonly profiles: readonly Profile[];
}

interface Block {
  readonly head: string;
  readonly body: string;
}

/** The blocks of a text with the line before each brace, those inside not looked at. */
function blocksOf(text: string): readonly Block[] {
  const blocks: Block[] = [];
  let depth = 0;
  // Braces in parentheses are of a tensor's type, as in p{}.
  let parentheses = 0;
  let start = 0;
  let headStart = 0;
  let head = "";
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at];
    if (sign === "(") parentheses += 1;
    else if (sign === ")") parentheses -= 1;
    else if (parentheses > 0) continue;
    else if (sign === "{") {
      if (depth === 0) {
        head = text.slice(headStart, at).split("\n").at(-1)?.trim() ?? "";
        if (head === "") head = text.slice(headStart, at).trim().split("\n").at(-1)?.trim() ?? "";
        start = at + 1;
      }
      depth += 1;
    } else if (sign === "}") {
      depth -= 1;
      if (depth === 0) {
        blocks.push({ head, body: text.slice(start, at) });
        headStart = at + 1;
      }
    }
  }
  return blocks;
}

function withoutComments(text: string): string {
  return text
    .split("\n")
    .map((line) => line.replace(/(^|\s)#.*$/, ""))
    .join("\n");
}

function fieldOf({ head, body }: Block): Field | undefined {
  const [, name, type] = /^field\s+(\w+)\s+type\s+(.+)$/.exec(head) ?? [];
  if (name === undefined || type === undefined) return undefined;
  const indexing = /indexing\s*(?::\s*(.*)|\{([^}]*)\})/.exec(body);
  const how = indexing?.[1] ?? indexing?.[2] ?? "";
  return { name, type: type.trim(), isAttribute: /\battribute\b/.test(how), isIndex: /\bindex\b/.test(how) };
}

/** A profile as it is written, with the names of those before it that it inherits. */
function profileOf({ head, body }: Block, before: readonly Profile[]): Profile | undefined {
  const [, name, inherited = ""] = /^rank-profile\s+([\w.-]+)(?:\s+inherits\s+([\w.,\s-]+))?/.exec(head) ?? [];
  if (name === undefined) return undefined;
  const parents = inherited.split(/[\s,]+/);
  const inside = blocksOf(body);
  const own = inside
    .filter((block) => block.head === "inputs")
    .flatMap((block) => [...block.body.matchAll(/query\((\w+)\)\s*([^\n:]*)(?::\s*([-\d.]+))?/g)])
    .map(([, input = "", type = "", value]) => ({
      name: input,
      type: type.trim() === "" ? "double" : type.trim(),
      value: value === undefined ? 0 : Number(value),
    }));
  const others = before.filter((profile) => parents.includes(profile.name)).flatMap(({ inputs }) => inputs);
  const inputs = [...new Map([...others, ...own].map((input) => [input.name, input])).values()];
  return { name, inputs, firstPhase: inside.find((block) => block.head === "first-phase")?.body.trim() ?? "" };
}

/** A schema of a text; nothing, where it is none. */
export function schemaOf(path: string, text: string): Schema | undefined {
  const whole = blocksOf(withoutComments(text)).find(({ head }) => /^(schema|search)\s+\w+/.test(head));
  const name = /^\w+\s+(\w+)/.exec(whole?.head ?? "")?.[1];
  if (whole === undefined || name === undefined) return undefined;
  const inside = blocksOf(whole.body);
  const document = inside.find(({ head }) => head.startsWith("document"));
  const fields = [...blocksOf(document?.body ?? ""), ...inside].flatMap((block) => fieldOf(block) ?? []);
  const profiles: Profile[] = [];
  for (const block of inside) profiles.push(...[profileOf(block, profiles)].filter((profile) => profile !== undefined));
  if (!profiles.some((profile) => profile.name === "default"))
    profiles.unshift({ name: "default", inputs: [], firstPhase: "" });
  return { name, path, text, fields, profiles };
}

/** Whether the values of a field are vectors of a fixed length. */
export function isVector({ type }: Field): boolean {
  return /^tensor(<\w+>)?\(\w+\[\d+\]\)$/.test(type);
}

/** Whether facets of a field say something: texts, whole numbers and flags, and lists of them. */
export function isCounted({ type, isAttribute }: Field): boolean {
  return isAttribute && /^(array<|weightedset<)?(string|bool|byte|int)>?$/.test(type);
}

const VALUES: Readonly<Record<string, string>> = {
  bool: "boolean",
  string: "string",
  uri: "string",
  raw: "Uint8Array",
  position: "Position",
};

/** A type of the schema as TypeScript has it. */
function typescriptOf(type: string): string {
  const [, outer, inner = ""] = /^(array|weightedset|reference)<(.+)>$/.exec(type) ?? [];
  if (outer === "array") return `readonly ${typescriptOf(inner)}[]`;
  if (outer === "weightedset") return `Readonly<Record<${typescriptOf(inner)}, number>>`;
  if (outer === "reference") return "string";
  const [, from, to] = /^map<\s*(\w+)\s*,\s*(.+)>$/.exec(type) ?? [];
  if (from !== undefined && to !== undefined) return `Readonly<Record<${typescriptOf(from)}, ${typescriptOf(to)}>>`;
  if (type.startsWith("tensor")) return /\{\}/.test(type) ? "Tensor" : "Float32Array";
  if (/^(byte|int|long|float|double)$/.test(type)) return type === "long" ? "number | bigint" : "number";
  return VALUES[type] ?? type;
}

/** The documents of a schema as an interface of TypeScript. */
export function interfaceOf({ name, fields }: Schema): string {
  const lines = fields.map((field) => `  ${field.name}?: ${typescriptOf(field.type)};  // ${field.type}`);
  return `interface ${name.charAt(0).toUpperCase()}${name.slice(1)} {\n${lines.join("\n")}\n}`;
}

/**
 * The profile, and its input, that take a vector like those of a field: one that orders by how near a document is, where there is one.
 * Nothing: no profile does.
 */
export function nearProfile(
  { profiles }: Schema,
  { name: field, type }: Field,
): { profile: string; input: string } | undefined {
  const shape = (text: string): string => text.replace(/<\w+>/, "");
  const able = profiles.flatMap(({ name: profile, inputs, firstPhase }) => {
    const input = inputs.find((one) => one.type.startsWith("tensor") && shape(one.type) === shape(type));
    return input === undefined ? [] : [{ profile, input: input.name, firstPhase }];
  });
  const nearness = new RegExp(`\\b(closeness|distance)\\((\\s*field\\s*,)?\\s*${field}\\s*\\)`);
  const found = able.find(({ firstPhase }) => nearness.test(firstPhase)) ?? able[0];
  return found && { profile: found.profile, input: found.input };
}
