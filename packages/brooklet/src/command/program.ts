/** The command line: which commands there are, what they take, and what a process ends with. */
import { createRequire } from "node:module";
import { VERBS } from "@brooklet/wire";
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { LOG_LEVELS } from "../node/log.ts";
import {
  addHelp,
  buckets,
  collect,
  credential,
  origins,
  PORT_DEFAULT,
  port,
  positive,
  refuseOthers,
  refuseSlips,
  serverUrl,
  whole,
} from "./arguments.ts";
import { addDirectoryCommands } from "./directory-program.ts";
import type { runEvaluate } from "./evaluate.ts";
import type { runExport } from "./export.ts";
import { EXIT, exitCodeOf, explain, failureJson } from "./failure.ts";
import type { runFeed } from "./feed/feed.ts";
import type { runImport } from "./import/import.ts";
import type { runImportVespa } from "./import/import-vespa.ts";
import { addServerCommands } from "./inspection/server-program.ts";
import type { runKey, runToken } from "./key.ts";
import type { runMcp } from "./mcp.ts";
import type { runMigrate } from "./migrate.ts";
import type { runModelList, runModelOutline, runModelPull } from "./model.ts";
import type { runPlan } from "./plan.ts";
import { countOf } from "./plan.ts";
import { addProjectCommands } from "./project/project-program.ts";
import type { runQuery } from "./query.ts";
import type { runServe } from "./serve.ts";
import { addStoreCommands } from "./store-program.ts";
import { CommandFailed, type Surroundings } from "./surroundings.ts";
import type { runUpdate } from "./update.ts";
import type { runForget, runVisit } from "./visit.ts";

/** Said with the help, since scripts rely on it. */
const EXIT_RULE =
  "Ends with 0 when all of it is done, with 1 when something failed, with 2 when it was called wrongly and nothing was begun.";
/** What a server is told where others do not read it. */
const SERVE_VARIABLES = `
BROOKLET_ADMIN_KEY (…_FILE): the key that clients send; several in a file, one a line.
BROOKLET_ENCRYPTION_KEY (…_FILE): what a data directory is encrypted with.
VESPA_SECRET_<NAME>: the values of --secret; VESPA_SECRET_RERANKER: the key of --reranker.`;
const CONCURRENCY_DEFAULT = 64;
const SLICES_DEFAULT = 4;

/** Runs a command line; gives the exit code: 0 done, 1 failed, 2 called wrongly. Failures are JSON too, where that is wanted. */
export async function runCommandLine(words: readonly string[], surroundings: Surroundings): Promise<number> {
  try {
    refuseOthers(words);
    await makeProgram(surroundings).parseAsync(words, { from: "user" });
    return EXIT.done;
  } catch (error) {
    const exitCode = exitCodeOf(error);
    if (error instanceof CommandFailed || exitCode === EXIT.done) return exitCode;
    // Commander has said its own.
    if (!(error instanceof CommanderError)) surroundings.warn(explain(error));
    if (words.includes("--json")) surroundings.print(JSON.stringify({ error: failureJson(error) }));
    return exitCode;
  }
}

/** All commands. */
export function makeProgram(surroundings: Surroundings): Command {
  const program = new Command("brooklet")
    .description("Exact hybrid search over each user's own data")
    .version(versionOf(), "-V, --version", "print the version of this package")
    .addHelpText("after", `\n${EXIT_RULE}`)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => surroundings.print(text.trimEnd()),
      writeErr: (text) => surroundings.warn(text.trimEnd()),
    })
    .showSuggestionAfterError();
  addServe(program, surroundings);
  addFeed(program, surroundings);
  addUpdate(program, surroundings);
  addQuery(program, surroundings);
  addEvaluate(program, surroundings);
  addVisit(program, surroundings);
  addForget(program, surroundings);
  addExport(program, surroundings);
  addImport(program, surroundings);
  addMigrate(program, surroundings);
  addMcp(program, surroundings);
  addModel(program, surroundings);
  addPlan(program, surroundings);
  addDirectoryCommands(program, surroundings);
  addStoreCommands(program, surroundings);
  addKey(program, surroundings);
  addToken(program, surroundings);
  addServerCommands(program, surroundings);
  addProjectCommands(program, surroundings);
  addHelp(program);
  refuseSlips(program);
  return program;
}

