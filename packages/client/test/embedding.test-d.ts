import { describe, expectTypeOf, test } from "vitest";
import { connect, embedding, type Infer, type InferInput, query, schema, text } from "../src/index.ts";

const note = schema("note", { title: text(), vec: embedding({ from: "title", model: "minilm" }) });

describe("a made field", () => {
  test("cannot be given", () => {
    expectTypeOf<InferInput<typeof note>["vec"]>().toEqualTypeOf<undefined>();
    expectTypeOf<Infer<typeof note>["vec"]>().toEqualTypeOf<readonly number[] | undefined>();
    const group = connect({ url: "http://localhost:8080" }).group("a");
    // @ts-expect-error the server makes it
    void group.put(note, "1", { title: "a", vec: [1] });
  });

  test("is in no document that is got, so that what is got may be put", () => {
    const group = connect({ url: "http://localhost:8080" }).group("a");
    type Got = NonNullable<Awaited<ReturnType<typeof group.get<typeof note>>>>;
    expectTypeOf<Got>().toEqualTypeOf<{ readonly title: string }>();
    const again = async (): Promise<void> => {
      const got = await group.get(note, "1");
      if (got !== undefined) await group.put(note, "1", { ...got, title: "b" });
      for await (const { id, document } of group.visit(note)) await group.put(note, id, document);
      for await (const { document } of group.visit(note, { fields: ["vec"] }))
        expectTypeOf(document.vec).toEqualTypeOf<readonly number[] | undefined>();
    };
    expectTypeOf(again).toBeFunction();
  });

  test("is searched near to, and shown if it is asked for", () => {
    const near = query(note, { near: { field: "vec", text: "a" }, fields: ["vec"] });
    expectTypeOf(near.hitFields).toEqualTypeOf<readonly "vec"[] | undefined>();
  });
});
