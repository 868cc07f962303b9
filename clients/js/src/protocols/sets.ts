/**
 * Sets of at most so many of d items, padded with dummies to exactly that many of all points.
 *
 * A report has e^epsilon times the weight of others if it supports any point of the padded set. A first
 * word draws the case: how many points a set of k shares with it, or where a polynomial hits first.
 */
import { expect } from "../errors.ts";
import { type Mechanism, type Specification, whole } from "../mechanism.ts";
import { fixed, ONE, power } from "../power.ts";
import { width, WORD } from "../words.ts";

/** The points of a padded set, ascending. */
export type Points = number[];
type Make = (specification: Specification, d: bigint) => Mechanism<Points>;

/** The largest multiple of a number that a word can be drawn below. */
const multiple = (of: bigint): bigint => WORD - (WORD % of);
const sum = (numbers: bigint[]): bigint => numbers.reduce((a, b) => a + b, 0n);

/** The weights of all cases, of which the first is no hit, and the case that a word draws. */
const cases = (epsilon: number, counts: bigint[]) => {
  const e = power(fixed(epsilon));
  const [misses, ...hits] = counts;
  const total = e * sum(hits) + ONE * misses!;
  const weights = hits.map((count) => (WORD * e * count) / total);
  weights.unshift(WORD - sum(weights));
  // No report of one case is more than e^epsilon times as likely as one of another, however rounded.
  weights.forEach((a, i) => weights.forEach((b, j) => expect(a && a * counts[j]! * ONE <= e * b * counts[i]!)));
  const find = (word: bigint): number => weights.reduce((found, _, i) => found + +(word >= sum(weights.slice(0, i + 1))), 0);
  return { find, weights: weights.map(String) };
};

/** The number of sets of k of n. */
const binomial = (n: bigint, k: bigint): bigint => {
  let count = 1n;
  for (let i = 0n; i < k; ) count = (count * (n - i)) / ++i;
  return count;
};

/** The members of the set of k of n places with a rank, descending; all places are gone through. */
const members = (n: bigint, k: bigint, rank: bigint): number[] => {
  const found: number[] = [];
  for (let count = binomial(n, k); n; ) {
    const without = (count * (n - k)) / n--;
    const has = BigInt(rank >= without);
    rank -= has * without;
    count = has ? count - without : without;
    k -= has;
    if (has) found.push(Number(n));
  }
  return found;
};

/** The rank of a set of points: the sum of C(c, j) over its members c, j = 1 for the smallest. */
export const setSelection: Make = ({ at_most, epsilon, size }, d) => {
  const most = whole(at_most, d);
  const k = whole(size, d + 1n);
  const points = d + most;
  // Enough to rule out huge numbers before they are computed.
  expect(most <= 32n && (k < 64n || points < 128n) && binomial(points, k) < WORD / 2n);
  const shared = Array.from({ length: Number(k < most ? k : most) + 1 }, (_, j) => BigInt(j));
  const inside = shared.map((j) => binomial(most, j));
  const outside = shared.map((j) => binomial(d, k - j));
  const { find, weights } = cases(epsilon, inside.map((count, j) => count * outside[j]!));
  // A multiple of all numbers of places in the set.
  const limit = multiple(inside.reduce((a, b) => { let c = a; while (c % b) c += a; return c; }));
  return {
    codes: binomial(points, k),
    limits: [WORD, limit, ...outside.filter((_, j) => j < k).map(multiple)],
    says: { at_most, size, weights },
    perturb(held, [first, second, ...others]) {
      const j = find(first!);
      const own = members(most, BigInt(j), second! / (limit / inside[j]!)).map((place) => held[place]!);
      // Where nothing is left to draw, the rank is 0.
      const rank = (others[j] ?? 0n) / (WORD / outside[j]!);
      // Among the points that are not held, all those that are count, whatever the place.
      const rest = members(d, k - BigInt(j), rank).map((place) =>
        held.reduce((point, own, i) => point + +(own - i <= place), place),
      );
      const all = own.concat(rest).sort((a, b) => a - b);
      const code = sum(all.map((point, i) => binomial(BigInt(point), BigInt(i + 1))));
      return [code];
    },
  };
};

/** The coefficients of a polynomial over GF(g) that is below the window at the points that it hits. */
export const polynomialSelection: Make = ({ at_most, epsilon, g, window }, d) => {
  const most = whole(at_most, d);
  const order = whole(g, 1 << 20);
  const m = whole(window, g);
  let p = 2;
  while (g % p && p * p < g) p++;
  expect(most <= 32n && order >= d + most && (g === p || g % p));
  const rest = order - m;
  const hits = Array.from({ length: at_most }, (_, i) => rest ** BigInt(i) * m * order ** (most - 1n - BigInt(i)));
  const { find, weights } = cases(epsilon, [rest ** most, ...hits]);
  const limit = multiple(m * rest * order);
  /** A number modulo g that may be negative; products of two stay far below 2^53. */
  const modulo = (n: number): number => ((n % g) + g) % g;
  const inverse = (n: number): number => {
    let found = 1;
    for (const bit of (g - 2).toString(2)) found = (((found * found) % g) * (+bit ? n : 1)) % g;
    return found;
  };
  return {
    limits: [WORD, multiple(most), ...Array<bigint>(at_most).fill(limit), multiple(order)],
    says: { at_most, g, weights, window },
    perturb(held, [first, second, ...drawn]) {
      const place = find(first!);
      const start = Number(second! / (WORD / most));
      const last = Number(drawn.pop()! / (WORD / order));
      const points = held.map((_, j) => held[(start + j) % at_most]!);
      // All three values are computed at every place.
      const values = drawn.map((word, j) => {
        const [miss, hit, any] = [rest, m, order].map((range) => Number(word / (limit / range)));
        return [window + miss!, hit!, any!][place && +(j + 1 >= place) + +(j + 1 > place)]!;
      });
      // Newton's form: each coefficient is what is missing at the next point, over the product of its distances.
      const newton: number[] = [];
      points.forEach((x, j) => {
        let at = 0;
        let distance = 1;
        for (let i = j; i--; ) {
          at = modulo(at * modulo(x - points[i]!) + newton[i]!);
          distance = (distance * modulo(x - points[i]!)) % g;
        }
        newton[j] = (modulo(values[j]! - at) * inverse(distance)) % g;
      });
      let found = [last];
      for (let j = at_most; j--; ) {
        found = [newton[j]!, ...found].map((c, i) => modulo(c + modulo(-points[j]!) * (found[i] ?? 0)));
      }
      const size = width(order);
      const bytes = new Uint8Array(size * found.length);
      found.forEach((c, i) => bytes.set(new Uint8Array(new Uint32Array([c]).buffer).subarray(0, size), i * size));
      return bytes;
    },
  };
};
