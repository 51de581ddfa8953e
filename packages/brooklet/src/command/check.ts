/** `brooklet check` and `brooklet repair`: what of a data directory is not as it was written, and what there is without it. */
import { mendedShards, shardDamage, shownPartition } from "@brooklet/partition";
import {
  checkDirectory,
  type DirectoryReport,
  type DirectoryWatch,
  type IsSealed,
  type NoteReader,
  repairDirectory,
} from "@brooklet/store/node";
import { openDatabase } from "../node/database.ts";
import { sealsOf } from "../node/sealing.ts";
import { explain } from "./failure.ts";
import { CommandFailed, type Surroundings } from "./surroundings.ts";

/** What is noted of partitions is what is in which shard of a group. */
const notes: NoteReader = { damage: shardDamage, mended: mendedShards };

/** Reads a whole directory, and fails if something of it is damaged. */
export async function runCheck(
  path: string,
  { json }: { readonly json?: boolean },
  surroundings: Surroundings,
): Promise<void> {
  const report = await interruptibly(path, "looked at", surroundings, (isSealed, watch) =>
    checkDirectory(path, openDatabase, isSealed, notes, watch),
  );
  const damage = tell(report, json === true, surroundings);
  if (damage > 0 && json !== true)
    surroundings.warn("What is damaged is refused, all else is served. A backup has it, or: brooklet repair");
  if (damage > 0 || report.ended !== undefined) throw new CommandFailed();
}

/** Repairs a directory, and says what is lost. */
export async function runRepair(
  path: string,
  { drop = false, json }: { readonly drop?: boolean; readonly json?: boolean },
  surroundings: Surroundings,
): Promise<void> {
  const report = await interruptibly(path, "repaired where that was needed", surroundings, (isSealed, watch) =>
    repairDirectory(path, openDatabase, isSealed, { drop, notes }, watch),
  );
  const damage = tell(report, json === true, surroundings);
  const { left = [], salvaged = [], keys = [] } = report;
  if (json !== true) {
    for (const file of report.kept) surroundings.print(`kept as it was: ${file}`);
    for (const { bucket, key, what } of left) {
      const whose = key === undefined ? `bucket ${bucket}` : shownPartition(key);
      surroundings.warn(`not repaired, so restore a backup: ${whose}: ${what}`);
    }
    for (const { file, keys: count } of keys)
      surroundings.print(
        `${file} was written anew with the ${count} keys that its pages still have. What is kept of it has keys, too, and goes with the next group that is erased`,
      );
    for (const { bucket, losses } of salvaged) {
      const lost = losses === 0 ? "nothing of it is lost" : `what is lost is among the above (${losses} lines)`;
      surroundings.print(`bucket ${bucket} was written anew of what its damaged pages still have: ${lost}`);
    }
    const isAsItWas = (bucket: number): boolean =>
      salvaged.some((one) => one.bucket === bucket && one.losses === 0) ||
      left.some((one) => one.bucket === bucket && one.key === undefined);
    const isLost = report.buckets.some(({ bucket, damage: found }) => found.length > 0 && !isAsItWas(bucket));
    if (isLost && damage > left.length && report.ended?.buckets !== 0)
      surroundings.print(
        "What is there is taken for all there is from now on; what is listed above is lost, if no backup has it",
      );
  }
  if (report.ended !== undefined || left.length > 0) throw new CommandFailed();
}

/** Does work that a signal ends with what was done until then; `done` says what that is to a bucket. */
async function interruptibly(
  path: string,
  done: string,
  { onInterrupt, progress }: Surroundings,
  work: (isSealed: IsSealed, watch: DirectoryWatch) => Promise<DirectoryReport>,
): Promise<DirectoryReport> {
  const seals = sealsOf(path);
  const interruption = new AbortController();
  const { signal } = interruption;
  const onBucket = (bucket: number, buckets: number): void => progress(`bucket ${bucket + 1} of ${buckets}`);
  const made = work(seals.isSealed, { signal, onBucket }).finally(() => seals.close());
  onInterrupt?.(() => {
    interruption.abort();
    return made.then(
      ({ buckets, ended = { buckets: buckets.length, of: buckets.length } }) =>
        `Interrupted: ${ended.buckets} of ${ended.of} buckets were ${done}; all else is as it was`,
      (error: unknown) => explain(error),
    );
  });
  const report = await made;
  progress("");
  return report;
}

/** Prints what a directory has, and what is damaged of it. How much that is. */
function tell(report: DirectoryReport, json: boolean, { print, warn }: Surroundings): number {
  const damaged = report.buckets.flatMap(({ bucket, damage }) =>
    damage.map(({ key, what }) => `bucket ${bucket}${key === undefined ? "" : `, ${shownPartition(key)}`}: ${what}`),
  );
  const all = [...report.damage, ...damaged];
  if (json) print(JSON.stringify(report));
  else {
    for (const line of all) warn(line);
    const sum = (of: "partitions" | "operations" | "segments" | "blocks"): number =>
      report.buckets.reduce((total, bucket) => total + bucket[of], 0);
    const counts = `${sum("partitions")} partitions, ${sum("operations")} operations, ${sum("segments")} segments of ${sum("blocks")} blocks`;
    print(
      `${report.buckets.length} buckets: ${counts}; ${all.length === 0 ? `${report.ended === undefined ? "all of it" : "what was looked at"} is as it was written` : `${all.length} things are not as they were written`}`,
    );
  }
  return all.length;
}
