/** Loaded before a server: what is garbage in a thread goes soon, so that what the process holds is what it keeps. */
const v8 = require("node:v8");
const vm = require("node:vm");

/** All threads do it at the same moments: between them each has pages that the others gave back. */
const EVERY_MS = 2_000;
/** A machine that is slow has better things to do. */
const PART = 20;
v8.setFlagsFromString("--expose-gc");
const collect = vm.runInNewContext("gc");

function again() {
  const begunMs = performance.now();
  // Any other collection leaves the engine pages without anything in them, for later: as many as it ever had use for.
  collect({ type: "major", execution: "sync", flavor: "last-resort" });
  wait(PART * (performance.now() - begunMs));
}

function wait(leastMs) {
  const endMs = Date.now() + leastMs;
  setTimeout(again, Math.ceil((endMs + 1) / EVERY_MS) * EVERY_MS - Date.now()).unref();
}

wait(0);
