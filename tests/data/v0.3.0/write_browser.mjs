/**
 * Write what the browser clients of version 0.3.0 kept in `localStorage`, one client for each kind.
 *
 * Runs with that version only, once, from the top of the tree and after `write.py`:
 * `node tests/data/v0.3.0/write_browser.mjs DIRECTORY`. The browser is the stand-in of the client's
 * own tests, the clients are the files that the collector serves.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { Browser, settle } from "../../../clients/js/test/browser.js";

const CLIENTS = new URL("../../../src/deniable/collector/pages/static/clients/", import.meta.url);
const directory = process.argv[2];
const answers = {
  choices: ["00-SetSelection", ["fig", "kiwi"]],
  views: ["04-Views", { way: "bus", km: 10, town: "yes" }],
  discover: ["05-Discovery", "1984"],
  "": ["06-AffineSelection", "fig"],
};

const states = {};
for (const [kind, [file, answer]] of Object.entries(answers)) {
  const { connect, parse } = await import(new URL(`0.3.0${kind && "-"}${kind}.js`, CLIENTS));
  const { question, digest } = JSON.parse(readFileSync(`${directory}/${file}.json`, "utf8"));
  const browser = new Browser();
  const client = connect("https://collector.example", { platform: browser.open().platform });
  const asked = await parse(question, digest);
  // A question that is asked again is answered in the turn of this browser, which comes within four weeks.
  for (let week = 0; week < 4 && !browser.sent.length; week++) {
    browser.today = `2026-01-${String(5 + 7 * week).padStart(2, "0")}`;
    browser.replies = ["lost"];
    await client.answer(asked, answer, true);
  }
  await settle();
  states[kind] = { file, answer, today: browser.today, kept: browser.items.get("deniable") };
}
writeFileSync(`${directory}/localstorage.json`, `${JSON.stringify(states, null, 1)}\n`);
