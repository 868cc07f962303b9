import assert from "node:assert/strict";
import { test } from "node:test";
import { MODULES, readVectors } from "./modules.js";
import { ask } from "./replay.js";

const { vectors } = readVectors("questions");
const DE = readVectors("DE").vectors[0].protocol;

for (const [form, { DeniableError, parse }] of Object.entries(MODULES)) {
  for (const { why, accepted, ceiling, named, newer, text } of vectors) {
    test(`the ${form} ${accepted ? "accepts" : "refuses"} ${why}`, async () => {
      const reading = parse(text, named, { ceiling });
      if (accepted) assert.equal((await reading).digest, named);
      else await assert.rejects(reading, newer ? { name: "DeniableError", message: /newer client/ } : DeniableError);
    });
  }

  test(`the ${form} refuses to work without a secure context`, async () => {
    const { text, digest } = await ask(DE);
    const { getRandomValues } = crypto;
    await assert.rejects(parse(text, digest, { platform: { crypto: { getRandomValues } } }), /no secure context/);
  });

  test(`the ${form} computes the loss from the weights`, async () => {
    for (const { protocol } of readVectors("UE").vectors) {
      const { text, digest } = await ask(protocol);
      const { p, q } = protocol;
      const { loss } = await parse(text, digest);
      assert.ok(Math.abs(loss - Math.log((p * (1 - q)) / ((1 - p) * q))) < 1e-12);
    }
  });

  test(`the ${form} takes other answers for the other label, and none without one`, async () => {
    const zeros = (count) => new Uint8Array(count);
    const closed = await ask(DE);
    const strict = await parse(closed.text, closed.digest);
    await assert.rejects(strict.privatize("lime", zeros), /no such answer/);
    const opened = await ask(DE, { other: "=3" });
    const lenient = await parse(opened.text, opened.digest);
    assert.deepEqual(await lenient.privatize("lime", zeros), await lenient.privatize("=3", zeros));
    assert.notDeepEqual(await lenient.privatize("=2", zeros), await lenient.privatize("=3", zeros));
  });

  test(`the ${form} refuses answers that have no encoding`, async () => {
    const { text, digest } = await ask(readVectors("OpenLH").vectors[0].protocol);
    await assert.rejects((await parse(text, digest)).privatize("\ud83e"), DeniableError);
  });
}
