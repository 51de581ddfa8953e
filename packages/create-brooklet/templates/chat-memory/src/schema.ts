import { schema, string, text, timestamp } from "brooklet";

export const memory = schema("memory", {
  said: text(),
  by: string(),
  at: timestamp(),
});
