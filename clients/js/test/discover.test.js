/** The client for texts that are to be discovered: the same bits, words, cells and reports as Python's. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { packaged } from "../build.mjs";
import { readCode, readLayout } from "../src/code.ts";
import { discovery } from "../src/protocols/discovery.ts";
import { numbers } from "../src/words.ts";
import { readVectors } from "./modules.js";
import { ask } from "./replay.js";

const MODULES = { source: await import("../src/discover.ts"), "built file": await import(packaged("discover")) };
const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const hex = (data) => Buffer.from(data).toString("hex");
const textOf = (units) => String.fromCharCode(...(units.match(/.{4}/g) ?? []).map((unit) => parseInt(unit, 16)));

test("texts have the words and cells of the vectors", () => {
  for (const { code, layouts, cases } of readVectors("codes").vectors) {
    const [, write] = readCode(code);
    for (const { text, value, cells } of cases) {
      const words = write(textOf(text));
      assert.deepEqual(words.map(String), value);
      layouts.forEach((layout, i) => assert.deepEqual(readLayout(layout)[1](words).map(Number), cells[i]));
    }
  }
});

test("values have the reports of the vectors", () => {
  for (const { protocol, cases } of readVectors("Discovery").vectors) {
    const { codes, limits, perturb } = discovery(protocol);
    for (const { why, value, random, report } of cases) {
      const drawn = [...new BigUint64Array(bytes(random).buffer)];
      const first = BigInt.asUintN(64, BigInt(value) * 0x9e3779b97f4a7c15n);
      const kept = drawn.slice(0, limits.length);
      let next = limits.length;
      limits.forEach((limit, i) => {
        while (kept[i] >= limit) kept[i] = drawn[next++];
      });
      assert.equal(hex(numbers(perturb([first, 0n, 64n], kept), codes)), report, why);
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
    const [first, ...others] = code.books;
    const wrong = {
      "Kraft sum above 1": { books: ["1".repeat(first.length), ...others] },
      "Kraft sum below 1": { books: ["f".repeat(first.length), ...others] },
      "a later book that is none": { books: [first, ...others.map((book) => book && "2".repeat(book.length))] },
      "no books": { books: [] },
      "no book without context": { books: ["", ...others] },
      "10^6 contexts": { books: Array(10 ** 6).fill("1") },
      "a symbol without a code": { books: [first.slice(1), ...others] },
      "a code of length 0": { books: [first.replace(/./, "0"), ...others] },
      "a length that is no digit": { books: [first.replace(/./, "g"), ...others] },
      "books that are no texts": { books: [[...first].map(Number), ...others] },
      "bytes out of order": { alphabet: code.alphabet.replace(/(..)(..)/, "$2$1") },
      "half a byte": { alphabet: code.alphabet.slice(1) },
      "capital digits": { alphabet: code.alphabet.replace(/.$/, "A") },
      "a phrase of one byte": { phrases: ["61"] },
      "a phrase of 65 bytes": { phrases: ["61".repeat(65)] },
      "a phrase twice": { phrases: ["6161", "6161"] },
      "10^5 phrases": { phrases: Array.from({ length: 10 ** 5 }, (_, i) => (0x61616161 + i).toString(16)) },
      "another fold": { fold: "accents" },
      "a list of a fold": { fold: ["none"] },
    };
    for (const [why, changed] of Object.entries(wrong)) {
      const bad = await asked({ code: { ...code, ...changed } });
      const before = process.cpuUsage();
      await assert.rejects(parse(bad.text, bad.digest, { longest: 1 << 24 }), { name: "DeniableError" }, why);
      assert.ok(process.cpuUsage(before).user < 2e6, why);
    }
    for (const changed of [{ payload: 0 }, { payload: 7 }, { check: 0 }, { check: 9 }, { bucket_bits: 13 }, { piece_bits: 1 },
      { bucket_bits: 12, piece_bits: 12, payload: 2 }, { salt: "0" }, { salt: ["0".repeat(16)] }, { salt: "G".repeat(16) }, { g: 6 }, { g: 1 },
      { closed: { ...protocol.closed, digits: 1 } }, { closed: { ...protocol.closed, digits: 63 } }, { closed: { ...protocol.closed, window: 2 } }]) {
      const bad = await ask({ ...protocol, ...changed }, { ...parts, answers: { kind: "text", discover: { code } } });
      await assert.rejects(parse(bad.text, bad.digest), { name: "DeniableError" }, JSON.stringify(changed));
    }
  });
}
