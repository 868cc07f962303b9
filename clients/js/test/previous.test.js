import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Browser, settle } from "./browser.js";
import { MODULES } from "./modules.js";

const KEPT = new URL("../../../tests/data/v0.2.0/localstorage.json", import.meta.url);
const { states, documents } = JSON.parse(readFileSync(KEPT, "utf8"));

for (const [form, { connect, parse }] of Object.entries(MODULES)) {
  const it = (behaviour, work) => test(`the ${form} ${behaviour}`, work);

  /** A browser with what version 0.2.0 kept in it, and a client in it. */
  const begin = (state) => {
    const browser = new Browser();
    browser.items.set("deniable", states[state]);
    const { platform } = browser.open();
    return { browser, client: connect("https://collector.example", { platform }) };
  };

  it("sends what version 0.2.0 kept once, with its id, its bytes and its day", async () => {
    const { browser, client } = begin("mixed");
    const before = browser.state;
    const waiting = Object.entries(before).filter(([, [, outcome]]) => outcome === "waiting");
    assert.equal(waiting.length, 3);
    for (let i = 0; i < 2; i++) for (const digest of Object.keys(before)) await client.resume(digest);
    await settle();
    assert.deepEqual(
      browser.sent.map(({ url, body }) => [url, body]),
      waiting.map(([digest, [, , day, body]]) => [
        `https://collector.example/v1/questions/${digest}/reports?day=${day || browser.today}`,
        body,
      ]),
    );
  });

  it("draws nothing anew for a question that version 0.2.0 answered", async () => {
    const { browser, client } = begin("mixed");
    const known = new Set(Object.values(browser.state).map(([, , , body]) => `${body}`));
    for (const document of Object.values(documents)) {
      if (!browser.state[document.digest]) continue;
      await client.answer(await parse(JSON.stringify(document), document.digest), "=2", true);
    }
    assert.equal(browser.sent.length, 3);
    for (const { body } of browser.sent) assert.ok(known.has(`${body}`));
  });

  it("sends nothing where a person opted out of version 0.2.0", async () => {
    const { browser, client } = begin("opted out");
    for (const document of Object.values(documents)) {
      await client.answer(await parse(JSON.stringify(document), document.digest), "=2", true);
      await client.resume(document.digest);
    }
    assert.equal(browser.sent.length, 0);
  });
}
