import assert from "node:assert/strict";
import { test } from "node:test";
import { lawOf, wordsOf } from "../pages/laws.js";
import { readVectors } from "./modules.js";

const { browsers } = readVectors("policy");
const bytesOf = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (byte) => parseInt(byte, 16));

/** The bytes as a client asks for them: all words first, then again those that were not below their limits. */
const asked = (bytes, limits) => {
  const chunks = [bytes.subarray(0, 8 * limits.length)];
  for (let from = 8 * limits.length; from < bytes.length; ) {
    const words = wordsOf(chunks, limits);
    const rejected = words.filter((word, i) => word >= limits[i]).length;
    chunks.push(bytes.subarray(from, (from += 8 * rejected)));
  }
  return chunks;
};

for (const name of browsers) {
  test(`a report of ${name} fits the answer when its words say so, and every word is explained`, () => {
    let [fitting, other] = [0, 0];
    for (const { protocol, cases } of readVectors(name).vectors) {
      const law = lawOf(protocol);
      const { p, inside = p } = protocol.weights;
      const likely = BigInt(inside) * BigInt(protocol.window ?? protocol.size ?? 1);
      for (const { value, random, report } of cases) {
        const words = wordsOf(asked(bytesOf(random), law.limits), law.limits);
        const decisive = ["UE", "SUE", "OUE", "THE"].includes(name) ? words[Number(value)] : words.at(-1);
        const fits = law.read(bytesOf(report)).fits(BigInt(value));
        assert.equal(fits, decisive < likely);
        for (const place of words.keys()) assert.ok(law.step(words, BigInt(value), place).decided.length);
        fits ? fitting++ : other++;
      }
    }
    assert.ok(fitting && other);
  });
}
