import { expect, test } from "vitest";
import { memoryObjectStore, ObjectMemory } from "../src/memory.ts";
import { get, NOTE, openCluster, packageOf, put } from "./setting.ts";

test("who was taken over from after a deployment answers nothing that is old", async () => {
  const memory = new ObjectMemory();
  const { cluster: one } = await openCluster(memoryObjectStore(memory));
  await one.deploy(packageOf({ note: NOTE }));
  await put(one, "alice", "1", { title: "old" });
  const { cluster: two } = await openCluster(memoryObjectStore(memory));
  await two.deploy(packageOf({ note: NOTE.replace("seen type int", "seen type array<int>") }));
  await put(two, "alice", "1", { title: "new" });
  // It serves the other application, and has not written the group anew for it.
  expect(await one.applicationNumber()).toBe(2);
  expect(await get(one, "alice", "1")).toEqual({ title: "new" });
});
