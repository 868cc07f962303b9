import assert from "node:assert/strict";
import { test } from "node:test";
import { Browser, elapse, happen, settle } from "./browser.js";
import { MODULES, readVectors } from "./modules.js";
import { ask } from "./replay.js";

const { protocol } = readVectors("DE").vectors.find(({ protocol }) => protocol.epsilon === 3);
let asked = 0;

for (const [form, { connect, DeniableError, parse }] of Object.entries(MODULES)) {
  /** A new question, a browser, a page in it, and the client of that page. */
  const begin = async (setting = {}, settings = {}) => {
    const { text, digest } = await ask(protocol, { name: `question ${asked++}` });
    const browser = new Browser();
    const page = browser.open(setting);
    const client = connect("https://collector.example/", { ...settings, platform: page.platform });
    const question = await parse(text, digest);
    return { browser, client, digest, page, question, text };
  };
  const it = (behaviour, work) => test(`the ${form} ${behaviour}`, work);

  it("keeps id, day and report before it sends them, and deletes them afterwards", async () => {
    const { browser, client, digest, question } = await begin();
    browser.replies = [
      (url, { body }) => {
        const [loss, outcome, day, kept] = browser.state[digest];
        assert.equal(loss, question.loss);
        assert.deepEqual([outcome, day, kept], ["waiting", "2026-03-01", [...body]]);
        assert.equal(url, `https://collector.example/v1/questions/${digest}/reports?day=2026-03-01`);
        assert.equal(body.length, 16 + 1);
        return new Response(null, { status: 204 });
      },
    ];
    assert.equal(await client.answer(question, "=1"), "answered");
    assert.deepEqual(browser.state, { [digest]: [question.loss, "answered"] });
  });

  it("sends nothing that tells who sends it", async () => {
    const { browser, client, question } = await begin();
    await client.answer(question, "=1");
    const [{ options }] = browser.sent;
    assert.deepEqual([options.credentials, options.referrerPolicy], ["omit", "no-referrer"]);
    assert.deepEqual([options.headers, options.keepalive], [undefined, true]);
  });

  it("answers once, whatever is answered later", async () => {
    const { browser, client, question } = await begin();
    assert.equal(await client.answer(question, "=1", true), "answered");
    for (const answer of ["=1", "=2", "=3"]) assert.equal(await client.answer(question, answer, true), "already");
    assert.equal(browser.sent.length, 1);
  });

  for (const status of [200, 204, 409, 410, 400]) {
    const outcome = status < 300 ? "answered" : "refused";
    const later = status < 300 ? "already" : "refused";
    it(`keeps only a mark after ${status}, and sends nothing more`, async () => {
      const { browser, client, digest, page, question } = await begin();
      browser.replies = [status];
      assert.equal(await client.answer(question, "=1"), outcome);
      assert.deepEqual(browser.state[digest], [question.loss, outcome]);
      assert.equal(await client.resume(digest), later);
      assert.equal(await client.answer(question, "=2"), later);
      assert.deepEqual([browser.sent.length, page.timers.length], [1, 0]);
    });
  }

  for (const reply of ["lost", 500, 502, 503, 504, 408, 429, 403, 404, 413]) {
    it(`sends the same bytes for the same day again after ${reply}`, async () => {
      const { browser, client, page, question } = await begin();
      browser.replies = [reply, reply];
      assert.equal(await client.answer(question, "=1"), "waiting");
      browser.today = "2026-03-07";
      await elapse(page);
      await elapse(page);
      const [first, ...later] = browser.sent.map(({ url, body }) => ({ url, body }));
      assert.deepEqual(later, [first, first]);
      assert.equal(await client.answer(question, "=2"), "already");
      assert.equal(browser.sent.length, 3);
    });
  }

  it("waits longer each time, at least as long as it is told, and then for another page", async () => {
    const { browser, client, page, question } = await begin();
    browser.replies = Array(9).fill("lost");
    await client.answer(question, "=1");
    for (let least = 1; page.timers.length; least *= 2) {
      const [{ milliseconds }] = page.timers;
      assert.ok(least * 1e3 <= milliseconds && milliseconds < least * 2e3, `${milliseconds} for ${least} s`);
      await elapse(page);
    }
    assert.ok(browser.sent.length > 5 && browser.sent.length < 9);
    await happen(page, "online");
    browser.replies = [503];
    const again = browser.open();
    await connect("https://collector.example", { platform: again.platform }).resume(question.digest);
    assert.ok(again.timers[0].milliseconds >= 7e3);
  });

  it("tries again once, however often it is asked to while it waits", async () => {
    const { browser, client, page, question } = await begin();
    browser.replies = Array(5).fill("lost");
    for (let i = 0; i < 5; i++) await client.answer(question, "=1");
    assert.equal(page.timers.length, 1);
  });

  it("gives up outside the window when an attempt may have arrived", async () => {
    const { browser, client, digest, page, question } = await begin();
    browser.replies = ["lost", 422];
    await client.answer(question, "=1");
    browser.today = "2026-03-11";
    await elapse(page);
    assert.equal(await client.resume(digest), "maybe");
    assert.match(browser.sent[1].url, /2026-03-01/);
    assert.deepEqual(browser.state[digest], [question.loss, "maybe"]);
    assert.equal(browser.sent.length, 2);
  });

  it("gives up by itself when nobody answers for a month", async () => {
    const { browser, client, digest, question } = await begin();
    browser.replies = ["lost", "lost"];
    await client.answer(question, "=1");
    browser.today = "2026-03-31";
    assert.equal(await client.resume(digest), "waiting");
    browser.today = "2026-04-01";
    assert.equal(await client.resume(digest), "maybe");
    assert.equal(browser.sent.length, 2);
    assert.deepEqual(browser.state[digest], [question.loss, "maybe"]);
  });

  for (const [today, open] of [["2026-03-01", "2026-03-03"], ["2026-04-20", "2026-03-11"]]) {
    it(`sends the same report for ${open} when ${today} was refused for certain`, async () => {
      const { browser, client, digest, page, question } = await begin();
      browser.today = today;
      browser.replies = [429, 422];
      assert.equal(await client.answer(question, "=1"), "waiting");
      await elapse(page);
      assert.equal(await client.resume(digest), "already");
      assert.deepEqual(browser.sent.map(({ url }) => url.split("=")[1]), [today, today, open]);
      assert.deepEqual(browser.sent[2].body, browser.sent[0].body);
    });
  }

  it("treats an attempt that a closed page never heard of as one that may have arrived", async () => {
    const { browser, client, digest, page, question } = await begin({ locks: false });
    browser.replies = [() => new Promise(() => {})];
    void client.answer(question, "=1");
    await settle();
    await elapse(page);
    assert.equal(browser.sent.length, 1);
    browser.replies = [422];
    const { platform } = browser.open();
    assert.equal(await connect("https://collector.example", { platform }).resume(digest), "maybe");
    assert.deepEqual(browser.sent[1].body, browser.sent[0].body);
  });

  it("goes on with what version 0.2.0 stored", async () => {
    const { browser, client, digest, question } = await begin();
    const body = Array.from({ length: 17 }, (_, i) => i);
    for (const [entry, outcome, day] of [
      [[3, "waiting", "", body], "answered", "2026-03-01"],
      [[3, "waiting", "2026-02-25", body, true], "answered", "2026-02-25"],
      [[3, "waiting", "2026-01-20", body, true], "maybe"],
      [[3, "answered"], "already"],
      [[3, "refused"], "refused"],
    ]) {
      browser.sent = [];
      browser.items.set("deniable", JSON.stringify({ [digest]: entry, other: [7, "answered"] }));
      assert.equal(await client.answer(question, "=1"), outcome);
      assert.deepEqual(browser.sent.map(({ url, body }) => [url.split("=")[1], body]), day ? [[day, body]] : []);
    }
    browser.items.set("deniable", JSON.stringify({ other: [7, "answered"], out: [0, "opted-out"] }));
    assert.equal(await client.answer(question, "=1", true), "opted-out");
    browser.items.set("deniable", JSON.stringify({ other: [7.5, "answered"] }));
    assert.equal(await client.answer(question, "=1"), "over-budget");
  });

  it("sends nothing on its own without lasting storage", async () => {
    for (const setting of [{ blocked: true }, { full: true }]) {
      const { browser, client, question } = await begin(setting);
      for (let load = 0; load < 100; load++) assert.equal(await client.answer(question, "=1"), "no-storage");
      assert.equal(browser.sent.length, 0);
    }
  });

  it("takes storage that it cannot read for none", async () => {
    for (const text of ["{", "null", "7", '{"a":null}']) {
      const { browser, client, question } = await begin();
      browser.items.set("deniable", text);
      assert.equal(await client.answer(question, "=1"), "no-storage", text);
      assert.equal(browser.sent.length, 0);
    }
  });

  it("sends once without lasting storage when a person asks for it", async () => {
    const { browser, client, page, question } = await begin({ blocked: true });
    browser.replies = ["lost"];
    assert.equal(await client.answer(question, "=1", true), "waiting");
    assert.equal(await client.answer(question, "=2", true), "answered");
    assert.equal(await client.answer(question, "=3", true), "already");
    assert.deepEqual(browser.sent[0].body, browser.sent[1].body);
    assert.equal(browser.sent.length, 2);
    await elapse(page);
    assert.equal(browser.sent.length, 2);
  });

  it("sends nothing, not even for a person, when storage is full", async () => {
    const { browser, client, question } = await begin({ full: true });
    assert.equal(await client.answer(question, "=1", true), "no-storage");
    browser.items.set("deniable", JSON.stringify({ other: [9, "answered"] }));
    assert.equal(await client.answer(question, "=1", true), "over-budget");
    assert.equal(browser.sent.length, 0);
  });

  for (const room of [0, 5, 30]) {
    it(`sends nothing after opting out when storage takes ${room} characters more`, async () => {
      const { browser, client, digest, page, question } = await begin();
      browser.replies = ["lost", 503];
      await client.answer(question, "=1");
      browser.room = room;
      assert.equal(client.optOut(), true);
      await elapse(page);
      assert.deepEqual([await client.resume(digest), await client.answer(question, "=1", true)], ["opted-out", "opted-out"]);
      const another = connect("https://collector.example", { platform: browser.open().platform });
      assert.equal(await another.resume(digest), "opted-out");
      assert.equal(browser.sent.length, 1);
    });
  }

  it("sends nothing after opting out even where that cannot be kept", async () => {
    const { browser, digest, page, question } = await begin();
    browser.replies = ["lost"];
    const first = connect("https://collector.example", { platform: page.platform });
    await first.answer(question, "=1");
    const full = browser.open({ full: true });
    const second = connect("https://collector.example", { platform: full.platform });
    assert.equal(second.optOut(), false);
    assert.equal(await second.answer(question, "=1", true), "opted-out");
    for (const client of [first, second]) assert.equal(await client.resume(digest), undefined);
    await elapse(page);
    const { text, digest: other } = await ask(protocol, { name: `opted out by ${form}` });
    assert.equal(await first.answer(await parse(text, other), "=1"), "opted-out");
    assert.equal(browser.sent.length, 1);
    first.optOut(false);
    assert.equal(await first.answer(await parse(text, other), "=1"), "answered");
  });

  it("sends nothing when the browser sends Global Privacy Control", async () => {
    const { browser, client, digest, question } = await begin();
    browser.signal = true;
    assert.equal(await client.answer(question, "=1", true), "opted-out");
    assert.deepEqual(browser.state, {});
    browser.signal = false;
    browser.replies = ["lost"];
    assert.equal(await client.answer(question, "=1"), "waiting");
    browser.signal = true;
    assert.equal(await client.resume(digest), "opted-out");
    assert.equal(browser.sent.length, 1);
  });

  it("forgets what waits when a person opts out, and does not draw again after that", async () => {
    const { browser, client, digest, page, question } = await begin();
    browser.replies = ["lost"];
    await client.answer(question, "=1");
    client.optOut();
    assert.deepEqual(browser.state, { [digest]: [question.loss, "opted-out"], out: [0, "opted-out"] });
    await elapse(page);
    assert.equal(await client.answer(question, "=1", true), "opted-out");
    client.optOut(false);
    assert.equal(await client.answer(question, "=1", true), "opted-out");
    assert.equal(browser.sent.length, 1);
    const { text, digest: another } = await ask(protocol, { name: "another" });
    assert.equal(await client.answer(await parse(text, another), "=1"), "answered");
  });

  it("does not bring back what a person opted out of while it was on its way", async () => {
    const { browser, client, digest, question } = await begin();
    browser.replies = [
      () => {
        client.optOut();
        throw new TypeError("lost");
      },
    ];
    await client.answer(question, "=1");
    assert.deepEqual(browser.state[digest], [question.loss, "opted-out"]);
  });

  it("spends no more than the budget over all questions, and a new version spends again", async () => {
    const { browser, client, question } = await begin({}, { budget: 6 });
    assert.equal(await client.answer(question, "=1"), "answered");
    const outcomes = [];
    for (const name of ["version 2", "version 3"]) {
      const { text, digest } = await ask(protocol, { name });
      outcomes.push(await client.answer(await parse(text, digest), "=1"));
    }
    assert.deepEqual(outcomes, ["answered", "over-budget"]);
    assert.equal(browser.sent.length, 2);
    assert.equal(await client.answer(question, "=1"), "already");
  });

  for (const locks of [true, false]) {
    it(`sends one report from ten tabs ${locks ? "that share a lock" : "without locks"}`, async () => {
      const { browser, client, page, question } = await begin({ locks });
      const pages = [page, ...Array.from({ length: 9 }, () => browser.open({ locks }))];
      const tabs = pages.map(({ platform }) => connect("https://collector.example", { platform }));
      const answers = tabs.map((tab, i) => tab.answer(question, `=${i % 5}`));
      await settle();
      for (const { timers } of pages) for (const { work } of timers.splice(0)) work();
      const outcomes = await Promise.all(answers);
      assert.deepEqual(new Set(outcomes), new Set(locks ? ["answered", "already"] : ["answered"]));
      if (locks) assert.equal(outcomes.filter((outcome) => outcome === "answered").length, 1);
      const bodies = new Set(browser.sent.map(({ body }) => `${body}`));
      assert.equal(bodies.size, 1);
      if (locks) assert.equal(browser.sent.length, 1);
      assert.equal(await client.resume(question.digest), "already");
    });
  }

  it("shows what leaves, and does not break where that fails", async () => {
    const shown = [];
    const { browser, client, question } = await begin({}, { inspect: (leaving) => shown.push(leaving) });
    await client.answer(question, "=1");
    const [{ url, id, report }] = shown;
    assert.deepEqual([url, [...id, ...report], id.length], [browser.sent[0].url, browser.sent[0].body, 16]);
    const broken = await begin({}, { inspect: () => assert.fail("a hook that fails") });
    assert.equal(await broken.client.answer(broken.question, "=1"), "waiting");
    assert.equal(broken.browser.sent.length, 0);
  });

  it("fixes the day when it first can send, not when it had to wait for the network", async () => {
    const { browser, client, page, question } = await begin();
    browser.online = false;
    assert.equal(await client.answer(question, "=1"), "waiting");
    assert.equal(browser.sent.length, 0);
    Object.assign(browser, { online: true, today: "2026-03-20" });
    await happen(page, "online");
    assert.match(browser.sent[0].url, /day=2026-03-20$/);
    assert.equal(await client.answer(question, "=1"), "already");
    assert.equal(browser.sent.length, 1);
  });

  it("loads the question that the page names, and no other", async () => {
    const { browser, client, digest, text } = await begin();
    const urls = [];
    const serve = (url) => {
      urls.push(url);
      return new Response(text);
    };
    browser.replies = [serve, serve, serve, "lost"];
    assert.equal((await client.load(digest)).digest, digest);
    assert.equal((await client.load(digest, "/question.json")).digest, digest);
    await assert.rejects(client.load("0".repeat(64)), DeniableError);
    await assert.rejects(client.load(digest), TypeError);
    assert.deepEqual(urls.slice(0, 2), [`https://collector.example/v1/questions/${digest}`, "/question.json"]);
  });

  it("tells a question that the collector does not know from one that is not the one named", async () => {
    const { browser, client, digest, text } = await begin();
    browser.replies = [404, () => new Response(text.replace('"question', '"Question'))];
    await assert.rejects(client.load(digest), /no such question/);
    await assert.rejects(client.load(digest), /not the question named/);
  });

  it("refuses a budget that is not a number, and answers nothing with a budget of nothing", async () => {
    for (const budget of [NaN, -1]) assert.throws(() => connect("", { budget }), /invalid budget/);
    const { browser, client, question } = await begin({}, { budget: 0 });
    assert.equal(await client.answer(question, "=1", true), "over-budget");
    assert.equal(browser.sent.length, 0);
  });

  it("raises no error that holds an answer", async () => {
    const secret = "a secret disease";
    const { browser, client, question } = await begin();
    const { text, digest } = await ask(readVectors("OpenLH").vectors[0].protocol);
    const open = await parse(text, digest);
    const faults = [
      question.privatize(secret),
      client.answer(question, secret),
      client.answer(question, secret, true),
      open.privatize(`${secret}\ud83e`),
      client.answer(open, `${secret}\ud83e`),
    ];
    for (const error of await Promise.all(faults.map((fault) => fault.then(assert.fail, (error) => error)))) {
      const parts = Object.getOwnPropertyNames(error).map((name) => `${error[name]}`);
      assert.equal([`${error}`, JSON.stringify(error), ...parts].join().includes("secret"), false);
    }
    assert.deepEqual([browser.state, browser.sent], [{}, []]);
  });

  it("refuses a question above its ceiling", async () => {
    const { browser, digest, text } = await begin();
    const { platform } = browser.open();
    browser.replies = [() => new Response(text)];
    await assert.rejects(connect("", { ceiling: 2.9, platform }).load(digest), /epsilon 3 is above the ceiling of 2.9/);
  });
}
