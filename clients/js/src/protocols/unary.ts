/** Unary encoding: one bit for each value, set with weight p for the true one and q for the others. */
import { type Mechanism, type Specification, weigh } from "../mechanism.ts";
import { fixed, ONE, power } from "../power.ts";
import { WORD } from "../words.ts";

/** p and q as fixed-point numbers, what a specification says of them besides the weights, and what they spend. */
type Chances = (specification: Specification) => [bigint, bigint, object?, number?];

/** 1 / (1 + e^x) */
const logistic = (x: number): bigint => (ONE * ONE) / (power(fixed(x)) + ONE);

export const UE: Chances = ({ p, q }) => [
  fixed(p),
  fixed(q),
  { epsilon: undefined, p: +p, q: +q },
  Math.log((p / q) * ((1 - q) / (1 - p))),
];
export const SUE: Chances = ({ epsilon }) => [ONE - logistic(epsilon / 2), logistic(epsilon / 2)];
export const OUE: Chances = ({ epsilon }) => [ONE / 2n, logistic(epsilon)];
export const THE: Chances = ({ epsilon, theta }) => {
  /** How often Laplace noise of the scale 2 / epsilon is above x. */
  const tail = (x: bigint): bigint => {
    const exponent = ((x < 0n ? x : -x) * fixed(epsilon)) / ONE / 2n;
    // Below e^-200 it does not matter by how much.
    const half = power(exponent < -200n * ONE ? -200n * ONE : exponent) / 2n;
    return x < 0n ? ONE - half : half;
  };
  // With room for rounding, as in Python.
  const room = 1n << 24n;
  return [tail(fixed(theta) - ONE) - room, tail(fixed(theta)) + room, { theta: +theta }];
};

export const unary =
  (chances: Chances) =>
  (specification: Specification, d: bigint): Mechanism => {
    const [p, q, more, spends] = chances(specification);
    const high = p >> 192n;
    const low = -(-q >> 192n);
    return {
      spends: spends!,
      limits: Array<bigint>(Number(d)).fill(WORD),
      says: { ...more, weights: weigh(high, low) },
      perturb(value, words) {
        const report = new Uint8Array((words.length + 7) >> 3);
        words.forEach((r, i) => (report[i >> 3]! |= +(r < [low, high][+(BigInt(i) === value)]!) << (i & 7)));
        return report;
      },
    };
  };