function versionOf(): string {
  const { version } = createRequire(import.meta.url)("brooklet/package.json") as { readonly version: string };
  return version;
}

function addServe(program: Command, surroundings: Surroundings): void {
  program
    .command("serve")
    .description("serve documents and queries over HTTP, with Vespa's interfaces")
    .option("--app <dir>", "application package to deploy at the start (services.xml, schemas/)")
    .option("--data <dir>", "data directory, made if there is none", "./data")
    .option("--store <address>", "a store that several servers share, instead: s3://bucket/prefix or postgres://…")
    .option("--buckets <count>", "of a store that is empty: buckets its groups are spread into, for good (8)", buckets)
    .option("--peer-address <url>", "with --store: where the other servers reach this one, as http://10.0.0.5:7070")
    .option("--port <port>", "port of everything", port, PORT_DEFAULT)
    .option("--config-port <port>", "another port for deployments (the vespa command expects 19071)", port)
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--allow-host <name...>", "more host names requests may be addressed to")
    .option("--no-search-of-all", "refuse searches of all groups, which streaming.selection can ask for")
    .option("--group <name>", "the only group there is here, for clients that cannot name one; others are refused")
    .option("--threads <count>", "threads that read and write", whole)
    .option("--models <dir>", "folder that the paths of models in services.xml begin in")
    .option(
      "--model-cache <dir>",
      "folder for models that services.xml and schemas give the address of (the data's models/)",
    )
    .option(
      "--secret <name=origin...>",
      "where the secret of a name may be sent (openai=https://api.openai.com); its value is VESPA_SECRET_<NAME>",
    )
    .option("--model-origin <origin...>", "where models may be although that is private or plain http")
    .option("--reranker <url>", "what /rerank is appended to: orders passages that POST /brooklet/v1/retrieve gives")
    .option("--reranker-model <name>", "its model, where it has several")
    .option("--keep-removes <seconds>", "how long visits that ask for removes are told of one (two weeks)", whole)
    .option("--cache-mb <megabytes>", "memory for what was read before", positive)
    .option(
      "--shard-mb <megabytes>",
      "from which on a group is split, so that several threads search it (96 is a good size)",
      positive,
    )
    .option("--insecure-allow-anonymous", "listen where others can reach it, although nobody is asked for a key")
    .option("--allow-origin <origin...>", "origins of web pages that may ask: give them tokens", origins)
    .option("--revoked-tokens <file>", "ids of tokens that are not taken any more, one a line; it may change")
    .option("--no-deploy", "take no deployments over HTTP: what --app or the data directory has is served")
    .option(
      "--wrong-credentials <count>",
      "invalid keys and tokens of an address that are looked at in a minute (10; 0: all)",
      whole,
    )
    .option("--group-rate <count>", "requests of one group in a second, more are refused (0: no limit)", whole)
    .option("--group-documents <count>", "documents that each group may have, more are refused (0: no limit)", whole)
    .option("--group-bytes <count>", "bytes that may be stored of each group, likewise (0: no limit)", whole)
    .option("--limits <file>", "limits by their names, as JSON: /limits tells all there are")
    .option("--connections-per-address <count>", "connections of one address at a time (128)", positive)
    .option(
      "--trusted-proxy <network...>",
      "proxies before this server, as 10.0.0.0/8: their X-Forwarded-For is believed",
    )
    .addOption(new Option("--log <format>", "what happens as lines of a log").choices(["json", "pretty"]))
    .addOption(new Option("--log-level <level>", "what of it (info); debug: every answer").choices(LOG_LEVELS))
    .option("--slow-ms <milliseconds>", "searches that take as long are told: in the log, in the console (1000)", whole)
    .option("--audit <file>", "add lines to this file: deployments, erasures, what is done with all groups, refusals")
    .option("--mcp", "serve assistants at /mcp: each token the one group that it is for, by the tools its verbs let")
    .option("--mcp-describe <words>", "the same, and what the documents are, for the model")
    .option("--console", "show what is here, and ask it, on a page at /console/: with a key, where keys are asked for")
    .option("--token-audience <name>", "what tokens are meant for (aud), where servers have names", "brooklet")
    .option("--token-public-key <file>", "the public key of who mints tokens elsewhere: PEM, or a JWK")
    .option("--token-keys <url>", "the list of public keys (JWKS) of who mints tokens elsewhere")
    .option("--token-algorithm <name>", "what those keys sign with: EdDSA, ES256 or RS256", "EdDSA")
    .addHelpText("after", SERVE_VARIABLES)
    .action(async (options: Parameters<typeof runServe>[0]) =>
      (await import("./serve.ts")).runServe(options, surroundings),
    );
}

