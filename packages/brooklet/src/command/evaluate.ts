/** `brooklet eval`: how well a server's searches rank, by the judged questions of a file. */
import { type Client, shownId } from "@brooklet/client";
import { membersThere } from "@brooklet/wire";
import { compare, type Ranking } from "../evaluation/comparison.ts";
import { type CheckedQuestion, checkedQuestions } from "../evaluation/judged.ts";
import { connect } from "../node/connect.ts";
import { fileBytes, textOf } from "./given-file.ts";
import { serverOf } from "./server.ts";
import { type Surroundings, UsageError } from "./surroundings.ts";

/** Options of the command. */
export interface EvaluateCommand {
  readonly url: string;
  readonly key?: string;
  readonly schema: string;
  /** Whose documents, where a question does not say it. */
  readonly group?: string;
  /** Rank profiles; the one that fits unless it is said. */
  readonly profile?: readonly string[];
  readonly depth?: number;
  readonly seed?: number;
  readonly json?: boolean;
}

const FILE_BYTES_MAX = 256 << 20;

/** Evaluates, and prints the table, or all of it as JSON. */
export async function runEvaluate(file: string, command: EvaluateCommand, surroundings: Surroundings): Promise<void> {
  const { group, profile, depth, seed } = command;
  const questions = questionsOf(file);
  const lonely = questions.find((one) => one.group === undefined && group === undefined);
  if (lonely !== undefined)
    throw new UsageError(`whose documents? '${lonely.question}' does not say it: give --group NAME`);
  const client = connect(serverOf(command));
  let answered = 0;
  const rankings = (profile ?? [undefined]).map((name): [string, Ranking] => [
    name ?? "default",
    async (asked, limit) => {
      const found = await search(client, command, asked, name, limit);
      answered += 1;
      surroundings.progress(`${answered} questions answered`);
      return found;
    },
  ]);
  const evaluation = await compare(questions, new Map(rankings), {
    ...membersThere({ depth, seed }),
  });
  surroundings.progress("");
  surroundings.print(command.json === true ? JSON.stringify(evaluation, undefined, 2) : String(evaluation));
}

/** A file is a list of judged questions, or an object that has one as `questions`; what else it has is its writer's. */
function questionsOf(file: string): readonly CheckedQuestion[] {
  const bytes = fileBytes(file);
  if (bytes.length > FILE_BYTES_MAX) throw new UsageError(`${file} has more than ${FILE_BYTES_MAX} bytes`);
  let json: unknown;
  try {
    json = JSON.parse(textOf(bytes));
  } catch (error) {
    throw new UsageError(`${file} is no JSON: ${(error as Error).message}`);
  }
  if (typeof json === "object" && json !== null && "questions" in json)
    return checkedQuestions(json.questions, `${file}: questions`);
  return checkedQuestions(json, file);
}

async function search(
  client: Client,
  { schema, group }: EvaluateCommand,
  asked: CheckedQuestion,
  profile: string | undefined,
  limit: number,
): Promise<string[]> {
  // A profile that is named ranks by words: which vector it may need, only its writer knows.
  const how = profile === undefined ? {} : { profile, near: false };
  const body = JSON.stringify({ group: asked.group ?? group, schema, text: asked.question, limit, ...how });
  const { json } = await client.request({ method: "POST", target: "/brooklet/v1/search", body, isRepeatable: true });
  const { root } = json as { readonly root: { readonly children?: readonly { readonly id: string }[] } };
  return (root.children ?? []).map(({ id }) => shownId(id));
}
