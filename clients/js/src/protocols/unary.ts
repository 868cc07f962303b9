/** Unary encoding: one bit for each value, set with weight p for the true one and q for the others. */
import { type Mechanism, type Specification, weights, whole } from "../mechanism.ts";
import { WORD } from "../words.ts";

export const unary = (specification: Specification): Mechanism => {
  const d = Number(whole(specification.domain_size));
  const [p, q] = weights(specification);
  return {
    limits: Array<bigint>(d).fill(WORD),
    ratio: [p * (WORD - q), (WORD - p) * q],
    perturb(value, words) {
      const report = new Uint8Array((d + 7) >> 3);
      words.forEach((r, i) => (report[i >> 3]! |= +(r < [q, p][+(i === Number(value))]!) << (i & 7)));
      return report;
    },
  };
};
