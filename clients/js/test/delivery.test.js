import assert from "node:assert/strict";
import { test } from "node:test";
import { deliver } from "./deliver.js";
import { MODULES, readVectors } from "./modules.js";

const { vectors } = readVectors("delivery");

test("the table has all that a client may meet", () => {
  assert.ok(vectors.length > 200);
});

for (const [form, { connect }] of Object.entries(MODULES)) {
  for (const row of vectors) {
    test(`the ${form} delivers as the table says: ${row.why}`, async () => {
      assert.deepEqual(await deliver(connect, row), []);
    });
  }
}