function addFeed(program: Command, surroundings: Surroundings): void {
  program
    .command("feed")
    .description("put, update and remove the documents of a file (JSON, one operation after the other; also gzip)")
    .argument("<file>", "the file; - for the standard input")
    .addOption(serverUrl())
    .addOption(credential())
    .option("--data <dir>", "a data directory that is fed without a server, instead")
    .option("--app <dir>", "application package to deploy there before")
    .option("--threads <count>", "threads that write there", whole)
    .option("--cluster <name>", "the only content cluster that is written, of a type that several have")
    .option(
      "--concurrency <count>",
      "operations under way at a time, where the server takes them one by one",
      positive,
      CONCURRENCY_DEFAULT,
    )
    .option("--json", "print the result as JSON")
    .option("--results", "print what came of every operation, as a line of JSON each")
    .option("--checkpoint <file>", "keep in this file how far the feed came, and go on there if there is one")
    .action(async (file: string, options: Parameters<typeof runFeed>[1]) =>
      (await import("./feed/feed.ts")).runFeed(file, options, surroundings),
    );
}

function addUpdate(program: Command, surroundings: Surroundings): void {
  program
    .command("update")
    .description("change fields of one document, as in: update id:mail:mail:g=alice:1 unread=false 'year+=1'")
    .argument("<id>", "the document")
    .argument("<changes...>", "field=value, field+=number (also -=, *=, /=), or the fields of an update as JSON")
    .option("--create", "make the document if there is none")
    .option("--condition <selection>", "only if this document selection is true of it")
    .addOption(serverUrl())
    .addOption(credential())
    .option("--json", "print the answer as it is")
    .action(async (id: string, words: string[], options: Parameters<typeof runUpdate>[2]) =>
      (await import("./update.ts")).runUpdate(id, words, options, surroundings),
    );
}

function addQuery(program: Command, surroundings: Surroundings): void {
  program
    .command("query")
    .description("search one group by words, or by YQL, and parameters, as in: query --group alice invoice hits=3")
    .argument("<words...>", "words to look for, or YQL, and parameters as name=value")
    .option("--group <name>", "whose documents")
    .addOption(serverUrl())
    .addOption(credential())
    .option("--json", "print the answer as it is")
    .action(async (words: string[], options: Parameters<typeof runQuery>[1]) =>
      (await import("./query.ts")).runQuery(words, options, surroundings),
    );
}

function addEvaluate(program: Command, surroundings: Surroundings): void {
  program
    .command("eval")
    .description("measure how well searches rank, by a file of questions and the ids of what answers them (JSON)")
    .argument("<file>", 'a list, or { "questions": [] }, of { "question": "…", "answers": { "m1": 2, "m2": 1 } }')
    .requiredOption("--schema <name>", "the schema of the documents")
    .option("--group <name>", "whose documents, where a question has no `group`")
    .option("--profile <name...>", "rank profiles to compare; the one that fits unless it is said")
    .option("--depth <count>", "hits that recall and MRR look at (default: 100)", positive)
    .option("--seed <number>", "of the samples that the intervals are made of (default: 1)", whole)
    .addOption(serverUrl())
    .addOption(credential())
    .option("--json", "print all of it as JSON, question by question")
    .action(async (file: string, options: Parameters<typeof runEvaluate>[1]) =>
      (await import("./evaluate.ts")).runEvaluate(file, options, surroundings),
    );
}

