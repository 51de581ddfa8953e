/** Starts the edge deployment on this machine, in the runtime of the platform, on a free port with HTTP/2. */
import { startFront } from "../../apps/worker/dist/node/front.js";
import { addressOf, startWorkerd } from "../../apps/worker/dist/node/workerd.js";
import { MODEL_ORIGIN } from "./language-model.mjs";

/**
 * @param {string} data where its objects are kept
 * @returns {Promise<import("./gateway.mjs").Gateway>}
 */
export async function startWorker(data) {
  const workerd = startWorkerd({ persist: data, variables: { BROOKLET_MODEL_ORIGINS: MODEL_ORIGIN } });
  const front = await startFront(await addressOf(workerd), 0);
  const { url } = front;
  /** @type {Promise<void> | undefined} */
  let ended;
  // The runtime is killed either way: it has nothing to finish.
  const end = () => {
    ended ??= front.close().then(() => workerd.dispose());
    return ended;
  };
  return {
    url,
    configUrl: url,
    stop: async () => {
      await end();
      return 0;
    },
    kill: end,
  };
}
