/**
 * A clock that moves only when something comes in from outside, as Cloudflare has it where this machine has not: a request, a call of an
 * object, the end of a wait. Loaded before the tests of the project "still clock", so that a deadline that relies on a running
 * clock, or work that never ends its turn, is seen in the platform's runtime too.
 */
import { vi } from "vitest";

const BEFORE = `
const [runningMs, runningDate, wait] = [performance.now.bind(performance), Date.now, scheduler.wait.bind(scheduler)];
let stillMs, stillDate;
const moveClock = () => { stillMs = stillDate = undefined; };
performance.now = () => (stillMs ??= runningMs());
Date.now = () => (stillDate ??= runningDate());
scheduler.wait = async (...asked) => { await wait(...asked); moveClock(); };
`;
const after = (script: string): string => `
const movesClock = (object, name) => {
  const { value } = Object.getOwnPropertyDescriptor(object, name) ?? {};
  if (typeof value !== "function" || name === "constructor") return;
  object[name] = function (...asked) { moveClock(); return value.apply(this, asked); };
};
for (const { prototype } of [${["Directory", "Group", "Registry"].map((name) => nameOf(name, script)).join()}]) for (const name of Object.getOwnPropertyNames(prototype)) movesClock(prototype, name);
movesClock(${nameOf("default", script)}, "fetch");
if (performance.now() !== performance.now()) throw new Error("the clock runs");
`;

/** The name that a script has for what it exports under another. It may say at its end where its map is. */
function nameOf(exported: string, script: string): string {
  const listed = /\bexport\s*\{([^}]*)\};?\s*(?:\/\/[^\n]*\s*)?$/.exec(script)?.[1]?.split(",") ?? [];
  const names = listed.map((item) => item.trim().split(/\s+as\s+/));
  const [name] = names.find((name) => name.at(-1) === exported) ?? [];
  if (name === undefined) throw new Error(`the script of the Worker exports no ${exported}`);
  return name;
}

interface Module {
  readonly type: string;
  readonly contents?: string | Uint8Array;
}

interface Options {
  readonly workers?: readonly { readonly modules?: readonly Module[] | true }[];
}

function stilled(options: Options): Options {
  const still = (module: Module): Module => {
    if (module.type !== "ESModule") return module;
    const script = String(module.contents);
    return { ...module, contents: BEFORE + script + after(script) };
  };
  // The Worker beside it that hands calls to objects is one script, and has no time in it.
  const workers = options.workers?.map((worker) =>
    worker.modules === true ? worker : { ...worker, modules: worker.modules?.map(still) ?? [] },
  );
  return { ...options, ...(workers && { workers }) };
}

vi.mock("miniflare", async (original) => {
  const actual = await original<{ readonly Miniflare: new (options: Options) => object }>();
  return {
    ...actual,
    Miniflare: class extends actual.Miniflare {
      constructor(options: Options) {
        super(stilled(options));
      }
    },
  };
});