function addVisit(program: Command, surroundings: Surroundings): void {
  program
    .command("visit")
    .description("print documents as lines that feed takes, as in: visit --group alice > alice.jsonl")
    .option("--group <name>", "only this group's")
    .option("--selection <selection>", "only those that this document selection selects")
    .option("--field-set <fields>", "only these fields, as in mail:subject,sender or [id]")
    .option("--since <time>", "only what was written from then on: a date, or seconds since 1970")
    .option("--until <time>", "only what was written before then")
    .option("--removes", "removed documents too, as far as it is still known of them")
    .option("--slices <count>", "the documents in so many parts, for as many visits side by side", positive)
    .option("--slice <number>", "which of the parts, from 0", whole)
    .addOption(serverUrl())
    .addOption(credential())
    .option("--json", "print lines of JSON, as it does anyway")
    .action(async (options: Parameters<typeof runVisit>[0]) =>
      (await import("./visit.ts")).runVisit(options, surroundings),
    );
}

function addForget(program: Command, surroundings: Surroundings): void {
  program
    .command("forget")
    .description("remove all documents of a group, of every type; within a minute their bytes are gone as well")
    .argument("<group>", "whose documents")
    .addOption(serverUrl())
    .addOption(credential())
    .option("--json", "print the result as JSON")
    .action(async (group: string, options: Parameters<typeof runForget>[1]) =>
      (await import("./visit.ts")).runForget(group, options, surroundings),
    );
}

function addExport(program: Command, surroundings: Surroundings): void {
  program
    .command("export")
    .description("write the application package and all documents as files that a Vespa takes")
    .argument("<dir>", "a new directory")
    .addOption(new Option("--to <what>", "for which system").choices(["vespa"]).makeOptionMandatory())
    .addOption(serverUrl())
    .addOption(credential())
    .option("--selection <selection>", "only the documents that this document selection selects")
    .option("--json", "print the result as JSON")
    .action(async (directory: string, options: Parameters<typeof runExport>[1]) =>
      (await import("./export.ts")).runExport(directory, options, surroundings),
    );
}

function addImport(program: Command, surroundings: Surroundings): void {
  program
    .command("import")
    .description(
      "put a document for each row of a CSV file, object of JSON lines, or message of an mbox or Maildir; or all of a Vespa",
    )
    .argument("<file>", "the file, which may be gzip, or the Maildir; - for the standard input; the URL of a Vespa")
    .addOption(
      new Option("--from <format>", "what it is")
        .choices(["csv", "jsonl", "mbox", "maildir", "vespa"])
        .makeOptionMandatory(),
    )
    .option("--schema <name>", "the schema of the documents, where they do not say it")
    .option("--id-from <column>", "the column that has the last part of the id; that of mail is its message id")
    .option("--group <name>", "whose documents")
    .option("--group-from <column>", "the column that says whose document it is")
    .option("--namespace <name>", "namespace of the ids; the name of the schema unless it is said")
    .option(
      "--map <field=column>",
      "a field and its column; field=column[;] cuts a list; all columns by default",
      collect,
    )
    .option("--delimiter <character>", "what stands between the values of a row", ",")
    .addOption(serverUrl())
    .addOption(credential())
    .option("--concurrency <count>", "operations under way at a time", positive, CONCURRENCY_DEFAULT)
    .option("--slices <count>", "parts of a Vespa that are read at a time", positive, SLICES_DEFAULT)
    .option("--selection <selection>", "only the documents of a Vespa that it selects")
    .option("--checkpoint <file>", "keep in this file how far the import of a Vespa came, and go on there")
    .addOption(new Option("--source-key <token>", "what the Vespa is shown").env("VESPA_TOKEN"))
    .option("--json", "print the result as JSON")
    .option("--results", "print what came of every document, as a line of JSON each")
    .action(async (file: string, options: Parameters<typeof runImport>[1] & Parameters<typeof runImportVespa>[1]) =>
      options.from === "vespa"
        ? (await import("./import/import-vespa.ts")).runImportVespa(file, options, surroundings)
        : (await import("./import/import.ts")).runImport(file, options, surroundings),
    );
}

