/** The objects of the platform, as the cluster of objects calls them. A stub is made for each call: it belongs to one request. */
import type { DirectoryCalls, GroupCalls, ObjectPort, RegistryCalls } from "@brooklet/partition";
import type { Env } from "./env.ts";

/** Calls of the objects that a Worker is bound to. */
export function objectPort({ GROUP, DIRECTORY, REGISTRY }: Env): ObjectPort {
  // What is given and returned is plain data and bytes; the platform's types of stubs say that of no type of ours.
  return {
    group: (key) => GROUP.getByName(key) as unknown as GroupCalls,
    directory: (number) => DIRECTORY.getByName(String(number)) as unknown as DirectoryCalls,
    registry: () => REGISTRY.getByName("registry") as unknown as RegistryCalls,
  };
}
