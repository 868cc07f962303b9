/**
 * Write what the browser client of version 0.2.0 kept in `localStorage`.
 *
 * Runs with that version only, once, from the top of the tree:
 * `node tests/data/v0.2.0/write_browser.mjs DIRECTORY`. The browser is the stand-in of the client's
 * own tests, the client the built file beside this one.
 */
import { writeFileSync } from "node:fs";
import { Browser, settle } from "../../../clients/js/test/browser.js";
import { readVectors } from "../../../clients/js/test/modules.js";
import { ask } from "../../../clients/js/test/replay.js";
import { connect, parse } from "./deniable.js";

const { protocol } = readVectors("DE").vectors.find(({ protocol }) => protocol.epsilon === 1);
const documents = {};

/** Answer questions in one browser, each as the network has it, and return what the browser keeps. */
const keep = async (browser, answers) => {
  for (const [name, replies] of Object.entries(answers)) {
    const { text, digest } = await ask(protocol, { name });
    documents[name] = JSON.parse(text);
    const client = connect("https://collector.example", { platform: browser.open().platform });
    browser.online = replies.length > 0;
    browser.replies = [...replies];
    await client.answer(await parse(text, digest), "=1", true);
    for (let i = 1; i < replies.length; i++) await client.resume(digest);
    browser.online = true;
  }
  await settle();
  return browser.items.get("deniable");
};

const some = {
  answered: [204],
  refused: [410],
  maybe: ["lost", 410],
  "waiting, never sent": [],
  "waiting, told to wait": [429],
  "waiting, unknown": ["lost"],
};
const mixed = await keep(new Browser(), some);
const browser = new Browser();
await keep(browser, { "answered before": [204], "waiting when opting out": ["lost"] });
connect("https://collector.example", { platform: browser.open().platform }).optOut();
const states = { mixed, "opted out": browser.items.get("deniable") };
writeFileSync(`${process.argv[2]}/localstorage.json`, `${JSON.stringify({ states, documents }, null, 1)}\n`);
