/** Loaded before a server: what is garbage in a thread goes soon, so that what the process holds is what it keeps. */
const v8 = require("node:v8");
const vm = require("node:vm");

const EVERY_MS = 500;
/** A machine that is slow has better things to do. */
const PART = 20;
v8.setFlagsFromString("--expose-gc");
const collect = vm.runInNewContext("gc");

function again() {
  const begunMs = performance.now();
  collect();
  setTimeout(again, Math.max(EVERY_MS, PART * (performance.now() - begunMs))).unref();
}

setTimeout(again, EVERY_MS).unref();
