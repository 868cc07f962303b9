/**
 * The field GF(g), g = p^k: an integer stands for the polynomial whose coefficients are its digits.
 *
 * Products are taken coefficient by coefficient and not from tables, so that neither the time nor
 * the memory that is touched depends on the elements.
 */
import { expect } from "./errors.ts";
import { type Specification, whole } from "./mechanism.ts";
import { WORD } from "./words.ts";

export interface Field {
  /** a + c b, for an integer c >= 0; c = p - 1 subtracts. */
  plus(a: bigint, b: bigint, c: bigint): bigint;
  /** The sum of the products of the digits of u and v to the base g. */
  dot(u: bigint, v: bigint): bigint;
  g: bigint;
  p: bigint;
  /** g^t, the number of vectors of t digits. */
  vectors: bigint;
}

export const field = ({ g: order, digits, field, domain_size }: Specification): Field => {
  const g = whole(order);
  const t = whole(digits, 1);
  const p = whole(field.characteristic);
  const k = whole(field.degree, 1);
  const vectors = g ** t;
  const places = Array.from({ length: Number(k) }, (_, j) => p ** BigInt(j));
  const top = g / p;
  const modulus = places.reduce((sum, place, j) => sum + place * BigInt(field.modulus[j] ?? 0), 0n);
  // With another modulus or order, some values would be hashed to no element, and stand out.
  const exists = p ** k === g && 0n <= modulus && modulus < g;
  expect(exists && whole(domain_size) <= vectors && vectors * g <= WORD, "a field", order);

  const plus = (a: bigint, b: bigint, c: bigint): bigint =>
    places.reduce((sum, place) => sum + ((a / place + c * (b / place)) % p) * place, 0n);
  // Horner's rule: times x, which takes away the leading coefficient times the modulus, plus a_j b.
  const times = (a: bigint, b: bigint): bigint =>
    places.reduceRight((r, place) => plus(plus((r % top) * p, modulus, p - r / top), b, (a / place) % p), 0n);
  const dot = (u: bigint, v: bigint): bigint => {
    let sum = 0n;
    for (let i = 0n; i < t; i++, u /= g, v /= g) sum = plus(sum, times(u % g, v % g), 1n);
    return sum;
  };
  return { plus, dot, g, p, vectors };
};
