/** The vectors of turns, arms and cells, replayed in a browser of our own, in Node and in a browser alike. */
import { Browser } from "./browser.js";
import { bytes } from "./replay.js";

const COLLECTOR = "https://collector.example";

/** Replay turns, draws and cells; return how many cases there were and what went wrong. */
export const replayTurns = async ({ connect, parse }, { cells, draws, questions, vectors }) => {
  const wrong = [];
  const check = (found, wanted, row) => {
    const [made, due] = [found, wanted].map((item) => JSON.stringify(item));
    if (made !== due) wrong.push(`${made}, not ${due}: ${JSON.stringify(row)}`);
  };
  const visit = (state, day) => {
    const browser = new Browser();
    if (day) browser.today = day;
    browser.items.set("deniable", JSON.stringify(state));
    return { browser, client: connect(COLLECTOR, { platform: browser.open().platform }) };
  };

  for (const row of vectors) {
    const { day, last, named, outcome, secret, turn } = row;
    const { browser, client } = visit({ secret: [0, [...bytes(secret)]], [`@${named}`]: [3, last] }, day);
    const question = await parse(questions[named], named);
    check(await client.turn(question), outcome === "answered" ? undefined : outcome, row);
    const said = await client.answer(question, "kiwi");
    // Without a mark of what became of it, an answer of this very turn has no outcome.
    if (outcome !== "already") check(said, outcome, row);
    check(browser.sent.length, turn === null ? 0 : 1, row);
    check(browser.state[`@${named}`], [3, turn ?? last], row);
  }

  const arms = draws.filter(({ arm }) => arm !== undefined);
  for (const row of arms) {
    const { client } = visit({ secret: [0, [...bytes(row.secret)]] });
    check(await client.arm(row.digest, [...Array(row.size).keys()].map(String)), `${row.arm}`, row);
  }

  for (const row of cells) {
    const { browser, client } = visit({});
    const question = await parse(questions[row.named], row.named);
    const options = { segment: row.stated };
    const said = await client.answer(question, "kiwi", options).catch(({ name }) => name);
    check(said, row.cell === null ? "DeniableError" : "answered", row);
    const reports = browser.sent.map(({ body }) => [body.length, body[16]]);
    check(reports, row.cell === null ? [] : [[18, row.cell]], row);
  }
  return { cases: vectors.length + arms.length + cells.length, wrong };
};
