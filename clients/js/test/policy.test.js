import assert from "node:assert/strict";
import { test } from "node:test";
import { Browser } from "./browser.js";
import { PROTOCOLS } from "../src/protocols/index.ts";
import { MODULES, readVectors } from "./modules.js";

const { browsers, vectors } = readVectors("policy");

test("the client speaks the protocols that the policy names", () => {
  assert.deepEqual(Object.keys(PROTOCOLS).sort(), [...browsers].sort());
});

for (const [form, { connect, parse }] of Object.entries(MODULES)) {
  for (const { why, outcome, epsilon, spent, ceiling, budget, named, text } of vectors) {
    const { name } = JSON.parse(text).protocol;
    test(`the ${form} keeps to the policy: ${why}`, async () => {
      if (!browsers.includes(name)) {
        await assert.rejects(parse(text, named, { ceiling }), /cannot answer this question/);
        return;
      }
      if (outcome === "over-ceiling") {
        await assert.rejects(parse(text, named, { ceiling }), /is above the ceiling/);
        return;
      }
      const browser = new Browser();
      const { platform } = browser.open();
      browser.items.set("deniable", JSON.stringify(Object.fromEntries(spent.map((loss, i) => [i, [loss, "answered"]]))));
      const question = await parse(text, named, { ceiling });
      assert.ok(Math.abs(question.loss - epsilon) < 1e-12);
      const client = connect("https://collector.example", { budget, platform });
      assert.equal(await client.answer(question, "kiwi"), outcome);
      assert.equal(browser.sent.length, outcome === "answered" ? 1 : 0);
    });
  }

  test(`the ${form} has the ceiling and the budget of the policy unless it is told others`, async () => {
    const { ceiling, budget } = readVectors("policy");
    const at = (wanted) => vectors.find(({ epsilon, text }) => epsilon === wanted && text.includes('"DE"'));
    await parse(at(5).text, at(5).named);
    await assert.rejects(parse(at(5.000000000000001).text, at(5.000000000000001).named), new RegExp(`ceiling of ${ceiling}$`));
    const browser = new Browser();
    const client = connect("https://collector.example", { platform: browser.open().platform });
    browser.items.set("deniable", JSON.stringify({ before: [budget - 0.995, "answered"] }));
    assert.equal(await client.answer(await parse(at(1).text, at(1).named), "kiwi"), "over-budget");
    assert.equal(await client.answer(await parse(at(0.01).text, at(0.01).named), "kiwi"), "answered");
  });
}
