/**
 * The laws of the protocols: how random words become a report, and how likely each answer makes it.
 *
 * Everything is computed in the browser, from the weights in the question, which are those that the
 * client executes. Given a report, every answer has one of two likelihoods, and neither is zero: the
 * larger if the report fits the answer, the smaller if it does not.
 */

/**
 * @typedef {[numerator: bigint, denominator: bigint, power: number]} Factor
 * @typedef {(string | { answer: number | null })[]} Phrase  Words, and answers by their number;
 *   null is the answer that was given.
 * @typedef {{ word: bigint, decided: Phrase }} Step
 * @typedef {object} Reading  What a report says.
 * @property {Factor[]} fitting  The likelihood of an answer that it fits, as a product.
 * @property {Factor[]} other  That of any other answer.
 * @property {(value: bigint) => boolean} fits
 * @property {Phrase} means
 * @typedef {object} Law
 * @property {bigint[]} limits  One for each word, which is drawn again until it is below.
 * @property {[bigint, bigint]} ratio  The larger likelihood over the smaller one.
 * @property {(report: Uint8Array) => Reading} read
 * @property {(words: bigint[], value: bigint, place: number) => Step} step  What the word at a
 *   place decided.
 * @property {(words: bigint[]) => number[]} [used]  The words that decided anything, if not all did.
 * @property {string} [unused]  What the others were drawn for.
 * @typedef {Record<string, any>} Specification
 */

import { field } from "../src/field.ts";
import { WORD } from "../src/words.ts";

/** Write a probability with five digits. @param {bigint} above @param {bigint} below */
export const chance = (above, below = WORD) => String(+(Number(above) / Number(below)).toPrecision(5));

/** A whole number with separators of thousands. @param {number | bigint} number */
export const count = (number) => number.toLocaleString("en");

/** Read a little-endian integer. @param {Uint8Array} bytes */
export const integer = (bytes) => bytes.reduceRight((sum, byte) => (sum << 8n) + BigInt(byte), 0n);

/** C(n, k). @param {bigint} n @param {bigint} k */
export const choose = (n, k) => {
  let product = 1n;
  for (let i = 0n; i < k; ) product = (product * (n - i)) / ++i;
  return product;
};

/** Where the word of a perturbed group falls. @param {bigint} r @param {bigint} p @param {bigint} q */
const offset = (r, p, q) => (r < p ? 0n : 1n + (r - p) / q);

/** @param {Specification} specification @returns {[bigint, bigint]} */
const weights = ({ weights: { p, q, inside = p, outside = q } }) => [BigInt(inside), BigInt(outside)];

/** Direct encoding: the answer itself, or another one. @param {Specification} specification @returns {Law} */
const direct = (specification) => {
  const d = BigInt(specification.domain_size);
  const [p, q] = weights(specification);
  return {
    limits: [WORD],
    ratio: [p, q],
    read(report) {
      const value = integer(report);
      return {
        fitting: [[p, WORD, 1]],
        other: [[q, WORD, 1]],
        fits: (other) => other === value,
        means: [`The number ${value}, which stands for `, { answer: Number(value) }, "."],
      };
    },
    step([r], value) {
      const k = offset(r, p, q);
      const rule =
        `A share of p = ${chance(p)} of all words keeps the answer, and each other answer has a ` +
        `share of q = ${chance(q)}. `;
      const other = ["This one belongs to ", { answer: Number((value + k) % d) }, "."];
      return { word: r, decided: [rule, ...(k ? other : ["This one keeps the answer."])] };
    },
  };
};

/** Unary encoding: one bit for each answer. @param {Specification} specification @returns {Law} */
const unary = (specification) => {
  const d = specification.domain_size;
  const [p, q] = weights(specification);
  return {
    limits: Array(d).fill(WORD),
    ratio: [p * (WORD - q), (WORD - p) * q],
    read(report) {
      const isSet = (/** @type {number} */ i) => ((report[i >> 3] >> (i & 7)) & 1) === 1;
      const set = Array.from({ length: d }, (_, i) => i).filter(isSet);
      /** The bits of all other answers are set with q each. */
      const rest = (/** @type {number} */ ones) =>
        /** @type {Factor[]} */ ([[q, WORD, ones], [WORD - q, WORD, d - 1 - ones]]);
      return {
        fitting: [[p, WORD, 1], ...rest(set.length - 1)],
        other: [[WORD - p, WORD, 1], ...rest(set.length)],
        fits: (value) => isSet(Number(value)),
        means: [`One bit for each of the ${count(d)} answers, of which ${count(set.length)} are set.`],
      };
    },
    step(words, value, place) {
      const own = place === Number(value);
      const [name, weight] = own ? ["p", p] : ["q", q];
      const bit = words[place] < weight;
      const said =
        `, ${own ? "the answer given" : "another answer"}: the bit is set by a share of ` +
        `${name} = ${chance(weight)} of all words. This one ${bit ? "sets it: 1." : "does not: 0."}`;
      return { word: words[place], decided: [{ answer: place }, said] };
    },
  };
};

