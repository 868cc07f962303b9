/**
 * Build the files that pages load, into the Python package: the client, which `dist` has for npm too,
 * and the script of the page on which a question can be tried.
 *
 * `node build.mjs package` makes `dist` a package of the version of the Python package, and
 * `node build.mjs release` keeps the client as the one of that version.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = (path) => new URL(path, import.meta.url);
const read = (path) => readFileSync(here(path), "utf8");
const STATIC = here("../../src/deniable/collector/pages/static/");
export const PACKAGED = new URL("deniable.js", STATIC);
export const TRY = new URL("try.js", STATIC);

/** Return the version, which is written in one place. */
export const readVersion = () => read("../../src/deniable/version.py").match(/__version__ = "(.+)"/)[1];

const build = async (entry, options) => {
  // Imported here, since replaying vectors and drawing reports need no tools.
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(here(entry))],
    bundle: true,
    format: "esm",
    minify: true,
    target: "es2022",
    write: false,
    ...options,
  });
  return outputFiles[0].text;
};

/** Return the text of the client; `plugins` are for measuring parts of it. */
export const bundle = async (plugins = []) => {
  const text = await build("src/index.ts", {
    // Our own names, used only between modules.
    mangleProps: /^(element|limits|multiply|perturb|says|shape|spent|wire)$/,
    plugins,
  });
  // Every module begins a statement of its own; one statement for all is shorter.
  return text.replaceAll(";var ", ",");
};

/** Return the text of the script of the page on which a question can be tried. */
export const bundleTry = () => build("pages/try.js");

/** Make `dist` a package that npm can pack. */
const writePackage = (version) => {
  const { name, description, license, keywords, type, sideEffects } = JSON.parse(read("package.json"));
  const exports = { ".": { types: "./types/index.d.ts", default: "./deniable.js" } };
  const content = { name, version, description, license, keywords, type, sideEffects, exports };
  writeFileSync(here("dist/package.json"), `${JSON.stringify(content, null, 2)}\n`);
  writeFileSync(here("dist/README.md"), read("README.md"));
};

/** Keep a client under its version: tags on other sites name it, and every later version serves it. */
const release = (version, text) => {
  const list = new URL("clients/manifest.json", STATIC);
  const versions = JSON.parse(readFileSync(list, "utf8"));
  if (versions[version]) throw new Error(`${version} is already released`);
  versions[version] = `sha384-${createHash("sha384").update(text).digest("base64")}`;
  writeFileSync(new URL(`clients/${version}.js`, STATIC), text);
  writeFileSync(list, `${JSON.stringify(versions, null, 2)}\n`);
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = await bundle();
  for (const folder of [STATIC, here("dist/")]) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(new URL("deniable.js", folder), text);
  }
  writeFileSync(TRY, await bundleTry());
  const [command, version] = process.argv.slice(2);
  if (version && version !== readVersion()) throw new Error(`src/deniable/version.py says ${readVersion()}`);
  if (command === "package") writePackage(readVersion());
  if (command === "release") release(readVersion(), text);
}
