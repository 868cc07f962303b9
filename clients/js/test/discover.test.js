/** The client for texts that are to be discovered: the same bits, words, cells and reports as Python's. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { packaged } from "../build.mjs";
import { cellsOf, readCode } from "../src/code.ts";
import { discovery } from "../src/protocols/discovery.ts";
import { readVectors } from "./modules.js";
import { ask } from "./replay.js";

const MODULES = { source: await import("../src/discover.ts"), "built file": await import(packaged("discover")) };
const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const hex = (data) => Buffer.from(data).toString("hex");
const textOf = (units) => String.fromCharCode(...(units.match(/.{4}/g) ?? []).map((unit) => parseInt(unit, 16)));

test("texts have the words and cells of the vectors", () => {
  for (const { code, layouts, cases } of readVectors("codes").vectors) {
    const write = readCode(code);
    for (const { text, value, cells } of cases) {
      const words = write(textOf(text));
      assert.deepEqual(words.map(String), value);
      layouts.forEach((layout, i) => assert.deepEqual(cellsOf(layout, words).map(Number), cells[i]));
    }
  }
});

test("values have the reports of the vectors", () => {
  for (const { protocol, cases } of readVectors("Discovery").vectors) {
    const { limits, perturb } = discovery(protocol);
    for (const { why, value, random, report } of cases) {
      const drawn = [...new BigUint64Array(bytes(random).buffer)];
      const first = BigInt.asUintN(64, BigInt(value) * 0x9e3779b97f4a7c15n);
      const kept = drawn.slice(0, limits.length);
      let next = limits.length;
      limits.forEach((limit, i) => {
        while (kept[i] >= limit) kept[i] = drawn[next++];
      });
      assert.equal(hex(perturb([first, 0n, 64n], kept)), report, why);
    }
  }
});

for (const [form, { parse }] of Object.entries(MODULES)) {
  test(`the ${form} answers a question with any text, and refuses one with a code that is none`, async () => {
    const { protocol } = readVectors("Discovery").vectors.at(-1);
    const { code } = readVectors("codes").vectors[0];
    const parts = { version: 2, repeat: null, segments: [], labels: undefined, other: undefined };
    const asked = (discover) => ask(protocol, { ...parts, answers: { kind: "text", discover } });
    const { text, digest } = await asked({ code });
    const question = await parse(text, digest);
    for (const answer of ["", "hello", "\ud800", "x".repeat(3000)])
      assert.equal((await question.privatize(answer)).length, 4);
    await assert.rejects(question.privatize(7));
    for (const books of [["1".repeat(29), ...code.books.slice(1)], ["f".repeat(29), ...code.books.slice(1)],
      [], Array(10 ** 6).fill("1"), [code.books[0].slice(1), ...code.books.slice(1)], [code.books[0].replace(/./, "0"), ...code.books.slice(1)]]) {
      const wrong = await asked({ code: { ...code, books } });
      await assert.rejects(parse(wrong.text, wrong.digest, { longest: 1 << 24 }));
    }
  });
}