/**
 * The last word of all hashing: it keeps the group of the answer, or takes another one.
 * @param {bigint} r @param {[bigint, bigint]} weights @param {bigint} group @param {bigint} g
 */
const regroup = (r, [p, q], group, g) => {
  const k = offset(r, p, q);
  const rule =
    `A share of p = ${chance(p)} of all words keeps the group, and each other group has a share of ` +
    `q = ${chance(q)}. `;
  return rule + (k ? `This one takes group ${(group + k) % g} instead.` : `This one keeps group ${group}.`);
};

/** What a report of hashing says. @param {string} hash @param {bigint} y @param {bigint} g */
const grouped = (hash, y, g) =>
  `${hash}, and group ${y}. The function puts every answer into one of ${g} groups, numbered from ` +
  `0; the report says “my answer is in group ${y}”, which may be untrue.`;

/** Hashing by multiplication, also for open questions. @param {Specification} specification @returns {Law} */
const multiplyShift = (specification) => {
  const g = BigInt(specification.g);
  const [p, q] = weights(specification);
  const own = specification.domain_size ? 2 : 3;
  /** @param {bigint[]} words @param {bigint} value */
  const hash = (words, value) => {
    // Over a closed domain the upper half of a value is zero, whatever multiplies it.
    const h = words[0] * BigInt.asUintN(32, value) + words[own - 2] * (value >> 32n) + words[own - 1];
    return ((BigInt.asUintN(64, h) >> 32n) * g) >> 32n;
  };
  return {
    limits: Array(own + 1).fill(WORD),
    ratio: [p, q],
    read(report) {
      const words = Array.from({ length: own }, (_, i) => integer(report.subarray(8 * i, 8 * i + 8)));
      const y = integer(report.subarray(8 * own));
      return {
        fitting: [[1n, WORD, own], [p, WORD, 1]],
        other: [[1n, WORD, own], [q, WORD, 1]],
        fits: (value) => hash(words, value) === y,
        means: [grouped(`A hash function, which its first ${8 * own} bytes name`, y, g)],
      };
    },
    step(words, value, place) {
      const group = hash(words, value);
      const word = words[place];
      if (place === own) return { word, decided: [regroup(word, [p, q], group, g)] };
      const part = `Part ${place + 1} of ${own} of a random hash function, and sent as it is.`;
      const whole = [" It puts ", { answer: null }, ` into group ${group} of ${g}.`];
      return { word, decided: [part, ...(place === own - 1 ? whole : [])] };
    },
  };
};

/**
 * Return the function u: the sum of the products of the digits of u and of a value, plus `start`, in
 * the field. No product is computed twice, so that tens of thousands of values take little time.
 * @param {Specification} specification @param {bigint} u @param {bigint} start
 */
const linearFunction = ({ g, digits }, u, start = 0n) => {
  const { element, p, multiply } = /** @type {NonNullable<ReturnType<typeof field>>} */ (field(g));
  const [prime, first] = [Number(p), element(start).map(Number)];
  const factors = Array.from({ length: digits }, (_, i) => element((u / BigInt(g) ** BigInt(i)) % BigInt(g)));
  /** @type {number[][][]} */
  const products = factors.map(() => []);
  return (/** @type {bigint} */ value) => {
    const sum = [...first];
    let rest = Number(value);
    for (let i = 0; i < digits; i++) {
      const digit = rest % g;
      const product = (products[i][digit] ??= multiply(factors[i], element(BigInt(digit))).map(Number));
      for (let j = 0; j < sum.length; j++) sum[j] += product[j];
      rest = (rest - digit) / g;
    }
    let number = 0;
    for (let j = sum.length - 1; j >= 0; j--) number = number * prime + (sum[j] % prime);
    return number;
  };
};

