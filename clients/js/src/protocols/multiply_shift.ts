/**
 * Multiply-shift hashing, for ranges that have no field and for open questions.
 *
 * H(v) comes from the upper half of a1 v_low + a2 v_high + b; the report is these words, without a2
 * over a closed domain, and H(v) by direct encoding over 0..g-1.
 */
import { type Mechanism, places, type Specification, whole } from "../mechanism.ts";
import { little, width } from "../words.ts";

export const multiplyShift = (specification: Specification): Mechanism => {
  const g = whole(specification.g);
  const { limit, place, ratio } = places(specification, g);
  const limits = Array<bigint>(specification.domain_size ? 3 : 4).fill(limit);
  const length = 8 * limits.length - 8 + width(g);
  return {
    limits,
    ratio,
    perturb(value, words) {
      const r = words.pop()!;
      // Over a closed domain a1 stands in for a2, and the upper half of the value is zero.
      const h = words[0]! * BigInt.asUintN(32, value) + words.at(-2)! * (value >> 32n) + words.at(-1)!;
      words.push((((BigInt.asUintN(64, h) >> 32n) * g >> 32n) + place(r)) % g);
      return little(words.reduceRight((sum, word) => (sum << 64n) + word), length);
    },
  };
};
