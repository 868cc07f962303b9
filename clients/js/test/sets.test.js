/** The client for sets: the build of its own, in both forms. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { packaged } from "../build.mjs";
import { polynomialSelection, setSelection } from "../src/protocols/sets.ts";
import { readVectors } from "./modules.js";
import { ask, askSet, replaySets } from "./replay.js";

const MODULES = { source: await import("../src/choices.ts"), "built file": await import(packaged("choices")) };
const PROTOCOLS = ["SetSelection", "PolynomialSelection"];
const limits = { ceiling: 100, longest: 1 << 24 };

for (const [form, { parse }] of Object.entries(MODULES)) {
  for (const name of [...PROTOCOLS, "choices"]) {
    test(`the ${form} makes the reports of the vectors of ${name}, and draws before it looks`, async () => {
      const { cases, wrong } = await replaySets(parse, readVectors(name));
      assert.deepEqual(wrong, []);
      assert.ok(cases > 5);
    });
  }

  test(`the ${form} refuses what is no set, and questions that it does not know`, async () => {
    const [{ protocol }] = readVectors("SetSelection").vectors;
    const { text, digest } = await askSet(protocol);
    const question = await parse(text, digest, limits);
    for (const wrong of [["=0", "=0"], ["=9"], ["=0", "=1", "=2"], [undefined], [0]]) {
      await assert.rejects(question.privatize(wrong), /no such answer/);
    }
    assert.ok((await question.privatize([])).length);
    const one = await ask(readVectors("DE").vectors[0].protocol);
    await assert.rejects(parse(one.text, one.digest), { name: "DeniableError" });
    const weights = protocol.weights.map((weight, i) => `${BigInt(weight) + (i ? 1n : -1n)}`);
    const sound = { kind: "choices", labels: ["=0", "=1", "=2"], at_most: 2, cut: true };
    for (const [changed, more] of [
      [{ ...protocol, weights }, {}],
      [{ ...protocol, size: 4 }, {}],
      [{ ...protocol, at_most: 3 }, {}],
      [{ ...protocol, name: "constructor" }, {}],
      [protocol, { answers: { ...sound, cut: 1 } }],
      [protocol, { answers: { ...sound, cut: null } }],
      [protocol, { answers: { ...sound, at_most: 1 } }],
      [protocol, { answers: { ...sound, labels: ["=0", "=1", "=1"] } }],
      [protocol, { answers: { ...sound, more: 1 } }],
      [protocol, { answers: { ...sound, kind: "choice", other: null } }],
    ]) {
      const hostile = await askSet(changed, true, more);
      await assert.rejects(parse(hostile.text, hostile.digest, limits), { name: "DeniableError" });
    }
  });
}

test("fields and windows that would spend more are refused", () => {
  const [{ protocol }] = readVectors("PolynomialSelection").vectors;
  const d = BigInt(protocol.domain_size);
  for (const change of [{ g: 9 }, { g: 4 }, { g: 1_048_583 }, { window: 0 }, { window: 5 }, { at_most: 3 }, { g: 7.5 }]) {
    assert.throws(() => polynomialSelection({ ...protocol, ...change }, d), { name: "DeniableError" });
  }
});

test("a report takes little time", (t) => {
  const largest = [
    [setSelection, { epsilon: 4, at_most: 8, size: 1 }, 1000],
    [setSelection, { epsilon: 1, at_most: 8, size: 4 }, 256],
    [polynomialSelection, { epsilon: 1, at_most: 8, g: 41_281, window: 1323 }, 41_270],
    [polynomialSelection, { epsilon: 1, at_most: 32, g: 1_048_573, window: 8000 }, 1_000_000],
  ];
  for (const [make, specification, d] of largest) {
    const { perturb, limits } = make(specification, BigInt(d));
    const held = Array.from({ length: specification.at_most }, (_, i) => 7 * i);
    const words = limits.map((limit) => limit / 3n);
    for (let i = 0; i < 20; i++) perturb(held, [...words]);
    const start = performance.now();
    for (let i = 0; i < 50; i++) perturb(held, [...words]);
    t.diagnostic(`${((performance.now() - start) / 50).toFixed(3)} ms, ${specification.at_most} of ${d}`);
  }
});
