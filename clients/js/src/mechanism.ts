/** What all protocols share: what a client needs to know of one, and the checks of its numbers. */
import { expect } from "./errors.ts";
import type { Ratio } from "./loss.ts";
import { WORD } from "./words.ts";

/** A protocol as its question specifies it. Nothing in it is trusted. */
export interface Specification {
  name: string;
  epsilon?: number;
  domain_size: number;
  size: number;
  g: number;
  digits: number;
  window: number;
  family: string;
  field: { characteristic: number; degree: number; modulus: number[] };
  weights: { p?: string; q?: string; inside?: string; outside?: string };
}

export interface Mechanism {
  /** The words that a report takes: each is drawn again until it is below its limit. */
  limits: bigint[];
  ratio: Ratio;
  /** Make a report from a value and its words; the work does not depend on the value. */
  perturb(value: bigint, words: bigint[]): Uint8Array;
}

/** A whole number from `least` to 2^31 - 1, as all sizes in a question are. */
export const whole = (number: number, least = 2): bigint => {
  // As a signed integer of 32 bits it must still be itself.
  expect((number | 0) === number && number >= least, "a size", number);
  return BigInt(number);
};

/** The two weights of a specification, the larger first: whole numbers in decimal. */
export const weights = ({ weights: { p, q, inside = p, outside = q } }: Specification): [bigint, bigint] => {
  const high = BigInt(inside!);
  const low = BigInt(outside!);
  const decimal = [high, low].join() === [inside, outside].join();
  expect(decimal && 0n < low && low < high && high < WORD, "weights", [inside, outside]);
  return [high, low];
};

/**
 * One of `size` places: the first `kept` have the larger weight each and the others the smaller.
 *
 * The weights add up to 2^64; those of selections to a little less, and words beyond are drawn again.
 */
export const places = (specification: Specification, size: bigint, kept = 1n) => {
  const ratio = weights(specification);
  const [inside, outside] = ratio;
  const edge = kept * inside;
  const limit = edge + (size - kept) * outside;
  const sound = limit === WORD || (!specification.weights.p && limit < WORD);
  expect(sound && kept < size, "weights that add up", limit);
  /** The place of a word: both cases are worked out, and arithmetic takes the place of a branch. */
  const place = (r: bigint): bigint => {
    const far = BigInt(r >= edge);
    return (1n - far) * (r / inside) + far * (kept + (r - edge) / outside);
  };
  return { limit, place, ratio };
};
