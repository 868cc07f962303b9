import assert from "node:assert/strict";
import { test } from "node:test";
import { polynomialSelection, setSelection } from "../src/protocols/sets.ts";
import { draw } from "../src/words.ts";
import { readVectors } from "./modules.js";

const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const hex = (data) => Buffer.from(data).toString("hex");

for (const [name, make] of Object.entries({ SetSelection: setSelection, PolynomialSelection: polynomialSelection })) {
  test(`${name} makes the reports of its vectors from rows and words`, () => {
    for (const { protocol, cases } of readVectors(name).vectors) {
      const { limits, perturb, says } = make(protocol, BigInt(protocol.domain_size));
      const { name: _, epsilon, domain_size, ...rest } = protocol;
      assert.deepEqual({ ...says }, rest);
      for (const { why, row, random, report } of cases) {
        const data = bytes(random);
        let position = 0;
        const words = draw(limits, (count) => data.subarray(position, (position += count)));
        assert.equal(hex(perturb(row, words)), report, why);
        assert.equal(position, data.length, why);
      }
    }
  });
}
