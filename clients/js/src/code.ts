/**
 * The public code of texts that are to be discovered: a text becomes three words, whatever it is.
 *
 * Symbols are the bytes of an alphabet, END, ESC and phrases. Each is written by the book of the symbol
 * before it; docs/formats.md has the whole of it.
 */
import { expect } from "./errors.ts";

/** A code as a document has it. Nothing in it is trusted. */
export interface CodeDocument {
  alphabet: string;
  books: string[];
  fold: string;
  phrases: string[];
}

const GAMMA = 0x9e3779b97f4a7c15n;
const cut64 = (z: bigint): bigint => BigInt.asUintN(64, z);

/** SplitMix64, as Python has it. */
export const mix = (z: bigint): bigint => {
  z = cut64(z);
  z = cut64((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = cut64((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
};

const unhex = (text: string): number[] => {
  expect(/^([0-9a-f]{2})*$/.test(text));
  return (text.match(/../g) ?? []).map((pair) => parseInt(pair, 16));
};

/** The bits of each symbol with their number, counted through by length, then by symbol. */
const canonical = (book: string): [bigint, number][] => {
  const sizes = [...book].map((digit) => parseInt(digit, 16));
  const found: [bigint, number][] = [];
  let bits = 0n;
  let last = 0;
  let kraft = 0;
  const order = [...sizes.keys()].sort((a, b) => sizes[a]! - sizes[b]! || a - b);
  for (const symbol of order) {
    const size = sizes[symbol]!;
    expect(size > 0);
    kraft += 1 << (15 - size);
    bits <<= BigInt(size - last);
    found[symbol] = [bits++, size];
    last = size;
  }
  expect(kraft === 1 << 15);
  return found;
};

/** Read a code, refusing one that is none or too large, and return what makes words of a text. */
export const readCode = ({ alphabet, books, fold, phrases }: CodeDocument): ((text: string) => bigint[]) => {
  expect(phrases.length <= 512 && books.length <= 800);
  expect([alphabet, fold, ...phrases, ...books].join("").length <= 1 << 18 && /^(none|case)$/.test(fold));
  const bytes = unhex(alphabet);
  const end = bytes.length;
  const size = end + 2 + phrases.length;
  const sequences = phrases.map(unhex);
  expect(bytes.every((byte, i) => !i || byte > bytes[i - 1]!) && new Set(phrases).size === phrases.length);
  expect(sequences.every(({ length }) => length > 1 && length <= 64) && books.length === size + 1 && books[0]);
  expect(books.every((book) => !book || (book.length === size && /^[1-9a-f]+$/.test(book))));
  expect(books.filter(Boolean).length * (size - 1) + 255 <= 1 << 15);
  const tables = books.map((book) => book && canonical(book));
  const after = (symbol: number): [bigint, number][] =>
    (tables[symbol > end ? symbol + 1 : symbol + 2] || tables[0]) as [bigint, number][];
  const longest = [...sequences.keys()].sort((a, b) => sequences[b]!.length - sequences[a]!.length);
  return (text) => {
    let clean = text.replace(/\p{Cs}/gu, "\ufffd");
    if (fold === "case") clean = clean.toLowerCase();
    const data = new TextEncoder().encode(clean.normalize("NFC"));
    let length = Math.min(data.length, 1024);
    while (length < data.length && (data[length]! & 0xc0) === 0x80) length--;
    let bits = 0n;
    let count = 0;
    const write = (code: bigint, more: number): void => {
      bits = (bits << BigInt(more)) | code;
      count += more;
    };
    let table = (tables[1] || tables[0]) as [bigint, number][];
    for (let at = 0; at < length; ) {
      const fits = longest.find(
        (i) => sequences[i]!.length <= length - at && sequences[i]!.every((byte, k) => data[at + k] === byte),
      );
      const plain = bytes.indexOf(data[at]!);
      const symbol = fits === undefined ? (plain < 0 ? end + 1 : plain) : end + 2 + fits;
      write(...table[symbol]!);
      if (symbol === end + 1) write(BigInt(data[at]!), 8);
      at += fits === undefined ? 1 : sequences[fits]!.length;
      table = after(symbol);
    }
    write(...table[end]!);
    const blocks = Math.ceil(count / 64);
    const padded = bits << BigInt(64 * blocks - count);
    let rest = 0n;
    for (let i = blocks - 2; i >= 0; i--) rest = mix((rest ^ cut64(padded >> BigInt(64 * i))) + GAMMA);
    return [padded >> BigInt(64 * (blocks - 1)), rest, BigInt(count)];
  };
};

/** How texts are cut into pieces, as the protocol says. */
export interface Layout {
  payload: number;
  check: number;
  bucket_bits: number;
  piece_bits: number;
  salt: string;
}

/** The cell of a value in each piece: those of the payload, then those of the hash. */
export const cellsOf = ({ payload, check, bucket_bits, piece_bits, salt }: Layout, value: bigint[]): bigint[] => {
  const [first, rest, size] = value as [bigint, bigint, bigint];
  const [s, r] = [BigInt(bucket_bits), BigInt(piece_bits)];
  const h = mix((mix(first ^ BigInt(`0x${salt}`)) ^ rest) + size * GAMMA);
  const free = size < 64n ? (1n << (64n - size)) - 1n : 0n;
  const filled = first | (mix(h + GAMMA) & free);
  const cells = Array.from(
    { length: payload },
    (_, j) => ((h >> (64n - s)) << r) | ((filled >> (64n - BigInt(j + 1) * r)) & ((1n << r) - 1n)),
  );
  for (let i = 0n; i < check; i++) cells.push(mix(h + (2n + i) * GAMMA) >> (64n - s - r));
  return cells;
};
