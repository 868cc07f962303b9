/**
 * Powers of e in integers, so that the client can compute weights as Python does.
 *
 * Numbers are in units of 2^-256. Python rounds e^x down by a relative 1e-70, this by 2^-232: no weight
 * of 64 bits lies between the two.
 */
import { expect } from "./errors.ts";

/** 1 as a fixed-point number. */
export const ONE = 1n << 256n;

/** A number as a fixed-point number; multiplying by a power of two is exact. */
export const fixed = (number: number): bigint => {
  expect(Math.abs(number) <= 1e3);
  return BigInt(Math.floor(number * 2 ** 256));
};

/** e^x, rounded down a little. */
export const power = (x: bigint): bigint => {
  let sum = 0n;
  for (let term = ONE, i = 1n; term; term = (term * x) / (ONE * i++)) sum += term;
  return sum - (sum >> 232n);
};
