/** The commands about an object store that servers share. */
import type { Command } from "commander";
import { days } from "./arguments.ts";
import type { runFork, runRemove, runSnapshot, runSnapshots } from "./snapshot.ts";
import type { Surroundings } from "./surroundings.ts";

const STORE =
  "s3://bucket/prefix (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL_S3) or postgres://…";

/** Adds them. */
export function addStoreCommands(program: Command, surroundings: Surroundings): void {
  const store = program
    .command("store")
    .description("a store that servers share (serve --store): snapshots of all of it, and forks");
  store
    .command("snapshot")
    .description(
      "keep what a store is now, which may be served meanwhile; nothing is copied but what would be replaced",
    )
    .argument("<store>", STORE)
    .option("--keep-days <count>", "days after which it is removed (default: never)", days)
    .option("--json", "print the result as JSON")
    .action(async (address: string, options: Parameters<typeof runSnapshot>[1]) =>
      (await import("./snapshot.ts")).runSnapshot(address, options, surroundings),
    );
  store
    .command("snapshots")
    .description("list the snapshots of a store, the latest last")
    .argument("<store>", STORE)
    .option("--json", "print the result as JSON")
    .action(async (address: string, options: Parameters<typeof runSnapshots>[1]) =>
      (await import("./snapshot.ts")).runSnapshots(address, options, surroundings),
    );
  store
    .command("remove")
    .description("remove a snapshot, and what nothing else needs of it")
    .argument("<store>", STORE)
    .argument("<id>", "its id, as snapshots lists it")
    .option("--json", "print the result as JSON")
    .action(async (address: string, id: string, options: Parameters<typeof runRemove>[2]) =>
      (await import("./snapshot.ts")).runRemove(address, id, options, surroundings),
    );
  store
    .command("fork")
    .description("make another store of what one is, or was at a snapshot, after everything of it was verified")
    .argument("<store>", STORE)
    .argument("<target>", "a place where there is none, of either kind")
    .option("--snapshot <id>", "which snapshot (default: what the store is now)")
    .option("--json", "print the result as JSON")
    .action(async (address: string, target: string, options: Parameters<typeof runFork>[2]) =>
      (await import("./snapshot.ts")).runFork(address, target, options, surroundings),
    );
}
