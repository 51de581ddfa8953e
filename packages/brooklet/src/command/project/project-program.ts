/** The commands of whoever writes a program: a new one, a server while it is written, completion for the shell. */
import { Argument, type Command, Option } from "commander";
import { TEMPLATES } from "create-brooklet";
import { PORT_DEFAULT, port } from "../arguments.ts";
import type { Surroundings } from "../surroundings.ts";
import { runCompletion, SHELLS } from "./completion.ts";
import type { runDev } from "./dev.ts";
import type { runInit } from "./init.ts";

/** Adds them. */
export function addProjectCommands(program: Command, surroundings: Surroundings): void {
  program
    .command("init")
    .description("make a folder with a program that works, of a template")
    .argument("[folder]", "a new folder")
    .addOption(new Option("--template <name>", "of which one").choices(Object.keys(TEMPLATES)))
    .option("--yes", "ask nothing")
    .option("--json", "print what was made as JSON, and ask nothing")
    .action(async (folder: string | undefined, options: Parameters<typeof runInit>[1]) =>
      (await import("./init.ts")).runInit(folder, options, surroundings),
    );
  program
    .command("dev")
    .description("serve schemas while they are written, and deploy them again whenever their file changes")
    .argument("[app]", "a module that exports schemas, or an application package (services.xml, schemas/)")
    .option("--data <dir>", "data directory, made if there is none; in memory unless it is said")
    .option("--port <port>", "port of everything; 0: the system chooses", port, PORT_DEFAULT)
    .option("--no-open", "do not open the console in a browser, as is done at a terminal")
    .action(async (app: string | undefined, options: Parameters<typeof runDev>[1]) =>
      (await import("./dev.ts")).runDev(app, options, surroundings),
    );
  program
    .command("completion")
    .description("print a script that completes commands and options in a shell")
    .addArgument(new Argument("<shell>", "which one").choices(SHELLS))
    .action((shell: string) => runCompletion(shell, program, surroundings));
}
