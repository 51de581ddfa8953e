/** What the page makes of answers, and of what is typed or fed. */
import { expect, test } from "vitest";
import { parsed } from "../page/wire.ts";

test("what JSON says is what is put again, whatever is in it", () => {
  const great = "9007199254740993";
  expect(parsed(`{"n":${great},"of":[-${great},9007199254740991,-9007199254740991],"a":{"b":${great}}}`)).toEqual({
    n: great,
    of: [`-${great}`, 9_007_199_254_740_991, -9_007_199_254_740_991],
    a: { b: great },
  });
  for (const plain of [
    `{"t":"a ${great} b","u":"\\"${great}","v":"\\\\"}`,
    "[1.12345678901234567,-0.1234567890123456789,1e300,1.5E-10,12345678901234567.5,0,-1,true,null]",
    '""',
  ])
    expect(parsed(plain)).toEqual(JSON.parse(plain));
  for (const broken of ["", "{", "[01]", "{n:1}"]) expect(() => parsed(broken)).toThrow(SyntaxError);
});
