/** Write reports of one value to standard output: node test/sample.mjs SPECIFICATION VALUE COUNT */
import { PACKAGED } from "../build.mjs";
import { sample } from "./replay.js";

const { parse } = await import(PACKAGED);
const [specification, value, count] = process.argv.slice(2);
process.stdout.write(await sample(parse, JSON.parse(specification), value, Number(count)));
