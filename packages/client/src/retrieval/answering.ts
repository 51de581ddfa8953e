/** What answers a question, loaded when one is asked: the retrieval, the model, what it is told, and what comes of what it says. */
import {
  type AnswerPart,
  answer,
  ChatError,
  type ChatMessage,
  type LanguageModel,
  type Passage,
  rewrittenQuestion,
} from "@brooklet/answers";
import { invalidArgument } from "../error.ts";
import { checkLanguageModel } from "./answer.ts";
import { failureOfModel } from "./model-failure.ts";

export { summarize } from "@brooklet/answers";
export { retrievePassages } from "./retrieval.ts";

/** The parts of an ask that are not about retrieval. */
export interface Asking {
  readonly question: string;
  readonly model: LanguageModel | undefined;
  readonly history?: readonly ChatMessage[];
  readonly rewrite?: boolean;
  readonly instructions?: string;
  readonly signal?: AbortSignal;
  retrieve(question: string): Promise<readonly Passage[]>;
  isStored(passage: Passage): Promise<boolean>;
}

/** The parts of an answer. */
export async function* answerParts(asking: Asking): AsyncGenerator<AnswerPart> {
  const { question, model, history = [], rewrite = false, instructions, signal } = asking;
  if (model === undefined) {
    throw invalidArgument(
      "there is no language model to ask: give `model` here, or `languageModel` where the client is made",
    );
  }
  checkLanguageModel(model, "model");
  try {
    const searched = rewrite ? await rewrittenQuestion(question, history, model, signal) : question;
    const passages = await asking.retrieve(searched);
    yield* answer(searched, passages, {
      model,
      history,
      isStored: (passage) => asking.isStored(passage),
      ...(instructions === undefined ? {} : { instructions }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    throw ChatError.is(error) ? failureOfModel(error) : error;
  }
}
