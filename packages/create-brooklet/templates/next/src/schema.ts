import { array, schema, string, text, timestamp } from "brooklet";

export const note = schema("note", {
  title: text(),
  body: text(),
  tags: array(string()),
  writtenAt: timestamp(),
});
