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
const choose = (n: bigint, k: bigint): bigint => {
  let product = 1n;
  for (let i = 0n; i < k; ) product = (product * (n - i)) / ++i;
  return product;
};

export const subset = (specification: Specification): Mechanism => {
  const d = whole(specification.domain_size);
  const k = whole(specification.size, 1);
  const { limit, place, ratio } = places(specification, d, k);
  const sets = choose(d, k);
  expect(sets <= WORD, "2^64 sets", sets);
  const share = WORD / sets;
  const length = width(sets);
  return {
    limits: [share * sets, limit],
    ratio,
    perturb(value, [r, s]) {
      let rank = r! / share;
      const members: bigint[] = [];
      const others: bigint[] = [];
      for (let c = d, j = k; c--; ) {
        const count = choose(c, j);
        const is = BigInt(rank >= count);
        rank -= is * count;
        j -= is;
        (is ? members : others).unshift(c);
      }
      const distance = d + value - [...members, ...others][Number(place(s!))]!;
      const moved = members.map((c) => (c + distance) % d).sort((a, b) => Number(a - b));
      return little(moved.reduce((rank, c, j) => rank + choose(c, BigInt(j + 1)), 0n), length);
    },
  };
};
