/**
 * What a person sees at first: what they said, what would be sent, and what somebody who reads it
 * learns. All the rest, with exact numbers, is in life.js.
 */

/**
 * @typedef {import("./life.js").Draw} Draw
 * @typedef {import("./life.js").Trial} Trial
 */

import { brief, count, fill, find, make } from "./shown.js";

/** Number of answers that are named. */
const NAMED = 3;
/** Number of draws that are shown as dots. */
const DOTS = 30;
const { dataset } = find("try");

/** A share as people say it. @param {number} share */
const plain = (share) => {
  const hundred = 100 * share;
  if (hundred < 0.01) return "<\u202f0.01\u202f%";
  return `${hundred > 99 ? ">\u202f99" : hundred < 10 ? +hundred.toPrecision(2) : Math.round(hundred)}\u202f%`;
};

/** Show what a report of another kind of answers says. @param {string} own @param {import("./kinds.js").Told} told @param {Uint8Array} report @param {number} draws @param {Record<string, string>} said */
export const showTold = (own, told, report, draws, said) => {
  find("first").hidden = false;
  find("own").textContent = brief(own, 80);
  find("asked").textContent = told.asked;
  // What a report of a set contains stands side by side; other reports fit one answer or another.
  const words = told.ticked !== undefined ? ofSets(said, told.ticked) : told.level ? ofLevels(said) : said;
  showNamed(told.fitting, words, told.vague);
  showSize(report, told.often, told.mine, words);
  showOdds(told.own, told.odds, said);
  showDot(draws, told.mine, words);
};

/** Other sentences for a mean: a report names a level, which is not the answer. @param {Record<string, string>} said @returns {Record<string, string>} */
const ofLevels = ({ often_level, rolled_level, ...said }) => ({ ...said, often: often_level, rolled: rolled_level, this_time_yes: "", this_time_no: "" });

/** Other sentences for sets; an empty set is an answer too. @param {Record<string, string>} said @param {number} ticked @returns {Record<string, string>} */
const ofSets = ({ and, and_more, none_fit_set, often_nothing, often_set, rolled_set, ...said }, ticked) => ({
  ...said,
  or: and,
  more: and_more,
  none_fit: none_fit_set,
  rolled: rolled_set,
  often: ticked ? often_set : often_nothing,
  ...(ticked ? {} : { this_time_yes: "", this_time_no: "", rolled: "" }),
});

/** An answer within a sentence. @param {string} label @param {Record<string, string>} said */
const inQuotes = (label, said) => fill(said["quoted"], { text: brief(label, 40) });

/** The answers that a report names; `vague` are words for those that nobody can list. @param {string[]} all @param {Record<string, string>} said */
const showNamed = (all, said, vague = "") => {
  const more = all.length > NAMED ? fill(said["more"], { count: count(all.length - NAMED) }) : "";
  const some = all.slice(0, NAMED).map((label) => inQuotes(label, said)).join(` ${said["or"] ?? "or"} `);
  const named = all.length ? `${some}${more}` : (said["none_fit"] ?? "");
  find("sent-words").replaceChildren(make("bdi", {}, vague || named));
};

/** How sure somebody was and becomes; where nothing is known beforehand, of a 50:50 guess. @param {string} own @param {[number, number] | null} odds @param {Record<string, string>} said */
const showOdds = (own, odds, said) => {
  const bound = Number(dataset["bound"]);
  const [before, after] = odds ?? [0, bound / (1 + bound) - 0.25];
  find("reveals").textContent = said[after > 0.5 && after > before + 0.2 ? "could_guess" : "hardly_tell"] ?? "";
  find("before-after").textContent = odds
    ? fill(said["before_after"], { answer: inQuotes(own, said), before: plain(before), after: plain(after) })
    : fill(said["at_most_sure"], { most: dataset["most"] ?? "" });
};

/** @param {Uint8Array} report @param {number} share @param {boolean} mine @param {Record<string, string>} said */
const showSize = (report, share, mine, said) => {
  // A byte for the public group goes before it.
  const size = report.length + Number(dataset["grouped"]);
  find("sent-size").textContent = fill(said["all_sent"], { size: size === 1 ? said["byte"] ?? "" : fill(said["bytes"], { count: count(size) }) });
  const tenths = Math.round(10 * share);
  const times = tenths < 1 ? "<\u202f1" : tenths > 9 && share < 1 ? ">\u202f9" : String(tenths);
  find("often").textContent =
    fill(said["often"], { times }) + " " + (said[mine ? "this_time_yes" : "this_time_no"] ?? "");
};

/** One more draw. @param {number} draws @param {boolean} mine @param {Record<string, string>} said */
const showDot = (draws, mine, said) => {
  const strip = find("strip");
  if (draws === 1) strip.replaceChildren();
  strip.append(make("i", { class: mine ? "fits" : "" }));
  while (strip.childElementCount > DOTS) strip.firstElementChild?.remove();
  find("strip-note").textContent = draws > 1 ? fill(said["rolled"], { count: count(draws) }) : "";
  const named = find("sent-words").textContent ?? "";
  const included = said[mine ? "this_time_yes" : "this_time_no"] ?? "";
  find("status").textContent = fill(said["drawn"], { count: count(draws), named, mine: included });
};

/** @param {Trial} trial @param {Draw} draw @param {Record<string, string>} said @param {string} vague What the report says where no list has all answers. */
export const showFirst = (trial, { report, fits }, said, vague) => {
  find("first").hidden = false;
  find("own").textContent = brief(trial.answer, 50);
  const fitting = trial.candidates.filter((_, i) => fits[i]).map(({ label }) => label);
  const total = fits.length;
  showNamed(fitting, said, vague);
  const mine = fits[trial.own];
  showSize(report, Number(dataset["often"] ?? 0), mine, said);
  const before = 1 / total;
  const after = () => trial.beliefs(before, fits.map(Number))[trial.own];
  showOdds(trial.answer, total > 1 ? [before, after()] : null, said);
  showDot(trial.draws, mine, said);
};
