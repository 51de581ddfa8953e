import { bool, schema, string, text, timestamp } from "brooklet";

export const mail = schema("mail", {
  subject: text(),
  body: text(),
  sender: string(),
  isUnread: bool(),
  sentAt: timestamp(),
});
