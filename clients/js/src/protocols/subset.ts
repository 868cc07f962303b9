/**
 * Subset selection: a set of k values, which has the true one more often than the others.
 *
 * A uniform set is drawn, then one of the values, likelier one of its members; the set is moved so
 * that this value becomes the true one. The report is the rank of the set: the sum of C(c, j) over
 * its members c, j = 1 for the smallest.
 */
import { expect } from "../errors.ts";
import { type Mechanism, places, type Specification, whole } from "../mechanism.ts";
import { little, width, WORD } from "../words.ts";

/** C(n, k). */
const choose = (n: number, k: number): bigint => {
  let product = 1n;
  for (let i = 0; i < k; i++) product = (product * BigInt(n - i)) / BigInt(i + 1);
  return product;
};

export const subset = (specification: Specification): Mechanism => {
  const d = Number(whole(specification.domain_size));
  const k = Number(whole(specification.size, 1));
  const { limit, place, ratio } = places(specification, BigInt(d), BigInt(k));
  const sets = choose(d, k);
  expect(sets <= WORD, "2^64 sets", k);
  const share = WORD / sets;
  const length = width(sets);
  return {
    limits: [share * sets, limit],
    ratio,
    perturb(value, [r, s]) {
      let rank = r! / share;
      const parts: [number[], number[]] = [[], []];
      for (let c = d, j = k; c--; ) {
        const count = choose(c, j);
        const is = rank >= count;
        rank -= BigInt(is) * count;
        j -= +is;
        parts[+!is]!.unshift(c);
      }
      const distance = Number(value) - parts.flat()[Number(place(s!))]! + d;
      const moved = parts[0].map((c) => (c + distance) % d).sort((a, b) => a - b);
      return little(moved.reduce((sum, c, j) => sum + choose(c, j + 1), 0n), length);
    },
  };
};
