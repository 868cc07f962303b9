/**
 * Functions <u, v> over GF(g): linear hashing and affine selection.
 *
 * Hashing sends u and <u, v>, by direct encoding over 0..g-1. Selection leaves out u = 0, draws a
 * place y among the elements of the field, likelier below the window, and sends u and y - <u, v>.
 */
import { field } from "../field.ts";
import { type Mechanism, places, type Specification, whole } from "../mechanism.ts";
import { little, width, WORD } from "../words.ts";

export const linear = (specification: Specification): Mechanism => {
  const selects = specification.name === "AffineSelection";
  const first = BigInt(selects);
  const { dot, g, plus, p, vectors } = field(specification);
  const { limit, place, ratio } = places(specification, g, selects ? whole(specification.window, 1) : 1n);
  const functions = vectors - first;
  const share = WORD / functions;
  const length = width(functions * g);
  return {
    limits: [share * functions, limit],
    ratio,
    perturb(value, [r, s]) {
      const u = r! / share;
      const hash = dot(u + first, value);
      const y = place(s!);
      return little(u * g + (selects ? plus(y, hash, p - 1n) : (hash + y) % g), length);
    },
  };
};
