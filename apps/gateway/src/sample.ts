/** The sample that is shown before a server, whichever it is: an application, mail of six users, and three searches. */
import { fileURLToPath } from "node:url";
import {
  array,
  bool,
  type Client,
  connect,
  type SearchResult,
  schema,
  string,
  text,
  timestamp,
  vector,
} from "brooklet";
import { hashVector, SAMPLE_USERS, sampleMailbox } from "./sample-mail.ts";

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
const SHOWN = 3;
const BODY_CHARACTERS_MAX = 90;
/** The application package of the sample: a directory. */
export const APPLICATION: string = fileURLToPath(new URL("../sample", import.meta.url));

const print = (line = ""): void => console.log(line);

/** Feeds the mail of six users to a server that has the application, and searches that of one. */
export async function showAround(url: string): Promise<void> {
  print(`Serving sample/schemas/mail.sd at ${url}`);
  const client = connect({ url });
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

/** Tells how to go on. `configPort`: another port for deployments. */
export function invite({ url, configPort }: { readonly url: string; readonly configPort?: number | undefined }): void {
  const yql = encodeURIComponent("select * from mail where userInput(@text)");
  print(`
Go on:
  ${url}/search/?yql=${yql}&text=lease&streaming.groupname=${USER}
  ${url}/document/v1/mail/mail/group/${USER}/1
  npx brooklet query --url ${url} --group ${USER} "select * from mail where labels contains 'travel'" hits=3`);
  if (configPort !== undefined) print(`  vespa deploy -t ${url} <your application>      (also at port ${configPort})`);
  print("Ctrl-C ends it.");
}
