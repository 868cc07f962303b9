/**
 * The field GF(g), g = p^k: an element is the k digits of a number to the base p, the coefficients of
 * a polynomial.
 *
 * Products are modulo the smallest polynomial modulo which x has every element but zero among its
 * powers: so g alone says which field it is. They are taken coefficient by coefficient and not from
 * tables, so that neither the time nor the memory that is touched depends on the elements.
 */

/** Products modulo x^k + c by Horner's rule: of numbers, or of big integers, as all that is given. */
const product =
  (c: bigint[], p: bigint) =>
  (a: bigint[], b: bigint[]): bigint[] =>
    a.reduceRight(
      (r, digit) => r.map((_, i) => ((r[i - 1] ?? p - p) + (p - c[i]!) * r.at(-1)! + digit * b[i]!) % p),
      c.map(() => p - p),
    );

/** The field of an order, if it is that of a prime, or of a power of one up to 2^16. */
export const field = (order: number) => {
  let p = 2;
  let k = 1;
  while (order % p && p * p < order) p++;
  if (order % p) p = order;
  while (p ** k < order) k++;
  if (p ** k !== order || (k > 1 && order > 65536)) return;
  const digits = (n: number) => Array.from({ length: k }, (_, i) => Math.floor(n / p ** i) % p);
  const last = order - 1;
  // Modulo x^k + c the powers of x are too few, and those are the first p.
  let modulus = k > 1 ? p + 1 : 0;
  for (const divisors = [...Array(modulus && last).keys()].filter((e) => e && !(last % e)).reverse(); modulus; modulus++) {
    const times = product(digits(modulus) as never, p as never) as never as (a: number[], b: number[]) => number[];
    /** x^e = 1, by squares. */
    const returns = (e: number): boolean =>
      `${[...e.toString(2)].reduce((y, bit) => times(times(y, y), digits(p ** +bit)), digits(1))}` == (digits(1) as never);
    if (returns(last) && !divisors.some(returns)) break;
  }
  const c = digits(modulus);
  return {
    p: BigInt(p),
    times: product(c.map(BigInt), BigInt(p)),
    /** The element that a number stands for. */
    element: (n: bigint): bigint[] => digits(Number(n)).map(BigInt),
    shape: { characteristic: p, degree: k, modulus: modulus ? [...c, 1] : [] },
  };
};
