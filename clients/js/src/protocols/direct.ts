/** Direct encoding: the value itself, or any one of the others, with the weight q each. */
import { places, type Selection, type Specification } from "../mechanism.ts";

export const direct = (specification: Specification, d: bigint): Selection =>
  places(specification, d, 0n, [], d, {}, (value, place) => [(value + place) % d]);
