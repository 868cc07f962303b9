/** Build the one file that pages load: into the Python package, and for npm. */
import { readFileSync, writeFileSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = (path) => new URL(path, import.meta.url);
export const PACKAGED = here("../../src/deniable/collector/pages/static/deniable.js");

/** Return the text of the built file; `plugins` are for measuring parts of it. */
export const bundle = async (plugins = []) => {
  // Only here: whoever replays vectors or draws reports needs no tools.
  const { build } = await import("esbuild");
  const { version } = JSON.parse(readFileSync(here("package.json"), "utf8"));
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(here("src/index.ts"))],
    banner: { js: `/*! deniable ${version}, Apache-2.0 */` },
    bundle: true,
    format: "esm",
    minify: true,
    // Names of our own that cross only from module to module.
    mangleProps: /^(dot|limits?|perturb|place|plus|ratio|vectors)$/,
    plugins,
    target: "es2022",
    write: false,
  });
  return outputFiles[0].text;
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = await bundle();
  for (const path of [PACKAGED, here("dist/deniable.js")]) {
    mkdirSync(new URL(".", path), { recursive: true });
    writeFileSync(path, text);
  }
}
