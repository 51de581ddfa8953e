import process from "node:process";
import { expect, test, vi } from "vitest";
import { Notices } from "../src/node/notices.ts";

test("a notice is told once, and where nobody listens as a warning of the process", () => {
  const told: string[] = [];
  const notices = new Notices((notice) => void told.push(notice));
  for (const notice of ["a", "b", "a"]) notices.tell(notice);
  expect(told).toEqual(["a", "b"]);
  const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  try {
    const silent = new Notices();
    silent.tell("knows no meaning");
    silent.tell("knows no meaning");
    expect(warned).toHaveBeenCalledExactlyOnceWith("knows no meaning", { code: "BROOKLET_MODEL" });
  } finally {
    warned.mockRestore();
  }
});
