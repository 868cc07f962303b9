/** Finite fields, and the linear functions over them that hashing and affine selection are made of. */

/**
 * Sums and products in the field of g = p^k elements: an integer stands for the polynomial whose
 * coefficients are its digits to the base p.
 * @param {Record<string, any>} specification
 */
export const field = ({ g, field: { characteristic: p, degree: k, modulus } }) => {
  const places = Array.from({ length: k }, (_, j) => p ** j);
  const low = places.reduce((sum, place, j) => sum + place * (modulus[j] ?? 0), 0);
  const top = g / p;
  /** @param {number} a @param {number} b @returns {number} */
  const plus = (a, b) =>
    places.reduce((sum, place) => {
      const coefficient = Math.floor(a / place) + Math.floor(b / place);
      return sum + (coefficient % p) * place;
    }, 0);
  /** Multiply every coefficient by one number. @param {number} a @param {number} c @returns {number} */
  const scale = (a, c) =>
    places.reduce((sum, place) => {
      const coefficient = BigInt(Math.floor(a / place)) * BigInt(c);
      return sum + Number(coefficient % BigInt(p)) * place;
    }, 0);
  /** @param {number} a @param {number} b @returns {number} */
  const times = (a, b) =>
    places.reduceRight((sum, place) => {
      // Times x, less the leading coefficient times the modulus, plus a coefficient times b.
      const shifted = plus((sum % top) * p, scale(low, p - Math.floor(sum / top)));
      return plus(shifted, scale(b, Math.floor(a / place) % p));
    }, 0);
  return { plus, times };
};

/**
 * Return the function u as one of values: the sum of the products of the digits of both. All
 * products that can occur are made at once, so that tens of thousands of values take no time.
 * @param {Record<string, any>} specification @param {bigint} u
 */
export const linearFunction = (specification, u) => {
  const { g, digits, domain_size } = specification;
  const { plus, times } = field(specification);
  const tables = Array.from({ length: digits }, (_, i) => {
    const digit = Number((u / BigInt(g) ** BigInt(i)) % BigInt(g));
    const most = Math.min(g, Math.floor((domain_size - 1) / g ** i) + 1);
    return Array.from({ length: most }, (_, c) => times(digit, c));
  });
  return (/** @type {bigint} */ value) => {
    let [sum, rest] = [0, Number(value)];
    for (const table of tables) {
      sum = plus(sum, table[rest % g]);
      rest = Math.floor(rest / g);
    }
    return sum;
  };
};
