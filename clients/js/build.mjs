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
/** The builds of the client by the kind of answers that they are for; the first is for all others. */
export const BUILDS = { "": "src/index.ts", choices: "src/choices.ts", discover: "src/discover.ts", views: "src/views.ts" };
export const packaged = (kind) => new URL(kind ? `deniable-${kind}.js` : "deniable.js", STATIC);
export const PACKAGED = packaged("");
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

/** Return the text of the client for a kind of answers; `plugins` are for measuring parts of it. */
export const bundle = async (plugins = [], kind = "") => {
  const text = await build(BUILDS[kind], {
    // Our own names, used only between modules.
    mangleProps: /^(asked|codes|element|end|limits|multiply|names|perturb|prepare|read|reads|says|shape|speaks|spends|spent|wire|written)$/,
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
  const entry = ([kind, source]) => [
    kind ? `./${kind}` : ".",
    { types: source.replace(/src(.+)ts/, "./types$1d.ts"), default: `./${packaged(kind).pathname.split("/").at(-1)}` },
  ];
  const exports = Object.fromEntries(Object.entries(BUILDS).map(entry));
  const content = { name, version, description, license, keywords, type, sideEffects, exports };
  writeFileSync(here("dist/package.json"), `${JSON.stringify(content, null, 2)}\n`);
  writeFileSync(here("dist/README.md"), read("README.md"));
  writeFileSync(here("dist/LICENSE"), read("../../LICENSE"));
};

/** Keep the clients under a version: tags on other sites name them, and every later version serves them. */
const release = (version, texts) => {
  const list = new URL("clients/manifest.json", STATIC);
  const versions = JSON.parse(readFileSync(list, "utf8"));
  if (versions[version]) throw new Error(`${version} is already released`);
  for (const [kind, text] of Object.entries(texts)) {
    const name = kind ? `${version}-${kind}` : version;
    versions[name] = `sha384-${createHash("sha384").update(text).digest("base64")}`;
    writeFileSync(new URL(`clients/${name}.js`, STATIC), text);
  }
  writeFileSync(list, `${JSON.stringify(versions, null, 2)}\n`);
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const texts = {};
  for (const kind of Object.keys(BUILDS)) {
    const text = (texts[kind] = await bundle([], kind));
    for (const folder of [STATIC, here("dist/")]) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(new URL(packaged(kind).pathname.split("/").at(-1), folder), text);
    }
  }
  writeFileSync(TRY, await bundleTry());
  const [command, version] = process.argv.slice(2);
  if (version && version !== readVersion()) throw new Error(`src/deniable/version.py says ${readVersion()}`);
  if (command === "package") writePackage(readVersion());
  if (command === "release") release(readVersion(), texts);
}
