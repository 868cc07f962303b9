import assert from "node:assert/strict";
import { test } from "node:test";
import { Browser } from "./browser.js";
import { MODULES, readVectors } from "./modules.js";
import { bytes } from "./replay.js";
import { replayTurns } from "./turns.js";

const { questions, vectors } = readVectors("turns");

for (const [form, { connect, parse }] of Object.entries(MODULES)) {
  const visit = async (browser, { named }, options) => {
    const { platform } = browser.open(options);
    const question = await parse(questions[named], named);
    return { client: connect("https://collector.example", { platform }), question };
  };

  test(`the ${form} takes the turns of the vectors and no others, and draws their arms and cells`, async () => {
    const { cases, wrong } = await replayTurns({ connect, parse }, readVectors("turns"));
    assert.deepEqual(wrong, []);
    assert.ok(cases > 10);
  });

  const [{ named, secret }] = vectors;
  const due = vectors.find((vector) => vector.named === named && vector.secret === secret && vector.turn === 0);

  test(`the ${form} takes no turn that it would forget, not even by an explicit act`, async () => {
    for (const options of [{ blocked: true }, { full: true }]) {
      const browser = new Browser();
      const { client, question } = await visit(browser, due, options);
      for (const explicit of [false, true, { explicit: true }]) {
        assert.equal(await client.answer(question, "kiwi", explicit), "no-storage");
      }
      assert.equal(await client.arm(named, ["A", "B"]), undefined);
      assert.equal(browser.sent.length, 0);
    }
  });

  test(`the ${form} reserves all turns when a question is first seen`, async () => {
    const browser = new Browser();
    browser.today = "2020-01-01";
    const { client, question } = await visit(browser, due);
    assert.equal(await client.turn(question), "not-now");
    assert.deepEqual(browser.state[`@${named}`], [question.loss, -1]);
    browser.items.set("deniable", JSON.stringify({ other: [10, "answered"] }));
    browser.today = due.day;
    assert.equal(await client.answer(question, "kiwi"), "over-budget");
    assert.equal(browser.state[`@${named}`], undefined);
  });

  test(`the ${form} keeps a turn that waits, and the doubt about it`, async () => {
    const browser = new Browser();
    browser.today = due.day;
    browser.items.set("deniable", JSON.stringify({ secret: [0, [...bytes(secret)]] }));
    browser.replies = ["lost", 204];
    const { client, question } = await visit(browser, due);
    assert.equal(await client.answer(question, "kiwi"), "waiting");
    assert.equal(await (await visit(browser, due)).client.answer(question, "fig"), "answered");
    assert.equal(await client.answer(question, "fig"), "already");
    const [first, second] = browser.sent.map(({ body }) => `${body}`);
    assert.equal(first, second);
    assert.equal(browser.sent.length, 2);
  });

  test(`the ${form} takes no turn of a person who opted out`, async () => {
    const browser = new Browser();
    browser.today = due.day;
    browser.items.set("deniable", JSON.stringify({ secret: [0, [...bytes(secret)]] }));
    const { client, question } = await visit(browser, due);
    client.optOut();
    assert.equal(await client.answer(question, "kiwi"), "opted-out");
    client.optOut(false);
    assert.equal(await client.turn(question), undefined);
    client.optOut();
    assert.equal(await client.answer(question, "kiwi"), "opted-out");
    assert.equal(browser.sent.length, 0);
    client.optOut(false);
    assert.equal(await client.answer(question, "kiwi"), "answered");
  });

  test(`two tabs of the ${form} without locks take a turn once`, async () => {
    const browser = new Browser();
    browser.today = due.day;
    browser.items.set("deniable", JSON.stringify({ secret: [0, [...bytes(secret)]] }));
    const tabs = await Promise.all([visit(browser, due, { locks: false }), visit(browser, due, { locks: false })]);
    const pages = tabs.map(({ client, question }) => client.answer(question, "kiwi"));
    assert.equal(await Promise.race([...pages, Promise.resolve("on their way")]), "on their way");
    assert.equal(new Set(browser.sent.map(({ body }) => `${body}`)).size <= 1, true);
  });

  test(`the ${form} refuses more segments than it is told to accept`, async () => {
    const [, text] = Object.entries(questions).find(([, text]) => text.includes("platform"));
    const { digest } = JSON.parse(text);
    await parse(text, digest, { cells: 6 });
    await assert.rejects(parse(text, digest, { cells: 5 }), /segments/);
  });
}
