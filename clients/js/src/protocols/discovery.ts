/** Discovery: one piece of a text, drawn by lot before the text is looked at, by affine selection. */
import { cellsOf, type Layout } from "../code.ts";
import { expect } from "../errors.ts";
import { type Mechanism, type Specification, whole } from "../mechanism.ts";
import { width, WORD, words } from "../words.ts";
import { linear } from "./linear.ts";

interface Discovery extends Specification, Layout {
  closed: Specification;
}

const sorted = (object: object): object => Object.fromEntries(Object.entries(object).sort());

export const discovery = (specification: Specification): Mechanism<bigint[]> => {
  const { bucket_bits, check, closed, epsilon, g, payload, piece_bits, salt } = specification as Discovery;
  const pieces = whole(payload, 13) + whole(check, 9);
  const bits = whole(bucket_bits, 13) + whole(piece_bits, 13);
  expect(payload * piece_bits <= 60 && piece_bits > 1 && bits <= 22n && /^[0-9a-f]{16}$/.test(salt));
  const inner = linear(1n)({ ...closed, epsilon, g, window: 1 }, 1n << bits)!;
  const reports = (BigInt(g) ** whole(closed.digits, 64) - 1n) * BigInt(g);
  expect(closed.digits > 1);
  const length = width(pieces * reports);
  const own = { name: "AffineSelection", epsilon: +epsilon, domain_size: 2 ** Number(bits), ...inner.says };
  return {
    limits: [WORD, ...inner.limits],
    says: { payload, check, bucket_bits, piece_bits, salt, g, closed: sorted(own) },
    perturb(value, [lot, ...rest]) {
      const drawn = (lot! * pieces) / WORD;
      // All cells are computed and one is selected by arithmetic, so that the work tells nothing.
      const cells = cellsOf({ payload, check, bucket_bits, piece_bits, salt }, value);
      const cell = cells.reduce((sum, each, j) => sum + each * BigInt(BigInt(j) === drawn), 0n);
      const report = new Uint8Array(8);
      report.set(inner.perturb(cell, rest));
      const code = drawn * reports + words(report)[0]!;
      return new Uint8Array(new BigUint64Array([code]).buffer).slice(0, length);
    },
  };
};
