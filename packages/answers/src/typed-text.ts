/**
 * What a user typed, as conditions of a query. Everything in it is words, but for what stands in quotes, which is a phrase;
 * only who asks for the simple query language gets its signs. The text itself is never part of the YQL.
 */
/** What a user typed, with how to take it. */
export interface TextQuery {
  readonly query: string;
  /** Whether documents need one of the words, or all of them; `any` by default. */
  readonly match?: "any" | "all";
  /** The field or field set to look in; `default` by default. */
  readonly in?: string;
  /**
   * How signs are taken: `words` (by default) for what is between words, but that quotes make a phrase of exact words;
   * `simple` for those of the simple query language: `-word`, `+word`, `field:word`, `(a b)`, `word*`, `"a phrase"`.
   */
  readonly language?: "words" | "simple";
  /** Whether the user is typing still: the last word, if nothing is behind it, also finds words that it begins. */
  readonly asYouType?: boolean;
  /** Whether slips are forgiven in words that no document has; as the schema says, if it is not said. */
  readonly typos?: boolean;
}

/** Something a program can read about what was asked. */
export interface SearchNote {
  /** `NO_WORDS`: the text has no word, so that nothing can be found by it. */
  readonly code: "NO_WORDS";
  readonly message: string;
}

/** A text as a condition. */
export interface TypedText {
  readonly condition: string;
  /** What goes beside the YQL. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly note?: SearchNote;
}

/** A phrase: what stands between two quotes, of whatever kind. */
const PHRASE = /["“”„«»]([^"“”„«»]*)["“”„«»]/g;
const QUOTE = /["“”„«»]/;
/** Emoji and signs such as ® and °: a document has none as words, a query would, and match nothing where all are wanted. */
const SIGN = /\p{So}/gu;

/** Writes what a user typed. Throws a `RangeError` where it is to be taken in a way that there is not. */
export function typedText(text: TextQuery): TypedText {
  const { query, match, language = "words", asYouType, typos } = text;
  if (language !== "words" && language !== "simple") {
    throw new RangeError(`the language of a text is 'words' or 'simple', not ${JSON.stringify(language)}`);
  }
  const parameters: Record<string, string> = {};
  if (asYouType === true) parameters["ranking.properties.brooklet.typing"] = "true";
  if (typos !== undefined) parameters["ranking.properties.brooklet.typos"] = typos ? "forgiven" : "exact";
  if (!hasWord(query)) {
    const message = `${JSON.stringify(query)} has no word to search for`;
    const condition = input("text", text, ['grammar: "tokenize"']);
    return { condition, parameters: { ...parameters, text: query }, note: { code: "NO_WORDS", message } };
  }
  if (language === "simple") {
    const condition = input("text", text, match === "all" ? ['grammar: "all"'] : []);
    return { condition, parameters: { ...parameters, text: query } };
  }
  const typed = query.replaceAll(SIGN, " ");
  const isQuoted = QUOTE.test(typed);
  const phrases = isQuoted ? [...typed.matchAll(PHRASE)].map(([, phrase = ""]) => phrase).filter(hasWord) : [];
  const words = isQuoted ? typed.replaceAll(PHRASE, " ") : typed;
  const conditions: string[] = [];
  if (!isQuoted || hasWord(words)) {
    const together = match === "all" ? ['grammar.composite: "and"'] : [];
    conditions.push(input("text", text, ['grammar: "tokenize"', ...together]));
    parameters["text"] = phrases.length === 0 ? typed : words;
  }
  for (const [number, phrase] of phrases.entries()) {
    const name = `text${number + 1}`;
    conditions.push(input(name, text, ['grammar: "phrase"', "stem: false"]));
    parameters[name] = phrase;
  }
  const all = conditions.join(match === "all" ? " and " : " or ");
  return { condition: conditions.length > 1 ? `(${all})` : all, parameters };
}

/** Whether there is anything that makes words. */
function hasWord(text: string): boolean {
  return /[\p{L}\p{Nd}]/u.test(text);
}

function input(parameter: string, text: TextQuery, grammar: readonly string[]): string {
  const annotations = text.in === undefined ? grammar : [...grammar, `defaultIndex: ${JSON.stringify(text.in)}`];
  const call = `userInput(@${parameter})`;
  return annotations.length === 0 ? call : `({${annotations.join(", ")}}${call})`;
}
