/** What all protocols share: what a client needs of one, and the checks of its numbers. */
import { expect } from "./errors.ts";
import { fixed, ONE, power } from "./power.ts";
import { WORD } from "./words.ts";

/** A protocol as its question specifies it. Nothing in it is trusted. */
export interface Specification {
  name: string;
  epsilon: number;
  size: number;
  p: number;
  q: number;
  theta: number;
  g: number;
  digits: number;
  window: number;
  at_most: number;
  levels: number;
  domain_size?: number;
}

/** `Value` is what a report is made of: a number, or the points of a padded set. */
export interface Mechanism<Value = bigint, Made = bigint[] | Uint8Array> {
  /** How many values the last number of a report has, where reports are numbers. */
  codes?: bigint;
  /** One limit for each word of a report: a word is drawn again until it is below its limit. */
  limits: bigint[];
  /** What the specification must say besides name, epsilon and size, computed here. */
  says: object;
  /** The epsilon that a report spends, where the specification does not state it. */
  spends?: number;
  /** Make a report, as numbers or as bytes, from a value and its words; the work does not depend on the value. */
  perturb(value: Value, words: bigint[]): Made;
}

/** A mechanism whose reports are numbers, most of them a single one. */
export type Selection = Mechanism<bigint, bigint[]>;

/** An object whose names are in order, as canonical forms have them. */
export const sorted = (object: object): object => Object.fromEntries(Object.entries(object).sort());

/** Check a whole number: from 1 to below a limit, or without one from 2 up; always below 2^31. */
export const whole = (number: number, below?: number | bigint): bigint => {
  // It must survive as a signed integer of 32 bits.
  expect((number | 0) === number && number > +!below && !(number >= below!));
  return BigInt(number);
};

/** Weights as a specification writes them; those of a selection have names of their own. */
export const weigh = (high: bigint, low: bigint, kept?: bigint): object => {
  expect(low < high);
  return kept ? { inside: `${high}`, outside: `${low}` } : { p: `${high}`, q: `${low}` };
};

/**
 * Reports of one of `size` places: the first `kept` have the larger weight each, the others the smaller.
 *
 * The weights of direct encoding, where nothing is kept, add up to 2^64. Those of selections add up to
 * a little less, and words beyond are drawn again, which is rare. Neither spends more than epsilon.
 * `make` gets the value, the place, and the words of `limits`, and returns whole words, of which the last
 * has `codes` values.
 */
export const places = (
  { epsilon }: Specification,
  size: bigint,
  kept: bigint,
  limits: bigint[],
  codes: bigint,
  says: object,
  make: (value: bigint, place: bigint, words: bigint[]) => bigint[],
): Selection => {
  const first = kept || 1n;
  const rest = size - first;
  const e = power(fixed(epsilon));
  // Direct encoding rounds up and selections round down: no quotient is a whole number.
  const outside = (WORD * ONE) / (first * e + rest * ONE) + BigInt(!kept) || 1n;
  const most = (WORD - rest * outside) / first;
  const least = (e * outside) / ONE;
  const inside = least < most ? least : most;
  const edge = first * inside;
  return {
    codes,
    limits: [...limits, edge + rest * outside],
    says: { ...says, weights: weigh(inside, outside, kept) },
    perturb(value, words) {
      const r = words.pop()!;
      // Both cases are computed, with arithmetic in place of a branch.
      const far = BigInt(r >= edge);
      const place = (1n - far) * (r / inside) + far * (first + (r - edge) / outside);
      return make(value, place, words);
    },
  };
};
