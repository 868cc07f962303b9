/**
 * The laws of what is asked by lot, which is drawn before the answer is looked at: one view of a number or
 * of several attributes, one piece of a text to be discovered. What is asked is answered with the whole epsilon.
 */

/**
 * @typedef {import("./laws.js").Law} Law
 * @typedef {import("./laws.js").Specification} Specification
 */

import { WORD } from "../src/words.ts";
import { chance, integer, lawOf } from "./laws.js";

/** Eight bytes of a number. @param {bigint} number */
export const bytesOf = (number) => new Uint8Array(new BigUint64Array([number]).buffer);

/** How many reports there are of a view. @param {Specification} part @returns {bigint} */
const codesOf = ({ domain_size, g, levels, size }) => {
  if (levels) return BigInt(levels);
  if (g) return BigInt(g) * BigInt(g - 1);
  let sets = BigInt(size ? 1 : domain_size);
  for (let i = 0n; i < (size ?? 0); ) sets = (sets * (BigInt(domain_size) - i)) / ++i;
  return sets;
};

/** The view that a report is of, and its own number there. @param {Specification} protocol @param {Uint8Array} report */
export const viewOf = ({ protocols }, report) => {
  let [code, place] = [integer(report), 0];
  for (let codes; code >= (codes = codesOf(protocols[place])); place++) code -= codes;
  return { place, code };
};

/**
 * Levels: a number goes to a level by lot, and this level is reported by direct encoding. What follows
 * is about levels, so that a value is one of them.
 * @param {Specification} part @param {bigint} number @returns {Law & { level: (word: bigint) => bigint }}
 */
const leveled = (part, number) => {
  const direct = lawOf({ ...part, name: "DE", domain_size: part.levels });
  const [top, last] = [BigInt(part.levels - 1), BigInt(part.domain_size - 1)];
  const [below, rest] = [(number * top) / last, (number * top) % last];
  const upper = (WORD * rest) / last;
  return {
    ...direct,
    limits: [WORD, ...direct.limits],
    level: (word) => below + BigInt(word < upper),
    step(words, value, place) {
      if (place) return { ...direct.step(words.slice(1), value, 0), word: words[1] };
      const rule = rest
        ? ["Your number lies between ", { answer: Number(below) }, " and ", { answer: Number(below + 1n) },
           `: a share of ${chance(upper)} of all words takes it to the upper one, so that it is right on average. `]
        : ["Your number is one of the levels itself. "];
      return { word: words[0], decided: [...rule, "This one takes it to ", { answer: Number(value) }, "."] };
    },
  };
};

/**
 * The law of the view that a report is of.
 * @param {Specification} protocol @param {number} place The view. @param {bigint} value The person's own value there.
 * @param {string} asked What the view asks, in words.
 */
export const viewLaw = (protocol, place, value, asked) => {
  const part = protocol.protocols[place];
  const laws = protocol.protocols.map((/** @type {Specification} */ each) => (each.levels ? leveled(each, 0n) : lawOf(each)));
  const own = part.levels ? leveled(part, value) : laws[place];
  const limits = laws.map((/** @type {Law} */ law) => law.limits);
  const lot = BigInt(protocol.lots[place]);
  const first = 1 + limits.slice(0, place).flat().length;
  const used = [0, ...own.limits.map((/** @type {bigint} */ _, /** @type {number} */ i) => first + i)];
  /** @type {Law & { level?: (word: bigint) => bigint }} */
  const law = {
    ratio: own.ratio,
    limits: [WORD, ...limits.flat()],
    used: () => used,
    unused: "drawn for what was not asked, so that their number tells nothing",
    read(report) {
      const { fitting, other, ...said } = own.read(bytesOf(viewOf(protocol, report).code));
      // The lot looks at nothing, so that its share is the same for all answers.
      return { ...said, fitting: [[lot, WORD, 1], ...fitting], other: [[lot, WORD, 1], ...other] };
    },
    step(words, held, at) {
      if (at) return own.step(words.slice(first), held, at - first);
      const rule = `What is asked is one of ${limits.length}, by lot, before your answer is looked at. `;
      const drawn = `A share of ${chance(lot)} of all words asks for ${asked}, and this one is among them.`;
      const single = `There is only one thing to ask for, ${asked}, whatever this word is.`;
      return { word: words[0], decided: [limits.length > 1 ? rule + drawn : single] };
    },
  };
  const { level } = own;
  if (level) law.level = (word) => level(word);
  return { law, first };
};

/**
 * The law of one piece of a text: all pieces are drawn alike, and one is reported by affine selection.
 * @param {Specification} protocol @param {number} piece @param {bigint} codes How many reports there are of a piece. @returns {Law}
 */
export const pieceLaw = ({ check, closed, payload }, piece, codes) => {
  const own = lawOf(closed);
  const pieces = payload + check;
  /** The first word that draws a piece. @param {number} place */
  const first = (place) => (BigInt(place) * WORD + BigInt(pieces - 1)) / BigInt(pieces);
  const lot = first(piece + 1) - first(piece);
  return {
    ratio: own.ratio,
    limits: [WORD, ...own.limits],
    read(report) {
      const { fitting, other, means, fits } = own.read(bytesOf(integer(report) % codes));
      return { fitting: [[lot, WORD, 1], ...fitting], other: [[lot, WORD, 1], ...other], fits, means: [`Of piece ${piece + 1}: `, ...means] };
    },
    step(words, value, place) {
      if (place) return own.step(words.slice(1), value, place - 1);
      const rule = `The code of a text has ${pieces} pieces, and one is asked for by lot, before your text is looked at. `;
      return { word: words[0], decided: [`${rule}A share of ${chance(lot)} of all words asks for piece ${piece + 1}, and this one is among them.`] };
    },
  };
};
