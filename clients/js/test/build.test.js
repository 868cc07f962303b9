import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { BUILDS, bundle, bundleTry, PACKAGED, packaged, TRY } from "../build.mjs";
import { gzipped } from "../size.mjs";

const built = readFileSync(PACKAGED, "utf8");
const root = new URL("../", import.meta.url);

const records = JSON.parse(readFileSync(new URL("size.json", root), "utf8"));

test("the page for trying is what the source builds", async () => {
  assert.equal(readFileSync(TRY, "utf8"), await bundleTry(), "run: npm run build");
});

for (const kind of Object.keys(BUILDS)) {
  const name = packaged(kind).pathname.split("/").at(-1);
  test(`${name} is what the source builds, at most 6,144 bytes gzipped and no more than the record and 32`, async (t) => {
    const text = readFileSync(packaged(kind), "utf8");
    assert.equal(text, await bundle([], kind), "run: npm run build");
    assert.doesNotMatch(text, /\bimport\b|\brequire\b|Math\.random|sendBeacon|document\.cookie|eval\(/);
    const size = gzipped(text);
    const record = records[kind || "gzip"];
    t.diagnostic(`${size} of 6,144 bytes`);
    assert.ok(size <= 6144 && size <= record + 32, `${size} bytes, the record in size.json is ${record}`);
    assert.ok(size >= record - 32, `${size} bytes: write the new record ${size} into size.json`);
  });
}

test("randomness is WebCrypto's and nothing else, and no beacon is sent", () => {
  const files = readdirSync(new URL("src/", root), { recursive: true }).filter((name) => name.endsWith(".ts"));
  assert.ok(files.length > 10);
  for (const text of [built, ...files.map((name) => readFileSync(new URL(`src/${name}`, root), "utf8"))]) {
    assert.doesNotMatch(text, /Math\.random|sendBeacon|document\.cookie|eval\(|new Function/);
  }
});

test("nothing is needed at run time, and the lock file has no addresses", () => {
  assert.doesNotMatch(built, /\bimport\b|\brequire\b/);
  const { dependencies } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
  assert.equal(dependencies, undefined);
  assert.doesNotMatch(readFileSync(new URL("package-lock.json", root), "utf8"), /"resolved"|https?:/);
});

test("no source file is longer than 350 lines", () => {
  for (const name of readdirSync(new URL("src/", root), { recursive: true })) {
    if (name.endsWith(".ts")) assert.ok(readFileSync(new URL(`src/${name}`, root), "utf8").split("\n").length <= 350);
  }
});

test("the README names every attribute, every outcome and every protocol", () => {
  const read = (name) => readFileSync(new URL(name, root), "utf8");
  const readme = read("README.md");
  const [, attributes] = read("src/tag.ts").match(/const \{([^}]+)\} =\s+tag\.dataset/);
  const [, outcomes] = read("src/memory.ts").match(/export type Outcome =([^]+?";)/);
  const [, protocols] = read("src/protocols/index.ts").match(/__proto__: null,([^}]+)\}/);
  const names = [
    ...[...attributes.matchAll(/(?:^|, )\s*(\w+)/g)].map(([, name]) => `\`data-${name}\``),
    ...[...outcomes.matchAll(/"([\w-]+)"/g)].map(([, name]) => `\`${name}\``),
    ...[...protocols.matchAll(/^  (\w+):/gm)].map(([, name]) => name),
  ];
  assert.equal(names.length, 10 + 10 + 11);
  assert.deepEqual(names.filter((name) => !readme.includes(name)), []);
});
