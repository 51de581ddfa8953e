/** Whether a server can listen where it is to, asked before anything is made for it. */
import { once } from "node:events";
import { createServer } from "node:net";
import { StartError } from "@brooklet/gateway/node";

/** Refuses a port that another process has. What else is wrong with it is told by who listens there. */
export async function demandFreePort(host: string, port: number): Promise<void> {
  if (port === 0) return;
  const probe = createServer();
  try {
    probe.listen({ host, port });
    await once(probe, "listening");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE")
      throw new StartError(`Port ${port} of ${host} is in use`, { cause: error });
  } finally {
    if (probe.listening) {
      probe.close();
      await once(probe, "close");
    }
  }
}
