/**
 * Build the one file that pages load: into the Python package, and for npm.
 *
 * `node build.mjs release VERSION` keeps it as the client of a version as well.
 */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = (path) => new URL(path, import.meta.url);
export const PACKAGED = here("../../src/deniable/collector/pages/static/deniable.js");

/** Return the text of the built file; `plugins` are for measuring parts of it. */
export const bundle = async (plugins = []) => {
  // Only here: whoever replays vectors or draws reports needs no tools.
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(here("src/index.ts"))],
    bundle: true,
    format: "esm",
    minify: true,
    // Names of our own that cross only from module to module.
    mangleProps: /^(element|limits|perturb|says|shape|spent|times|wire)$/,
    plugins,
    target: "es2022",
    write: false,
  });
  // Each module begins a statement of its own; one for all of them is shorter.
  return outputFiles[0].text.replaceAll(";var ", ",");
};

/** Keep a build under its version: tags of other sites name it, and every later version goes on serving it. */
const release = (version, text) => {
  const list = new URL("clients/manifest.json", PACKAGED);
  const versions = JSON.parse(readFileSync(list, "utf8"));
  if (versions[version]) throw new Error(`${version} was released already`);
  versions[version] = `sha384-${createHash("sha384").update(text).digest("base64")}`;
  writeFileSync(new URL(`clients/${version}.js`, PACKAGED), text);
  writeFileSync(list, `${JSON.stringify(versions, null, 2)}\n`);
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = await bundle();
  for (const path of [PACKAGED, here("dist/deniable.js")]) {
    mkdirSync(new URL(".", path), { recursive: true });
    writeFileSync(path, text);
  }
  const [command, version] = process.argv.slice(2);
  if (command === "release") release(version, text);
}
