/** The commands that tell what a server has, and how long it takes to search it. */
import type { Command } from "commander";
import { collect, credential, positive, serverUrl } from "../arguments.ts";
import type { Surroundings } from "../surroundings.ts";
import type { runBench } from "./bench.ts";
import type { runGroups } from "./groups.ts";
import type { runSchema } from "./schema.ts";
import type { runStats } from "./stats.ts";

const REQUESTS_DEFAULT = 500;

/** Adds them. */
export function addServerCommands(program: Command, surroundings: Surroundings): void {
  asking(program.command("groups"))
    .description("list the groups that have documents, in no order that means anything")
    .option("--prefix <text>", "only those whose names begin so")
    .option("--limit <count>", "so many at most", positive)
    .option("--documents", "and how many documents each has, by a search of each")
    .action(async (options: Parameters<typeof runGroups>[0]) =>
      (await import("./groups.ts")).runGroups(options, surroundings),
    );
  asking(program.command("stats"))
    .description("tell what a server has and does (its /metrics), or how many documents a group has of each schema")
    .option("--group <name>", "of this group")
    .action(async (options: Parameters<typeof runStats>[0]) =>
      (await import("./stats.ts")).runStats(options, surroundings),
    );
  asking(program.command("schema"))
    .description("list the schemas that are deployed, or print one as it was written")
    .argument("[name]", "the schema")
    .action(async (name: string | undefined, options: Parameters<typeof runSchema>[1]) =>
      (await import("./schema.ts")).runSchema(name, options, surroundings),
    );
  asking(program.command("bench"))
    .description("measure searches of your data: p50, p99, bytes; as in: bench --group alice invoice")
    .argument("[words...]", "what to search for, as query takes it; words of the documents unless it is said")
    .option(
      "--group <name>",
      "whose documents, which may be said again; ten of the groups there are by default",
      collect,
    )
    .option("--queries <file>", "more to search for, a line each")
    .option("--requests <count>", "searches that are measured", positive, REQUESTS_DEFAULT)
    .option("--concurrency <count>", "searches under way at a time", positive, 1)
    .action(async (words: string[], options: Parameters<typeof runBench>[1]) =>
      (await import("./bench.ts")).runBench(words, options, surroundings),
    );
}

/** The options of every command that asks a server. */
function asking(command: Command): Command {
  return command
    .addOption(serverUrl())
    .addOption(credential())
    .option("--json", "print JSON, where there are several a line each");
}
