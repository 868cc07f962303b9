/** Direct encoding: the value itself, or with the weight q each any one of the others. */
import { type Mechanism, places, type Specification, whole } from "../mechanism.ts";
import { little, width } from "../words.ts";

export const direct = (specification: Specification): Mechanism => {
  const d = whole(specification.domain_size);
  const { limit, place, ratio } = places(specification, d);
  const length = width(d);
  return { limits: [limit], ratio, perturb: (value, [r]) => little((value + place(r!)) % d, length) };
};
