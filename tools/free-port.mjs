/** Ports of this machine, for servers that have to be told theirs, and for addresses at which nobody is. */
import { createServer } from "node:net";

const PORT_MIN = 12_000;
const PORT_END = 32_000;
/** Those that were given: their servers may not listen yet. */
const given = new Set();

/**
 * A port that nobody listens at, and that neither a connection nor who listens at any port is given: those have higher numbers on all usual
 * systems. One of those could be taken until its server listens, or is started again, even by a connection to itself.
 *
 * @returns {Promise<number>}
 */
export async function freePort() {
  for (;;) {
    const port = PORT_MIN + Math.floor(Math.random() * (PORT_END - PORT_MIN));
    if (given.has(port)) continue;
    given.add(port);
    const server = createServer();
    const isFree = await new Promise((settle) => {
      server.once("error", () => settle(false));
      server.listen(port, "127.0.0.1", () => settle(true));
    });
    if (!isFree) continue;
    await new Promise((settle) => server.close(settle));
    return port;
  }
}
