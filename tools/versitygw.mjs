/**
 * `node tools/versitygw.mjs`: builds the S3 service that tests of object stores talk to, once; says where it is. Needs Go, and takes
 * the sources as Go modules. Tests find it in Go's folder of programs.
 */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";

const MODULE = "github.com/versity/versitygw/cmd/versitygw@v1.8.0";

const folder = process.env.GOBIN ?? join(process.env.GOPATH ?? join(homedir(), "go"), "bin");
const program = join(folder, "versitygw");
if (!existsSync(program)) {
  try {
    execFileSync("go", ["version"], { stdio: "ignore" });
  } catch {
    console.error("The S3 service of the tests is built by Go, which is not installed (go version)");
    process.exit(1);
  }
  execFileSync("go", ["install", MODULE], { stdio: "inherit" });
}
console.log(program);
