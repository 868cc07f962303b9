/**
 * Views: some digits of a mixed-radix value, drawn by a public lot before the value is looked at, and
 * reported with the whole epsilon by the protocol of that view.
 */
import { expect } from "../errors.ts";
import { places, type Selection, sorted, type Specification, whole } from "../mechanism.ts";
import { WORD } from "../words.ts";
import { direct } from "./direct.ts";
import { subset } from "./subset.ts";

/** Views as a question specifies them. Nothing in it is trusted. */
export interface Viewing extends Specification {
  radices: number[];
  views: number[][];
  lots: string[];
  protocols: Specification[];
}

type Make = (specification: Specification, d: bigint) => Selection | undefined;

/** A number goes to one of some levels by lot, so that it is right on average; then direct encoding. */
const levels: Make = (specification, d) => {
  const last = d - 1n;
  const top = whole(specification.levels - 1, d < 4096n ? d : 4096n);
  const { limits, perturb, says, ...rest } = direct(specification, top + 1n);
  expect(last < 65536n);
  return {
    ...rest,
    limits: [WORD, ...limits],
    says: { levels: specification.levels, ...says },
    perturb(value, [first, ...words]) {
      const place = value * top;
      return perturb(place / last + BigInt(first! < (WORD * (place % last)) / last), words);
    },
  };
};

/** Affine selection of one digit, over a field of prime order. */
const affine: Make = (specification, d) => {
  const { g, window } = specification;
  const order = whole(g);
  const functions = order - 1n;
  let p = 2;
  while (g % p && p * p < g) p++;
  expect((g === p || g % p) && order >= d);
  const says = { digits: 1, field: { characteristic: g, degree: 1, modulus: [] }, g, window };
  return places(specification, order, whole(window, g), [WORD - (WORD % functions)], functions * order, says, (value, place, [r]) => {
    const u = r! / (WORD / functions);
    // The functions are products by 1, 2, and so on; what is sent is the place minus the product.
    return [u * order + ((place + (order - u - 1n) * value) % order)];
  });
};

const PARTS: Record<string, Make> = {
  __proto__: null,
  AffineSelection: affine,
  DE: direct,
  Levels: levels,
  SubsetSelection: subset,
} as never;

export const views = ({ epsilon, lots, protocols, radices, views }: Viewing): Selection => {
  const sizes = radices.map((radix) => whole(radix));
  let cells = 0n;
  let codes = 0n;
  let lot = 0n;
  const limits = [WORD];
  const seen = new Set();
  expect(!views[512] && sizes.reduce((a, b) => a * b) <= WORD && lots.length === views.length);
  const parts = views.map((view, i) => {
    const { name } = protocols[i]!;
    const size = view.reduce((product, digit, j) => {
      expect(!(digit <= view[j - 1]!));
      return product * sizes[digit]!;
    }, 1n);
    const { codes: own, limits: words, perturb, says } = PARTS[name]!({ ...protocols[i]!, epsilon }, size)!;
    const first = codes;
    const at = limits.length;
    codes += own!;
    // As much as a long list of labels may cost.
    expect(view[0]! >= 0 && /^[1-9]\d{0,19}$/.test(lots[i]!) && (cells += size) <= 131072n);
    limits.push(...words);
    seen.add(`${view}${name === "Levels"}`);
    return {
      end: (lot += BigInt(lots[i]!)),
      says: sorted({ name, epsilon: +epsilon, domain_size: Number(size), ...says }),
      perturb: (digits: bigint[], drawn: bigint[]) => [
        first + perturb(view.reduce((sum, digit) => sum * sizes[digit]! + digits[digit]!, 0n), drawn.slice(at, at + words.length))[0]!,
      ],
    };
  });
  expect(lot === WORD && codes <= WORD && seen.size === protocols.length);
  return {
    codes,
    limits,
    says: { lots: lots.map(String), protocols: parts.map(({ says }) => says), radices, views: views.map((view) => view.map(Number)) },
    perturb(value, words) {
      const digits: bigint[] = [];
      for (let i = sizes.length; i--; value /= sizes[i]!) digits[i] = value % sizes[i]!;
      return parts.find(({ end }) => words[0]! < end)!.perturb(digits, words);
    },
  };
};
