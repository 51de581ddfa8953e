/** The objects of the platform, as the cluster of objects calls them. A stub is made for each call: it belongs to one request. */
import { ServiceError } from "@brooklet/core";
import type { DirectoryCalls, GroupCalls, ObjectPort, RegistryCalls } from "@brooklet/partition/objects";
import type { Env } from "./env.ts";

/** An object that is called by a longer name is not told what it is. */
const KEY_BYTES_MAX = 1_024;
/** Bytes in UTF-8 of a UTF-16 unit at most. */
const BYTES_OF_UNIT_MAX = 3;
const encoder = new TextEncoder();

/** Calls of the objects that a Worker is bound to. */
export function objectPort({ GROUP, DIRECTORY, REGISTRY }: Env): ObjectPort {
  // What is given and returned is plain data and bytes; the platform's types of stubs say that of no type of ours.
  return {
    group: (key) => {
      if (key.length * BYTES_OF_UNIT_MAX > KEY_BYTES_MAX && encoder.encode(key).length > KEY_BYTES_MAX)
        throw tooLong(key);
      return GROUP.getByName(key) as unknown as GroupCalls;
    },
    directory: (number) => DIRECTORY.getByName(String(number)) as unknown as DirectoryCalls,
    registry: () => REGISTRY.getByName("registry") as unknown as RegistryCalls,
  };
}

function tooLong(key: string): ServiceError {
  const message = `The name of a group has at most ${KEY_BYTES_MAX - "g:".length} bytes here: '${key.slice(2, 34)}…' has more`;
  return new ServiceError({ code: "BAD_REQUEST", status: 400, number: 17, message });
}
