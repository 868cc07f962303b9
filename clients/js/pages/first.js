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

/** @param {Trial} trial @param {Draw} draw @param {Record<string, string>} said */
export const showFirst = (trial, { report, fits }, said) => {
  find("first").hidden = false;
  find("own").textContent = brief(trial.answer, 50);
  const fitting = trial.candidates.filter((_, i) => fits[i]).map(({ label }) => `“${brief(label, 40)}”`);
  const total = fits.length;
  const some = fitting.slice(0, NAMED).join(` ${said["or"] ?? "or"} `);
  const more = fitting.length > NAMED ? fill(said["more"], { count: count(fitting.length - NAMED) }) : "";
  find("sent-words").replaceChildren(make("bdi", {}, fitting.length ? `${some}${more}` : (said["none_fit"] ?? "")));
  find("sent-size").textContent = fill(said["all_sent"], { size: report.length === 1 ? "1 byte" : `${count(report.length)} bytes` });
  const often = Math.round(10 * Number(dataset["often"] ?? 0));
  const mine = fits[trial.own];
  find("often").textContent =
    fill(said["often"], { times: String(often) }) + " " + (said[mine ? "this_time_yes" : "this_time_no"] ?? "");
  const before = 1 / total;
  const after = total > 1 ? trial.beliefs(before, fits.map(Number))[trial.own] : 1;
  find("reveals").textContent = said[after > 0.5 && total > 2 ? "could_guess" : "hardly_tell"] ?? "";
  find("before-after").textContent =
    total > 1 ? fill(said["before_after"], { answer: `“${brief(trial.answer, 40)}”`, before: plain(before), after: plain(after) }) : "";
  const strip = find("strip");
  if (trial.draws === 1) strip.replaceChildren();
  strip.append(make("i", { class: mine ? "fits" : "" }));
  while (strip.childElementCount > DOTS) strip.firstElementChild?.remove();
  find("strip-note").textContent = trial.draws > 1 ? fill(said["rolled"], { count: count(trial.draws) }) : "";
};
