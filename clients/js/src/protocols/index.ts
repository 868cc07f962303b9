/** The protocols that this client speaks, by the names that questions give them. */
import { fail } from "../errors.ts";
import type { Mechanism, Specification } from "../mechanism.ts";
import { direct } from "./direct.ts";
import { linear } from "./linear.ts";
import { multiplyShift } from "./multiply_shift.ts";
import { subset } from "./subset.ts";
import { unary } from "./unary.ts";

type Make = (specification: Specification) => Mechanism;

/** What a table has under a name of its own; "constructor" and the like are none. */
const find = (table: Record<string, Make>, name: string): Make =>
  Object.hasOwn(table, name) ? table[name]! : fail("a known protocol", name);

const FAMILIES = { linear, "multiply-shift": multiplyShift };
const hashing: Make = (specification) => find(FAMILIES, specification.family)(specification);

const PROTOCOLS = {
  DE: direct,
  UE: unary,
  SUE: unary,
  OUE: unary,
  THE: unary,
  LH: hashing,
  BLH: hashing,
  OLH: hashing,
  OpenLH: hashing,
  AffineSelection: linear,
  SubsetSelection: subset,
};

export const mechanism: Make = (specification) => find(PROTOCOLS, specification.name)(specification);
