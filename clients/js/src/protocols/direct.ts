/** Direct encoding: the value itself, or any one of the others, with the weight q each. */
import { type Mechanism, places, type Specification } from "../mechanism.ts";
import { width } from "../words.ts";

export const direct = (specification: Specification, d: bigint): Mechanism =>
  places(specification, d, 0n, [], width(d), {}, (value, place) => [(value + place) % d]);
