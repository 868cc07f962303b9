/**
 * Multiply-shift hashing, for ranges that have no field and for open questions.
 *
 * H(v) comes from the upper half of a1 v_low + a2 v_high + b; the report is these words, without a2
 * over a closed domain, and H(v) by direct encoding over 0..g-1.
 */
import { places, type Selection, type Specification, whole } from "../mechanism.ts";
import { WORD } from "../words.ts";

export const multiplyShift = (specification: Specification, d: bigint): Selection => {
  const { g } = specification;
  const range = whole(g);
  const limits = Array<bigint>(d ? 2 : 3).fill(WORD);
  const says = { family: "multiply-shift", g };
  return places(specification, range, 0n, limits, range, says, (value, place, words) => {
    // Over a closed domain a1 stands in for a2, and the upper half of the value is zero.
    const h = words[0]! * BigInt.asUintN(32, value) + words.at(-2)! * (value >> 32n) + words.at(-1)!;
    return [...words, (((BigInt.asUintN(64, h) >> 32n) * range >> 32n) + place) % range];
  });
};
