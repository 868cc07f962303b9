/** Face the questions on standard input, a JSON array, with the built file; write what came of each. */
import { readFileSync } from "node:fs";
import { PACKAGED } from "../build.mjs";
import { face } from "./hostile.js";

const found = await face(await import(PACKAGED), JSON.parse(readFileSync(0, "utf8")));
process.stdout.write(JSON.stringify(found));
