import assert from "node:assert/strict";
import { test } from "node:test";
import { MODULES, NAMES, readVectors } from "./modules.js";
import { replay, replayFingerprints } from "./replay.js";

for (const [form, { parse }] of Object.entries(MODULES)) {
  for (const name of NAMES) {
    test(`the ${form} makes the reports of the vectors of ${name}`, async (t) => {
      const { cases, wrong } = await replay(parse, name, readVectors(name));
      assert.deepEqual(wrong, []);
      t.diagnostic(`${cases} cases`);
    });
  }

  test(`the ${form} takes the fingerprints of labels for values`, async () => {
    const { wrong } = await replayFingerprints(parse, readVectors("fingerprint"), readVectors("OpenLH"));
    assert.deepEqual(wrong, []);
  });
}