/** Linear hashing, and affine selection. @param {Specification} specification @returns {Law} */
const linear = (specification) => {
  const selects = specification.name === "AffineSelection";
  const first = BigInt(selects);
  const g = BigInt(specification.g);
  const [p, q] = weights(specification);
  const m = BigInt(specification.window ?? 1);
  const total = m * p + (g - m) * q;
  const functions = g ** BigInt(specification.digits) - first;
  const step = WORD / functions;
  /** @param {bigint} u */
  const named = (u) => `number ${count(u + 1n)} of ${count(functions)}`;
  return {
    limits: [step * functions, total],
    ratio: [p, q],
    read(report) {
      const code = integer(report);
      const [u, y] = [code / g, code % g];
      const hash = linearFunction(specification, u + first, selects ? y : 0n);
      const says = selects
        ? `Function ${named(u)}, and the shift ${y}. The function puts every answer into one of ${g} ` +
          `groups; with the shift, ${m} of these ${m > 1n ? "are" : "is"} the set that the report ` +
          "names: “my answer is in this set”, which may be untrue."
        : grouped(`Hash function ${named(u)}`, y, g);
      return {
        fitting: [[1n, functions, 1], [p, total, 1]],
        other: [[1n, functions, 1], [q, total, 1]],
        fits: (value) => (selects ? hash(value) < m : hash(value) === Number(y)),
        means: [says],
      };
    },
    step([r, s], value, place) {
      const u = r / step;
      const group = BigInt(linearFunction(specification, u + first)(value));
      if (!place) {
        const takes = `Takes function ${named(u)}, all equally likely. It puts `;
        return { word: r, decided: [takes, { answer: null }, ` into group ${group} of ${g}, numbered from 0.`] };
      }
      if (!selects) return { word: s, decided: [regroup(s, [p, q], group, g)] };
      const rule =
        `A share of p = ${chance(m * p, total)} of all words puts the answer into the set that the ` +
        "report names, the others leave it out. ";
      const end = `This one ${s < m * p ? "puts it in" : "leaves it out"}; the shift follows from that.`;
      return { word: s, decided: [rule + end] };
    },
  };
};

/** Subset selection: a set of k answers. @param {Specification} specification @returns {Law} */
const subset = (specification) => {
  const d = BigInt(specification.domain_size);
  const k = BigInt(specification.size);
  const [p, q] = weights(specification);
  const total = k * p + (d - k) * q;
  const sets = choose(d, k);
  const step = WORD / sets;
  /** The members of the set of a rank, which is the sum of C(c, j) over them. @param {bigint} rank */
  const unrank = (rank) => {
    const members = new Set();
    for (let c = d - 1n, j = k; j; c--) {
      const count = choose(c, j);
      if (rank < count) continue;
      rank -= count;
      j--;
      members.add(c);
    }
    return members;
  };
  return {
    limits: [step * sets, total],
    ratio: [p, q],
    read(report) {
      const members = unrank(integer(report));
      // Each of the d places from which the set can have been moved here adds the same.
      return {
        fitting: [[d, sets, 1], [p, total, 1]],
        other: [[d, sets, 1], [q, total, 1]],
        fits: (value) => members.has(value),
        means: [
          `The number of one of ${count(sets)} sets of ${k} answers: “my answer is in this set”, ` +
            "which may be untrue.",
        ],
      };
    },
    step([r, s], _, place) {
      if (!place) {
        const which = `Takes set number ${count(r / step + 1n)} of all ${count(sets)} sets of ${k} answers`;
        return { word: r, decided: [`${which}, all equally likely.`] };
      }
      const inside = s < k * p;
      const outsider = `number ${(s - k * p) / q + 1n} of those that are not in it`;
      const rule =
        `A share of p = ${chance(k * p, total)} of all words puts the answer into the set, the others ` +
        `leave it out. This one ${inside ? "puts it in" : "leaves it out"}: the set moves round the ` +
        `list of answers until ${inside ? `member number ${s / p + 1n}` : outsider} is `;
      return { word: s, decided: [rule, { answer: null }, "."] };
    },
  };
};

/**
 * Return the law of a protocol. What its question specifies tells which one it is: the client has
 * refused the protocols that it does not speak.
 * @param {Specification} specification
 */
export const lawOf = (specification) => {
  if (specification.digits) return linear(specification);
  if (specification.family) return multiplyShift(specification);
  if (specification.size) return subset(specification);
  return (specification.name === "DE" ? direct : unary)(specification);
};

/**
 * Return the words that were used, from the bytes as they were asked for: all words first, then
 * again those that were not below their limits.
 * @param {Uint8Array[]} drawn @param {bigint[]} limits
 */
export const wordsOf = (drawn, limits) => {
  const words = limits.map(() => WORD);
  for (const bytes of drawn) {
    const rejected = [...limits.keys()].filter((i) => words[i] >= limits[i]).slice(0, bytes.length / 8);
    rejected.forEach((i, k) => (words[i] = integer(bytes.subarray(8 * k, 8 * k + 8))));
  }
  return words;
};

/** The logarithm of a product of fractions to the base 10. @param {Factor[]} factors */
export const logarithm = (factors) =>
  factors.reduce((sum, [above, below, power]) => {
    return sum + power * (Math.log10(Number(above)) - Math.log10(Number(below)));
  }, 0);

/** A product of fractions, in full; a negative power marks a case that does not exist. @param {Factor[]} factors */
export const exactly = (factors) => {
  if (factors.some(([, , power]) => power < 0)) return "there is none";
  return factors
    .filter(([, , power]) => power)
    .map(([above, below, power]) => `(${above} / ${below})${power > 1 ? ` ^ ${power}` : ""}`)
    .join(" × ");
};
