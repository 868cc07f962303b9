/** The client in both forms: as its source, and as the built file that pages load. */
import { readdirSync, readFileSync } from "node:fs";
import { PACKAGED } from "../build.mjs";

export const MODULES = {
  source: await import("../src/index.ts"),
  "built file": await import(PACKAGED),
};

const directory = new URL("../../../vectors/", import.meta.url);

export const readVectors = (name) => JSON.parse(readFileSync(new URL(`${name}.json`, directory), "utf8"));

/** The files of vectors of protocols. */
export const NAMES = readdirSync(directory)
  .map((file) => file.replace(".json", ""))
  .filter((name) => !["choices", "codes", "delivery", "fingerprint", "policy", "questions", "turns"].includes(name));
