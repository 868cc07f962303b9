/** Live the histories on standard input, one JSON object a line, in a stand-in for a browser; write what came of each. */
import { createInterface } from "node:readline";
import { PACKAGED } from "../build.mjs";
import { Browser, settle } from "./browser.js";

const { connect, parse } = await import(PACKAGED);

/** What a collector, or whatever is in its place, makes of a request. */
const replyTo = (event) => {
  if (typeof event !== "object") return event;
  const { status, ...problem } = event;
  return () => Response.json(problem, { status });
};

const live = async ({ budget, questions, secret, steps }) => {
  const browser = new Browser();
  browser.items.set("deniable", JSON.stringify({ secret: [0, [...Buffer.from(secret, "hex")]] }));
  let page = browser.open();
  let clients = {};
  const lived = [];
  for (const { answer, day, document, event, question: i, restart, storage } of steps) {
    if (restart || !storage) {
      page = browser.open({ full: !storage });
      clients = {};
    }
    const client = (clients[storage] ??= connect("https://collector.example", { budget, platform: page.platform }));
    const { digest, forged, text } = questions[i];
    Object.assign(browser, { today: day, sent: [], online: event !== "offline" });
    browser.replies = [];
    let outcome = "refused to read";
    try {
      if (answer === null) {
        browser.replies = [replyTo(event)];
        outcome = (await client.resume(digest)) ?? "nothing";
      } else {
        if (document !== "shipped") browser.replies = [async () => new Response(document === "forged" ? forged : text)];
        const question = document === "shipped" ? await parse(text, digest) : await client.load(digest);
        browser.replies = [replyTo(event)];
        outcome = await client.answer(question, answer);
      }
    } catch (error) {
      if (error.name !== "DeniableError") throw error;
    }
    await settle();
    lived.push({
      outcome,
      sent: browser.sent.map(({ body, url }) => [url.match(/questions\/(\w+)/)[1], Buffer.from(body).toString("hex")]),
      last: questions.map(({ digest }) => browser.state[`@${digest}`]?.[1] ?? null),
      spent: Object.values(browser.state).reduce((sum, [loss]) => sum + loss, 0),
    });
    if (!storage) {
      page = browser.open();
      clients = {};
    }
  }
  return lived;
};

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await live(JSON.parse(line)))}\n`);
}
