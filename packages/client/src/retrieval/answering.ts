/** What answers a question, loaded when one is asked: the retrieval, the model, what it is told, and what comes of what it says. */
import {
  type AnswerPart,
  answer,
  ChatError,
  type ChatMessage,
  type LanguageModel,
  type Retrieved,
  recentMessages,
  rewrittenQuestion,
  tokensAtMost,
} from "@brooklet/answers";
import { membersThere, type Hit as WireHit } from "@brooklet/wire";
import { shownId } from "../document-id.ts";
import { type DocumentPlace, storedFields } from "../document-request.ts";
import { demandKind, invalidArgument, withOwnErrors } from "../error.ts";
import { wholeRoot, wireResult } from "../hit/result.ts";
import type { RequestOptions } from "../request-options.ts";
import type { AnySchema } from "../schema/schema.ts";
import type { AskOptions } from "./answer.ts";
import { failureOfModel } from "./model-failure.ts";
import { type RetrieveOptions, retrievePassages } from "./retrieval.ts";

export { summarize } from "@brooklet/answers";

/** The passages of a group's documents for a question. */
export async function groupRetrieval(
  place: DocumentPlace,
  schema: AnySchema,
  question: string,
  options: RetrieveOptions,
): Promise<Retrieved> {
  return await retrievePassages(schema, question, options, {
    search: async (asked) => {
      const parameters = { "ranking.profile": "default", ...asked };
      const { children = [] } = wholeRoot(await wireResult(place, parameters, options.signal));
      return (children as readonly WireHit[]).map((hit) => ({ ...hit, id: shownId(hit.id, schema.namespace) }));
    },
    stored: (documentId) => storedFields(place, schema, documentId, readOf(options)),
  });
}

function readOf({ signal }: RequestOptions): RequestOptions {
  return membersThere({ signal });
}

const ROLES: readonly ChatMessage["role"][] = ["system", "user", "assistant"];

/** Refuses parts in place of a text, which would be counted as nothing, and messages of tools, which a cut may take the calls of. */
function checkHistory(history: readonly ChatMessage[]): void {
  demandKind("history", history, "a list");
  history.forEach((message, place) => {
    const { role, content } = Object(message) as ChatMessage;
    demandKind(`history[${place}].role`, role, ROLES);
    demandKind(`history[${place}].content`, content, "a text");
  });
}

/** The parts of an answer, by the model of the client unless the options have one; whether that is one was looked at before. */
export async function* answerParts(
  place: DocumentPlace,
  schema: AnySchema,
  question: string,
  options: AskOptions,
  ofClient: LanguageModel | undefined,
): AsyncGenerator<AnswerPart> {
  demandKind("an answer", options, "an object");
  const { history: whole = [], historyTokens = 12_000, rewrite = false, instructions, ...others } = options;
  const { model = ofClient, ...retrieval } = others;
  const { signal, countTokens = tokensAtMost } = retrieval;
  if (!(historyTokens >= 0)) throw invalidArgument(`historyTokens is ${historyTokens}: give 0 or more`);
  checkHistory(whole);
  const history = withOwnErrors(() => recentMessages(whole, historyTokens, countTokens));
  if (model === undefined) {
    throw invalidArgument("there is no language model to ask: give `model`, or the client `languageModel`");
  }
  try {
    const searched = rewrite ? await rewrittenQuestion(question, history, model, signal) : question;
    const { passages } = await groupRetrieval(place, schema, searched, retrieval);
    yield* answer(searched, passages, {
      model,
      history,
      isStored: async ({ documentId }) =>
        (await storedFields(place, schema, documentId, readOf(options))) !== undefined,
      ...membersThere({ instructions, signal }),
    });
  } catch (error) {
    throw ChatError.is(error) ? failureOfModel(error) : error;
  }
}
