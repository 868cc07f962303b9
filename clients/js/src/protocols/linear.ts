/**
 * Functions <u, v> over GF(g): linear hashing and affine selection.
 *
 * Hashing sends u and <u, v>, by direct encoding over 0..g-1. Selection leaves out u = 0, draws a
 * place y among the elements of the field, likelier below the window, and sends u and y - <u, v>.
 */
import { field } from "../field.ts";
import { places, type Selection, type Specification, whole } from "../mechanism.ts";
import { WORD } from "../words.ts";

/**
 * Hashing with `first` 0, selection with 1: the number of the first function. Undefined if there is no
 * such field, or if a report would take more than 64 bits.
 */
export const linear =
  (first: bigint) =>
  (specification: Specification, d: bigint): Selection | undefined => {
    const { digits, g: order, window } = specification;
    const g = whole(order);
    let t = first && whole(digits, 64);
    while (!first && g ** ++t < d);
    const functions = g ** t - first;
    const found = field(order);
    if (!found || functions + first < d || functions * g > WORD) return;
    const { element, multiply, p, shape } = found;
    const says = { g: order, digits: Number(t), field: shape, ...(first ? { window } : { family: "linear" }) };
    const kept = first && whole(window, order);
    const limits = [WORD - (WORD % functions)];
    return places(specification, g, kept, limits, functions * g, says, (value, place, [r]) => {
      const u = r! / (WORD / functions);
      // The sum of the products of both numbers' digits in base g, or the place minus that sum.
      let sum = element(first * place);
      for (let i = 0n, a = u + first; i < t; i++, a /= g, value /= g) {
        const more = multiply(element(a % g), element(value % g));
        sum = sum.map((digit, i) => (digit + (first ? p - 1n : 1n) * more[i]!) % p);
      }
      return [u * g + ((sum.reduceRight((n, digit) => n * p + digit) + (first ? 0n : place)) % g)];
    });
  };
