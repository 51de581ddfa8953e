/** The place of a task, as the core reads it (docs/abi.md, task kinds). */
import { Writer } from "./frame.ts";
import type { Place } from "./task.ts";

/** Begins what a task is asked with its place. */
export function writePlace(
  { incarnation, partition, key, layout, operation }: Place,
  writer: Writer = new Writer(),
): Writer {
  return writer.u32(incarnation).u32(partition).text(key).u32(layout).u64(operation);
}
