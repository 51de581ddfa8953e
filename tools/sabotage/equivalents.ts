/** Changes that no test can see: what is so with them as without. Each says why. */
import type { Equivalent } from "./mutants.ts";

/** All of them. */
export const EQUIVALENTS: readonly Equivalent[] = [
  {
    file: "packages/store/src/heads.ts",
    was: "this.#names.set(owner, name);",
    because: "what is kept there spares computing it again, and nothing else",
  },
  {
    file: "packages/gateway/src/continuation.ts",
    was: 'const decoder = new TextDecoder("utf-8", { fatal: true });',
    because: "what is decoded carries our seal, so that it is what was encoded",
  },
  {
    file: "packages/gateway/src/continuation.ts",
    was: "if (bytes === undefined || bytes.length <= SEAL_BYTES) throw unknownContinuation(text);",
    is: "if (bytes === undefined || bytes.length < SEAL_BYTES) throw unknownContinuation(text);",
    because: "a seal of nothing, which nobody wrote, is refused the same where it is compared",
  },
  {
    file: "packages/gateway/src/continuation.ts",
    was: 'this.#key ??= crypto.subtle.importKey("raw", this.#secret.slice(), { name: "HMAC", hash: "SHA-256" }, false, [',
    because: "whether the key could be taken out again is told by nobody: it never leaves its private member",
  },
  {
    file: "packages/gateway/src/authority/group-token.ts",
    was: "return undefined;",
    because:
      "a header that cannot be read has no algorithm, and no key is of that; and what ends without a value gives nothing, too",
  },
  {
    file: "packages/gateway/src/authority/throttle.ts",
    was: "for (let at = 0; at < credential.length; at += 1) {",
    because: "one step more mixes the same nothing into every mark: other marks, the same of the same credential",
  },
  {
    file: "packages/gateway/src/authority/throttle.ts",
    was: "right = Math.imul(right + code, 0x85ebca6b) ^ (right >>> 13);",
    because: "another mark, the same for all: it only has to be the same again of the same credential",
  },
  {
    file: "crates/kernel/src/code_scan.rs",
    was: "const UNDERFLOW: f64 = 1.0 / ((1u128 << 126) as f64 * (1u64 << 14) as f64);",
    is: "const UNDERFLOW: f64 = 1.0 / ((1u128 << 126) as f64 / (1u64 << 14) as f64);",
    because: "it widens the margin by less than 2⁻¹¹¹: nothing is left out, and what is visited beside lies as near",
  },
  {
    file: "crates/kernel/src/code_scan.rs",
    was: "let is_sparse = count * SPARSE < end - start;",
    because:
      "which products are computed together is a matter of speed: either way the same rows are held against a limit",
  },
  {
    file: "crates/kernel/src/code_scan.rs",
    was: "if gathered.count > 0 && (!is_sparse || !limit.is_finite() || gathered.count + count > PIECE_ROWS) {",
    is: "if gathered.count >= 0 && (!is_sparse || !limit.is_finite() || gathered.count + count > PIECE_ROWS) {",
    because: "of none that were gathered none is visited",
  },
  {
    file: "crates/kernel/src/code_scan.rs",
    was: "if gathered.count > 0 && (!is_sparse || !limit.is_finite() || gathered.count + count > PIECE_ROWS) {",
    is: "if gathered.count > 0 && (!is_sparse || !limit.is_finite() || gathered.count + count >= PIECE_ROWS) {",
    because: "a piece that is just full is visited before it is, not after",
  },
  {
    file: "crates/kernel/src/code_scan.rs",
    was: "if gathered.count > 0 && (!is_sparse || !limit.is_finite() || gathered.count + count > PIECE_ROWS) {",
    is: "if gathered.count > 0 || (!is_sparse || !limit.is_finite() || gathered.count + count > PIECE_ROWS) {",
    because: "what was gathered is visited earlier, in the same order",
  },
  {
    file: "crates/kernel/src/code_scan.rs",
    was: "if gathered.count > 0 {",
    is: "if gathered.count >= 0 {",
    because: "of none that were gathered none is visited",
  },
  {
    file: "crates/kernel/src/bounds.rs",
    was: "let relative_residual = if query.norm > 0.0 { residual / query.norm } else { 0.0 };",
    is: "let relative_residual = if query.norm >= 0.0 { residual / query.norm } else { 0.0 };",
    because: "the cosine of a vector without a length is 0, and how wide its interval would be is not looked at",
  },
  {
    file: "crates/kernel/src/bounds.rs",
    was: "let low = if estimate - width > -1.0 { estimate - width } else { -1.0 };",
    is: "let low = if estimate - width >= -1.0 { estimate - width } else { -1.0 };",
    because: "where they are equal both are -1",
  },
  {
    file: "crates/kernel/src/bounds.rs",
    was: "let high = if estimate + width < 1.0 { estimate + width } else { 1.0 };",
    is: "let high = if estimate + width <= 1.0 { estimate + width } else { 1.0 };",
    because: "where they are equal both are 1",
  },
  {
    file: "crates/kernel/src/bounds.rs",
    was: "if value > 0.0 { value } else { 0.0 }",
    is: "if value >= 0.0 { value } else { 0.0 }",
    because: "zero is zero, of either sign",
  },
  {
    file: "packages/store/src/heads.ts",
    was: "if (this.#notes.get(row.key) === undefined) continue;",
    is: "",
    because: "the head of a partition without a note is written as it was",
  },
  {
    file: "packages/store/src/heads.ts",
    was: "if (!(error instanceof StoreError)) throw error;",
    is: "",
    because: "only stores fail there, with a StoreError",
  },
  {
    file: "packages/store/src/heads.ts",
    was: "if (this.#marks.size >= MARKS_MAX) this.#marks.clear();",
    because: "how many marks are kept is a matter of memory, and no bucket has so many shards",
  },
  {
    file: "packages/store/src/heads.ts",
    was: "this.#marks.set(note, known);",
    because: "what is kept there spares computing it again, and nothing else",
  },
];
