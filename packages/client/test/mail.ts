/** The schema most tests are about. */
import {
  array,
  bool,
  double,
  int,
  long,
  map,
  position,
  raw,
  type Schema,
  schema,
  string,
  struct,
  tensor,
  text,
  timestamp,
  vector,
  weightedSet,
} from "../src/index.ts";

const person = struct({ name: string(), email: string().optional(), about: text() }, { name: "person" });

const fields = {
  subject: text({ show: "bold" }),
  body: text({ match: "substring" }),
  sender: string(),
  recipients: array(string()),
  notes: array(text()).optional(),
  sentAt: timestamp(),
  year: int(),
  size: long().optional(),
  score: double().optional(),
  unread: bool().optional(),
  labels: weightedSet(string()).optional(),
  counts: map(string(), int()).optional(),
  people: array(person).optional(),
  place: position().optional(),
  picture: raw().optional(),
  vec: vector(3, { cell: "bfloat16" }).optional(),
  chunks: tensor("float", { chunk: "mapped", x: 2 }).optional(),
  weights: tensor("double", { word: "mapped" }).optional(),
  pairs: tensor("float", { a: "mapped", b: "mapped" }).optional(),
};

/** A mail. */
export const mail: Schema<"mail", typeof fields, "recent"> = schema("mail", fields, {
  profiles: {
    recent: {
      inputs: { now: "double" },
      functions: { age: "query(now) - attribute(sentAt)" },
      firstPhase: "bm25(subject) / (1 + age)",
      secondPhase: "firstPhase + 1",
      summaryFeatures: ["age"],
    },
  },
  fieldsets: { all: ["subject", "body", "notes"] },
});
