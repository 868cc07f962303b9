/**
 * Subset selection: a set of k values, which has the true one more often than the others.
 *
 * A uniform set is drawn, then one of the values, likelier one of its members; the set is moved so
 * that this value becomes the true one. The report is the rank of the set: the sum of C(c, j) over
 * its members c, j = 1 for the smallest.
 */
import { expect } from "../errors.ts";
import { places, type Selection, type Specification, whole } from "../mechanism.ts";
import { WORD } from "../words.ts";

export const subset = (specification: Specification, d: bigint): Selection => {
  const { size } = specification;
  const k = whole(size, d);
  let sets = 1n;
  for (let i = 0n; i < k && i < d - k && sets <= WORD; ) sets = (sets * (d - i)) / ++i;
  expect(sets <= WORD);
  return places(specification, d, k, [WORD - (WORD % sets)], sets, { size }, (value, place, [r]) => {
    let rank = r! / (WORD / sets);
    /** Go down through all values; `without` of the remaining sets do not have the value. */
    const walk = (sign: bigint, has: (value: bigint, without: bigint) => boolean): void => {
      for (let n = d, j = k, count = sets; n; ) {
        const without = (count * (n - j)) / n--;
        const found = BigInt(has(n, without));
        rank += sign * found * without;
        count = found ? count - without : without;
        j -= found;
      }
    };
    const members: bigint[] = [];
    const others: bigint[] = [];
    walk(-1n, (n, without) => !!(rank < without ? others : members).push(n) && rank >= without);
    // Both are in descending order; places ascend through the members and then the others.
    const distance = d + value - others.concat(members).at(~Number(place))!;
    const moved = new Set(members.map((c) => (c + distance) % d));
    walk(1n, (n) => moved.has(n));
    return [rank];
  });
};
