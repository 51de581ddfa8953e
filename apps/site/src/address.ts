/** A program in the address of the page: compressed, and in letters that need no escape. */
import { isProgram, type Program } from "./example.ts";

const MARK = "#code=";

/** The address of a program. */
export async function addressOf(program: Program): Promise<string> {
  const bytes = await through(new TextEncoder().encode(JSON.stringify(program)), new CompressionStream("deflate-raw"));
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return `${MARK}${text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** The program of an address; nothing if it has none that can be read. */
export async function programOf(hash: string): Promise<Program | undefined> {
  if (!hash.startsWith(MARK)) return undefined;
  try {
    const text = atob(hash.slice(MARK.length).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = await through(
      Uint8Array.from(text, (it) => it.charCodeAt(0)),
      new DecompressionStream("deflate-raw"),
    );
    const program: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isProgram(program) ? program : undefined;
  } catch {
    return undefined;
  }
}

async function through(bytes: Uint8Array, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  const body = new Blob([bytes as BlobPart])
    .stream()
    .pipeThrough(stream as unknown as ReadableWritablePair<Uint8Array, BufferSource>);
  return new Uint8Array(await new Response(body as unknown as BodyInit).arrayBuffer());
}
