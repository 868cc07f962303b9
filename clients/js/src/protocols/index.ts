/** The protocols that this client speaks, by the names that questions give them. */
import { expect, fail } from "../errors.ts";
import type { Mechanism, Specification } from "../mechanism.ts";
import { direct } from "./direct.ts";
import { linear } from "./linear.ts";
import { multiplyShift } from "./multiply_shift.ts";
import { subset } from "./subset.ts";
import { unary } from "./unary.ts";

export const mechanism = (specification: Specification): Mechanism => {
  const { family, name } = specification;
  switch (name) {
    case "DE":
      return direct(specification);
    case "UE":
    case "SUE":
    case "OUE":
    case "THE":
      return unary(specification);
    case "LH":
    case "BLH":
    case "OLH":
    case "OpenLH":
      expect(family === "linear" || family === "multiply-shift", "a hash family", family);
      return (family === "linear" ? linear : multiplyShift)(specification);
    case "AffineSelection":
      return linear(specification);
    case "SubsetSelection":
      return subset(specification);
    default:
      return fail("a protocol of this client", name);
  }
};
