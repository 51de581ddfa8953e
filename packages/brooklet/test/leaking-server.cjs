/** Loaded before a server: it does with each request what no server may, by `BROOKLET_TEST_LEAK`: keeps memory, or says who asked. */
const http = require("node:http");
const process = require("node:process");

const KEPT_BYTES = 1 << 17;
const kept = [];

const emit = http.Server.prototype.emit;
http.Server.prototype.emit = function (event, request, ...rest) {
  if (event === "request" && process.env.BROOKLET_TEST_LEAK === "memory") kept.push(Buffer.alloc(KEPT_BYTES, 1));
  if (event === "request" && process.env.BROOKLET_TEST_LEAK === "credentials")
    console.log(request.headers.authorization);
  return emit.call(this, event, request, ...rest);
};
