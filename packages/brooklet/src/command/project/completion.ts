/** `brooklet completion`: a script for a shell that completes commands, options and their choices. */
import type { Command, Option } from "commander";
import { type Surroundings, UsageError } from "../surroundings.ts";

/** The shells there are scripts for. */
export const SHELLS = ["bash", "zsh", "fish"] as const;

/** A command with what may come after it, by the words it is called with. */
interface Completed {
  /** As `model pull`; the program itself is empty. */
  readonly words: string;
  readonly below: readonly Told[];
  readonly options: readonly (Told & { readonly choices: readonly string[]; readonly takesValue: boolean })[];
}

interface Told {
  readonly name: string;
  readonly description: string;
}

/** Prints the script of a shell. */
export function runCompletion(shell: string, program: Command, { print }: Surroundings): void {
  const commands = completedOf(program, "");
  if (shell === "bash") print(bash(commands));
  else if (shell === "zsh") print(zsh(commands));
  else if (shell === "fish") print(fish(commands));
  else throw new UsageError(`there is no completion for '${shell}': there is one for ${SHELLS.join(", ")}`);
}

function completedOf(command: Command, words: string): readonly Completed[] {
  const below = command.commands.map((one) => ({ name: one.name(), description: one.description() }));
  const help: Option[] = command.createHelp().visibleOptions(command);
  const options = help.flatMap((option) =>
    option.long == null
      ? []
      : [
          {
            name: option.long,
            description: option.description,
            choices: option.argChoices ?? [],
            takesValue: option.required || option.optional,
          },
        ],
  );
  const inner = command.commands.flatMap((one) => completedOf(one, `${words} ${one.name()}`.trim()));
  return [{ words, below, options }, ...inner];
}

/** The commands that have commands of their own: after one of them the second word is one, too. */
function parents(commands: readonly Completed[]): readonly string[] {
  return commands.filter(({ words, below }) => words !== "" && below.length > 0).map(({ words }) => words);
}

function choiceCases(commands: readonly Completed[]): readonly string[] {
  return commands.flatMap(({ words, options }) =>
    options
      .filter(({ choices }) => choices.length > 0)
      .map(
        ({ name, choices }) =>
          `    "${words} ${name}") COMPREPLY=($(compgen -W "${choices.join(" ")}" -- "$now")); return ;;`,
      ),
  );
}

function bash(commands: readonly Completed[]): string {
  const cases = commands.map(({ words, below, options }) => {
    const all = [...below, ...options].map(({ name }) => name).join(" ");
    return `    "${words}") words="${all}" ;;`;
  });
  const valued = commands.flatMap(({ words, options }) =>
    options.filter(({ takesValue }) => takesValue).map(({ name }) => `"${words} ${name}"`),
  );
  return `# brooklet completion bash > /etc/bash_completion.d/brooklet, or: source <(brooklet completion bash)
_brooklet() {
  local now="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD - 1]}" command="" words=""
  if [ "$COMP_CWORD" -gt 1 ]; then command="\${COMP_WORDS[1]}"; fi
  case "$command" in
    ${parents(commands).join(" | ")}) if [ "$COMP_CWORD" -gt 2 ]; then command="$command \${COMP_WORDS[2]}"; fi ;;
  esac
  case "$command $before" in
${choiceCases(commands).join("\n")}
    ${valued.join(" | ")}) COMPREPLY=(); return ;;
  esac
  case "$command" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$now"))
}
complete -o bashdefault -o default -F _brooklet brooklet`;
}

function zsh(commands: readonly Completed[]): string {
  const quoted = ({ name, description }: Told): string =>
    `'${`${name}:${description.replaceAll(":", "\\:")}`.replaceAll("'", "'\\''")}'`;
  const cases = commands.map(({ words, below, options }) => {
    const all = [...below, ...options].map((one) => `      ${quoted(one)}`).join("\n");
    return `    "${words}") told=(\n${all}\n    ) ;;`;
  });
  return `#compdef brooklet
# brooklet completion zsh > a folder of $fpath, as _brooklet; or: source <(brooklet completion zsh)
_brooklet() {
  local command=""
  local -a told
  if (( CURRENT > 2 )); then command="\${words[2]}"; fi
  case "$command" in
    ${parents(commands)
      .map((one) => `"${one}"`)
      .join(" | ")}) if (( CURRENT > 3 )); then command="$command \${words[3]}"; fi ;;
  esac
  case "$command" in
${cases.join("\n")}
  esac
  if (( \${#told} )) && [[ "\${words[CURRENT]}" == -* || $CURRENT -eq 2 || "$command" == (${parents(commands).join("|")}) ]]; then
    _describe 'brooklet' told
  else
    _files
  fi
}
if [ "$funcstack[1]" = "_brooklet" ]; then _brooklet "$@"; else compdef _brooklet brooklet; fi`;
}

function fish(commands: readonly Completed[]): string {
  const quoted = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const lines = commands.flatMap(({ words, below, options }) => {
    const names = below.map(({ name }) => name).join(" ");
    const [first = "", second] = words.split(" ");
    const seen = [first, second]
      .filter((word) => word !== undefined && word !== "")
      .map((word) => `__fish_seen_subcommand_from ${word}`);
    const here = seen.length === 0 ? "__fish_use_subcommand" : seen.join("; and ");
    const before = seen.length === 0 || names === "" ? here : `${here}; and not __fish_seen_subcommand_from ${names}`;
    const commandsHere = below.map(
      ({ name, description }) => `complete -c brooklet -f -n ${quoted(before)} -a ${name} -d ${quoted(description)}`,
    );
    const optionsHere = options.map(({ name, description, choices, takesValue }) => {
      const values = choices.length > 0 ? ` -x -a ${quoted(choices.join(" "))}` : takesValue ? " -r" : "";
      return `complete -c brooklet -n ${quoted(here)} -l ${name.replace(/^--/, "")}${values} -d ${quoted(description)}`;
    });
    return [...commandsHere, ...optionsHere];
  });
  return ["# brooklet completion fish > ~/.config/fish/completions/brooklet.fish", ...lines].join("\n");
}
