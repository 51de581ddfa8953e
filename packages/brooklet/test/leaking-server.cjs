/** Loaded before a server: it does with each request what no server may, by `BROOKLET_TEST_LEAK`: keeps memory, or says who asked. */
const http = require("node:http");
const process = require("node:process");

const KEPT_BYTES = 1 << 20;
/** Of requests that come faster than that not each: the machine's memory is not what is tested. */
const KEPT_EVERY_MS = 10;
const kept = [];
let keptMs = 0;

function keep() {
  if (performance.now() - keptMs < KEPT_EVERY_MS) return;
  keptMs = performance.now();
  kept.push(Buffer.alloc(KEPT_BYTES, 1));
}

const emit = http.Server.prototype.emit;
http.Server.prototype.emit = function (event, request, ...rest) {
  if (event === "request" && process.env.BROOKLET_TEST_LEAK === "memory") keep();
  if (event === "request" && process.env.BROOKLET_TEST_LEAK === "credentials")
    console.log(request.headers.authorization);
  return emit.call(this, event, request, ...rest);
};
