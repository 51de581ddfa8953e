/** `npm start`: a gateway with the mail of six users, three searches of one of them, and addresses to go on with. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  array,
  bool,
  type Client,
  connect,
  type RunningService,
  type SearchResult,
  schema,
  serve,
  string,
  text,
  timestamp,
  vector,
} from "brooklet";
import { hashVector, SAMPLE_USERS, sampleMailbox } from "./sample-mail.ts";
import { parseStartOptions, START_USAGE, type StartOptions } from "./start-options.ts";

/** The documents of `sample/schemas/mail.sd`, for the type checker. */
const mail = schema(
  "mail",
  {
    subject: text(),
    body: text(),
    sender: string(),
    recipients: array(string()),
    sent_at: timestamp(),
    unread: bool(),
    labels: array(string()),
    vec: vector(64),
  },
  { profiles: { near: {}, hybrid: {}, recent: {} } },
);

/** Whose mail is searched; the others are there to show that they are not. */
const USER = "alice";
const MAILS_OF_USER = 400;
const MAILS_OF_OTHERS = 40;
const CONFIG_PORT = 19_071;
const SHOWN = 3;
const BODY_CHARACTERS_MAX = 90;
const APPLICATION = fileURLToPath(new URL("../sample", import.meta.url));

const print = (line = ""): void => console.log(line);

try {
  const options = parseStartOptions(process.argv.slice(2));
  if (options.help) print(START_USAGE);
  else await start(options);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

async function start(options: StartOptions): Promise<void> {
  const temporary = options.data === undefined ? mkdtempSync(join(tmpdir(), "brooklet-sample-")) : undefined;
  try {
    const service = await startService(options, options.data ?? join(temporary ?? "", "data"));
    try {
      await showAround(service);
      if (options.once) return;
      invite(service);
      await Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]);
      print("Finishing what is under way");
    } finally {
      await service.close();
    }
  } finally {
    if (temporary !== undefined) rmSync(temporary, { recursive: true });
  }
}

async function startService({ port }: StartOptions, path: string): Promise<RunningService> {
  const configPort = (await isFree(CONFIG_PORT)) ? { configPort: CONFIG_PORT } : {};
  try {
    return await serve({ path, application: APPLICATION, port, ...configPort });
  } catch (error) {
    const isTaken = error instanceof Error && /is in use$/.test(error.message);
    if (!isTaken || !error.message.startsWith("Port")) throw error;
    throw new Error(`${error.message}: choose another one, npm start -- --port ${port + 1}`, { cause: error });
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = net.createServer();
  try {
    await new Promise((resolve, reject) => {
      probe.once("error", reject);
      probe.listen(port, "127.0.0.1", () => resolve(undefined));
    });
    return true;
  } catch {
    return false;
  } finally {
    probe.close();
  }
}

async function showAround(service: RunningService): Promise<void> {
  print(`Serving sample/schemas/mail.sd at ${service.url}`);
  const client = connect({ url: service.url });
  await fill(client);
  const alice = client.group(USER);
  const typed = "unpaid invoice";
  print(`\nWhat did ${USER} get about "${typed}"?`);
  printHits(await alice.search(mail, { text: typed, limit: SHOWN, timing: true }));
  print(`\nWhat lies near the words "returning the deposit after the lease"?`);
  const near = { field: "vec", vector: hashVector("returning the deposit after the lease") } as const;
  printHits(await alice.search(mail, { near, profile: "near", limit: SHOWN, timing: true }));
  print(`\nWhat is unread, from work, and mentions the budget? The latest first.`);
  const where = mail.conditions.unread.is(true).and(mail.conditions.labels.is("work"));
  printHits(await alice.search(mail, { text: "budget", where, orderBy: "sent_at desc", limit: SHOWN, timing: true }));
}

async function fill(client: Client): Promise<void> {
  const startedAt = performance.now();
  const mailboxes = SAMPLE_USERS.map((user) => ({
    user,
    mails: sampleMailbox(user, user === USER ? MAILS_OF_USER : MAILS_OF_OTHERS),
  }));
  const total = mailboxes.reduce((sum, { mails }) => sum + mails.length, 0);
  let fed = 0;
  for (const { user, mails } of mailboxes) {
    const operations = mails.map((fields, index) => ({ id: `${index + 1}`, fields }));
    for await (const outcome of client.group(user).feed(mail, operations)) {
      if (!outcome.ok) throw outcome.error;
      fed += 1;
      if (process.stdout.isTTY === true) process.stdout.write(`\rFeeding ${fed} of ${total} mails`);
    }
  }
  const elapsedMs = performance.now() - startedAt;
  const clear = process.stdout.isTTY === true ? "\r\u001b[K" : "";
  print(`${clear}Fed ${fed} mails of ${SAMPLE_USERS.length} users over HTTP in ${elapsedMs.toFixed(0)} ms`);
}

type Mail = SearchResult<{
  readonly subject: string;
  readonly body: string;
  readonly sender: string;
  readonly sent_at: Date;
}>;

function printHits({ hits, totalCount, timing, coverage }: Mail): void {
  for (const { relevance, fields } of hits) {
    print(`  ${relevance.toFixed(3).padStart(7)}  ${fields.subject}`);
    print(`           ${fields.sender}, ${fields.sent_at.toISOString().slice(0, 10)}`);
    print(`           ${fields.body.slice(0, BODY_CHARACTERS_MAX)}…`);
  }
  const { searchMs = 0, bytesRead, bytesScanned } = timing ?? {};
  const read = bytesRead === undefined ? "" : `, ${bytesRead} bytes read, ${bytesScanned ?? 0} bytes looked at`;
  print(`  ${totalCount} of ${coverage?.documents ?? 0} mails match; ${searchMs.toFixed(1)} ms${read}`);
}

function invite({ url, configPort }: RunningService): void {
  const yql = encodeURIComponent("select * from mail where userInput(@text)");
  print(`
Go on:
  ${url}/search/?yql=${yql}&text=lease&streaming.groupname=${USER}
  ${url}/document/v1/mail/mail/group/${USER}/1
  npx brooklet query --url ${url} --group ${USER} "select * from mail where labels contains 'travel'" hits=3`);
  if (configPort !== undefined) print(`  vespa deploy -t ${url} <your application>      (also at port ${configPort})`);
  print("Ctrl-C ends it.");
}
