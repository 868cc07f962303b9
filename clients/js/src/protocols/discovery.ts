/** Discovery: one piece of a text, drawn by lot before the text is looked at, by affine selection. */
import { type Layout, readLayout } from "../code.ts";
import { expect } from "../errors.ts";
import { field } from "../field.ts";
import { type Mechanism, places, type Specification, whole } from "../mechanism.ts";
import { WORD } from "../words.ts";

interface Discovery extends Specification, Layout {
  closed: Specification;
}

export const discovery = (specification: Specification): Mechanism<bigint[]> => {
  const { closed: { digits }, epsilon, g: order } = specification as Discovery;
  const [layout, cellsOf, pieces, size] = readLayout(specification as Discovery);
  const g = whole(order);
  const t = whole(digits, 64);
  const functions = g ** t - 1n;
  const codes = pieces * functions * g;
  // Without such a field there is nothing to take apart, and the question is refused.
  const { element, multiply, p, shape } = field(order)!;
  expect(digits > 1 && functions >= 2 ** size - 1 && codes <= WORD);
  const { says, ...made } = places(specification, g, 1n, [WORD, WORD - (WORD % functions)], codes, {}, (value, place, [lot, r]) => {
    const drawn = (lot! * pieces) / WORD;
    // All cells are computed and one is selected by arithmetic, so that the work tells nothing.
    const cells = cellsOf(value as never);
    let cell = cells.reduce((sum, each, j) => sum + each * BigInt(BigInt(j) === drawn), 0n);
    const u = r! / (WORD / functions);
    // The place minus the sum of the products of both numbers' digits in base g, as affine selection has it.
    let sum = element(place);
    for (let i = 0n, a = u + 1n; i < t; i++, a /= g, cell /= g) {
      const more = multiply(element(a % g), element(cell % g));
      sum = sum.map((digit, i) => (digit + p - more[i]!) % p);
    }
    return [(drawn * functions + u) * g + sum.reduceRight((n, digit) => n * p + digit)];
  });
  // In the order of the names.
  const own = {
    digits,
    domain_size: 2 ** size,
    epsilon: +epsilon,
    field: shape,
    g: order,
    name: "AffineSelection",
    ...says,
    window: 1,
  };
  return { ...made, says: { ...layout, g: order, closed: own } } as never;
};
