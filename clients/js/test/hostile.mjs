/** Face the questions on standard input, a JSON array, with the build named; write what came of each. */
import { readFileSync } from "node:fs";
import { packaged } from "../build.mjs";
import { face } from "./hostile.js";

const [, , build] = process.argv;
const found = await face(await import(packaged(build)), JSON.parse(readFileSync(0, "utf8")), build);
process.stdout.write(JSON.stringify(found));
