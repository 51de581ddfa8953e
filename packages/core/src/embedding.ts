/** Texts that the core wants embedded, and the embeddings it is given for them (docs/abi.md, embeddings). */
import { Reader, Writer } from "./frame.ts";

/** The status of an outcome that is none yet: texts have to be embedded before. */
export const WANTS_EMBEDDINGS = 0;

/** A text to be embedded, and how. */
export interface EmbeddingWanted {
  /** The component that embeds; nothing if the only one there is is meant. */
  readonly embedder?: string;
  readonly purpose: "document" | "query";
  /** Values of each vector; 0 if weights of labels are wanted. */
  readonly values: number;
  readonly text: string;
}

/** What a model made of one text. */
export type Embedding =
  | { readonly shape: "vector"; readonly values: Float32Array }
  | { readonly shape: "rows"; readonly width: number; readonly values: Float32Array }
  | { readonly shape: "weights"; readonly labels: readonly string[]; readonly values: Float32Array }
  /** What a language model answered, where the text is for a field generator. */
  | { readonly shape: "text"; readonly text: string };

/** What a field generator is asked: the JSON schema of the answer, if it is to have one, and the prompt. */
export function generationOf(text: string): { readonly jsonSchema?: string; readonly prompt: string } {
  const end = text.indexOf("\n");
  const prompt = text.slice(end + 1);
  return end <= 0 ? { prompt } : { prompt, jsonSchema: text.slice(0, end) };
}

/** Reads what is wanted. */
export function decodeWanted(bytes: Uint8Array): readonly EmbeddingWanted[] {
  return readWanted(new Reader(bytes));
}

/** Reads what is wanted from where it is next. */
export function readWanted(reader: Reader): readonly EmbeddingWanted[] {
  return reader.list(() => {
    const embedder = reader.text();
    const purpose = reader.u8() === 1 ? "query" : "document";
    const wanted = { purpose, values: reader.u32(), text: reader.text() } as const;
    return embedder === "" ? wanted : { ...wanted, embedder };
  });
}

/** Writes the embeddings, one for each text that was wanted, in that order. */
export function encodeEmbeddings(embeddings: readonly Embedding[]): Uint8Array {
  const writer = new Writer().varint(embeddings.length);
  for (const embedding of embeddings) writeEmbedding(writer, embedding);
  return writer.finish();
}

/** What is known of texts that updates wanted: each time what was wanted, as it came, and the embeddings of it. */
export function encodeKnown(
  known: readonly { readonly wanted: Uint8Array; readonly embeddings: Uint8Array }[],
): Uint8Array {
  const writer = new Writer();
  for (const { wanted, embeddings } of known) writer.bytes(wanted).bytes(embeddings);
  return writer.finish();
}

function writeEmbedding(writer: Writer, embedding: Embedding): void {
  switch (embedding.shape) {
    case "vector":
      writer.u8(1);
      break;
    case "rows":
      writer.u8(2).varint(embedding.width);
      break;
    case "weights":
      writer.u8(3).varint(embedding.labels.length);
      embedding.labels.forEach((label, index) => {
        writer.text(label).f32(embedding.values[index] ?? 0);
      });
      return;
    case "text":
      writer.u8(4).text(embedding.text);
      return;
  }
  writer.varint(embedding.values.length);
  for (const value of embedding.values) writer.f32(value);
}
