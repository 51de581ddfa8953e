/** The worker in which a program of the playground is tried: whether it ends is all that is asked. */
import { readDocuments, type Scripts, schemaOf, searchOf } from "./evaluation.ts";

const scope = globalThis as unknown as {
  onmessage: (event: { readonly data: Scripts }) => void;
  postMessage(message: "ended"): void;
};

scope.onmessage = ({ data: { schema, documents, search } }) => {
  try {
    const made = schemaOf(schema);
    readDocuments(documents, made);
    searchOf(search, made);
  } catch {
    // The page says what is wrong with it.
  }
  scope.postMessage("ended");
};
