import { createHash } from "node:crypto";
import type { Database } from "brooklet";
import { memory } from "./schema.ts";

/** What an assistant remembers of one user, and of nobody else. */
export function memoryOf(db: Database, user: string) {
  const group = db.group(user);
  return {
    /** The same sentence twice is one memory. */
    remember: async (said: string, by: string): Promise<void> => {
      const id = createHash("sha256").update(said).digest("hex").slice(0, 16);
      await group.put(memory, id, { said, by, at: new Date() });
    },
    recall: async (question: string, hits = 3): Promise<readonly string[]> => {
      const found = await group.search(memory, { text: question, limit: hits });
      return found.hits.map(({ fields }) => fields.said);
    },
  };
}
