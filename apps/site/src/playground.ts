/** The playground: three editors, and beside them what the core in this page finds. */
import { addressOf, programOf } from "./address.ts";
import { Compiler, type Part, type Problem } from "./compiling.ts";
import { type Found, Playground } from "./database.ts";
import { EXAMPLES, type Program } from "./example.ts";
import { make, pictureOf } from "./shown.ts";

const PARTS = ["schema", "documents", "search"] as const;
const TITLES = {
  schema: "Schema, in TypeScript",
  documents: "Documents: JSON, one a line, or an expression",
  search: "Search, in TypeScript",
};
const ROWS = { schema: 10, documents: 8, search: 6 };
const DEBOUNCE_MS = 350;

type EditorName = (typeof PARTS)[number];

/** Puts the playground into a place of the page, and runs it, unless it was given by an address: that waits for a click. */
export function startPlayground(place: HTMLElement): void {
  const [first] = Object.values(EXAMPLES);
  if (first === undefined) return;
  const view = new View(place);
  programOf(location.hash).then((shared) => {
    if (shared !== undefined) return view.show(shared);
    view.edit(first);
    view.run();
  }, view.fail);
  addEventListener("hashchange", () => {
    if (!place.isConnected) return;
    const { hash } = location;
    programOf(hash).then((shared) => {
      if (shared !== undefined && hash === location.hash) view.show(shared);
    }, view.fail);
  });
}

/** All that is seen, and what happens when it is touched. */
class View {
  readonly #playground = new Playground();
  readonly #compiler = new Compiler((problems) => this.#showProblems(problems));
  readonly #editors: Readonly<Record<EditorName, HTMLTextAreaElement>>;
  readonly #problems: Readonly<Record<EditorName, HTMLElement>>;
  readonly #status = make("p", { class: "status", role: "status" });
  readonly #found = make("div", { class: "found" });
  #latest = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether what is typed runs by itself: not before what an address brought was looked at. */
  #isTrusted = false;

