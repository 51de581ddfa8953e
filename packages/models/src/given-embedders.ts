/**
 * The embedders that a database was given, where nothing else runs models: in an object of a platform, or a Worker. Components of an
 * application whose model would be run here are refused by name.
 */
import { ServiceError } from "@brooklet/wire";
import { deadlineIn, type Embedder, type Embedding, type Purpose } from "./embedder.ts";
import { MeasuredEmbedder } from "./measured-embedder.ts";
import { kindOf, type ModelState, stateOfUnopened } from "./model-state.ts";
import { Embedders } from "./registry.ts";

/** A text that is to be embedded. */
export interface WantedText {
  /** The id of the embedder; nothing: the only one there is. */
  readonly embedder?: string | undefined;
  readonly text: string;
  readonly purpose: Purpose;
  /** How many values are wanted. */
  readonly values: number;
}

/** What an application says of its embedders. */
export interface EmbeddingApplication {
  readonly embedders?: readonly { readonly id: string; readonly type: string }[];
}

/** Asks for texts of one embedder, purpose and number of values together, and gives the answers in the order of all texts. */
export async function askTogether<Wanted extends WantedText, Made>(
  wanted: readonly Wanted[],
  ask: (first: Wanted, texts: readonly string[]) => Promise<readonly Made[]>,
): Promise<Made[]> {
  const groups = new Map<string, { readonly first: Wanted; readonly indexes: number[] }>();
  for (const [index, text] of wanted.entries()) {
    const name = JSON.stringify([text.embedder, text.purpose, text.values]);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, { first: text, indexes: [index] });
    else group.indexes.push(index);
  }
  const answers: Made[] = [];
  for (const { first, indexes } of groups.values()) {
    const made = await ask(
      first,
      indexes.map((index) => wanted[index]?.text ?? ""),
    );
    for (const [place, index] of indexes.entries()) {
      const answer = made[place];
      if (answer !== undefined) answers[index] = answer;
    }
  }
  return answers;
}

/** The embedders. */
export class GivenEmbedders {
  readonly #measured: readonly MeasuredEmbedder[];
  readonly #embedders: Embedders;
  /** Where models are not run, as the end of "… is not run …". */
  readonly #place: string;

  /** @throws Error if two have one id, or one is no embedder. */
  constructor(embedders: readonly Embedder[], place: string) {
    this.#measured = embedders.map((embedder) => new MeasuredEmbedder(embedder));
    this.#embedders = new Embedders(this.#measured);
    this.#place = place;
  }

  /** An embedding for each text, in order. */
  async embed(
    wanted: readonly WantedText[],
    application: EmbeddingApplication,
    timeoutMs: number,
    gone?: AbortSignal,
  ): Promise<readonly Embedding[]> {
    const deadline = deadlineIn(timeoutMs, gone);
    return await askTogether(wanted, async ({ embedder: id, purpose, values }, texts) => {
      const isOnly = id === undefined && this.#embedders.ids.length === 0;
      const component = this.#components(application).find((other) => isOnly || other.id === id);
      if (component !== undefined) throw new ServiceError("UNSUPPORTED", this.#refusal(component));
      return await this.#embedders.get(id).embed({ texts, purpose, dimensions: values, deadline });
    });
  }

  /** What an application asks for that is not here. */
  async missing(application: EmbeddingApplication): Promise<readonly string[]> {
    return this.#components(application).map((component) => this.#refusal(component));
  }

  /** What is known of those that were given, and of those that the application asks for and nobody gave. */
  async states(application: EmbeddingApplication): Promise<readonly ModelState[]> {
    const lacking = this.#components(application).map((component) => {
      const { id, type } = component;
      return stateOfUnopened({ id, kind: kindOf(type), type }, this.#refusal(component));
    });
    return [...this.#measured.map((embedder) => embedder.state()), ...lacking];
  }

  /** Closes all. */
  async close(): Promise<void> {
    await this.#embedders.close();
  }

  /** Components in whose place none was given. */
  #components({ embedders = [] }: EmbeddingApplication): readonly { readonly id: string; readonly type: string }[] {
    return embedders.filter(({ id }) => !this.#embedders.ids.includes(id));
  }

  #refusal({ id, type }: { readonly id: string; readonly type: string }): string {
    return `embedder '${id}' (${type}) is not run ${this.#place}: give one of that id, as in WorkersAiEmbedder`;
  }
}
