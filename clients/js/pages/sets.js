/**
 * The law of a set of answers, filled up to so many points. A report is likelier by the same factor
 * for all sets of which it contains any point, and no set is impossible.
 */

/**
 * @typedef {import("./laws.js").Law} Law
 * @typedef {import("./laws.js").Factor} Factor
 * @typedef {import("./laws.js").Specification} Specification
 */

import { WORD } from "../src/words.ts";
import { chance, choose, count, integer, lawOf } from "./laws.js";
import { bytesOf } from "./lots.js";

/** The largest multiple of a number that a word can be drawn below. @param {bigint} of */
const multiple = (of) => WORD - (WORD % of);

/** Whether a report contains a point. @param {Specification} protocol @param {Uint8Array} report @returns {(point: number) => boolean} */
export const containing = (protocol, report) => {
  const { at_most: most, domain_size: d, g, size, window } = protocol;
  if (size) {
    const points = { domain_size: d + most, size, weights: { inside: "2", outside: "1" } };
    const reading = lawOf(points).read(bytesOf(integer(report)));
    return (point) => reading.fits(BigInt(point));
  }
  const width = report.length / (most + 1);
  const coefficients = Array.from({ length: most + 1 }, (_, i) => integer(report.slice(i * width, (i + 1) * width)));
  return (point) => coefficients.reduceRight((sum, c) => (sum * BigInt(point) + c) % BigInt(g), 0n) < window;
};

/** What each case of the first word stands for: how many reports there are of it, for a given set. @param {Specification} protocol */
const casesOf = ({ at_most, domain_size, g, size, weights, window }) => {
  const most = BigInt(at_most);
  const cases = [...weights.keys()].map(BigInt);
  if (size) return cases.map((j) => choose(most, j) * choose(BigInt(domain_size), BigInt(size) - j));
  const [m, order] = [BigInt(window), BigInt(g)];
  const rest = order - m;
  return cases.map((i) => order * (i ? rest ** (i - 1n) * m * order ** (most - i) : rest ** most));
};

/** The limits of the words of a set of k points. @param {Specification} protocol */
const limitsOf = ({ at_most, domain_size, g, size, weights, window }) => {
  const most = BigInt(at_most);
  const cases = [...weights.keys()].map(BigInt);
  if (!size) {
    const [m, order] = [BigInt(window), BigInt(g)];
    return [WORD, multiple(most), ...Array(at_most).fill(multiple(m * (order - m) * order)), multiple(order)];
  }
  // A multiple of all numbers of places in the set.
  const places = cases.map((j) => choose(most, j)).reduce((a, b) => {
    let c = a;
    while (c % b) c += a;
    return c;
  });
  const rests = cases.filter((j) => j < size).map((j) => choose(BigInt(domain_size), BigInt(size) - j));
  return [WORD, multiple(places), ...rests.map(multiple)];
};

/** Which case the first word drew. @param {bigint[]} weights @param {bigint} word */
const drawn = (weights, word) => {
  let [place, end] = [0, weights[0]];
  while (word >= end) end += weights[++place];
  return place;
};

/** What the words of a report decided, in sentences. @param {Specification} protocol @param {bigint[]} weights @param {number} own */
const sentences = ({ at_most: most, size }, weights, own) => {
  const shares = weights.map((weight, i) => `${i} with ${chance(weight)}`).join(", ");
  const filled = `your ${own} ${own === 1 ? "box" : "boxes"}${own < most ? `, filled up to ${most} points with blanks` : ""}`;
  return (/** @type {number} */ place, /** @type {number} */ which) => {
    if (size) {
      const rule = `How many points the report shares with ${filled}: ${shares}. This one says ${which}.`;
      return [rule, "Chooses which of them.", "Chooses the others of the report, among all other points; all equally likely."][Math.min(place, 2)];
    }
    if (!place) return `Of ${filled}, in a random order, which one is the first that the report contains, 0 being none: ${shares}. This one says ${which}.`;
    if (place === 1) return "Chooses the point with which counting begins; all equally likely.";
    if (place === most + 2) return "Chooses the last coefficient, which no point determines.";
    return `Chooses the value at point ${place - 1}: ${which && place - 1 === which ? "contained" : which && place - 1 > which ? "any" : "not contained"}.`;
  };
};

/**
 * The law of a set of `own` labels.
 * @param {Specification} protocol @param {number} own @param {(report: Uint8Array) => boolean} fitted Whether a report contains any point of it.
 * @returns {Law}
 */
export const setLaw = (protocol, own, fitted) => {
  const weights = protocol.weights.map(BigInt);
  const counts = casesOf(protocol);
  /** The likelihood of one report of a case. @param {number} i @returns {Factor[]} */
  const each = (i) => [[weights[i], WORD, 1], [1n, counts[i], 1]];
  const said = sentences(protocol, weights, own);
  const total = protocol.domain_size + protocol.at_most;
  return {
    limits: limitsOf(protocol),
    ratio: [weights[1] * counts[0], weights[0] * counts[1]],
    used: (words) => (protocol.size ? [0, 1, 2 + drawn(weights, words[0])].filter((i) => i < words.length) : [...words.keys()]),
    unused: "drawn for other cases, so that their number tells nothing",
    read(report) {
      const kind = protocol.size
        ? `The number of a set of ${protocol.size} of ${count(total)} points: all boxes, and ${protocol.at_most} blanks. `
        : "A polynomial: it contains the points at which its value is small. ";
      return {
        fitting: each(1),
        other: each(0),
        fits: () => fitted(report),
        means: [`${kind}It fits every set of which it contains a box or a blank. Sets that share more with it are no likelier, but for rounding.`],
      };
    },
    step: (words, _, place) => ({ word: words[place], decided: [said(place, drawn(weights, words[0]))] }),
  };
};

/**
 * How many sets of at most so many labels a report does not fit, and how many it fits.
 * @param {Specification} protocol @param {(point: number) => boolean} contains @returns {[number, number]}
 */
export const setsBy = ({ at_most: most, domain_size: d }, contains) => {
  const outside = BigInt(Array.from({ length: d }, (_, i) => i).filter((i) => !contains(i)).length);
  let [all, missed] = [0n, 0n];
  for (let size = 0n; size <= most; size++) {
    all += choose(BigInt(d), size);
    // The first blanks fill a set up.
    const blanks = Array.from({ length: most - Number(size) }, (_, i) => d + i);
    if (!blanks.some(contains)) missed += choose(outside, size);
  }
  return [Number(missed), Number(all - missed)];
};
