/**
 * How much a report gives away: ln of the largest ratio of its probabilities under two answers.
 *
 * The weights of a question are made with directed rounding, within 2^-60 or so of what epsilon
 * allows, which is finer than floating point. So e^epsilon is computed in integers, from below.
 */

/** A fraction, numerator first: the largest ratio of the probabilities of one report. */
export type Ratio = readonly [bigint, bigint];

/** 1 as a fixed-point number of 256 bits. */
const ONE = 1n << 256n;

/** Tell whether a report with this ratio spends at most epsilon: ratio <= e^epsilon. */
export const within = ([above, below]: Ratio, epsilon: number): boolean => {
  // Times a power of two is exact; every division rounds down, by less than 2^-245 of the sum in all.
  const x = BigInt(Math.floor(epsilon * Number(ONE)));
  let sum = 0n;
  for (let term = ONE, i = 1n; term; term = (term * x) / (ONE * i++)) sum += term;
  return above * ONE <= below * sum;
};

/** The loss itself, as exactly as a number can have it. */
export const loss = ([above, below]: Ratio): number => Math.log(Number(above) / Number(below));