function addMigrate(program: Command, surroundings: Surroundings): void {
  program
    .command("migrate")
    .description("change fields of all stored documents: rename, copy, compute, fill in, embed again")
    .argument(
      "<file>",
      "a module (.mjs, .js; .ts where Node reads it) that exports `migrations`, a list of them or one",
    )
    .addOption(serverUrl())
    .addOption(credential())
    .option("--data <dir>", "a data directory that nobody serves, instead")
    .option("--deploy", "deploy the schemas of the file where the server has others")
    .option("--group <name...>", "only these groups")
    .option("--dry-run", "write nothing, and say what would change, with examples")
    .option("--examples <count>", "documents that a dry run shows (default: 5)", whole)
    .option("--limit <count>", "documents that are changed at most", positive)
    .option("--failures <count>", "documents that cannot be changed, after which it ends (default: 100)", positive)
    .option("--page-size <count>", "documents of one request (default: 100)", positive)
    .option("--checkpoint <file>", "keep in this file how far it came, and go on there if there is one")
    .option("--json", "print the report as JSON")
    .action(async (file: string, options: Parameters<typeof runMigrate>[1]) =>
      (await import("./migrate.ts")).runMigrate(file, options, surroundings),
    );
}

function addMcp(program: Command, surroundings: Surroundings): void {
  program
    .command("mcp")
    .description("let a language model search one group, and nothing else, over the Model Context Protocol")
    .requiredOption("--group <name>", "whose documents")
    .requiredOption("--schema <name>", "the schema of the documents")
    .option("--namespace <name>", "namespace of their ids; the name of the schema unless it is said")
    .option("--describe <words>", "what the documents are, for the model", "the user's documents")
    .option(
      "--filters <fields>",
      "the fields that a model may filter and sort by, with commas; all that it can unless it is said",
    )
    .option("--no-filters", "let it filter by none")
    .option("--dates <fields>", "which of them are times, in seconds since 1970, with commas")
    .option("--near <field>", "a vector field to search near to, where it is not the one that the server makes")
    .option("--near-profile <name>", "the rank profile for it")
    .option("--embedder <id>", "the embedder of questions, where the server has several")
    .addOption(serverUrl())
    .addOption(credential())
    .option("--http <port>", "listen on this port of the loopback address instead of the standard input", port)
    .action(async (options: Parameters<typeof runMcp>[0]) => (await import("./mcp.ts")).runMcp(options, surroundings));
}

function addModel(program: Command, surroundings: Surroundings): void {
  const model = program.command("model").description("files of models: download them, or list what was downloaded");
  const cache = ["--model-cache <dir>", "the folder that serve is given as --model-cache", "./model-cache"] as const;
  model
    .command("pull")
    .description("download files of models, with their checksums; what is there already is not downloaded again")
    .argument("[url...]", "addresses of files")
    .option("--app <dir>", "also what this application package names")
    .option("--sha256 <digest>", "what the file must be")
    .option(...cache)
    .option("--json", "print what came of it as lines of JSON")
    .action(async (urls: string[], options: Parameters<typeof runModelPull>[1]) =>
      (await import("./model.ts")).runModelPull(urls, options, surroundings),
    );
  model
    .command("list")
    .description("list what was downloaded")
    .option(...cache)
    .option("--json", "print lines of JSON")
    .action(async (options: Parameters<typeof runModelList>[0]) =>
      (await import("./model.ts")).runModelList(options, surroundings),
    );
  addOutline(model, surroundings);
}

