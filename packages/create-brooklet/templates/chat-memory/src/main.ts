import { open } from "brooklet";
import { memoryOf } from "./memory.ts";
import { memory } from "./schema.ts";

const db = await open({ path: "./data", schemas: [memory] });
const alice = memoryOf(db, "alice");
await alice.remember("My sister Lea lives in Basel.", "user");
await alice.remember("I do not eat peanuts.", "user");

const question = process.argv[2] ?? "Where does my sister live?";
// What goes before the question to the language model.
console.log(["What you know of the user:", ...(await alice.recall(question))].join("\n"));
// Another user has other memories, or none.
console.log(await memoryOf(db, "bob").recall(question));

await db.close();
