/** What arguments of commands are read as, and which no command takes. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { UsageError } from "./surroundings.ts";

/** Where a server listens, and is asked, unless it is said. */
export const PORT_DEFAULT = 8080;
const PORT_MAX = 65_535;
const BUCKETS_MAX = 1_024;
const WHOLE_MAX = 999_999_999;
/** Longer than anything is kept; the day is one that a clock can say. */
const DAYS_MAX = 1_000_000;

/** A whole number from 0 on. */
export function whole(text: string): number {
  return between(text, 0, WHOLE_MAX, "an integer");
}

/** A whole number from 1 on. */
export function positive(text: string): number {
  return between(text, 1, WHOLE_MAX, "an integer");
}

/** For how many days something is kept. */
export function days(text: string): number {
  return between(text, 1, DAYS_MAX, "an integer");
}

/** Buckets of a store. */
export function buckets(text: string): number {
  return between(text, 1, BUCKETS_MAX, "an integer");
}

/** A port. */
export function port(text: string): number {
  return between(text, 0, PORT_MAX, "a port");
}

function between(text: string, min: number, max: number, what: string): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (value >= min && value <= max) return value;
  throw new InvalidArgumentError(`Give ${what} from ${min} to ${max}.`);
}

/** The address of a server: paths are put behind it, so that it ends without a slash. */
function address(text: string): string {
  if (/^https?:\/\//i.test(text) && URL.canParse(text)) return text.replace(/\/+$/, "");
  throw new InvalidArgumentError("Give an address like http://localhost:8080.");
}

/** The server that a command asks. */
export function serverUrl(): Option {
  return new Option("--url <url>", "the server").default(`http://localhost:${PORT_DEFAULT}`).argParser(address);
}

/** Not the server's own variable: where that is set, a command that is sent to another server must not show its key there. */
export function credential(): Option {
  return new Option("--key <key>", "an admin key of the server, or a token").env("BROOKLET_KEY");
}

/** The origins of pages. */
export function origins(text: string, before: readonly string[] = []): readonly string[] {
  if (URL.canParse(text) && new URL(text).origin === text) return [...before, text];
  throw new InvalidArgumentError("Give an origin like https://notes.example.com.");
}

/** All that is given, where an option may be given again. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** What chooses documents: who says two of them wants both. Of others the last holds, as where a script has its own. */
const CHOICES: ReadonlySet<string> = new Set(["group", "selection"]);

/**
 * Refuses what is a slip in every command: an empty value, as of a variable of a script that is not set; an option whose
 * value is left out, so that the next option would be it; and a choice of documents that is given again.
 */
export function refuseSlips(command: Command): void {
  const given = new Set<string>();
  for (const option of command.options.filter(({ required }) => required)) {
    command.on(`option:${option.name()}`, (value: string) => {
      const isOne = CHOICES.has(option.name()) && !option.variadic && option.parseArg !== collect;
      const isRepeated = isOne && given.has(option.name());
      given.add(option.name());
      if (value === "") command.error(`error: option '${option.flags}' is empty: give it a value, or leave it out`);
      if (command.options.some(({ short, long }) => value === short || value === long))
        command.error(`error: option '${option.flags}' argument missing: '${value}' is an option`);
      if (isRepeated) command.error(`error: option '${option.flags}' is given more than once`);
    });
  }
  command.hook("preAction", () => {
    for (const option of command.options) {
      const name = option.attributeName();
      const isBlank = command.getOptionValueSource(name) === "env" && /^\s*$/.test(command.getOptionValue(name));
      if (isBlank) command.error(`error: ${option.envVar} is empty: unset it, or give it a value`);
    }
    const empty = command.registeredArguments.find(({ variadic }, at) => !variadic && command.args[at] === "");
    if (empty !== undefined) command.error(`error: argument '${empty.name()}' is empty`);
  });
  command.commands.forEach(refuseSlips);
}

/** Gives a command that has others `help` as one of them, and so each of these: the library's own takes what is no command. */
export function addHelp(command: Command): void {
  if (command.commands.length === 0) return;
  command.commands.forEach(addHelp);
  command.helpCommand(false);
  command
    .command("help")
    .description("show what a command takes")
    .argument("[command...]", "the command, and one of its own")
    .action((names: readonly string[]) => commandOf(command, names).help());
}

function commandOf(command: Command, names: readonly string[]): Command {
  return names.reduce((above, name) => {
    const found = above.commands.find((one) => one.name() === name || one.aliases().includes(name));
    return found ?? above.error(`error: unknown command '${name}'`);
  }, command);
}

/** What to call in place of a command that there is not, but that other programs have. */
const INSTEAD: Readonly<Record<string, string>> = {
  "search find": "brooklet query --group NAME words",
  get: `brooklet visit --group NAME --selection 'id == "id:…"'`,
  "put add insert": "brooklet feed FILE, or brooklet update --create ID name=value",
  "remove delete": `brooklet feed FILE with {"remove":"id:…"}, or all of a group by brooklet forget NAME`,
  "deploy start": "brooklet serve --app DIR",
};

/** Refuses such a command: the names that are most alike are of others (`forget` of `get`, which removes a group). */
export function refuseOthers([name = ""]: readonly string[]): void {
  const [, instead] = Object.entries(INSTEAD).find(([names]) => names.split(" ").includes(name)) ?? [];
  if (instead !== undefined) throw new UsageError(`unknown command '${name}': here that is ${instead}`);
}
