/**
 * `npm run bench:cold`: what a process pays before its first answer, as processor time over that of a bare Node in the same run:
 * the import, then a database in memory with its first put and its first search. Each is the least of several processes.
 */
import { spawnSync } from "node:child_process";
import process from "node:process";

const PROCESSES = 7;
const built = JSON.stringify(new URL("../packages/brooklet/dist/index.js", import.meta.url).href);
const SPENT = "const { user, system } = process.cpuUsage(); console.log((user + system) / 1_000);";
const PROGRAMS = {
  "bare Node": "",
  "import 'brooklet'": `await import(${built});`,
  "open in memory, first put, first search": `const { open, schema, text } = await import(${built});
    const mail = schema("mail", { subject: text() });
    const alice = (await open({ schemas: [mail] })).group("alice");
    await alice.put(mail, "m1", { subject: "the invoice" });
    if ((await alice.search(mail, { text: "invoice" })).totalCount !== 1) throw new Error("not found");`,
};

/** Milliseconds of processor time of one process. */
function spentMs(program) {
  const words = ["--input-type=module", "--eval", `${program}\n${SPENT}`];
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return Number(stdout.trim());
}

// In turns, so that what else the machine does meets all of them alike.
const least = Object.fromEntries(Object.keys(PROGRAMS).map((name) => [name, Number.POSITIVE_INFINITY]));
for (let round = 0; round < PROCESSES; round += 1) {
  for (const [name, program] of Object.entries(PROGRAMS)) least[name] = Math.min(least[name], spentMs(program));
}
const bareMs = least["bare Node"];
for (const [name, ms] of Object.entries(least)) {
  const over = ms - bareMs;
  console.log(
    `${name}: ${ms.toFixed(0)} ms of CPU, ${(ms / bareMs).toFixed(2)} times bare Node (${over.toFixed(0)} ms over it)`,
  );
}
