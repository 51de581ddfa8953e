/**
 * Rows of comma-separated values as RFC 4180 has them: fields may be quoted, quotes in them are doubled, and quoted
 * fields may have line ends in them. The first row names the columns.
 */
import { UsageError } from "../surroundings.ts";

/** A row by the names of its columns. */
export type CsvRow = ReadonlyMap<string, string>;

const FIELD_CHARACTERS_MAX = 8 << 20;
const COLUMNS_MAX = 1_000;
const BYTE_ORDER_MARK = "\ufeff";

/** The rows of a text that comes in parts. */
export async function* readCsv(parts: AsyncIterable<Uint8Array>, delimiter: string): AsyncGenerator<CsvRow> {
  if (delimiter.length !== 1 || /["\r\n]/.test(delimiter)) {
    throw new UsageError(`'${delimiter}' cannot stand between values: give one character`);
  }
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const parser = new CsvParser(delimiter);
  const read = (part?: Uint8Array): string => {
    try {
      return decoder.decode(part, { stream: part !== undefined });
    } catch (cause) {
      throw new UsageError(`line ${parser.line} or one after it is no text in UTF-8`, { cause });
    }
  };
  for await (const part of parts) yield* parser.add(read(part));
  yield* parser.add(read());
  yield* parser.end();
}

type State = "start" | "plain" | "quoted" | "quote in quoted";

class CsvParser {
  readonly #delimiter: string;
  #columns: readonly string[] | undefined;
  #row: string[] = [];
  #field = "";
  #state: State = "start";
  #line = 1;
  #rowLine = 1;
  #afterReturn = false;
  #isFirst = true;

  constructor(delimiter: string) {
    this.#delimiter = delimiter;
  }

  get line(): number {
    return this.#line;
  }

  *add(text: string): Generator<CsvRow> {
    const rest = this.#isFirst && text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
    if (text !== "") this.#isFirst = false;
    for (const character of rest) {
      const row = this.#take(character);
      if (row !== undefined) yield row;
    }
    if (this.#field.length > FIELD_CHARACTERS_MAX) throw this.#wrong(`a value is longer than ${FIELD_CHARACTERS_MAX}`);
  }

  *end(): Generator<CsvRow> {
    if (this.#state === "quoted") throw this.#wrong("a quoted value does not end");
    if (this.#row.length === 0 && this.#field === "" && this.#state === "start") return;
    const row = this.#endRow();
    if (row !== undefined) yield row;
  }

  #take(character: string): CsvRow | undefined {
    const isSecondOfLineEnd = this.#afterReturn && character === "\n";
    this.#afterReturn = character === "\r";
    if (character === "\n" && !isSecondOfLineEnd) this.#line += 1;
    if (character === "\r") this.#line += 1;
    if (this.#state === "quoted") {
      if (character === '"') this.#state = "quote in quoted";
      else this.#field += character;
      return undefined;
    }
    if (isSecondOfLineEnd) return undefined;
    if (character === "\n" || character === "\r") return this.#endRow();
    if (character === this.#delimiter) this.#endField();
    else if (character === '"') this.#quote();
    else if (this.#state === "quote in quoted") throw this.#wrong(`'${character}' stands after a quoted value`);
    else {
      this.#state = "plain";
      this.#field += character;
    }
    return undefined;
  }

  #quote(): void {
    if (this.#state === "plain") throw this.#wrong("a quote stands inside a value that does not begin with one");
    if (this.#state === "quote in quoted") this.#field += '"';
    this.#state = "quoted";
  }

  #endField(): void {
    this.#row.push(this.#field);
    this.#field = "";
    this.#state = "start";
    if (this.#row.length > COLUMNS_MAX) throw this.#wrong(`there are more than ${COLUMNS_MAX} columns`);
  }

  #endRow(): CsvRow | undefined {
    // An empty line is no row.
    if (this.#row.length === 0 && this.#field === "" && this.#state === "start") return this.#nextRow(undefined);
    this.#endField();
    const row = this.#row;
    this.#row = [];
    if (this.#columns === undefined) {
      const twice = row.find((name, at) => row.indexOf(name) !== at);
      if (twice !== undefined) throw this.#wrong(`two columns are called '${twice}'`);
      this.#columns = row;
      return this.#nextRow(undefined);
    }
    if (row.length !== this.#columns.length) {
      throw this.#wrong(`there are ${row.length} values for ${this.#columns.length} columns`);
    }
    return this.#nextRow(new Map(this.#columns.map((name, at) => [name, row[at] ?? ""])));
  }

  #nextRow(row: CsvRow | undefined): CsvRow | undefined {
    this.#rowLine = this.#line;
    return row;
  }

  #wrong(what: string): UsageError {
    return new UsageError(`line ${this.#rowLine}: ${what}`);
  }
}