  constructor(place: HTMLElement) {
    const problemsOf = (part: EditorName): HTMLElement =>
      make("ul", { class: "problems", "aria-live": "polite", id: `playground-${part}-problems` });
    this.#editors = {
      schema: this.#editor("schema"),
      documents: this.#editor("documents"),
      search: this.#editor("search"),
    };
    this.#problems = { schema: problemsOf("schema"), documents: problemsOf("documents"), search: problemsOf("search") };
    const written = PARTS.map((part) =>
      make(
        "div",
        { class: "editor" },
        make("label", { for: `playground-${part}` }, TITLES[part]),
        this.#editors[part],
        this.#problems[part],
      ),
    );
    const left = make("div", { class: "editors" }, ...written);
    const right = make("section", { class: "results", "aria-label": "What was found" }, this.#status, this.#found);
    place.replaceChildren(make("div", { class: "playground" }, this.#bar(), left, right));
  }

  #bar(): HTMLElement {
    const examples = make(
      "select",
      { id: "playground-example" },
      ...Object.keys(EXAMPLES).map((it) => make("option", {}, it)),
    );
    examples.addEventListener("change", () => {
      const program = EXAMPLES[examples.value];
      if (program === undefined) return;
      this.edit(program);
      this.run();
    });
    const run = make("button", { type: "button", class: "run" }, "Run");
    run.addEventListener("click", () => this.run());
    const share = make("button", { type: "button", class: "share" }, "Share");
    share.addEventListener("click", () => this.#share().catch(this.fail));
    return make("div", { class: "bar" }, make("label", { for: "playground-example" }, "Example"), examples, run, share);
  }

  #editor(part: EditorName): HTMLTextAreaElement {
    const attributes = {
      id: `playground-${part}`,
      spellcheck: "false",
      autocapitalize: "off",
      autocomplete: "off",
      rows: String(ROWS[part]),
    };
    const editor = make("textarea", { ...attributes, "aria-describedby": `playground-${part}-problems` });
    editor.addEventListener("input", () => {
      clearTimeout(this.#timer);
      if (this.#isTrusted) this.#timer = setTimeout(() => this.run(), DEBOUNCE_MS);
    });
    editor.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.run();
    });
    return editor;
  }

  /** Puts a program into the editors. */
  edit(program: Program): void {
    for (const part of PARTS) this.#editors[part].value = program[part];
  }

  /** Shows a program that an address brought. It runs when it is asked to; what was to run before does not. */
  show(program: Program): void {
    clearTimeout(this.#timer);
    this.#isTrusted = false;
    this.#latest += 1;
    this.edit(program);
    this.tell("This program came with the address. Look at it, and run it.");
  }

  /** Runs what stands in the editors. */
  run(): void {
    this.#isTrusted = true;
    this.#latest += 1;
    const number = this.#latest;
    this.#run(number).catch((error) => {
      if (number === this.#latest) this.fail(error);
    });
  }

  async #run(number: number): Promise<void> {
    if (this.#found.childElementCount === 0) this.tell("Loading the core …");
    const [schema = "", , search = ""] = await this.#compiler.compile(this.#parts());
    // Documents are JSON, which is a script as it stands.
    if (number !== this.#latest) return;
    const found = await this.#playground.run({ schema, documents: this.#editors.documents.value, search });
    if (found === undefined || number !== this.#latest) return;
    this.tell(summaryOf(found));
    this.#found.replaceChildren(...pictureOf(found));
  }

  /** What was typed, with what the type checker needs around it. */
  #parts(): readonly Part[] {
    const [schema, documents, search] = PARTS.map((part) => this.#editors[part].value);
    const name = /(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*=\s*schema\s*\(/.exec(schema ?? "")?.[1];
    const searched =
      name === undefined
        ? "((given: object) => given)("
        : `((given: SearchOptions<typeof ${name}, never, (typeof ${name})["profiles"][number], FacetsOf<(typeof ${name})["fields"]>>) => given)(`;
    return [
      { before: `import { ${EXPORTED_NAMES} } from "brooklet/browser";\n`, text: schema ?? "", behind: "\n" },
      { before: "void (", text: asList(documents ?? ""), behind: ");\n" },
      { before: searched, text: search?.trim() === "" ? "{}" : (search ?? "{}"), behind: ");\n", isExpression: true },
    ];
  }

  #showProblems(problems: readonly Problem[]): void {
    for (const [index, part] of PARTS.entries()) {
      const own = problems
        .filter((it) => it.part === index)
        .map(({ line, message }) => make("li", {}, `Line ${line}: ${message}`));
      this.#problems[part].replaceChildren(...own);
    }
  }

  async #share(): Promise<void> {
    const { schema, documents, search } = this.#editors;
    const hash = await addressOf({ schema: schema.value, documents: documents.value, search: search.value });
    history.replaceState(history.state, "", hash);
    const isCopied = await navigator.clipboard?.writeText(location.href).then(
      () => true,
      () => false,
    );
    this.tell(isCopied === true ? "The address has all of it, and is copied." : "The address has all of it: copy it.");
  }

  /** Says one sentence. */
  tell(text: string): void {
    this.#status.classList.remove("failed");
    this.#status.textContent = text;
  }

  /** Says what went wrong; what was found before stays. */
  readonly fail = (error: unknown): void => {
    this.#status.classList.add("failed");
    this.#status.textContent = error instanceof Error ? error.message : String(error);
  };
}

/** All that brooklet/browser exports, as an import writes it; the build says what that is. */
declare const EXPORTED_NAMES: string;

/** Documents as the type checker takes them: they may stand one a line, which is no expression. */
function asList(text: string): string {
  return text.trim().startsWith("{") ? "[]" : text;
}

function summaryOf({ result, documents, totalMs }: Found): string {
  const { bytesRead = 0, bytesScanned = 0 } = result.timing ?? {};
  const matches = `${result.totalCount.toLocaleString("en")} of ${documents.toLocaleString("en")} ${documents === 1 ? "document" : "documents"}`;
  const blocks = `${bytesRead.toLocaleString("en")} bytes of segments read, ${bytesScanned.toLocaleString("en")} looked at`;
  const bytes = bytesScanned === 0 ? "all of it in the tail" : blocks;
  return `${matches} in ${totalMs.toFixed(1)} ms; ${bytes}`;
}
