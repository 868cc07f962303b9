import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { BUILDS, packaged } from "../build.mjs";
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

const LATER = new URL("../../../tests/data/v0.3.0/", import.meta.url);
const later = (name) => JSON.parse(readFileSync(new URL(name, LATER), "utf8"));

for (const [kind, { file, answer, today, kept }] of Object.entries(later("localstorage.json"))) {
  for (const path of [new URL(`../${BUILDS[kind]}`, import.meta.url), packaged(kind)]) {
    test(`${path.pathname.split("/").at(-1)} goes on with what version 0.3.0 kept of ${file}`, async () => {
      const { connect, parse } = await import(path);
      const { digest, question } = later(`${file}.json`);
      const browser = new Browser();
      browser.items.set("deniable", kept);
      browser.today = today;
      const before = browser.state;
      const client = connect("https://collector.example", { platform: browser.open().platform });
      const asked = await parse(question, digest);
      for (let i = 0; i < 2; i++) await client.resume(digest);
      for (let i = 0; i < 2; i++) await client.answer(asked, answer, true);
      await settle();
      assert.deepEqual(
        browser.sent.map(({ url, body }) => [url, body]),
        [[`https://collector.example/v1/questions/${digest}/reports?day=${before[digest][2]}`, before[digest][3]]],
      );
      assert.equal(browser.state[digest][1], "answered");
      for (const key of ["secret", `@${digest}`]) assert.deepEqual(browser.state[key], before[key]);
    });
  }
}
