import assert from "node:assert/strict";
import { test } from "node:test";
import { MODULES, NAMES, readVectors } from "./modules.js";
import { ask, replay } from "./replay.js";

for (const [form, { parse }] of Object.entries(MODULES)) {
  for (const name of NAMES) {
    test(`the ${form} makes the reports of the vectors of ${name}`, async (t) => {
      const { cases, wrong } = await replay(parse, name, readVectors(name));
      assert.deepEqual(wrong, []);
      t.diagnostic(`${cases} cases`);
    });
  }

  test(`the ${form} takes the fingerprints of labels for values`, async () => {
    const { vectors } = readVectors("fingerprint");
    const [{ protocol }] = readVectors("OpenLH").vectors;
    const { text, digest } = await ask(protocol);
    const question = await parse(text, digest);
    for (const { label, fingerprint } of vectors) {
      // With a1 = 2^32 and no other term the upper half of h is the lower half of the value.
      const words = [1n << 32n, 0n, 0n, 0n];
      const bytes = new Uint8Array(new BigUint64Array(words).buffer);
      const report = await question.privatize(label, () => bytes);
      const hash = ((BigInt(fingerprint) & 0xffffffffn) * BigInt(protocol.g)) >> 32n;
      assert.equal(report.at(-1), Number(hash), label);
    }
  });
}
