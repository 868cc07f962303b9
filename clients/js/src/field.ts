/**
 * The field GF(g), g = p^k. An element is the k digits of a number in base p, the coefficients of a
 * polynomial. The client and the page on which a question can be tried share this module.
 *
 * Products are modulo the smallest polynomial for which the powers of x are all elements but zero, so
 * g alone determines the field. They are computed coefficient by coefficient, without tables, so that
 * neither the time nor the memory accesses depend on the elements.
 */

/** Products modulo x^k + c by Horner's rule; all arguments are numbers, or all are big integers. */
const product =
  (c: bigint[], p: bigint) =>
  (a: bigint[], b: bigint[]): bigint[] =>
    a.reduceRight(
      (r, digit) => r.map((_, i) => ((r[i - 1] ?? p - p) + (p - c[i]!) * r.at(-1)! + digit * b[i]!) % p),
      c.map(() => p - p),
    );

/** The field of an order: a prime, or a prime power up to 2^16. Undefined for any other order. */
export const field = (order: number) => {
  let p = 2;
  let k = 1;
  while (order % p && p * p < order) p++;
  if (order % p) p = order;
  while (p ** k < order) k++;
  if (p ** k !== order || (k > 1 && order > 65536)) return;
  const digits = (n: number) => Array.from({ length: k }, (_, i) => Math.floor(n / p ** i) % p);
  const last = order - 1;
  // The first p candidates are x^k + c, which have too few powers of x.
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
    multiply: product(c.map(BigInt), BigInt(p)),
    /** The element with a number. */
    element: (n: bigint): bigint[] => digits(Number(n)).map(BigInt),
    shape: { characteristic: p, degree: k, modulus: modulus ? [...c, 1] : [] },
  };
};
