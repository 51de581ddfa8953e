/** A worker's turns and timers. */
import type { Surroundings } from "@brooklet/partition";
import type { MessageEnd } from "./platform.ts";

const waiting: (() => void)[] = [];
/** Timers wait four milliseconds when they follow each other; a message to oneself does not. */
let wake: { postMessage(message: null): void } | undefined;

function schedule(work: () => void): void {
  if (wake === undefined) {
    const { port1, port2 } = new MessageChannel() as unknown as Record<"port1" | "port2", MessageEnd>;
    port2.onmessage = () => waiting.shift()?.();
    wake = port1;
  }
  waiting.push(work);
  wake.postMessage(null);
}

/** What a worker of a browser gives. */
export const workerSurroundings: Surroundings = {
  schedule,
  turn: () => new Promise(schedule),
  every: (milliseconds, work) => {
    const timer = setInterval(work, milliseconds);
    return () => clearInterval(timer);
  },
  sharedMs: () => performance.timeOrigin + performance.now(),
};
