/**
 * How random bytes become numbers, and numbers become bytes.
 *
 * A word is eight random bytes read as a little-endian integer; it falls below the weight w with
 * probability exactly w / 2^64. Reports are little-endian too, in the narrowest width that holds them.
 */

/** Anything that gives random bytes: WebCrypto, or the bytes of a test vector. */
export type Source = (count: number) => Uint8Array;

export const WORD = 1n << 64n;

/** The platform's generator. */
export const system =
  (crypto: Crypto): Source =>
  (count) =>
    crypto.getRandomValues(new Uint8Array(count));

/** Bytes as words; all browsers are little-endian. */
export const words = (bytes: Uint8Array): BigUint64Array => new BigUint64Array(bytes.slice().buffer);

/**
 * Draw one word below each limit: first all words, then again those that were not below theirs. The
 * platform gives at most 65,536 bytes at a time.
 */
export const draw = (limits: bigint[], source: Source, drawn: bigint[] = []): bigint[] => {
  const rejected = [...limits.keys()].filter((i) => !(drawn[i]! < limits[i]!)).slice(0, 8192);
  if (!rejected.length) return drawn;
  const more = words(source(8 * rejected.length));
  rejected.forEach((i, k) => (drawn[i] = more[k]!));
  return draw(limits, source, drawn);
};

/** The bytes of the narrowest unsigned integer, of 1, 2, 4 or 8 bytes, that has `count` values. */
export const width = (count: bigint): number => [1, 2, 4].find((n) => count <= 1n << BigInt(8 * n)) ?? 8;

/** Numbers of eight bytes each, but for the last, which has `count` values. */
export const numbers = (all: bigint[], count: bigint): Uint8Array =>
  new Uint8Array(new BigUint64Array(all).buffer).slice(0, 8 * all.length - 8 + width(count));