function addOutline(model: Command, surroundings: Surroundings): void {
  model
    .command("outline")
    .description("write the outline of an ONNX model, for the package of an application whose models rank")
    .argument("<model>", "the model")
    .argument("<outline>", "the file to write, as in app/models/cross-encoder.onnx")
    .option("--json", "print the result as JSON")
    .action(async (file: string, outline: string, options: Parameters<typeof runModelOutline>[2]) =>
      (await import("./model.ts")).runModelOutline(file, outline, options, surroundings),
    );
}

function addPlan(program: Command, surroundings: Surroundings): void {
  program
    .command("plan")
    .description(
      "estimate machines, disks, memory and monthly cost, as in: plan --users 50k --documents 10k (docs/plan.md has the formulas)",
    )
    .option("--users <count>", "how many users (groups) there are; counts are written as 250, 1.5k, 2M, 10B", count)
    .option("--documents <count>", "documents of one user", count)
    .option("--bytes <count>", "bytes of text of one document (default: 1000)", count)
    .option("--dimensions <count>", "of its vector, 0 for none (default: 384)", count)
    .option("--queries <count>", "searches a second of all users, on average", count)
    .option("--queries-per-day <count>", "searches a day of one user, instead (default: 10)", count)
    .option("--writes <count>", "documents written a second by all users, on average", count)
    .option("--writes-per-day <count>", "documents written a day by one user, instead (default: 5)", count)
    .option("--peak <times>", "how many times the average the busiest minutes have (default: 3)", count)
    .option("--burst <count>", "writes of a user that come within seconds of each other (default: 1)", count)
    .option("--prices <file>", "prices that differ, as JSON; --json prints those there are")
    .option("--example", "the example that was published for Vespa: 10 billion documents of a million users")
    .option("--json", "print all of it as JSON: plans, prices, and the measured figures they stand on")
    .action(async (options: Parameters<typeof runPlan>[0]) =>
      (await import("./plan.ts")).runPlan(options, surroundings),
    );
}

function count(text: string): number {
  const value = countOf(text);
  if (value !== undefined) return value;
  throw new InvalidArgumentError("Give a number, as in 250, 1.5k, 2M or 10B.");
}

function addKey(program: Command, surroundings: Surroundings): void {
  const key = program
    .command("key")
    .description("make an admin key for a server: whoever sends it may do everything there")
    .option("--json", "print it as JSON")
    .action(async (options: Parameters<typeof runKey>[0]) => (await import("./key.ts")).runKey(options, surroundings));
  key
    .command("rotate")
    .description("change the key that a data directory, which nobody serves, is encrypted with")
    .argument("<dir>", "the data directory")
    .option("--json", "print the result as JSON")
    .addHelpText(
      "after",
      "\nBROOKLET_ENCRYPTION_KEY (…_FILE): the key that it has; BROOKLET_NEW_ENCRYPTION_KEY (…_FILE): the new one." +
        "\nOne that was interrupted goes on with the new key alone, here or where the directory is served next.",
    )
    .action(async (directory: string, _: object, command: Command) =>
      (await import("./key.ts")).runKeyRotate(directory, command.optsWithGlobals(), surroundings),
    );
}

function addToken(program: Command, surroundings: Surroundings): void {
  program
    .command("token")
    .description("make a token for groups, with the server's admin key (BROOKLET_ADMIN_KEY or BROOKLET_ADMIN_KEY_FILE)")
    .requiredOption("--group <name...>", "whose documents")
    .requiredOption("--verbs <verbs>", `what may be done with them, with commas: ${VERBS.join(", ")}`)
    .option("--schemas <names>", "of which schemas, with commas; of all of them unless it is said")
    .requiredOption("--ttl <time>", "how long it is valid, as 15m or 8h; 24h at most")
    .option("--audience <name>", "the server that it is meant for, where servers have names (serve --token-audience)")
    .option("--id <id>", "its name, by which it can be revoked; random unless it is said")
    .option("--json", "print it as JSON")
    .action(async (options: Parameters<typeof runToken>[0]) =>
      (await import("./key.ts")).runToken(options, surroundings),
    );
}
