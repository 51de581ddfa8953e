/** A cluster is closed though its store is cut off, as a real service is: it was killed, or its connections are open and nothing comes. */
import { expect, onTestFinished, test } from "vitest";
import { s3ObjectStore } from "../src/s3.ts";
import { REQUIRED, startS3, versitygw } from "./servers.ts";
import { get, NOTE, openCluster, packageOf, put } from "./setting.ts";

type Service = Awaited<ReturnType<typeof startS3>>;

/** How a service is cut off, and is there again. */
const CUTS: readonly [
  name: string,
  cut: (service: Service) => Promise<void>,
  mend: (service: Service) => Promise<void>,
][] = [
  ["was killed", (service) => service.kill(), (service) => service.start()],
  ["is silent", (service) => service.suspend(), async (service) => service.resume()],
];
const CLOSE_MS = 500;

test.skipIf(!REQUIRED && versitygw() === undefined).each(CUTS)(
  "a gateway is closed though its S3 service %s, and what it acknowledged is there",
  async (_, cut, mend) => {
    const service = await startS3();
    onTestFinished(() => service.stop());
    const { cluster, problems } = await openCluster(s3ObjectStore(service.options), { closeMs: CLOSE_MS });
    await cluster.deploy(packageOf({ note: NOTE }));
    expect(await put(cluster, "alice", "1", { title: "first note", seen: 1 })).toBe(200);
    await cut(service);
    // Time enough to begin it here, on whatever machine.
    await expect(put(cluster, "alice", "2", { title: "second note", seen: 2 }, "", 2_000)).rejects.toMatchObject({
      status: 504,
      outcome: "unknown",
    });
    await cluster.close();
    expect(problems).toContainEqual(expect.objectContaining({ message: expect.stringMatching(/does not answer/) }));
    await mend(service);
    const { cluster: next } = await openCluster(s3ObjectStore(service.options));
    expect(await get(next, "alice", "1")).toEqual({ title: "first note", seen: 1 });
  },
);
