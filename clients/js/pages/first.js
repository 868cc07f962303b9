/**
 * What a person sees at first: what they said, what would be sent, and what somebody who reads it
 * learns. All the rest, with exact numbers, is in life.js.
 */

/**
 * @typedef {import("./life.js").Draw} Draw
 * @typedef {import("./life.js").Trial} Trial
 */

import { brief, count, find, make } from "./shown.js";

/** Number of answers that are named. */
const NAMED = 3;
/** Number of draws that are shown as dots. */
const DOTS = 30;
const { dataset } = find("try");

/** Put values where a sentence has their names in braces. @param {string | undefined} text @param {Record<string, string>} values */
const fill = (text, values) => (text ?? "").replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");

/** A share as people say it. @param {number} share */
const plain = (share) => {
  const hundred = 100 * share;
  if (hundred < 1) return "<\u202f1\u202f%";
  return `${hundred > 99 ? ">\u202f99" : hundred < 10 ? +hundred.toFixed(1) : Math.round(hundred)}\u202f%`;
};

/** Show what a report of another kind of answers says. @param {string} own @param {import("./kinds.js").Told} told @param {Uint8Array} report @param {number} draws @param {Record<string, string>} said */
export const showTold = (own, told, report, draws, said) => {
  find("first").hidden = false;
  find("own").textContent = brief(own, 80);
  find("asked").textContent = told.asked;
  const all = told.fitting.map((label) => `“${brief(label, 40)}”`);
  const more = all.length > NAMED ? fill(said["more"], { count: count(all.length - NAMED) }) : "";
  const some = all.slice(0, NAMED).join(` ${said["or"] ?? "or"} `);
  find("sent-words").replaceChildren(make("bdi", {}, all.length ? `${some}${more}` : (said["none_fit"] ?? "")));
  showSize(report, told.often, told.mine, said);
  showOdds(told.own, told.odds, said);
  showDot(draws, told.mine, said);
};

/** How sure somebody was and becomes; where nothing is known beforehand, of a 50:50 guess. @param {string} own @param {[number, number] | null} odds @param {Record<string, string>} said */
const showOdds = (own, odds, said) => {
  const bound = Number(dataset["bound"]);
  const [before, after] = odds ?? [0, bound / (1 + bound) - 0.25];
  find("reveals").textContent = said[after > 0.5 && before < 0.4 ? "could_guess" : "hardly_tell"] ?? "";
  find("before-after").textContent = odds
    ? fill(said["before_after"], { answer: `“${brief(own, 40)}”`, before: plain(before), after: plain(after) })
    : fill(said["at_most_sure"], { most: `${Math.ceil((100 * bound) / (1 + bound))}\u202f%` });
};

/** @param {Uint8Array} report @param {number} share @param {boolean} mine @param {Record<string, string>} said */
const showSize = (report, share, mine, said) => {
  find("sent-size").textContent = fill(said["all_sent"], { size: report.length === 1 ? "1 byte" : `${count(report.length)} bytes` });
  find("often").textContent =
    fill(said["often"], { times: String(Math.round(10 * share)) }) + " " + (said[mine ? "this_time_yes" : "this_time_no"] ?? "");
};

/** One more draw. @param {number} draws @param {boolean} mine @param {Record<string, string>} said */
const showDot = (draws, mine, said) => {
  const strip = find("strip");
  if (draws === 1) strip.replaceChildren();
  strip.append(make("i", { class: mine ? "fits" : "" }));
  while (strip.childElementCount > DOTS) strip.firstElementChild?.remove();
  find("strip-note").textContent = draws > 1 ? fill(said["rolled"], { count: count(draws) }) : "";
};

/** @param {Trial} trial @param {Draw} draw @param {Record<string, string>} said */
export const showFirst = (trial, { report, fits }, said) => {
  find("first").hidden = false;
  find("own").textContent = brief(trial.answer, 50);
  const fitting = trial.candidates.filter((_, i) => fits[i]).map(({ label }) => `“${brief(label, 40)}”`);
  const total = fits.length;
  const some = fitting.slice(0, NAMED).join(` ${said["or"] ?? "or"} `);
  const more = fitting.length > NAMED ? fill(said["more"], { count: count(fitting.length - NAMED) }) : "";
  find("sent-words").replaceChildren(make("bdi", {}, fitting.length ? `${some}${more}` : (said["none_fit"] ?? "")));
  const mine = fits[trial.own];
  showSize(report, Number(dataset["often"] ?? 0), mine, said);
  const before = 1 / total;
  const after = () => trial.beliefs(before, fits.map(Number))[trial.own];
  showOdds(trial.answer, total > 1 ? [before, after()] : null, said);
  showDot(trial.draws, mine, said);
};
