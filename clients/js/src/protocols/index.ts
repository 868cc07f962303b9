/** The protocols that this client speaks, by the names that questions give them. */
import type { Mechanism, Specification } from "../mechanism.ts";
import { direct } from "./direct.ts";
import { linear } from "./linear.ts";
import { multiplyShift } from "./multiply_shift.ts";
import { subset } from "./subset.ts";
import { OUE, SUE, THE, UE, unary } from "./unary.ts";

/** Makes the mechanism that a specification names, for d values; d is 0 if any text is an answer. */
type Make = (specification: Specification, d: bigint) => Mechanism | undefined | false;

const hashing = linear(0n);

export const PROTOCOLS = {
  // So that "constructor" and the like name no protocol.
  __proto__: null,
  DE: direct,
  UE: unary(UE),
  SUE: unary(SUE),
  OUE: unary(OUE),
  THE: unary(THE),
  LH: (specification: Specification, d: bigint) => hashing(specification, d) ?? multiplyShift(specification, d),
  BLH: (specification: Specification, d: bigint) => specification.g === 2 && hashing(specification, d),
  OLH: hashing,
  OpenLH: multiplyShift,
  AffineSelection: linear(1n),
  SubsetSelection: subset,
} as unknown as Record<string, Make>;
